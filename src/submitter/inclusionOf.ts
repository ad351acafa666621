import { Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"
import { judgeInclusion } from "./evidence.ts"

/**
 * What the explorers of all gateways show of an attempt's transaction, in either wire form. One that gives no answer
 * says nothing; nor does a quarantined one, unless it is the only gateway.
 */
export const inclusionOf = Effect.fnUntraced(function* (attempt: Attempt) {
  const { all, quorum } = yield* Gateways
  const views = yield* (yield* Health).all
  const unheard = new Set(views.flatMap(({ name, state }) => (state === "quarantined" ? [name] : [])))
  const heard = all.length === 1 ? all : all.filter(({ name }) => !unheard.has(name))
  const told = yield* Effect.forEach(heard, (gateway) => soon(lookAt(gateway, attempt)), { concurrency: "unbounded" })
  const seen = told.flatMap((one) => one ?? [])
  const judged = judgeInclusion(attempt, seen, quorum)
  const same = seen.filter((one) => one.height === judged.height && one.code === judged.code)
  const error = same.find((one) => one.error !== "")?.error
  return { ...judged, error, gateway: same.map(({ gateway }) => gateway).join("+") }
})

/** What comes later is not waited for: one explorer that hangs must not hold up what the others prove. */
const soon = Effect.timeoutOrElse({ duration: "3 seconds", orElse: () => Effect.undefined })

/** A transaction of another sender or command under our hash is none of ours. */
const lookAt = Effect.fnUntraced(function* ({ name, explorer }: Gateway, attempt: Attempt) {
  for (const hash of [attempt.hashPrefixed, attempt.hashBare]) {
    if (hash === undefined) continue
    const found = yield* explorer.transaction(hash).pipe(Effect.catchTag("GatewayError", () => Effect.undefined))
    if (found === undefined || found.submitter !== attempt.party || found.nonce !== attempt.nonce) continue
    return { gateway: name, height: found.height, code: found.code, error: found.error }
  }
  return undefined
})
