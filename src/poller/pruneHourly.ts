import { Clock, Effect } from "effect"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Observations } from "../store/Observations.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"

const pruneMillis = 3_600_000

/**
 * Forgets what is older than is kept: balance rows, decisions and delivered alerts. Once an hour, by the store's own
 * clock, so that a restart storm does not repeat it.
 */
export const pruneHourly = Effect.fnUntraced(function* (keepMillis: number) {
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const prunedAt = yield* settings.get("prunedAt")
  if (now - Number(prunedAt ?? 0) < pruneMillis) return
  const before = now - keepMillis
  yield* (yield* Observations).prune(BigInt(before) * 1_000_000n)
  yield* (yield* RuleStates).prune(before)
  // A new store has told nobody anything yet.
  if (prunedAt !== undefined) yield* (yield* AlertQueue).prune(before)
  yield* settings.set("prunedAt", String(now))
})
