import { Clock, Effect, Random, Result } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { type Attempt, deadlineHeight } from "../domain/Attempt.ts"
import { escapeText } from "../gateway/GatewayError.ts"
import { GatewayWriter } from "../gateway/GatewayWriter.ts"
import { Health } from "../gateway/Health.ts"
import type { Turn } from "../gateway/Limiter.ts"
import { stateAfterSend } from "../payments/judgeAttempt.ts"
import {
  backoffMillis,
  classifyAnswer,
  classifyError,
  isSendDue,
  maySend,
  nextSend,
  planSend,
  type SendVerdict,
} from "../payments/planSend.ts"
import { haltOnViolation } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Journal } from "../store/journal/Journal.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import type { SendStart } from "../store/payments/outboxRows.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { codeLabel } from "../telemetry/metricTable.ts"
import { type Transaction, transactionBytes, txHash } from "../tx/Transaction.ts"
import { beginSend, blocksSince, hasWork, heightNow, type Solved, transactionOf } from "./beginSend.ts"
import { momentNow } from "./ChainHeadCache.ts"
import { InFlight } from "./InFlight.ts"
import { knownFraming, noteRefusedForm, refusedForm } from "./SigningFacts.ts"
import { solveWork } from "./solveWork.ts"

/**
 * Sends a stored attempt if it is due: the bytes on disk, never new ones. The begin of a POST is durable before the
 * POST, and its outcome before any consequence. Where the proof of work takes long, a later round, which finds it
 * stored, sends the attempt. Returns the attempt's state afterwards.
 */
export const sendAttempt = Effect.fn("Submitter.send")(function* (stored: Attempt, height: bigint) {
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  if (!isSendDue(stored, { now, height }) || (yield* (yield* InFlight).isDraining)) return stored.state
  const attempt = hasWork(stored) ? stored : yield* solveWork(stored, height)
  if (attempt === undefined) return stored.state
  const sends = attempt.sends === 0 ? [] : yield* outbox.sends(attempt.intentId)
  const plan = planSend(
    sends.filter(({ k }) => k === attempt.k),
    yield* knownFraming,
    yield* refusedForm(attempt.chainId),
  )
  return (yield* post(attempt, plan)) ?? stored.state
})

/** Gateways in the order to try, without banned ones: the best first, and with each resend the next of them. */
const gatewaysFor = Effect.fnUntraced(function* ({ sends }: Attempt) {
  const health = yield* Health
  const { gateways } = (yield* CycleConfig).treasury.network
  const views = yield* health.all
  const open = (yield* health.ranked).filter((name) => views.some((v) => v.name === name && v.state !== "banned"))
  const from = sends % Math.max(1, open.length)
  return open.length === 0 ? [gateways[0].name] : [...open.slice(from), ...open.slice(0, from)]
})

/** Waits for the turn to send at the first gateway that gives one; fails where none does. Counts no send. */
const takeTurn = Effect.fn("Submitter.takeTurn")(function* (attempt: Attempt) {
  const writer = yield* GatewayWriter
  return yield* Effect.firstSuccessOf(
    (yield* gatewaysFor(attempt)).map((gateway) => Effect.map(writer.turn({ gateway }), (turn) => ({ gateway, turn }))),
  )
})

/** Everything slow happens before the row that begins the send; nothing between that row and the POST. */
const post = Effect.fn("Submitter.post")(function* (
  attempt: Solved,
  { framing, mayReframe, first }: ReturnType<typeof planSend>,
) {
  const hash = framing === "bare" ? attempt.hashBare : attempt.hashPrefixed
  const tx = transactionOf(attempt, attempt.work, framing)
  if (txHash(transactionBytes(tx)) !== hash) {
    yield* haltOnViolation("stored_bytes", `attempt ${attempt.k} of ${attempt.intentId} is not what was stored`)
    return undefined
  }
  if (attempt.sends === 0) yield* (yield* Journal).noteHead
  const { gateway, turn } = yield* takeTurn(attempt)
  const height = yield* heightNow()
  if (height === undefined) return undefined
  const start = { attempt, gateway, framing, first, txHash: hash }
  return yield* (yield* InFlight).sends(attempt, send(tx, { start, turn, height, mayReframe }))
})

/** A send that has the turn of its gateway. */
interface Ready {
  readonly start: SendStart & { readonly attempt: Solved }
  readonly turn: Turn
  readonly height: bigint
  readonly mayReframe: boolean
}

const send = Effect.fnUntraced(function* (tx: Transaction, { start, turn, height, mayReframe }: Ready) {
  const writer = yield* GatewayWriter
  const outbox = yield* Outbox
  const { attempt, gateway, first, txHash: hash } = start
  const startedAt = yield* momentNow
  const { isLeaseHeld } = yield* Database
  const passed = yield* blocksSince(startedAt)
  const seq = yield* beginSend(start, height)
  if (seq === undefined) return undefined
  // The commit may have lasted into the margin of the window.
  const isInTime = Effect.map(passed, (blocks) => maySend(attempt, height + blocks))
  const mayLeave = Effect.flatMap(isInTime, (may) => (may ? isLeaseHeld : Effect.succeed(false)))
  const result = yield* Effect.result(writer.submit(tx, { gateway, turn, mayLeave }))
  const verdict = Result.match(result, {
    onSuccess: (answer) => classifyAnswer(answer, mayReframe),
    onFailure: classifyError,
  })
  const now = yield* Clock.currentTimeMillis
  const sends = attempt.sends + 1
  const longest = backoffMillis(verdict.next, sends)
  const wait = longest === undefined ? 0 : Math.round((yield* Random.next) * longest)
  const next = nextSend(verdict.next, attempt, { sends, now, height, wait })
  const state = stateAfterSend(attempt.state, verdict)
  yield* outbox.endSend({
    seq,
    attempt: { ...attempt, sends },
    gateway,
    outcome: verdict.outcome,
    code: verdict.code,
    data: escapeText(verdict.detail),
    log: Result.isSuccess(result) ? escapeText(result.success.log) : "",
    evidence: verdict.evidence,
    state,
    ...next,
  })
  if (verdict.next === "otherFraming") yield* noteRefusedForm(attempt.chainId, start.framing)
  if (verdict.next === "newWork") yield* outbox.dropWork({ ...attempt, state }, now)
  yield* (yield* Signals).wake(verdict.next === "otherFraming" || verdict.next === "newWork" ? "submitter" : "confirm")
  yield* countSubmission(verdict, { first, gateway })
  yield* logVerdict(attempt, verdict, { hash, gateway, millis: now - startedAt.millis })
  return state
})

const countSubmission = Effect.fnUntraced(function* (
  verdict: SendVerdict,
  { first, gateway }: Pick<SendStart, "first" | "gateway">,
) {
  const metrics = yield* Metrics
  const { name: treasury } = (yield* CycleConfig).treasury
  metrics.submissions.inc({
    treasury,
    gateway,
    send: first ? "first" : "resend",
    outcome: verdict.outcome,
    code: codeLabel(verdict.code),
  })
})

const logVerdict = (
  attempt: Attempt,
  verdict: SendVerdict,
  seen: { readonly hash: string; readonly gateway: string; readonly millis: number },
) => {
  const reason = escapeText(verdict.detail)
  const fields = {
    intent: attempt.intentId,
    attempt: attempt.k,
    txHash: seen.hash.toUpperCase(),
    gateway: seen.gateway,
    outcome: verdict.outcome,
    code: verdict.code,
  }
  switch (verdict.evidence) {
    case "accepted":
      return logEvent("attempt accepted", fields)
    case "known":
      return logEvent("attempt already known", fields)
    case "silent":
      return verdict.outcome === "unreachable"
        ? logEvent("attempt not sent", fields)
        : logEvent("attempt unanswered", { ...fields, seconds: Number((seen.millis / 1_000).toFixed(1)) })
    case "refused":
      return verdict.outcome === "framing"
        ? logEvent("attempt resent in the other wire form", fields)
        : logEvent("attempt refused", { ...fields, reason, validToBlock: String(deadlineHeight(attempt)) })
    default:
      return logEvent("attempt not accepted", { ...fields, evidence: verdict.evidence, reason })
  }
}
