import { Clock, Effect, Option } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { withdrawn } from "../gateway/schema/LedgerEntries.ts"
import { Outbox } from "../store/Outbox.ts"
import { behindNanos, type sendsOf, signedBy } from "./sendsOf.ts"

type Sends = Effect.Success<ReturnType<typeof sendsOf>>

/**
 * How often the ledger moved money for an attempt, with how far and how completely that was read. Movements of a
 * withdrawal bear no id: each one alike since its signature counts, so that none is called unpaid which may be paid.
 */
export const movedFor = Effect.fnUntraced(function* (attempt: Attempt, sends: NonNullable<Sends>) {
  const { transferId, intentId, state, party, signedAfter } = attempt
  const { counts, complete, mark } = sends
  const own = { count: counts.get(transferId) ?? 0, complete, mark }
  if (state !== "confirmed" || own.count > 0) return own
  const intent = Option.getOrUndefined(yield* (yield* Outbox).byId(intentId))
  if (intent?.command !== "withdraw") return own
  const { assetId, amount } = intent.payment
  const since = signedAfter ?? signedBy(attempt) - behindNanos
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const newest = mark?.timestamp ?? now
  const told = yield* (yield* LedgerHistory).debits(party, since, newest > now ? newest : now)
  const alike = told.debits.filter(
    ({ type, asset, quantity, timestamp }) =>
      type === withdrawn && asset === assetId && quantity === amount && timestamp > since,
  )
  return { count: alike.length, complete: told.complete, mark: told.mark }
})
