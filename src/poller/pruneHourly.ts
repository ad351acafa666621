import { Clock, Effect } from "effect"
import { hasElapsed } from "../domain/hasElapsed.ts"
import { clockGap } from "../rules/clockGap.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Observations } from "../store/Observations.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"

const pruneMillis = 3_600_000

/** How long history is kept, and how far clock and newest block may be apart. */
interface Keeping {
  readonly keepMillis: number
  readonly maxAgeMillis: number
}

/**
 * Forgets what is older than is kept: balance rows, decisions and delivered alerts. Once an hour, by the store's own
 * clock, so that a restart storm does not repeat it; never while clock and newest block are apart, since a clock that
 * is ahead by more than is kept would forget everything.
 */
export const pruneHourly = Effect.fnUntraced(function* ({ keepMillis, maxAgeMillis }: Keeping) {
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const prunedAt = yield* settings.get("prunedAt")
  if (!hasElapsed(Number(prunedAt ?? 0), now, pruneMillis)) return
  const observations = yield* Observations
  const watermark = yield* observations.watermark
  const newest = watermark && Number(watermark.timestamp / 1_000_000n)
  if (newest === undefined || clockGap(now, newest, maxAgeMillis) !== undefined) return
  const before = Math.min(now, newest) - keepMillis
  yield* observations.prune(BigInt(before) * 1_000_000n)
  yield* (yield* RuleStates).prune(before)
  // A new store has told nobody anything yet.
  if (prunedAt !== undefined) yield* (yield* AlertQueue).prune(before)
  yield* settings.set("prunedAt", String(now))
})
