import { Clock, Effect, Option } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { unsettledFrom } from "../domain/IntentWait.ts"
import { sumText } from "../domain/sumText.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake } from "../store/Brake.ts"
import { Database } from "../store/Database.ts"
import { Findings } from "../store/Findings.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { tripWith } from "../store/trip.ts"
import { doubtfulUntil, isApart } from "./evidence.ts"
import { listingOf } from "./listingOf.ts"

const notThere = "the ledger neither lists it nor moved money for it"

/**
 * Judges a payment that is recorded as executed and of which no movement was seen, once its window is over: whole
 * listings of a quorum alone. A first one without it raises a ticket; a second, apart as for a proof of absence, halts.
 * What is listed, or what nothing lists, is let go; where no listing is ever whole it halts by a bound of time. Returns
 * whether the watch of it may end.
 */
export const auditMissing = Effect.fn("Reconcile.missing")(function* (attempt: Attempt) {
  const outbox = yield* Outbox
  const intent = Option.getOrUndefined(yield* outbox.byId(attempt.intentId))
  if (intent === undefined || attempt.state !== "confirmed") return true
  const all = (yield* outbox.evidence(intent.id)).filter(({ k }) => k === attempt.k)
  // What was not listed before it was shown says nothing of what is missing since.
  const evidence = all.slice(all.findLastIndex(({ kind }) => kind === "executed") + 1)
  if (evidence.some(({ kind }) => kind === "moved")) return true
  const listing = yield* listingOf(intent.command, attempt.party)
  if (listing === undefined || listing.transfers.some(({ id }) => id === attempt.transferId)) return true
  // Where answers name no block, the head that their gateway told before says how far they reach.
  const height = listing.mark?.height ?? listing.reached
  const now = yield* Clock.currentTimeMillis
  const whole = listing.complete && height !== undefined && height > doubtfulUntil(attempt) ? height : undefined
  // Where no listing is ever whole, people are called once a payment under way would call them.
  if (whole === undefined && now < unsettledFrom(attempt)) return false
  const first = evidence.find(({ kind }) => kind === "absent")
  const { payment, rule, decimals } = intent
  const words =
    `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} is recorded as paid, and ` +
    (whole === undefined ? "no listing is whole that would show it, nor did money move for it" : notThere)
  if (whole !== undefined && first === undefined) {
    const seen = { gateway: "", height: whole, detail: "a complete listing does not hold it" }
    const ticket = Effect.flatMap(AlertQueue, (queue) =>
      queue.raise({
        dedup: `missing/${intent.id}`,
        severity: "ticket",
        kind: "intent",
        subject: shortId(intent.id).slice(0, 4),
        detail: `${words}; it is looked at again, and halts if that lasts`,
        fields: { intent: intent.id, state: intent.state },
      }),
    )
    yield* (yield* Database).atomically(Effect.andThen(outbox.addEvidence(attempt, "absent", seen), ticket))
    yield* (yield* Signals).wake("alerts")
    return false
  }
  const before = first && { at: first.at, height: first.height ?? 0n }
  if (whole !== undefined && before !== undefined && !isApart(attempt, before, { at: now, height: whole })) return false
  // A halt in force tells of one payment: another one is watched until it can halt for itself.
  if ((yield* (yield* Brake).halts).some(({ reason }) => reason === "payment_missing")) return false
  const remedy = 'compare it at another gateway; where it is still owed, hand it in with "cofferer submit" after resume'
  const ended = (yield* Findings).endWatch(attempt)
  yield* tripWith("payment_missing", Effect.as(ended, `${words}: ${remedy}`))
  return true
})
