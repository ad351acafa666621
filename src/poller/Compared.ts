import { Effect } from "effect"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"

/** Which gateways' balances our rows were held against in this comparison, and how that went. */
export interface Compared {
  /** Whose listing is looked at now. */
  asked: string | undefined
  readonly agreeing: Set<string>
  readonly differing: Set<string>
}

export const nothingCompared = (): Compared => ({ asked: undefined, agreeing: new Set(), differing: new Set() })

/** The gateway to ask next: one that was not asked yet, the best of them first. */
export const nextToCompare = Effect.fnUntraced(function* (compared: Compared) {
  const { all } = yield* Gateways
  const health = yield* Health
  const unheard = new Set((yield* health.all).filter(({ state }) => state === "quarantined").map(({ name }) => name))
  const next = (yield* health.ranked).find(
    (name) => !unheard.has(name) && !compared.agreeing.has(name) && !compared.differing.has(name),
  )
  const gateway = all.find(({ name }) => name === next) ?? all[0]!
  compared.asked = gateway.name
  return gateway satisfies Gateway
})

/**
 * What the comparison with one more gateway means. "more": another must be asked. "agreed": a quorum shows the balances
 * that our rows say; who differs from it is quarantined. "drift": so many differ that our rows are in doubt.
 */
export const judgeCompared = Effect.fnUntraced(function* (compared: Compared, differs: boolean) {
  const { all, quorum } = yield* Gateways
  const { asked, agreeing, differing } = compared
  if (asked !== undefined) (differs ? differing : agreeing).add(asked)
  if (agreeing.size >= quorum) {
    const health = yield* Health
    const others = [...agreeing].join(" and ")
    for (const name of differing) yield* health.quarantine(name, `its balances are not those of ${others}`)
    return "agreed"
  }
  const left = all.length - agreeing.size - differing.size
  return agreeing.size + left < quorum ? "drift" : "more"
})
