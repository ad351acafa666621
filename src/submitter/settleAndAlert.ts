import { Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { type Intent, withdrawnHere } from "../domain/Intent.ts"
import { afterUnpaid, type Backing } from "../rules/waiting.ts"
import { raise } from "../store/alerts/raise.ts"
import { Database } from "../store/database/Database.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { listedBefore } from "../store/payments/LedgerAudit.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { countEnd } from "../telemetry/Metrics.ts"
import { currentBacking } from "./SigningFacts.ts"

/** An end of a payment, or its hand-over to people, with the alert for it. */
interface Ending {
  readonly state: "failed" | "abandoned" | "denied" | "rejected" | "cancelled" | "manual"
  /** Follows "RULE: AMOUNT FROM -> TO". */
  readonly sentence: string
  /** For the line of the story. */
  readonly detail: string
  readonly severity: "page" | "ticket" | "info"
}

/** Consequence of an unpaid end, as text. What another copy of this store paid must not be paid again. */
export const whatFollows = Effect.fnUntraced(function* (intent: Intent, source: Backing) {
  const listed = source._tag === "Level" ? undefined : (yield* listedBefore(intent)).at(-1)
  if (listed === undefined) return afterUnpaid(source)
  const { id, status } = listed
  return `the ledger lists it as transfer ${id} of another copy of this database (${status}): pay it by no other name before that is looked up`
})

/** Ends a payment, or hands it to people, with an alert: both are durable together, or neither is. */
export const settleAndAlert = Effect.fn("Submitter.end")(function* <A, R>(
  intent: Intent,
  { state, sentence, detail, severity }: Ending,
  change: Effect.Effect<A, StoreError, R>,
) {
  const facts = { ...paymentFacts(intent), state }
  // A manual payment has not ended: its text says what people have to do.
  const source = state === "manual" ? undefined : yield* currentBacking(intent)
  const after = source === undefined ? "" : `; ${yield* whatFollows(intent, source)}`
  const isLost = source !== undefined && source._tag !== "Level"
  const alert =
    state === "manual"
      ? raise("payment_manual", { ...facts, sentence })
      : raise("payment_unpaid", {
          ...facts,
          severity: isLost && severity === "info" ? "ticket" : severity,
          sentence: `${sentence}${after}`,
        })
  yield* (yield* Database).write(Effect.andThen(change, alert))
  if (state !== "manual") yield* countEnd(intent, state)
  yield* logEvent("payment ended", { intent: intent.id, state, reason: detail }, { severity })
})

/** Settles a withdrawal that executed, with an alert about the claim that others have to make. */
export const settleWithdrawn = Effect.fn("Submitter.settleWithdrawn")(function* <A, R>(
  intent: Intent,
  settle: Effect.Effect<A, StoreError, R>,
) {
  const facts = { ...paymentFacts(intent), state: "confirmed" }
  const alert = raise("payment_withdrawn", { ...facts, key: intent.payment.toKey, words: withdrawnHere })
  yield* (yield* Database).write(Effect.andThen(settle, alert))
})

/** Settles a payment whose network fee exceeds the policy's, and pages people. */
export const settleOvercharged = Effect.fn("Submitter.settleOvercharged")(function* <A, R>(
  intent: Intent,
  fee: bigint,
  settle: Effect.Effect<A, StoreError, R>,
) {
  const sum = (units: bigint) => `${formatAmount(units, intent.decimals)} ${intent.payment.asset}`
  const facts = { ...paymentFacts(intent), state: "confirmed", taken: sum(fee), most: sum(intent.feeMax) }
  const alert = raise("payment_overcharged", facts)
  yield* (yield* Database).write(Effect.andThen(settle, alert))
})
