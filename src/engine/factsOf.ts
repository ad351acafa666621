import { Effect } from "effect"
import { type AlertRule, pastKey, pastsOf } from "../rules/Condition.ts"
import type { Facts, Silence } from "../rules/evaluate.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { Observations } from "../store/Observations.ts"
import type { RuleMemory } from "../store/RuleStates.ts"
import { balanceOf } from "./snapshot.ts"

/** All that the alerts' conditions are judged by; `watchedSince` is asked for last. */
export const factsOf = Effect.fnUntraced(function* <E, R>(
  alerts: ReadonlyArray<AlertRule>,
  snapshot: Snapshot,
  memories: ReadonlyMap<string, RuleMemory>,
  watchedSince: Effect.Effect<string, E, R>,
) {
  const observations = yield* Observations
  const { asOf } = snapshot
  const pasts = new Map<string, bigint | undefined>()
  for (const past of alerts.flatMap(pastsOf)) {
    const { overMillis, account } = past
    const { party, asset, balance } = account
    const key = pastKey(past)
    if (asOf === undefined || pasts.has(key)) continue
    const time = asOf - BigInt(overMillis) * 1_000_000n
    const rows = yield* observations.at(party.publicKey, asset.id, time, overMillis)
    pasts.set(key, rows === undefined ? undefined : balanceOf(rows)(party.publicKey, asset.id, balance))
  }
  const silences = new Map<string, Array<Silence>>()
  for (const { rule, subject, reason, reasonSince: since } of memories.values()) {
    const own = silences.get(rule)
    if (own === undefined) silences.set(rule, [{ subject, reason, since }])
    else own.push({ subject, reason, since })
  }
  return {
    ...snapshot,
    watchedSince: Number(yield* watchedSince),
    past: (past) => pasts.get(pastKey(past)),
    silences: (rule) => silences.get(rule),
  } satisfies Facts
})
