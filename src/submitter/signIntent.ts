import { Clock, Effect, Result } from "effect"
import { ConfigInForce, CycleConfig } from "../config/ConfigInForce.ts"
import { accountTypeNumbers, general } from "../domain/AccountType.ts"
import { type Attempt, deadlineHeight } from "../domain/Attempt.ts"
import type { AccountKey } from "../domain/Balance.ts"
import { Command } from "../domain/Command.ts"
import { askedFrom, type Intent, submittedRule } from "../domain/Intent.ts"
import { referenceText } from "../domain/Reference.ts"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { clockGap } from "../rules/checks/wrongClock.ts"
import { isUnsigned } from "../rules/policy/limits.ts"
import type { Refusal } from "../rules/policy/Policy.ts"
import { decisionValidMillis, isEarlier } from "../rules/waiting.ts"
import { oddWork } from "../rules/workParameters.ts"
import { Signer } from "../signer/Signer.ts"
import type { SignerError } from "../signer/SignerError.ts"
import { disagreement } from "../store/alerts/makeTrouble.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { trip, violated } from "../store/controls/trip.ts"
import { Database } from "../store/database/Database.ts"
import { tripFor } from "../store/database/guarded.ts"
import { Settings } from "../store/database/Settings.ts"
import { StoreError } from "../store/database/StoreError.ts"
import type { JournalHead } from "../store/journal/Journal.ts"
import { AcceptedHead } from "../store/network/AcceptedHead.ts"
import { ChainRules } from "../store/network/ChainRules.ts"
import { Epochs } from "../store/network/Epochs.ts"
import { Approvals } from "../store/payments/Approvals.ts"
import { Clearance } from "../store/payments/Clearance.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { listedBefore } from "../store/payments/Tags.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { encodeInputData } from "../tx/InputData.ts"
import { transferId } from "../tx/Transaction.ts"
import { approvalOf } from "./approvalOf.ts"
import { endAndTell } from "./endAndTell.ts"
import { feeTermsOf, pinLacking } from "./feeTermsOf.ts"
import { otherFindsForm } from "./knownFraming.ts"
import { tooSlow } from "./solveWork.ts"
import { aheadOfRows, isOurChain, Tip } from "./Tip.ts"
import { Wanted } from "./Wanted.ts"
import { isDroppedInPart, isNamed, otherParts, reserved, waits, waitsListed, waitsReserved } from "./waiting.ts"

const frozenWords =
  "our rows and the gateway's balance of an account of it differ until both agree twice; to begin that anew by " +
  "balances rebase, end this payment first"

/**
 * Signs a permitted intent: anchor, nonce and command are planned, the signer judges the bytes, and signature and bytes
 * become durable in one transaction. Returns whether an attempt now waits to be sent.
 */
export const signIntent = Effect.fn("Submitter.sign")(function* (intent: Intent) {
  const { maxAgeMillis } = (yield* CycleConfig).treasury.network
  const outbox = yield* Outbox
  const observations = yield* Observations
  const now = yield* Clock.currentTimeMillis
  const k = (yield* outbox.attempts(intent.id)).length + 1
  if (!(yield* isCleared(intent))) return false
  if (!(yield* isStillWanted(intent, k))) return false
  const watermark = yield* observations.watermark
  const gap = clockGap(now, watermark && Number(watermark.timestamp / 1_000_000n), maxAgeMillis)
  if (watermark === undefined || gap !== undefined)
    return yield* waitsReserved(intent, gap?.detail ?? "nothing was read yet")
  const tip = yield* Tip
  const head = yield* tip.head
  if (!(yield* isOurChain(head))) return false
  const rows = (yield* (yield* AcceptedHead).of(head.chainId)).accepted?.block ?? watermark
  const ahead = aheadOfRows(head, rows, now)
  if (ahead !== undefined) return yield* waitsReserved(intent, ahead)
  const odd = oddWork(head.pow)
  if (odd !== undefined) return yield* waitsReserved(intent, odd)
  const slow = yield* tooSlow(head)
  if (slow !== undefined) return yield* waitsReserved(intent, slow)
  const recent = (yield* tip.recent).filter((one) => aheadOfRows(one, rows, now) === undefined)
  const heads = [head, ...recent]
  const database = yield* Database
  const planned = Effect.gen(function* () {
    const current = yield* reserved(intent)
    const plan = planAndSign(current, k, heads, Number(watermark.timestamp / 1_000_000n))
    return { current, signed: yield* refusalsKept(plan) }
  })
  const { current, signed } = yield* (yield* ConfigInForce)
    .steady(database.atomically(planned))
    .pipe(Effect.catchTag("SignerError", (error) => Effect.succeed({ current: intent, signed: Result.fail(error) })))
  if (Result.isFailure(signed)) return yield* denied(current, k, signed.failure)
  const attempt = signed.success
  if (attempt === undefined) return false
  yield* countSigning("permitted", "none")
  yield* logEvent("payment signed", {
    intent: intent.id,
    attempt: k,
    block: String(attempt.anchorHeight),
    validToBlock: String(deadlineHeight(attempt)),
    transferId: attempt.transferId,
  })
  return true
})

/**
 * A refusal is an outcome: the transaction keeps what the journal says of it. Whatever else fails takes the whole
 * transaction back, so that no signature stays without the attempt that it is for.
 */
const refusalsKept = <A, R>(planned: Effect.Effect<A, SignerError | StoreError, R>) =>
  planned.pipe(
    Effect.map(Result.succeed),
    Effect.catchTag("SignerError", (error) =>
      error.reason._tag === "MemoryFailed" ? Effect.fail(error) : Effect.succeed(Result.fail(error)),
    ),
  )

/** True if signing is allowed: the gateways agree, and the payer is cleared. A blocked payment records the reason. */
const isCleared = Effect.fnUntraced(function* (intent: Intent) {
  const disagreeing = (yield* (yield* disagreement).now)?.detail
  const lacking = disagreeing ?? (yield* (yield* Clearance).lacking(intent.payment.fromKey))
  return lacking === undefined ? true : yield* waitsReserved(intent, lacking)
})

/**
 * Judges the need again before a second attempt, and before the first one of a payment that has waited, unless people
 * approved it: an unneeded payment ends. One decided before the ledger was compared with the journal is judged even if
 * approved: its decision did not know payments of another copy of this store. So is one since whose decision a mismatch
 * was seen: its rows may have been false.
 */
const isStillWanted = Effect.fnUntraced(function* (intent: Intent, k: number) {
  if (intent.rule === submittedRule) return true
  const hasWaited = (yield* Clock.currentTimeMillis) - intent.createdAt > decisionValidMillis
  const cleared = yield* (yield* Clearance).since(intent.payment.fromKey)
  const isCompared = cleared !== undefined && intent.createdAt >= cleared
  const isApproved = approvalOf((yield* CycleConfig).treasury, intent) !== undefined
  const isDoubted = (yield* (yield* Drifts).since(intent.createdAt)).some(isOf(intent))
  if (k === 1 && isCompared && !isDoubted && (!hasWaited || isApproved)) return true
  const { verdict, why } = yield* (yield* Wanted).judge(intent)
  if (verdict === "wanted") return true
  if (verdict === "later") return yield* waitsReserved(intent, why)
  const before = k === 1 ? "it was never signed" : "no attempt executed"
  const over = `is over: ${before}, and today the rule would not decide it: ${why}`
  yield* giveUp(intent, k === 1 ? "cancelled" : "abandoned", over)
  return false
})

/** True if the payment moves money of this account. */
const isOf =
  ({ payment: { fromKey, toKey, assetId } }: Intent) =>
  ({ party, asset, market, type }: AccountKey) =>
    asset === assetId && (party === fromKey || party === toKey) && type === general && market === ""

/** The newest known block on which the party still has a place at base difficulty. */
const chooseAnchor = Effect.fnUntraced(function* (party: string, heads: ReadonlyArray<ChainHead>) {
  const outbox = yield* Outbox
  for (const head of heads) {
    if ((yield* outbox.signedAt(party, head.height)) < head.pow.txPerBlock) return head
  }
  return undefined
})

/**
 * Why the network's transfers of this epoch do not suffice; undefined where they do, or are not known. Those kept for
 * people are a person's payment's as well.
 */
const usedUp = Effect.fnUntraced(function* ({ payment: { from, fromKey }, rule }: Intent) {
  const quota = yield* (yield* Epochs).quota(fromKey)
  if (quota === undefined) return undefined
  const kept = rule === submittedRule ? 0 : ((yield* CycleConfig).treasury.parties.get(from)?.transfersKept ?? 0)
  if (quota.used < quota.limit - kept) return undefined
  const words = kept > 0 ? `, ${kept} are kept for people` : ""
  return `${from} used ${quota.used} of ${quota.limit} transfers of this epoch${words}`
})

/**
 * Ends or delays a payment that another copy of this store has paid, or a part of its decision. One named from outside
 * waits until the state of that payment is known (`settleListed`); one numbered by a rule is over, and decided again
 * under a number that no listed transfer has. Returns true if so.
 */
const isListed = Effect.fnUntraced(function* (intent: Intent, k: number) {
  if (isNamed(intent, yield* (yield* Wanted).standing(intent))) return yield* waitsListed(intent)
  for (const part of [intent, ...(yield* otherParts(intent))]) {
    const [listed] = yield* listedBefore(part)
    if (listed === undefined) continue
    const why = `another life of this store paid its number ${intent.episode}, transfer ${listed.id}`
    yield* giveUp(intent, k === 1 ? "cancelled" : "abandoned", `is over: ${why}`)
    return true
  }
  return false
})

/**
 * One transaction: the place on a block is counted where it is taken, so that payments that are signed side by side
 * never share more places than the network gives. Undefined where no known block has one left.
 */
const planAndSign = Effect.fnUntraced(function* (
  intent: Intent,
  k: number,
  heads: ReadonlyArray<ChainHead>,
  blockTimeMillis: number,
) {
  const isFrozen = (yield* (yield* Drifts).all).some(isOf(intent))
  const lacking = isFrozen ? frozenWords : yield* pinLacking(intent.payment.assetId)
  if (lacking !== undefined) {
    yield* waits(intent, lacking)
    return undefined
  }
  if (yield* isListed(intent, k)) return undefined
  if (k === 1 && (yield* isDroppedInPart(intent))) {
    yield* waits(intent, "another part of its decision was dropped, and the rule decides all of them anew")
    return undefined
  }
  const used = yield* usedUp(intent)
  if (used !== undefined) {
    yield* waits(intent, used)
    return undefined
  }
  const finding = yield* otherFindsForm(intent)
  if (finding !== undefined) {
    yield* waits(intent, finding)
    return undefined
  }
  const anchor = yield* chooseAnchor(intent.payment.fromKey, heads)
  return anchor === undefined ? undefined : yield* signAndPersist(intent, k, anchor, blockTimeMillis)
})

const signAndPersist = Effect.fn("Submitter.signAndPersist")(function* (
  intent: Intent,
  k: number,
  anchor: ChainHead,
  blockTimeMillis: number,
) {
  const signer = yield* Signer
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const { payment } = intent
  const asked = {
    intentId: intent.id,
    k,
    party: payment.fromKey,
    chainId: anchor.chainId,
    blockTimeMillis,
    spendable: yield* spendable(intent),
    fee: yield* feeTermsOf(payment.assetId),
    approval: {
      rule: intent.rule,
      proposer: intent.submittedBy,
      askedAt: askedFrom(intent),
      given: yield* (yield* Approvals).about(intent.id),
    },
  }
  const permit = yield* signer.permit({ ...asked, command: commandOf(intent, "") })
  const command = commandOf(intent, yield* referenceTo(intent, permit))
  const nonce = yield* signer.nonce(payment.fromKey, intent.id, k)
  const inputData = encodeInputData({ nonce, blockHeight: anchor.height, command })
  const signature = yield* signer.sign({ ...asked, inputData })
  const attempt: Attempt = {
    intentId: intent.id,
    k,
    chainId: anchor.chainId,
    party: payment.fromKey,
    nonce,
    anchorHeight: anchor.height,
    anchorHash: anchor.hash,
    windowBlocks: anchor.pow.pastBlocks,
    windowMax: yield* (yield* ChainRules).windowAt(anchor.height),
    inputData,
    signature,
    transferId: transferId(signature),
    difficulty: anchor.pow.difficulty,
    workIndex: 0,
    work: undefined,
    hashBare: undefined,
    hashPrefixed: undefined,
    state: "signed",
    framing: undefined,
    sends: 0,
    nextAt: now,
    nextHeight: 0n,
    createdAt: now,
    updatedAt: now,
    signedAfter: (yield* (yield* Observations).watermark)?.timestamp,
  }
  yield* outbox.persist(intent, attempt)
  return attempt
})

/** Network command of the payment: a transfer at once, or a withdrawal to an address outside. */
const commandOf = ({ command, payment }: Intent, reference: string): Command => {
  const { toKey, assetId: asset, amount } = payment
  if (command === "withdraw") return Command.cases.Withdraw.make({ amount, asset, receiverAddress: toKey })
  return Command.cases.Transfer.make({
    fromAccountType: accountTypeNumbers.ACCOUNT_TYPE_GENERAL,
    to: toKey,
    toAccountType: accountTypeNumbers.ACCOUNT_TYPE_GENERAL,
    asset,
    amount,
    reference,
    kind: { _tag: "OneOff", deliverOn: 0n },
  })
}

/**
 * The sender's free balance as observed, less what every other open intent may take, and less what was executed since:
 * a payment that is settled and not yet in the balances would otherwise be spent twice.
 */
const spendable = Effect.fnUntraced(function* (intent: Intent) {
  const { fromKey, assetId } = intent.payment
  const observations = yield* Observations
  const outbox = yield* Outbox
  const asOf = (yield* observations.watermark)?.timestamp ?? 0n
  const account = (yield* observations.accounts).find(
    (a) => a.party === fromKey && a.asset === assetId && a.market === "" && a.type === "ACCOUNT_TYPE_GENERAL",
  )
  const unmoved = yield* outbox.unmoved
  const unseen = (yield* outbox.executedSince(asOf)).filter(({ id }) => !unmoved.some((one) => one.id === id))
  // Where two payments wait for the same money, the one that was decided first gets it: neither waits for the other.
  const claims = (yield* outbox.open).filter((other) => !isUnsigned(other) || isEarlier(other, intent))
  const others = [...claims, ...unseen, ...unmoved].filter(
    (o) => o.id !== intent.id && o.payment.fromKey === fromKey && o.payment.assetId === assetId,
  )
  return others.reduce((sum, o) => sum - o.payment.amount - costMax(o), account?.balance ?? 0n)
})

/** The fee that was taken, where it was more than might have been; else the most that may be. */
const costMax = ({ fee = 0n, feeMax }: Intent): bigint => (fee > feeMax ? fee : feeMax)

const referenceTo = Effect.fnUntraced(function* ({ id, payment }: Intent, { seq, hash }: JournalHead) {
  const installation = (yield* (yield* Settings).get("installation")) ?? "00000000"
  // A withdrawal has no reference; of a key that is not held here nothing is signed.
  const tag = (yield* Signer).tag(payment.fromKey, id) ?? ""
  return referenceText({ installation, seq, hash, tag })
})

/** Refusals that pass, whoever's payment it is. What lacks an approval goes back to people, until its time is over. */
const passing: ReadonlySet<string> = new Set(["halted", "watermark", "lease", "stale", "approval", "fee"])
/** Limits that pass: see `mayWait`. */
const limits: ReadonlySet<string> = new Set(["window_amount", "window_count", "floor"])

/**
 * True if a payment may wait for a limit: one approved by people may. A person's other payment is refused at once, and
 * one whose rule decides again waits only while no attempt was signed.
 */
const mayWait = Effect.fnUntraced(function* (intent: Intent, k: number) {
  if (approvalOf((yield* CycleConfig).treasury, intent) !== undefined) return true
  const { _tag } = yield* (yield* Wanted).standing(intent)
  return _tag !== "Submitted" && (_tag !== "Level" || k === 1)
})

/** The policy has the last word. After an earlier attempt the intent is abandoned: something was signed once. */
const denied = Effect.fnUntraced(function* (intent: Intent, k: number, error: SignerError) {
  const { reason } = error
  if (reason._tag === "Refused") yield* countSigning("refused", reason.refusal)
  if (reason._tag === "MemoryFailed") {
    const { cause } = reason
    yield* cause instanceof StoreError
      ? tripFor(cause)
      : trip("store_error", `the signer's memory failed: ${error.message}`)
    return false
  }
  if (reason._tag === "Refused" && reason.refusal === "signature") {
    yield* violated("two_signers", reason.detail)
    return yield* waits(intent, "two implementations disagree about its signature")
  }
  if (reason._tag === "Refused") {
    const passes = passing.has(reason.refusal) || (limits.has(reason.refusal) && (yield* mayWait(intent, k)))
    if (passes) return yield* waits(intent, `the signer refuses it now (${reason.refusal}): ${reason.detail}`)
  }
  yield* giveUp(intent, k === 1 ? "denied" : "abandoned", `was not signed: ${error.message}`)
  return false
})

const countSigning = Effect.fnUntraced(function* (decision: "permitted" | "refused", reason: Refusal | "none") {
  const { name: treasury } = (yield* CycleConfig).treasury
  ;(yield* Metrics).signerRequests.inc({ treasury, decision, reason })
})

/** Ends an intent that gets no signature, and tells people. */
const giveUp = Effect.fnUntraced(function* (intent: Intent, state: "cancelled" | "denied" | "abandoned", why: string) {
  const outbox = yield* Outbox
  const detail = why.replace("was not signed: ", "")
  yield* endAndTell(
    intent,
    { state, sentence: why, detail, severity: "ticket" },
    outbox.move(intent, state, { detail }),
  )
})
