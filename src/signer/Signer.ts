import { createHmac, sign } from "node:crypto"
import { Clock, Context, Effect, identity, Layer, Option, Result } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import { accountTypeNumbers } from "../domain/AccountType.ts"
import type { Command, InputData } from "../domain/Command.ts"
import { isCancellation } from "../domain/Decision.ts"
import { isHex64 } from "../domain/Hex.ts"
import type { IntentCommand } from "../domain/Intent.ts"
import { clockGap } from "../rules/clockGap.ts"
import { assetScopes } from "../rules/contradiction.ts"
import { type FeeTerms, feeRefused } from "../rules/FeeTerms.ts"
import {
  approvalFor,
  cancelLineFor,
  feeMax,
  feeShare,
  judge,
  judgeCancel,
  lineFor,
  namesIn,
  type Policy,
  type PolicyLine,
  type PolicyPayment,
  type Refusal,
  type WindowUse,
} from "../rules/Policy.ts"
import type { Party, Share } from "../rules/Rule.ts"
import { Brake } from "../store/Brake.ts"
import { Clearance } from "../store/Clearance.ts"
import { Journal } from "../store/Journal.ts"
import { Lease } from "../store/Lease.ts"
import { SpendLog } from "../store/SpendLog.ts"
import type { StoreError } from "../store/StoreError.ts"
import { addressOf } from "../tx/Address.ts"
import { decodeInputData } from "../tx/InputData.ts"
import { signingDigest } from "../tx/Transaction.ts"
import { attemptRefused } from "./attemptRefused.ts"
import { type ApprovalClaim, checkApproval } from "./checkApproval.ts"
import { nonceKeyOf, openKeyFile, type SigningKey } from "./KeyFile.ts"
import { type Refused, SignerError } from "./SignerError.ts"

const dayMillis = 86_400_000

export interface SignRequest {
  readonly intentId: string
  readonly k: number
  readonly party: string
  readonly chainId: string
  /** Bare InputData: the bytes that are signed, and the bytes that the policy is judged on. */
  readonly inputData: Uint8Array
  /**
   * Unix milliseconds of the newest trusted block. Windows begin 24 hours before it or our clock, whichever is earlier;
   * a signature counts from whichever is later.
   */
  readonly blockTimeMillis: number
  /** What the sender can spend: its observed balance less all that is set aside for other payments. */
  readonly spendable: bigint
  /** What the network takes on top of a transfer; undefined where that is not known. */
  readonly fee: FeeTerms | undefined
  /** What operators signed for it; undefined where nobody was asked. */
  readonly approval?: ApprovalClaim | undefined
}

export interface SignerOptions {
  readonly treasury: string
  readonly chainId: string
  readonly policy: Policy
  /** Pinned assets by id: their symbols, by which they are stopped. */
  readonly assets: ReadonlyMap<string, string>
  /** Clock and newest block differ by no more than this, in either direction, or nothing is signed. */
  readonly maxAgeMillis: number
  /** Parties that may pay, with the files of their keys. Empty where the treasury does not run live. */
  readonly parties: ReadonlyArray<{ readonly party: Party; readonly file: string }>
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
     * Hex of the signature. The same intent, attempt and bytes give the same again, counted once; the attempts of an
     * intent follow each other, and all are of one payment.
     */
    readonly sign: (request: SignRequest) => Effect.Effect<string, SignerError>
  }
>()("cofferer/signer/Signer") {
  static readonly layerNoDeps = (initial: SignerOptions) =>
    Layer.effect(
      Signer,
      Effect.gen(function* () {
        const spends = yield* SpendLog
        const brake = yield* Brake
        const lease = yield* Lease
        const clearance = yield* Clearance
        const journal = yield* Journal
        const config = Option.getOrUndefined(yield* Effect.serviceOption(ConfigInForce))
        const steady: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = config?.steady ?? identity
        const current = () => (config === undefined ? initial : { ...initial, ...boundsOf(config.now().treasury) })
        const keys = new Map<string, { readonly key: SigningKey; readonly nonceKey: Buffer; readonly party: Party }>()
        for (const { party, file } of initial.parties) {
          const key = yield* openKeyFile(file, party.publicKey)
          keys.set(party.publicKey, { key, nonceKey: nonceKeyOf(key), party })
        }
        const holder = (operation: string, party: string) =>
          Effect.suspend(() => {
            const held = keys.get(party)
            return held === undefined
              ? Effect.fail(new SignerError({ operation, reason: { _tag: "KeyMissing", party } }))
              : Effect.succeed({ ...held, party: config?.now().treasury.parties.get(held.party.name) ?? held.party })
          })
        /** Why nothing of the asset may be signed. What is not pinned has no policy line either. */
        const stopOf = Effect.fnUntraced(function* (assetId: string) {
          const symbol = current().assets.get(assetId)
          if (symbol === undefined) return undefined
          const scopes = [symbol, assetId].flatMap(assetScopes)
          const pause = (yield* brake.pauses.pipe(memory)).find(
            ({ scope, kept }) => scopes.includes(scope) || scopes.includes(kept),
          )
          return pause === undefined ? undefined : `${pause.scope}: ${pause.reason}`
        })
        /** The same refusal of an attempt that waits is told once. */
        const noteRefusal = Effect.fnUntraced(function* ({ intentId, k }: SignRequest, reason: typeof Refused.Type) {
          const last = (yield* journal.last(intentId, "refusal"))?.body
          const told = last === undefined ? {} : JSON.parse(last)
          if (told.k === k && told.refusal === reason.refusal) return
          yield* journal.append({ kind: "refusal", subject: intentId, body: { k, ...reason } })
        })
        return Signer.of({
          nonce: Effect.fn("Signer.nonce")(function* (party: string, intentId: string, k: number) {
            return deriveNonce((yield* holder("nonce", party)).nonceKey, intentId, k)
          }),
          sign: Effect.fn("Signer.sign")(
            function* (request: SignRequest) {
              const options = current()
              const { key, party } = yield* holder("sign", request.party)
              const digest = Buffer.from(signingDigest(request.inputData, options.chainId)).toString("hex")
              const halted = (yield* brake.halts.pipe(memory)).map((h) => h.reason)
              if (halted.length > 0) return yield* refuse("halted", `halted: ${halted.join(", ")}`)
              const mode = config?.now().mode ?? "live"
              if (mode !== "live") return yield* refuse("halted", `mode ${mode} is in force`)
              if (!(yield* lease.isHeld.pipe(memory))) return yield* refuse("lease", "another process moves the money")
              const lacking = yield* clearance.lacking(request.party)
              if (lacking !== undefined) return yield* refuse("watermark", lacking)
              if (request.chainId !== options.chainId) {
                return yield* refuse("chain_id", `${request.chainId} is not the pinned ${options.chainId}`)
              }
              const earlier = yield* spends.attempts(request.intentId).pipe(memory)
              const known = earlier.find(({ k }) => k === request.k)
              if (known !== undefined) {
                if (known.digest === digest) return known.signature
                return yield* refuse("attempt_alive", "another command is signed for this attempt already")
              }
              const read = yield* readPayment(request, options.policy)
              const { payment, share } = read
              const another = attemptRefused(request.k, payment, earlier)
              if (another !== undefined) return yield* refuse("attempts", another)
              const stopped = yield* stopOf(payment.assetId)
              if (stopped !== undefined) return yield* refuse("halted", stopped)
              const clock = yield* Clock.currentTimeMillis
              const gap = clockGap(clock, request.blockTimeMillis, options.maxAgeMillis)
              if (gap !== undefined) return yield* refuse("stale", gap.detail)
              const isCancel = isCancellation(payment)
              const line = lineFor(options.policy, payment)
              const counting = isCancel ? cancelLineFor(options.policy, payment.from) : line
              const since = Math.min(request.blockTimeMillis, clock) - dayMillis
              const window = { since, except: new Set([request.intentId]) }
              const used: WindowUse =
                counting === undefined
                  ? { amount: 0n, count: 0 }
                  : yield* spends.used({ assetId: payment.assetId, ...counting, ...window }).pipe(memory)
              const verdict = isCancel
                ? judgeCancel(options.policy, payment.from, () => used.count)
                : judge(options.policy, payment, () => used)
              if (!verdict.permitted) return yield* refuse(verdict.refusal, verdict.detail)
              const { amount } = payment
              const costs = feeRefused(request.fee, { amount, share }, clock)
              if (costs !== undefined) return yield* refuse("fee", costs)
              const floor = party.floor.get(payment.assetId) ?? 0n
              const need = payment.amount + feeMax(share, payment.amount)
              if (!isCancel && request.spendable < need + floor) {
                return yield* refuse("floor", `${request.spendable} cannot give ${need} and keep the floor of ${floor}`)
              }
              const approval = line === undefined ? undefined : yield* approvalOf(options, request, read, line)
              const signature = sign(null, Buffer.from(digest, "hex"), key.key).toString("hex")
              const { intentId, k } = request
              const permit = { policy: options.policy.hash, line: verdict.line.line, approval }
              const spentAt = Math.max(request.blockTimeMillis, clock)
              yield* spends.record({ ...payment, ...permit, intentId, k, digest, signature, spentAt }).pipe(memory)
              return signature
            },
            (effect, request) =>
              spends.inTurn(effect).pipe(
                Effect.catchTag("StoreError", memoryFailed),
                Effect.tapError((error) =>
                  error.reason._tag === "Refused"
                    ? spends.inTurn(noteRefusal(request, error.reason)).pipe(memory)
                    : Effect.void,
                ),
                steady,
              ),
          ),
        })
      }),
    )
}

/** What bounds signatures under a configuration. */
const boundsOf = ({ policy, assets, network: { maxAgeMillis } }: Treasury) => ({
  policy,
  assets: symbolsById(assets),
  maxAgeMillis,
})

/** Symbols of pinned assets by their ids. */
export const symbolsById = (assets: Treasury["assets"]): ReadonlyMap<string, string> =>
  new Map([...assets.values()].map(({ id, symbol }) => [id, symbol]))

/** deriveNonce(key, intent, k): 64 bits, never zero, since the network refuses zero. */
export const deriveNonce = (nonceKey: Buffer, intentId: string, k: number): bigint => {
  for (let round = 0; ; round++) {
    const hmac = createHmac("sha256", nonceKey).update(intentId).update(`/${k}`)
    const nonce = (round === 0 ? hmac : hmac.update(`/${round}`)).digest().readBigUInt64BE(0)
    if (nonce !== 0n) return nonce
  }
}

/** What the journal says of a refusal. */
const refuse = (refusal: Refusal, detail: string) =>
  new SignerError({ operation: "sign", reason: { _tag: "Refused", refusal, detail } })

const memoryFailed = (error: StoreError) =>
  new SignerError({ operation: "sign", reason: { _tag: "MemoryFailed", detail: error.message, cause: error } })

const memory = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, SignerError> =>
  Effect.mapError(effect, memoryFailed)

/** By whom the payment is approved; undefined where its line asks for nobody. */
const approvalOf = Effect.fnUntraced(function* (
  { treasury, policy }: SignerOptions,
  { chainId, intentId, approval }: SignRequest,
  { payment, share }: PaymentRead,
  line: PolicyLine,
) {
  const group = approvalFor(line, payment.amount)
  if (group === undefined) return undefined
  const fee = feeMax(share, payment.amount)
  const named = namesIn(policy, payment)
  const known = { ...payment, ...named, treasury, chainId, intentId, feeMax: fee, policy: policy.digest }
  const approved = checkApproval(group, known, approval, yield* Clock.currentTimeMillis)
  if ("lacking" in approved) return yield* refuse("approval", approved.lacking)
  return { group: group.name, need: group.need, by: approved.by }
})

interface PaymentRead {
  readonly payment: PolicyPayment
  /** The part of it that the network may take on top. */
  readonly share: Share
}

/** The payment that the bytes themselves are, and the share of it that the network may take on top. */
const readPayment = (
  { party: from, inputData }: SignRequest,
  { maxFee }: Policy,
): Effect.Effect<PaymentRead, SignerError> =>
  Result.match(decodeInputData(inputData), {
    onFailure: (detail) => Effect.fail(refuse("command", detail)),
    onSuccess: ({ command, nonce }: InputData) => {
      if (nonce === 0n) return Effect.fail(refuse("command", "a nonce of zero"))
      const read =
        command._tag === "Withdraw"
          ? readWithdrawal(command)
          : command._tag === "CancelTransfer"
            ? readCancellation(command)
            : readTransfer(command)
      return Effect.map(read, ({ kind, ...rest }) => ({ payment: { from, ...rest }, share: feeShare(kind, maxFee) }))
    },
  })

type Read = Effect.Effect<Omit<PolicyPayment, "from"> & { readonly kind: IntentCommand }, SignerError>

/** Of transfers only those at once, between general accounts. */
const readTransfer = (command: Command): Read => {
  if (command._tag !== "Transfer") return Effect.fail(refuse("command", `${command._tag} is not allowed`))
  if (command.kind._tag !== "OneOff" || command.kind.deliverOn !== 0n) {
    return Effect.fail(refuse("command", "only transfers at once are allowed"))
  }
  const { ACCOUNT_TYPE_GENERAL } = accountTypeNumbers
  if (command.fromAccountType !== ACCOUNT_TYPE_GENERAL || command.toAccountType !== ACCOUNT_TYPE_GENERAL) {
    return Effect.fail(refuse("command", "only transfers between general accounts are allowed"))
  }
  const { to, asset, amount } = command
  if (asset === "") return Effect.fail(refuse("command", "a transfer of no asset is not allowed"))
  if (!isHex64(to)) return Effect.fail(refuse("command", "only transfers to a public key are allowed"))
  return Effect.succeed({ kind: "transfer", to, assetId: asset, amount })
}

/** A withdrawal whose receiver is spelled as the policy spells it: an address, never a party's key. */
const readWithdrawal = ({ amount, asset, receiverAddress }: Extract<Command, { _tag: "Withdraw" }>): Read => {
  if (receiverAddress === undefined || addressOf(receiverAddress) !== receiverAddress) {
    return Effect.fail(refuse("command", "a withdrawal without a checksummed receiver is not allowed"))
  }
  if (asset === "") return Effect.fail(refuse("command", "a withdrawal of no asset is not allowed"))
  return Effect.succeed({ kind: "withdraw", to: receiverAddress, assetId: asset, amount })
}

/** A cancellation moves nothing: it is of no asset, and of a standing order instead of a receiver. */
const readCancellation = ({ transferId }: Extract<Command, { _tag: "CancelTransfer" }>): Read =>
  isHex64(transferId)
    ? Effect.succeed({ kind: "cancel", to: transferId, assetId: "", amount: 0n })
    : Effect.fail(refuse("command", "a cancellation without the id of a transfer is not allowed"))
