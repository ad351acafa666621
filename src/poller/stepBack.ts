import { Effect } from "effect"
import { Observations, type Watermark } from "../store/Observations.ts"
import { isAhead, settledAt, settleNanos } from "./askWindow.ts"

/**
 * Takes the reading back to what was certainly read, where our clock was ahead when it was made and the gateway named
 * no block: rows of the time between would never be asked for, and nothing would be signed until the clock is there
 * again. Whether it was taken back; "anew": nothing is known to go on from. Where a gateway names blocks, these alone
 * say how far it was read.
 */
export const stepBack = Effect.fn("BalancePoller.stepBack")(function* (watermark: Watermark, now: bigint) {
  const { timestamp, height } = watermark
  if (height !== 0n || !isAhead({ timestamp, height }, now)) return false
  const observations = yield* Observations
  const times = (yield* observations.accounts).map((account) => account.timestamp)
  const newest = times.reduce((latest, at) => (at > latest ? at : latest), 0n)
  if (newest === 0n) return "anew" as const
  const settled = settledAt(now)
  // Rows that came late may be older than the newest one, by no more than they may be late.
  const back = (newest < settled ? newest : settled) - settleNanos
  yield* Effect.logWarning("our clock was ahead when balances were read last: they are read again", {
    seconds: String((timestamp - back) / 1_000_000_000n),
  })
  yield* observations.rebase([], { timestamp: back, height: 0n })
  return true
})
