import { Clock, Effect } from "effect"
import type { ListedTransfer } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { SpendLog } from "../store/SpendLog.ts"

const dayMillis = 86_400_000

/**
 * What was spent is spent: payments that the journal does not know count in the policy's windows for 24 hours from
 * their block, however often they are met. One whose receiver is not known counts for every receiver. Returns how many
 * were not counted before.
 */
export const countSpends = Effect.fn("Reconcile.countSpends")(function* (payments: ReadonlyArray<ListedTransfer>) {
  const spends = yield* SpendLog
  const watermark = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const now = yield* Clock.currentTimeMillis
  const spent = payments.filter(({ status }) => status === "done" || status === "pending")
  // A clock that is ahead makes nothing old: the newest of them is not later than the ledger.
  const newest = spent.reduce((last, payment) => Math.max(last, spentAtOf(payment)), 0)
  // Nor does a block of a made-up time use a limit up for ever.
  const latest = Math.max(now, Number(watermark / 1_000_000n) + 1)
  const since = Math.min(now, newest) - dayMillis
  let count = 0
  for (const payment of spent) {
    const { id, from, to, asset: assetId, amount } = payment
    const spentAt = Math.min(latest, spentAtOf(payment))
    const intentId = `transfer ${id}`
    if (spentAt <= since || (yield* spends.attempts(intentId)).length > 0) continue
    const signed = { digest: "", signature: "", policy: "", line: 0, intentId, k: 1 }
    yield* spends.record({ ...signed, from, to, assetId, amount, spentAt })
    yield* spends.close(intentId, spentAt)
    count++
  }
  return count
})

/** Unix milliseconds, the end of the one that its block is in. */
const spentAtOf = ({ timestamp }: ListedTransfer): number => Number(timestamp / 1_000_000n) + 1
