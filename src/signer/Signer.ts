import { createHmac, type KeyObject } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import { formatLevel } from "../domain/Amount.ts"
import { attemptsMax } from "../domain/Attempt.ts"
import type { Command } from "../domain/Command.ts"
import { dayMillis } from "../domain/Time.ts"
import { shortOf } from "../payments/planAttempt.ts"
import { assetById, type Party } from "../rules/Account.ts"
import { assetScopes } from "../rules/checks/stops.ts"
import { clockGap } from "../rules/checks/wrongClock.ts"
import {
  approvalFor,
  type FeeParameters,
  feeRefused,
  judgePolicy,
  lineFor,
  namesIn,
  type PeriodUse,
  type PolicyLine,
  type PolicyPayment,
  refusalText,
} from "../rules/policy/Policy.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { bodyText, Journal, type JournalHead } from "../store/journal/Journal.ts"
import { Clearance } from "../store/payments/Clearance.ts"
import { type Signed, SpendLog } from "../store/payments/SpendLog.ts"
import { type ApprovalClaim, judgeApproval } from "../tx/Approval.ts"
import { signingDigest } from "../tx/Transaction.ts"
import { nonceKeyOf, openKeyFile, type SigningKey, signTwice, tagKeyOf } from "./KeyFile.ts"
import {
  nameFacts,
  type PaymentRead,
  type Permitted,
  permitFacts,
  permitRefused,
  readPayment,
  readSignedBytes,
} from "./readPayment.ts"
import { type Refused, refuse, SignerError } from "./SignerError.ts"

/**
 * Why this may not be signed as attempt `k` of an intent, given what was signed for it before; undefined if it may. A
 * limit counts an intent once, however many attempts it has: that is sound while all of them are one payment. The kind
 * is not compared: a transfer goes to a key, a withdrawal to an address.
 */
const attemptRefused = (k: number, payment: PolicyPayment, earlier: ReadonlyArray<Signed>): string | undefined => {
  if (!Number.isInteger(k) || k < 1 || k > attemptsMax) return `attempt ${k}: an intent has ${attemptsMax} at most`
  for (let before = 1; before < k; before++) {
    if (!earlier.some((one) => one.k === before)) return `attempt ${k}: attempt ${before} was never signed`
  }
  const different = earlier.find((one) => !isSame(one, payment))
  return different === undefined ? undefined : `attempt ${k} is another payment than attempt ${different.k}`
}

const isSame = (a: PolicyPayment, b: PolicyPayment): boolean =>
  a.from === b.from && a.to === b.to && a.assetId === b.assetId && a.amount === b.amount

/** Facts by which a payment is judged besides its command. */
interface Judged {
  readonly intentId: string
  readonly k: number
  readonly party: string
  readonly chainId: string
  /**
   * Unix milliseconds of the newest trusted block. Limits count from 24 hours before it or our clock, whichever
   * is earlier; a signature counts from whichever is later.
   */
  readonly blockTimeMillis: number
  /** The sender's observed balance less all that is reserved for other payments. */
  readonly spendable: bigint
  /** Network fee on top of a transfer; undefined if it is unknown. */
  readonly fee: FeeParameters | undefined
  /** The operators' approval; undefined if none was needed. */
  readonly approval?: ApprovalClaim | undefined
}

export interface PermitRequest extends Judged {
  /** The command to sign, without its reference: that will name the permit. */
  readonly command: Command
}

export interface SignRequest extends Judged {
  /** Bare InputData: the bytes that are signed, and the bytes that the policy is judged on. */
  readonly inputData: Uint8Array
}

/** A party that may pay, with the file of its key. */
interface Payer {
  readonly party: Pick<Party, "name" | "publicKey">
  readonly file: string
}

interface OpenKey {
  readonly key: SigningKey
  readonly nonceKey: KeyObject
  readonly tagKey: KeyObject
  readonly name: string
}

/** The only place that holds a private key. It decodes the very bytes it is to sign and denies by default. */
export class Signer extends Context.Service<
  Signer,
  {
    /**
     * First 8 bytes, never zero, of HMAC-SHA256(nonce key, intent ‖ attempt): the network then knows our intent, and
     * signing it twice gives the same command.
     */
    readonly nonce: (party: string, intentId: string, k: number) => Effect.Effect<bigint, SignerError>
    /**
     * 16 hex characters that stand for the payment on the ledger, equal for every store of the key: the first 8 bytes
     * of HMAC-SHA256(tag key, intent). Undefined where the key is not held here.
     */
    readonly tag: (party: string, intentId: string) => string | undefined
    /**
     * Judges a payment, and writes down in the journal that the signer will sign it as this attempt, under which line
     * of the policy and on whose approvals. Returns the entry, which a transfer's reference has to name. A permit that
     * is never used permits nothing else.
     */
    readonly permit: (request: PermitRequest) => Effect.Effect<JournalHead, SignerError>
    /**
     * Hex of the signature over bytes that the newest permit of the intent is for: they are judged once more, by what
     * they say themselves. Two implementations must agree on the signature. The same intent, attempt and bytes
     * give the same again, counted once; the attempts of an intent follow each other, and all are of one payment.
     */
    readonly sign: (request: SignRequest) => Effect.Effect<string, SignerError>
  }
>()("cofferer/signer/Signer") {
  /** `payers` is empty unless the treasury runs live. All else is read from the configuration in force. */
  static readonly layerNoDeps = (payers: ReadonlyArray<Payer>) =>
    Layer.effect(
      Signer,
      Effect.gen(function* () {
        const spends = yield* SpendLog
        const controls = yield* Controls
        const { isLeaseHeld } = yield* Database
        const clearance = yield* Clearance
        const journal = yield* Journal
        const { now, steady } = yield* ConfigInForce
        const keys = new Map<string, OpenKey>()
        for (const { party, file } of payers) {
          const key = yield* openKeyFile(file, party.publicKey)
          keys.set(party.publicKey, { key, nonceKey: nonceKeyOf(key), tagKey: tagKeyOf(key), name: party.name })
        }
        const heldKey = (operation: string, publicKey: string) =>
          Effect.suspend(() => {
            const held = keys.get(publicKey)
            const party = held && now().treasury.parties.get(held.name)
            return held === undefined || party?.publicKey !== publicKey
              ? Effect.fail(new SignerError({ operation, reason: { _tag: "KeyMissing", party: publicKey } }))
              : Effect.succeed({ ...held, party })
          })
        /** Pause of the asset, as text; undefined without one. An asset that is not pinned has no policy line. */
        const pauseOf = Effect.fnUntraced(function* (assetId: string) {
          const pin = assetById(now().treasury.assets, assetId)
          if (pin === undefined) return undefined
          const scopes = [pin.symbol, assetId].flatMap(assetScopes)
          const pause = (yield* controls.pauses.pipe(asSignerError)).find(
            ({ scope, kept }) => scopes.includes(scope) || scopes.includes(kept),
          )
          return pause === undefined ? undefined : `${pause.scope}: ${pause.reason}`
        })
        /** Journals a refusal, unless it repeats the last one of the same attempt. */
        const journalRefusal = Effect.fnUntraced(function* ({ intentId, k }: Judged, reason: typeof Refused.Type) {
          const last = (yield* journal.trail(intentId)).findLast(({ kind }) => kind === "refusal")?.body
          const before = last === undefined ? {} : JSON.parse(last)
          if (before.k === k && before.refusal === reason.refusal) return
          yield* journal.append({ kind: "refusal", subject: intentId, body: { k, ...reason } })
        })
        /** Judges and records in one transaction, under one configuration. A refusal is journalled after it. */
        const recorded = <A, R>(effect: Effect.Effect<A, SignerError, R>, request: Judged) =>
          spends.atomic(effect).pipe(
            Effect.catchTag("StoreError", memoryFailed),
            Effect.tapError((error) =>
              error.reason._tag === "Refused"
                ? spends.atomic(journalRefusal(request, error.reason)).pipe(asSignerError)
                : Effect.void,
            ),
            steady,
          )
        /** Refuses while nothing may be signed at all, for the key, or on the request's chain. */
        const refuseWhereStopped = Effect.fnUntraced(function* (request: Judged) {
          const { treasury, mode } = now()
          const { chainId } = treasury.network
          const halted = (yield* controls.halts.pipe(asSignerError)).map((h) => h.reason)
          if (halted.length > 0) return yield* refuse("halted", halted.join(", ").replaceAll("_", " "))
          if (mode !== "live") return yield* refuse("halted", `mode ${mode} is in force`)
          const lacking = yield* clearance.lacking(request.party)
          if (lacking !== undefined) return yield* refuse("watermark", lacking)
          if (request.chainId !== chainId) {
            return yield* refuse("chain_id", `${request.chainId} is not the pinned ${chainId}`)
          }
        })
        /** Sum and number of payments that count in the payment's limit now. */
        const usedOf = Effect.fnUntraced(function* (request: Judged, { payment }: PaymentRead, clock: number) {
          const { policy } = now().treasury
          const line = lineFor(policy, payment)
          if (line === undefined) return { amount: 0n, count: 0 }
          const since = Math.min(request.blockTimeMillis, clock) - dayMillis
          const period = { since, except: new Set([request.intentId]) }
          return yield* spends.usedIn(policy, line, period).pipe(asSignerError)
        })
        /** Judges by the policy and all limits. Refuses, or returns the line and the approval that permit it. */
        const judge = Effect.fnUntraced(function* (
          request: Judged,
          read: PaymentRead,
          earlier: ReadonlyArray<Signed>,
        ): Effect.fn.Return<Permitted, SignerError> {
          const { treasury } = now()
          const { policy } = treasury
          const { chainId, maxAgeMillis } = treasury.network
          const { party } = yield* heldKey("sign", request.party)
          const { kind, payment } = read
          const another = attemptRefused(request.k, payment, earlier)
          if (another !== undefined) return yield* refuse("attempts", another)
          const stopped = yield* pauseOf(payment.assetId)
          if (stopped !== undefined) return yield* refuse("halted", stopped)
          const clock = yield* Clock.currentTimeMillis
          const gap = clockGap(clock, request.blockTimeMillis, maxAgeMillis)
          if (gap !== undefined) return yield* refuse("stale", gap.detail)
          const used: PeriodUse = yield* usedOf(request, read, clock)
          const verdict = judgePolicy(policy, payment, () => used)
          const { amount } = payment
          if (!verdict.permitted) {
            const { symbol, decimals } = namesIn(policy, payment)
            const sum = (units: bigint) => `${formatLevel(units, decimals)} ${symbol}`
            const numbers = { amount, used: () => used.amount, freeAt: undefined }
            return yield* refuse(verdict.refusal, refusalText(verdict, numbers, sum))
          }
          const decided = request.approval?.feeMax ?? read.feeMax
          // No higher fee was set aside or approved, whatever the policy allows by now.
          const most = decided < read.feeMax ? decided : read.feeMax
          // Only transfers have a fee.
          const feeProblem = kind === "withdraw" ? undefined : feeRefused(request.fee, { amount, most }, clock)
          if (feeProblem !== undefined) return yield* refuse("fee", feeProblem)
          const { assetId } = payment
          const asset = assetById(treasury.assets, assetId)
          const short = shortOf(asset ?? { symbol: assetId, decimals: 0 }, {
            spendable: request.spendable,
            amount,
            fee: most,
            floor: party.floor.get(assetId) ?? 0n,
          })
          if (short !== undefined) return yield* refuse("floor", short)
          const line = lineFor(policy, payment)
          const approval = line === undefined ? undefined : yield* approvalOf(treasury, request, read, line)
          return { k: request.k, chainId, policy, line: verdict.line.line, approval }
        })
        return Signer.of({
          permit: Effect.fn("Signer.permit")(function* (request: PermitRequest) {
            const { policy } = now().treasury
            yield* heldKey("permit", request.party)
            yield* refuseWhereStopped(request)
            const earlier = yield* spends.attempts(request.intentId).pipe(asSignerError)
            if (earlier.some(({ k }) => k === request.k)) {
              return yield* refuse("attempt_alive", "this attempt is signed already")
            }
            const read = yield* readPayment(request.command, request.party, policy)
            const permitted = yield* judge(request, read, earlier)
            const named = nameFacts(read, policy)
            const { intentId: subject } = request
            const trail = yield* journal.trail(subject).pipe(asSignerError)
            const before = trail.map(({ hash }) => hash)
            if (trail.findLast(({ kind }) => kind === "config")?.body !== bodyText(named)) {
              const { hash } = yield* journal.append({ kind: "config", subject, body: named }).pipe(asSignerError)
              before.push(hash)
            }
            const body = permitFacts(read, permitted, before)
            return yield* journal.append({ kind: "permit", subject, body }).pipe(asSignerError)
          }, recorded),
          tag: (party, intentId) => {
            const held = keys.get(party)
            return held && tagOf(held.tagKey, intentId)
          },
          nonce: Effect.fn("Signer.nonce")(function* (party: string, intentId: string, k: number) {
            return deriveNonce((yield* heldKey("nonce", party)).nonceKey, intentId, k)
          }),
          sign: Effect.fn("Signer.sign")(function* (request: SignRequest) {
            const { policy, network } = now().treasury
            const { key, tagKey } = yield* heldKey("sign", request.party)
            const digest = Buffer.from(signingDigest(request.inputData, network.chainId)).toString("hex")
            yield* refuseWhereStopped(request)
            const earlier = yield* spends.attempts(request.intentId).pipe(asSignerError)
            const known = earlier.find(({ k }) => k === request.k)
            if (known !== undefined) {
              if (known.digest === digest) return known.signature
              return yield* refuse("attempt_alive", "another command is signed for this attempt already")
            }
            const read = yield* readSignedBytes(request.inputData, request.party, policy)
            const permitted = yield* judge(request, read, earlier)
            const trail = yield* journal.trail(request.intentId).pipe(asSignerError)
            const permit = trail.findLast(({ kind }) => kind === "permit")
            const before = trail.filter(({ seq }) => permit !== undefined && seq < permit.seq).map(({ hash }) => hash)
            const foreign = permitRefused(
              permit,
              permitFacts(read, permitted, before),
              read,
              tagOf(tagKey, request.intentId),
            )
            if (foreign !== undefined) return yield* refuse("permit", foreign)
            // Checked last: a process that was frozen may go on here without the lease.
            if (!(yield* isLeaseHeld)) return yield* refuse("lease", "another process moves the money")
            const signature = signTwice(key, Buffer.from(digest, "hex"))?.toString("hex")
            if (signature === undefined) return yield* refuse("signature", disagreeing(request.party))
            const { intentId, k, approval, line } = { ...request, ...permitted }
            const spentAt = Math.max(request.blockTimeMillis, yield* Clock.currentTimeMillis)
            const by = { policy: policy.hash, line, approval }
            yield* spends
              .record({ ...read.payment, ...by, intentId, k, digest, signature, spentAt })
              .pipe(asSignerError)
            return signature
          }, recorded),
        })
      }),
    )
}

/** deriveNonce(key, intent, k): 64 bits, never zero, since the network refuses zero. */
export const deriveNonce = (nonceKey: KeyObject, intentId: string, k: number): bigint => {
  for (let round = 0; ; round++) {
    const hmac = createHmac("sha256", nonceKey).update(intentId).update(`/${k}`)
    const nonce = (round === 0 ? hmac : hmac.update(`/${round}`)).digest().readBigUInt64BE(0)
    if (nonce !== 0n) return nonce
  }
}

/** A plain hash would let outsiders find the payment: its names and keys can be guessed. */
const tagOf = (tagKey: KeyObject, intentId: string): string =>
  createHmac("sha256", tagKey).update(intentId).digest("hex").slice(0, 16)

const disagreeing = (party: string): string =>
  `two implementations disagree about a signature of ${party.slice(0, 8)}: nothing was kept of it`

const memoryFailed = (error: StoreError) =>
  new SignerError({ operation: "sign", reason: { _tag: "MemoryFailed", detail: error.message, cause: error } })

const asSignerError = <A, R>(effect: Effect.Effect<A, StoreError, R>): Effect.Effect<A, SignerError, R> =>
  Effect.mapError(effect, memoryFailed)

/** The operators who approved the payment; undefined if its line needs none. */
const approvalOf = Effect.fnUntraced(function* (
  { name: treasury, policy }: Treasury,
  { chainId, intentId, approval }: Judged,
  { payment }: PaymentRead,
  line: PolicyLine,
) {
  const group = approvalFor(line, payment.amount)
  if (group === undefined) return undefined
  const named = namesIn(policy, payment)
  const known = { ...payment, ...named, treasury, chainId, intentId, policy: policy.digest }
  const approved = judgeApproval(group, known, approval, yield* Clock.currentTimeMillis)
  if ("lacking" in approved) return yield* refuse("approval", approved.lacking)
  return { group: group.name, need: group.need, by: approved.by }
})
