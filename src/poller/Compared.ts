import { Effect } from "effect"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"

/** Which gateways' balances our rows were held against in this comparison, and how that went. */
export interface Compared {
  /** Whose listing is looked at now. */
  asked: string | undefined
  readonly agreeing: Set<string>
  readonly differing: Set<string>
  /** Gave no listing that can be compared: they count for neither side. */
  readonly silent: Set<string>
}

export const nothingCompared = (): Compared => ({
  asked: undefined,
  agreeing: new Set(),
  differing: new Set(),
  silent: new Set(),
})

/** The gateway to ask next: one that was not asked yet, the best of them first. Undefined where none is left. */
export const nextToCompare = Effect.fnUntraced(function* (compared: Compared) {
  const { all } = yield* Gateways
  const [only, ...others] = all
  const next = others.length === 0 ? only : yield* bestUnasked(compared, all)
  compared.asked = next?.name
  return next
})

const bestUnasked = Effect.fnUntraced(function* (
  { agreeing, differing, silent }: Compared,
  all: ReadonlyArray<Gateway>,
) {
  const health = yield* Health
  const unheard = new Set((yield* health.all).filter(({ state }) => state === "quarantined").map(({ name }) => name))
  const isLeft = (name: string) => ![unheard, agreeing, differing, silent].some((names) => names.has(name))
  const name = (yield* health.ranked).find(isLeft)
  return all.find((gateway) => gateway.name === name)
})

/** What was compared so far means. */
type Judged =
  /** A quorum shows the balances that our rows say. */
  | "agreed"
  /** So many differ that our rows are in doubt. */
  | "drift"
  /** Another must be asked. */
  | "more"

export const judged = (
  { agreeing, differing }: Compared,
  { gateways, quorum }: { readonly gateways: number; readonly quorum: number },
): Judged =>
  agreeing.size >= quorum ? "agreed" : differing.size > 0 && gateways - differing.size < quorum ? "drift" : "more"

/** Takes one more comparison in. Who differs from what a quorum shows is quarantined. */
export const judgeCompared = Effect.fnUntraced(function* (compared: Compared, differs: boolean) {
  const { all, quorum } = yield* Gateways
  const { asked, agreeing, differing } = compared
  if (asked !== undefined) (differs ? differing : agreeing).add(asked)
  const verdict = judged(compared, { gateways: all.length, quorum })
  if (verdict === "agreed") {
    const health = yield* Health
    const others = [...agreeing].join(" and ")
    for (const name of differing) yield* health.quarantine(name, `its balances are not those of ${others}`)
  }
  return verdict
})
