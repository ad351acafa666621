import { Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, withdrawnHere } from "../domain/Intent.ts"
import { sumText } from "../domain/sumText.ts"
import { afterUnpaid, type Standing } from "../rules/waiting.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { listedBefore } from "../store/payments/Tags.ts"
import { say } from "../telemetry/Logging.ts"
import { countEnd } from "../telemetry/Metrics.ts"
import { Wanted } from "./Wanted.ts"

/** An end, or a hand-over to people, that they must hear of. */
interface Ending {
  readonly state: "failed" | "abandoned" | "denied" | "rejected" | "cancelled" | "manual"
  /** Goes on behind "RULE: AMOUNT FROM -> TO". */
  readonly sentence: string
  /** For the line of the story. */
  readonly detail: string
  readonly severity: "page" | "ticket" | "info"
}

/** Consequence of an unpaid end, as text. What another copy of this store paid must not be paid again. */
const whatFollows = Effect.fnUntraced(function* (intent: Intent, standing: Standing) {
  const listed = standing._tag === "Level" ? undefined : (yield* listedBefore(intent)).at(-1)
  if (listed === undefined) return afterUnpaid(standing)
  const { id, status } = listed
  return `the ledger lists it as transfer ${id} of another life of this store (${status}): pay it by no other name before that is looked up`
})

/** Ends a payment, or hands it over, and calls people: change and alert are durable together, or neither is. */
export const endAndTell = Effect.fn("Submitter.end")(function* <A, R>(
  intent: Intent,
  { state, sentence, detail, severity }: Ending,
  change: Effect.Effect<A, StoreError, R>,
) {
  const database = yield* Database
  const alerts = yield* AlertQueue
  const subject = shortId(intent.id).slice(0, 4)
  const { payment } = intent
  const amount = sumText(payment, intent.decimals)
  // A manual payment has not ended: its text says what people have to do.
  const standing = state === "manual" ? undefined : yield* (yield* Wanted).standing(intent)
  const after = standing === undefined ? "" : `; ${yield* whatFollows(intent, standing)}`
  const isLost = standing !== undefined && standing._tag !== "Level"
  const alert = alerts.raise({
    dedup: `${state}/${intent.id}`,
    severity: isLost && severity === "info" ? "ticket" : severity,
    kind: "intent",
    subject,
    detail: `${intent.rule}: ${amount} ${payment.from} -> ${payment.to} ${sentence}${after}`,
    fields: { intent: intent.id, state },
  })
  yield* database.atomically(Effect.andThen(change, alert))
  if (state !== "manual") yield* countEnd(intent, state)
  yield* say(state, { subject, detail })
  yield* (yield* Signals).wake("alerts")
})

/** Settles a withdrawal that executed, and says with it what others have to do. */
export const tellWithdrawn = Effect.fn("Submitter.tellWithdrawn")(function* <A, R>(
  intent: Intent,
  settle: Effect.Effect<A, StoreError, R>,
) {
  const database = yield* Database
  const alerts = yield* AlertQueue
  const { payment } = intent
  const amount = `${formatAmount(payment.amount, intent.decimals)} ${payment.asset}`
  const alert = alerts.raise({
    dedup: `confirmed/${intent.id}`,
    severity: "info",
    kind: "intent",
    subject: shortId(intent.id).slice(0, 4),
    detail: `${intent.rule}: ${amount} ${payment.from} -> ${payment.to} (${payment.toKey}): ${withdrawnHere}`,
    fields: { intent: intent.id, state: "confirmed" },
  })
  yield* database.atomically(Effect.andThen(settle, alert))
  yield* (yield* Signals).wake("alerts")
})

/** Settles a payment whose network fee exceeds the policy's, and pages people. */
export const pageOvercharged = Effect.fn("Submitter.pageOvercharged")(function* <A, R>(
  intent: Intent,
  fee: bigint,
  settle: Effect.Effect<A, StoreError, R>,
) {
  const database = yield* Database
  const alerts = yield* AlertQueue
  const { payment, decimals } = intent
  const [taken, most] = [fee, intent.feeMax].map((units) => `${formatAmount(units, decimals)} ${payment.asset}`)
  const alert = alerts.raise({
    dedup: `overcharged/${intent.id}`,
    severity: "page",
    kind: "intent",
    subject: shortId(intent.id).slice(0, 4),
    detail: `${intent.rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} is paid, and the network took a fee of ${taken}; at most ${most} was allowed. Look at transfer.fee.factor of the network, and pause what pays until it is right`,
    fields: { intent: intent.id, state: "confirmed" },
  })
  yield* database.atomically(Effect.andThen(settle, alert))
  yield* (yield* Signals).wake("alerts")
})
