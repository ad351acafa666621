import { Clock, Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { type Attempt, deadlineHeight } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, type IntentCommand, withdrawnHere } from "../domain/Intent.ts"
import { sumText } from "../domain/sumText.ts"
import { Confirmation, type TransferSighting } from "../gateway/Confirmation.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { withdrawn } from "../gateway/schema/LedgerEntries.ts"
import { Findings } from "../store/Findings.ts"
import { Outbox } from "../store/Outbox.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { doubtOrders } from "../store/standingOrders.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { say } from "../telemetry/say.ts"
import { cancellationOf } from "./cancellationOf.ts"
import { endAndTell, tellWithdrawn } from "./endAndTell.ts"
import { afterExpiry, isDeadUnsent, isGivenUp, isOver, judgeAbsence, quorumListing } from "./evidence.ts"
import { inclusionOf } from "./inclusionOf.ts"
import { movementOf } from "./movementOf.ts"
import { noteExecution, noteListing } from "./noteListing.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"
import { sendsOf } from "./sendsOf.ts"

/** How far the ledger's clock may be behind ours. */
const behindNanos = 60_000_000_000n

interface Live {
  readonly intent: Intent
  readonly attempt: Attempt
  /** Newest height known from anywhere. */
  readonly height: bigint
}

/** Looks for one attempt in the ledger and settles it where the evidence is enough. */
export const confirmIntent = Effect.fn("Confirm.look")(function* (live: Live) {
  const { attempt } = live
  if (attempt.state === "signed") return yield* expireUnsent(live)
  if (live.intent.command === "cancel") return yield* judgeCancellation(live)
  const looks = looksFor(live.intent.command, yield* Confirmation)
  const sighting = yield* looks
    .byId(attempt.transferId)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  if (sighting === undefined) return yield* byMovement(live)
  if (sighting.found !== undefined) return yield* judgeFound(live, sighting.found, sighting.gateway)
  yield* judgeAbsent(live, sighting)
})

/** A cancellation ends as its standing order does, whoever ended that. */
const judgeCancellation = Effect.fnUntraced(function* (live: Live) {
  const { intent, attempt, height } = live
  const outbox = yield* Outbox
  const seen = yield* cancellationOf(intent, attempt, height)
  if (seen._tag === "Open") return yield* giveUp(live)
  if (seen._tag === "Expired") return yield* expired(live, seen.detail)
  if (seen._tag === "Failed") {
    yield* failedInBlock(live, seen.inclusion)
    return yield* ordersChanged(intent)
  }
  const settledAt = seen.settledAt ?? (yield* now)
  if (seen._tag === "Cancelled") {
    const detail = "its standing order is cancelled"
    yield* outbox.addEvidence(attempt, "executed", { gateway: seen.gateway, height: undefined, detail })
    yield* confirmed(intent, attempt, { fee: 0n, settledAt, how: "seen at the standing order" })
  } else {
    const detail = `nothing is left to cancel: the standing order was ${seen.status} before`
    const ending = { state: "abandoned", sentence: `is over: ${detail}`, detail, severity: "info" } as const
    yield* endAndTell(intent, ending, outbox.settle(intent, attempt, "failed", "abandoned", { detail, settledAt }))
  }
  yield* ordersChanged(intent)
})

const ordersChanged = Effect.fnUntraced(function* ({ payment }: Intent) {
  yield* doubtOrders(payment.fromKey)
  yield* (yield* Signals).wake("reconcile")
})

/** Where the ledger tells of such a payment. */
const looksFor = (command: IntentCommand, confirmation: Confirmation["Service"]) =>
  command === "withdraw"
    ? { byId: confirmation.withdrawal, listing: confirmation.withdrawalsFrom }
    : { byId: confirmation.transfer, listing: confirmation.transfersFrom }

type Found = NonNullable<TransferSighting["found"]>

const judgeFound = Effect.fnUntraced(function* (live: Live, found: Found, gateway: string) {
  const { intent, attempt } = live
  const outbox = yield* Outbox
  const { payment } = intent
  const same = found.from === payment.fromKey && found.to === payment.toKey && found.asset === payment.assetId
  if (!same || found.amount !== payment.amount) {
    return yield* Effect.logError("the gateway shows another payment under our transfer id", {
      intent: intent.id,
      transferId: attempt.transferId,
    })
  }
  const seen = {
    gateway,
    height: undefined,
    detail: `${intent.command === "withdraw" ? "withdrawal" : "transfer"} by id: ${found.status}`,
  }
  if (found.status === "done") {
    yield* noteExecution(attempt, found.timestamp)
    yield* outbox.addEvidence(attempt, "executed", seen)
    return yield* confirmed(intent, attempt, {
      fee: found.fees,
      settledAt: found.timestamp,
      how: intent.command === "withdraw" ? "found by its id" : "found by transfer id",
    })
  }
  if (found.status !== "rejected" && found.status !== "stopped" && found.status !== "cancelled") {
    return yield* giveUp(live)
  }
  if (yield* hasExecuted(attempt)) {
    yield* outbox.addEvidence(attempt, "executed", { ...seen, detail: "the ledger shows it done before" })
    return yield* confirmed(intent, attempt, { fee: undefined, settledAt: found.timestamp, how: "seen on the ledger" })
  }
  if (intent.command === "withdraw" && (yield* hasLeft(intent, attempt))) return yield* giveUp(live)
  yield* outbox.addEvidence(attempt, "execution_failed", seen)
  const detail = `in a block and ${found.status}: ${found.reason ?? "no reason given"}`
  yield* endAndTell(
    intent,
    { state: "failed", sentence: `is failed: ${detail}`, detail, severity: "page" },
    outbox.settle(intent, attempt, "failed", "failed", { detail, settledAt: found.timestamp }),
  )
})

/**
 * Whether an attempt that is now shown as failed has executed before: on networks that let a third party replay it, the
 * replay's failure hides that.
 */
const hasExecuted = Effect.fnUntraced(function* (attempt: Attempt) {
  // What one of several gateways listed as done is no word against a quorum: then the movements alone count.
  const isAlone = (yield* Gateways).quorum === 1
  if (isAlone && (yield* (yield* Findings).executions(attempt.transferId)) > 0) return true
  return (yield* sendsOf(attempt.party, [attempt]))?.counts.has(attempt.transferId) ?? false
})

/** The same of a withdrawal, whose movements bear no id: any alike since its signature keeps it from having failed. */
const hasLeft = Effect.fnUntraced(function* ({ payment }: Intent, attempt: Attempt) {
  const since = BigInt(attempt.createdAt) * 1_000_000n - behindNanos
  const told = yield* (yield* LedgerHistory)
    .debits(attempt.party, since, yield* now)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  return told?.debits.some(
    ({ type, asset, quantity }) => type === withdrawn && asset === payment.assetId && quantity === payment.amount,
  )
})

interface Execution {
  /** Undefined where nothing tells what it was: at most what was reserved. */
  readonly fee: bigint | undefined
  readonly settledAt: bigint
  readonly how: string
}

const confirmed = Effect.fn("Confirm.confirmed")(function* (
  intent: Intent,
  attempt: Attempt,
  { fee, settledAt, how }: Execution,
) {
  const outbox = yield* Outbox
  const options = yield* SubmitterOptions
  const metrics = yield* Metrics
  const retried = (yield* outbox.sends(intent.id)).some((s) => s.outcome === "ambiguous" || s.outcome === "duplicate")
  const say0 = (units: bigint) => formatAmount(units, intent.decimals)
  const { payment } = intent
  const isWithdrawn = intent.command === "withdraw"
  const isCancel = intent.command === "cancel"
  const charged = fee === undefined ? `fee not known, at most ${say0(intent.feeMax)}` : `fee ${say0(fee)}`
  const cost = isWithdrawn ? withdrawnHere : isCancel ? "no fee" : charged
  const sum = sumText(payment, intent.decimals)
  const detail = `${sum} ${payment.from} -> ${payment.to}, ${cost}, ${how}`
  const settled = outbox.settle(intent, attempt, "confirmed", "confirmed", { detail, fee, settledAt })
  yield* isWithdrawn ? tellWithdrawn(intent, settled) : settled
  if (attempt.framing !== undefined) {
    yield* (yield* Settings).rememberFraming(options.gateway.url, options.chainId, attempt.framing)
  }
  metrics.intentsFinished.inc({ treasury: options.treasury, outcome: "confirmed" })
  const hash = (attempt.framing === "prefixed" ? attempt.hashPrefixed : attempt.hashBare)?.toUpperCase() ?? ""
  const took = (((yield* Clock.currentTimeMillis) - intent.createdAt) / 1_000).toFixed(1)
  const once = retried && !isCancel ? ". The ledger holds one payment, not two" : `; ${took} s after the decision`
  yield* say("confirmed", {
    subject: shortId(intent.id).slice(0, 4),
    detail: `${isCancel ? `${payment.to} of ${payment.from} is cancelled` : sum}, ${cost}, tx ${hash.slice(0, 6)}..${hash.slice(-2)}${once}`,
    from: payment.from,
    to: payment.to,
    txHash: hash,
    transferId: attempt.transferId,
  })
  const signals = yield* Signals
  yield* signals.wake("balances")
})

/** Neither found nor dead yet, unless the window is over and complete listings, apart from each other, say so. */
const judgeAbsent = Effect.fn("Confirm.judgeAbsent")(function* (live: Live, sighting: TransferSighting) {
  const { attempt, height } = live
  const { command } = live.intent
  const outbox = yield* Outbox
  if (!isOver(attempt, height) || sighting.mark === undefined) return yield* giveUp(live)
  const inclusion = yield* inclusionOf(attempt)
  if (inclusion.verdict === "failed") return yield* failedInBlock(live, inclusion)
  if (inclusion.verdict !== "unseen") return yield* giveUp(live)
  const gateways = yield* Gateways
  const told = yield* gateways.several(({ confirmation }) => looksFor(command, confirmation).listing(attempt.party))
  // Where a reading goes on is known to the one that lists what is new, gateway by gateway.
  const isAlone = gateways.all.length === 1 && command === "transfer"
  for (const { value } of told) yield* noteListing(attempt.party, isAlone ? value : { ...value, cursor: undefined })
  const listings = told.map(({ value: { mark, complete, transfers } }) => ({
    height: mark?.height,
    complete,
    holds: transfers.some((t) => t.id === attempt.transferId),
  }))
  const seen = quorumListing(listings, gateways.quorum)
  const before = (yield* outbox.evidence(attempt.intentId)).filter((e) => e.k === attempt.k && e.kind === "absent")
  const earlier = before.flatMap((e) => (e.height === null ? [] : [e.height]))
  const judged = judgeAbsence(attempt, height, seen, earlier)
  if (judged === "nothing" || seen.height === undefined) return yield* giveUp(live)
  const gateway = told.map((one) => one.gateway.name).join("+")
  const at = [...earlier.slice(0, 1), seen.height]
  const detail =
    judged === "note"
      ? `a complete listing at block ${seen.height} does not hold it; the window ended at ${deadlineHeight(attempt)}`
      : `complete listings at blocks ${at.join(" and ")} do not hold it; the window ended at ${deadlineHeight(attempt)}`
  yield* outbox.addEvidence(attempt, "absent", { gateway, height: seen.height, detail })
  if (judged === "proven") yield* expired(live, detail)
})

/** Proven never executed: another attempt, if it may help, after the need, the policy and the money are judged anew. */
const expired = Effect.fn("Confirm.expired")(function* ({ intent, attempt }: Live, proof: string) {
  const outbox = yield* Outbox
  const options = yield* SubmitterOptions
  const refusal = (yield* outbox.sends(intent.id)).findLast((s) => s.k === attempt.k && s.outcome === "refused")
  const why = refusal === undefined ? "" : `; refused with code ${refusal.code}: ${refusal.data}`
  const end = intent.command === "cancel" ? "came to nothing" : "never executed, proven"
  const detail = `attempt ${attempt.k} ${end}${why}`
  const next = afterExpiry(attempt.k, refusal?.code ?? undefined, intent.state)
  const settled = outbox.settle(intent, attempt, "expired", next, { detail })
  const said = `${detail} (${proof})`
  yield* (yield* Settings).forgetFraming(options.gateway.url, options.chainId)
  if (next === "abandoned") {
    const ending = { state: next, sentence: `is ${next}: ${said}`, detail: said, severity: "ticket" } as const
    return yield* endAndTell(intent, ending, settled)
  }
  yield* settled
  yield* say("expired", { subject: `${shortId(intent.id).slice(0, 4)}/${attempt.k}`, detail: said })
  yield* (yield* Signals).wake("submitter")
})

const expireUnsent = Effect.fnUntraced(function* (live: Live) {
  const outbox = yield* Outbox
  const sends = (yield* outbox.sends(live.intent.id)).filter((s) => s.k === live.attempt.k).length
  if (!isDeadUnsent(live.attempt, sends, live.height)) return
  yield* expired(live, "it was never sent, and its window is over")
})

/** Where nothing can be looked up, the balances tell: one payment of the account in flight, and its exact movement. */
const byMovement = Effect.fnUntraced(function* (live: Live) {
  const { intent, attempt } = live
  const outbox = yield* Outbox
  const { gateway } = yield* SubmitterOptions
  const alone = (yield* outbox.open).every(
    (o) =>
      o.id === intent.id ||
      o.payment.fromKey !== intent.payment.fromKey ||
      o.payment.assetId !== intent.payment.assetId,
  )
  // What leaves the network is seen at one end alone, where anything else may look the same.
  const movement = alone && intent.command === "transfer" ? yield* movementOf(intent, attempt) : undefined
  if (movement === undefined) return yield* byExplorer(live)
  const detail = `the balances of both ends moved by it at ${movement.settledAt}`
  yield* outbox.addEvidence(attempt, "executed", { gateway: gateway.name, height: undefined, detail })
  yield* confirmed(intent, attempt, { ...movement, how: "seen in the balances" })
})

/** Explorers tell no time to the nanosecond. Now (Unix nanoseconds) is after the block that they show. */
const now = Effect.map(Clock.currentTimeMillis, (millis) => BigInt(millis) * 1_000_000n)

type Inclusion = Effect.Success<ReturnType<typeof inclusionOf>>

/** Where the balances do not tell it either, the explorers may. What it cost, none of them says. */
const byExplorer = Effect.fnUntraced(function* (live: Live) {
  const { intent, attempt, height } = live
  const outbox = yield* Outbox
  const inclusion = yield* inclusionOf(attempt)
  if (inclusion.verdict === "failed" && isOver(attempt, height)) return yield* failedInBlock(live, inclusion)
  if (inclusion.verdict !== "executed") return yield* giveUp(live)
  const detail = `explorers show it done in block ${inclusion.height}`
  yield* outbox.addEvidence(attempt, "executed", { gateway: inclusion.gateway, height: inclusion.height, detail })
  yield* confirmed(intent, attempt, {
    fee: undefined,
    settledAt: yield* now,
    how: "shown by the explorer",
  })
})

/** In a block and not done. The same bytes may have been done before, where networks let others replay them. */
const failedInBlock = Effect.fnUntraced(function* (live: Live, inclusion: Inclusion) {
  const { intent, attempt } = live
  const outbox = yield* Outbox
  if ((yield* hasExecuted(attempt)) || (yield* movementOf(intent, attempt)) !== undefined) return yield* giveUp(live)
  const { height, code, error = "no reason given", gateway } = inclusion
  const detail = `in block ${height} and refused there with code ${code}: ${error}`
  yield* outbox.addEvidence(attempt, "execution_failed", { gateway, height, detail })
  yield* endAndTell(
    intent,
    { state: "failed", sentence: `is failed: ${detail}`, detail, severity: "page" },
    outbox.settle(intent, attempt, "failed", "failed", { detail, settledAt: yield* now }),
  )
})

/** Long after the window nothing is proven: the money stays reserved and people are called. */
const giveUp = Effect.fnUntraced(function* ({ intent, attempt, height }: Live) {
  if (!isGivenUp(attempt, height) || intent.state === "manual") return
  const outbox = yield* Outbox
  const detail = "its window is over and nothing proves whether it executed"
  const said = `${detail}; the money stays reserved until a person resolves it`
  const ending = { state: "manual", sentence: `is manual: ${said}`, detail: said, severity: "page" } as const
  yield* endAndTell(intent, ending, outbox.move(intent, "manual", { detail }))
})
