import { Clock, Effect, Option } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { formatAmount, plainAmount } from "../domain/Amount.ts"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { sumText } from "../domain/Decision.ts"
import { type Intent, isFinalIntent, withdrawnHere } from "../domain/Intent.ts"
import { millisOf } from "../domain/Time.ts"
import { absencesOf, afterExpiry, isProofOverdue, type SureHeight } from "../payments/judgeAttempt.ts"
import { executedForm } from "../payments/planSend.ts"
import { raise } from "../store/alerts/raise.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { type Evidence, Outbox } from "../store/payments/Outbox.ts"
import { logEvent, logPayment } from "../telemetry/Logging.ts"
import { countEnd, Metrics } from "../telemetry/Metrics.ts"
import { settleAndAlert, settleOvercharged, settleWithdrawn } from "./settleAndAlert.ts"

/** A signed payment that has not ended, and the height by which it is judged. */
export interface Live {
  readonly intent: Intent
  readonly attempt: Attempt
  /** See `sureHeight`: it may lag behind the reported height. */
  readonly height: SureHeight
}

interface Execution {
  /** Undefined if no source reports it: at most the reserved fee. */
  readonly fee: bigint | undefined
  /** Block time, Unix nanoseconds. */
  readonly settledAt: bigint
  /** Source that shows it, as text: "confirmed on the ledger". */
  readonly how: string
}

/** The fee as text and as field of the log. A withdrawal costs none here. */
const feeWords = ({ command, feeMax, decimals }: Intent, fee: bigint | undefined) => {
  if (command === "withdraw") return { cost: withdrawnHere, field: { withdrawal: true } } as const
  if (fee !== undefined) {
    return { cost: `fee ${formatAmount(fee, decimals)}`, field: { fee: plainAmount(fee, decimals) } }
  }
  const cost = `fee not known, at most ${formatAmount(feeMax, decimals)}`
  return { cost, field: { feeMax: plainAmount(feeMax, decimals) } }
}

/**
 * Settles an attempt as executed. One transaction stores this, what `recordEvidence` writes, and the wire form that the
 * chain accepted.
 */
export const settleExecuted = Effect.fn("Confirm.confirmed")(function* <R>(
  { intent, attempt }: Pick<Live, "intent" | "attempt">,
  { fee, settledAt, how }: Execution,
  recordEvidence: Effect.Effect<void, StoreError, R>,
) {
  const outbox = yield* Outbox
  const { treasury } = yield* CycleConfig
  const metrics = yield* Metrics
  const { payment } = intent
  const { cost, field } = feeWords(intent, fee)
  const detail = `${sumText(payment, intent.decimals)} ${payment.from} -> ${payment.to}, ${cost}, ${how}`
  const { rememberFraming } = yield* Settings
  let sent = attempt
  let retried = false
  const settle = (yield* Database).write(
    Effect.gen(function* () {
      // Another send, in the other wire form, may have changed the row since `attempt` was read.
      sent = (yield* outbox.attempts(intent.id)).find(({ k }) => k === attempt.k) ?? attempt
      yield* recordEvidence
      yield* outbox.settle(intent, attempt, "confirmed", "confirmed", { detail, fee, settledAt })
      const sends = yield* outbox.sends(intent.id)
      retried = sends.some(({ outcome }) => outcome === "ambiguous" || outcome === "duplicate")
      const form = executedForm(sends.filter(({ k }) => k === attempt.k))
      if (form !== undefined) yield* rememberFraming(treasury.network.chainId, form)
    }),
  )
  if (intent.command === "withdraw") yield* settleWithdrawn(intent, settle)
  else if (fee !== undefined && fee > intent.feeMax) yield* settleOvercharged(intent, fee, settle)
  else yield* settle
  yield* countEnd(intent, "confirmed", fee)
  const hash = (sent.framing === "prefixed" ? sent.hashPrefixed : sent.hashBare)?.toUpperCase() ?? ""
  const total = ((yield* Clock.currentTimeMillis) - intent.createdAt) / 1_000
  const durations = {
    sign: (attempt.createdAt - intent.createdAt) / 1_000,
    include: millisOf(settledAt) / 1_000 - attempt.createdAt / 1_000,
    total,
  }
  for (const [stage, seconds] of Object.entries(durations)) {
    // The clocks of blocks and of this host differ.
    metrics.stageDuration.observe({ treasury: treasury.name, stage }, Math.max(0, seconds))
  }
  yield* logEvent("payment confirmed", {
    ...logPayment(intent),
    attempt: attempt.k,
    transferId: attempt.transferId,
    txHash: hash,
    ...field,
    seconds: Number(total.toFixed(1)),
    resent: retried || undefined,
  })
  const signals = yield* Signals
  yield* signals.wake("balances")
})

/** Settles an attempt as proven never to execute; `afterExpiry` decides if the payment is signed again or ends. */
export const settleExpired = Effect.fn("Confirm.expired")(function* ({ intent, attempt }: Live, proof: string) {
  const outbox = yield* Outbox
  const { treasury } = yield* CycleConfig
  const refusal = (yield* outbox.sends(intent.id)).findLast((s) => s.k === attempt.k && s.outcome === "refused")
  const why = refusal === undefined ? "" : `; refused with code ${refusal.code}: ${refusal.data}`
  const detail = `attempt ${attempt.k} never executed, proven${why}`
  const next = afterExpiry(attempt.k, refusal?.code ?? undefined, intent.state)
  const settled = outbox.settle(intent, attempt, "expired", next, { detail })
  const said = `${detail} (${proof})`
  ;(yield* Metrics).attemptsExpired.inc({ treasury: treasury.name })
  if (next === "abandoned") {
    const ending = { state: next, sentence: `is ${next}: ${said}`, detail: said, severity: "ticket" } as const
    return yield* settleAndAlert(intent, ending, settled)
  }
  yield* settled
  yield* logEvent("attempt expired", { intent: intent.id, attempt: attempt.k, reason: said })
  yield* (yield* Signals).wake("submitter")
})

const unproven = "its window is over and nothing proves whether it executed"

/**
 * Makes a payment manual and pages people, once the proof of its end is overdue (`isProofOverdue`); its money stays
 * reserved. `why`: what prevents the proof, where that is known.
 */
export const escalateIfOverdue = Effect.fnUntraced(function* ({ intent, attempt, height }: Live, why?: string) {
  if (intent.state === "manual" || !isProofOverdue(attempt, height)) return
  const outbox = yield* Outbox
  if (!isProofOverdue(attempt, height, absences(yield* outbox.evidence(intent.id), attempt))) return
  const detail = why === undefined ? unproven : `${unproven}: ${why}`
  const said = `${detail}; the money stays reserved until a person resolves it`
  const ending = { state: "manual", sentence: `is manual: ${said}`, detail: said, severity: "page" } as const
  yield* settleAndAlert(intent, ending, outbox.move(intent, "manual", { detail }))
})

const absences = (evidence: ReadonlyArray<Evidence>, attempt: Attempt): ReadonlyArray<bigint> =>
  absencesOf(evidence, attempt).map(({ height }) => height)

/** `escalateIfOverdue` after a failed lookup. Reads the rows again: they may have changed during it. */
export const escalateUnseen = Effect.fn("Confirm.unseen")(function* ({ intent, attempt, height }: Live, why: string) {
  const outbox = yield* Outbox
  const now = Option.getOrUndefined(yield* outbox.byId(intent.id))
  const stored = (yield* outbox.attempts(intent.id)).find(({ k }) => k === attempt.k)
  if (now === undefined || isFinalIntent(now.state) || stored === undefined || isFinalAttempt(stored.state)) return
  if (stored.state !== "signed") yield* escalateIfOverdue({ intent: now, attempt: stored, height }, why)
})

/**
 * Alerts that a quorum shows another payment under the attempt's transfer id. One signature makes one payment, so these
 * gateways are wrong, and the payment stays as it is.
 */
export const alertOnContradiction = Effect.fn("Confirm.contradicted")(function* (
  live: Live,
  shown: string,
  gateway: string,
) {
  const { k, transferId: transfer } = live.attempt
  yield* raise("payment_contradicted", { ...paymentFacts(live.intent), k, gateway, shown, transfer })
  yield* escalateIfOverdue(live, `${gateway} shows ${shown} under its transfer id`)
})
