import { Clock, Context, Effect, Layer } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { accountKeyText, general } from "../domain/Balance.ts"
import type { Intent } from "../domain/Intent.ts"
import { assetsReadKey, millisOf, parametersReadKey, parametersServedKey } from "../domain/Time.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { approvalOf } from "../payments/approvalOf.ts"
import { backingOf, isTogether, subjectOfIntent } from "../payments/backing.ts"
import {
  type Anchors,
  type AttemptContext,
  type Beginning,
  headRefused,
  type NeedVerdict,
  otherFindsForm,
  pinLacking,
  spendableOf,
} from "../payments/planAttempt.ts"
import { assetById, type Share } from "../rules/Account.ts"
import { type FeeParameters, feeAgeMillisMax } from "../rules/policy/Policy.ts"
import { fraction } from "../rules/Snapshot.ts"
import { disagreement, unlisted } from "../store/alerts/makeTrouble.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Settings } from "../store/database/Settings.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { Journal } from "../store/journal/Journal.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { Listings } from "../store/network/Listings.ts"
import { Clearance } from "../store/payments/Clearance.ts"
import { listedBefore } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import type { Framing } from "../tx/Transaction.ts"
import { ChainHeadCache } from "./ChainHeadCache.ts"
import { otherUnderWay } from "./loadEnds.ts"
import { alertIfTooSlow } from "./solveWork.ts"

const blockedNow = Effect.fnUntraced(function* ({ payment }: Intent) {
  return (yield* (yield* disagreement).now)?.detail ?? (yield* (yield* Clearance).lacking(payment.fromKey))
})

/** Subjects of journal entries about the accounts of the payment, and about those by which its rule decided it. */
const accountsOf = Effect.fnUntraced(function* (intent: Intent) {
  const { fromKey, toKey, assetId } = intent.payment
  const read = subjectOfIntent((yield* CycleConfig).treasury.rules, intent)?.accounts ?? []
  const own = [
    ...[fromKey, toKey].map((party) => ({ party, asset: assetId })),
    ...read.map(({ party, asset }) => ({ party: party.publicKey, asset: asset.id })),
  ]
  const accounts = read.some(({ balance }) => balance === "total") ? yield* (yield* Observations).accounts : []
  const others = accounts.filter((one) => own.some(({ party, asset }) => one.party === party && one.asset === asset))
  return [...own.map((one) => ({ ...one, market: "", type: general })), ...others].map(accountKeyText)
})

const beginningOf = Effect.fnUntraced(function* (intent: Intent) {
  const { treasury } = yield* CycleConfig
  const journal = yield* Journal
  const decided = yield* journal.first(intent.id)
  const cleared = yield* (yield* Clearance).since(intent.payment.fromKey)
  const beginning: Beginning = {
    intent,
    k: (yield* (yield* Outbox).attempts(intent.id)).length + 1,
    now: yield* Clock.currentTimeMillis,
    maxAgeMillis: treasury.network.maxAgeMillis,
    blocked: yield* blockedNow(intent),
    isCompared: cleared !== undefined && decided > cleared,
    noted: yield* journal.kindsSince(decided, [treasury.name, ...(yield* accountsOf(intent))]),
    needsApproval: approvalOf(treasury, intent) !== undefined,
    rows: yield* (yield* Observations).watermark,
  }
  return beginning
})

/** Why another payment has to end before this one is signed; undefined without one. */
const otherFirst = Effect.fnUntraced(function* ({ intent, rows }: Beginning, oldest: bigint) {
  const { live } = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const finding = (yield* knownFraming) === undefined ? otherFindsForm(intent.id, yield* live, now) : undefined
  if (finding !== undefined || (yield* (yield* Clearance).isListed(intent.payment.fromKey))) return finding
  return yield* otherUnderWay(intent, { reported: oldest, now: millisOf(rows?.timestamp ?? 0n) })
})

const attemptContext = Effect.fnUntraced(function* (beginning: Beginning, heads: Anchors["heads"]) {
  const { intent } = beginning
  const { treasury } = yield* CycleConfig
  const { from, fromKey, assetId } = intent.payment
  const outbox = yield* Outbox
  const settings = yield* Settings
  const parts = yield* otherParts(intent)
  const listed = yield* Effect.forEach([intent, ...parts], listedBefore)
  const listing = {
    assets: yield* (yield* Listings).assets,
    isRead: (yield* settings.get(assetsReadKey)) !== undefined,
    isUnlisted: (yield* (yield* unlisted).now)?.isTold === true,
  }
  const pin = assetById(treasury.assets, assetId)
  const oldest = heads.at(-1)?.height
  const context: AttemptContext = {
    ...beginning,
    blocked: yield* blockedNow(intent),
    backing: yield* currentBacking(intent),
    drifting: yield* (yield* Drifts).all,
    decimals: pin?.decimals,
    pinLacking: pinLacking(pin, listing),
    parts,
    listed: listed[0]?.[0]?.id,
    listedPart: listed.flat()[0]?.id,
    quota: yield* (yield* ChainState).quota(fromKey),
    transfersKept: treasury.parties.get(from)?.transfersKept ?? 0,
    other: yield* otherFirst(beginning, oldest ?? 0n),
    heads,
    placesUsed: oldest === undefined ? new Map() : yield* outbox.signedFrom(fromKey, oldest),
  }
  return context
})

/** The newest blocks that may anchor a signature. Alerts if their proof of work is too slow for this machine. */
const chainFor = Effect.fnUntraced(function* (watermark: NonNullable<Beginning["rows"]>) {
  const { chainId } = (yield* CycleConfig).treasury.network
  const headCache = yield* ChainHeadCache
  const head = yield* headCache.head
  const now = yield* Clock.currentTimeMillis
  const rows = (yield* (yield* ChainState).acceptedHead(head.chainId)).accepted?.block ?? watermark
  const refused = headRefused(head, chainId, rows, now)
  const slow = refused === undefined ? yield* alertIfTooSlow(head) : undefined
  const recent = (yield* headCache.recent).filter((one) => headRefused(one, chainId, rows, now) === undefined)
  const chain: Anchors = {
    heads: [head, ...recent],
    refusal: slow === undefined ? refused : { _tag: "Wait", why: slow },
  }
  return chain
})

/**
 * Network fee of a transfer of the asset, for the signer to judge; undefined if it is unknown. The configured fee
 * counts only if the gateways report that they have no parameters.
 */
export const feeParametersOf = Effect.fnUntraced(function* (assetId: string) {
  const settings = yield* Settings
  const quantum = yield* quantumOf(assetId)
  const capOf = (maxQuantum: Share | undefined): bigint | undefined =>
    quantum === undefined || maxQuantum === undefined
      ? undefined
      : (quantum * maxQuantum.numerator) / maxQuantum.denominator
  if ((yield* settings.get(parametersServedKey)) === "no") {
    const { fee } = (yield* CycleConfig).treasury.network
    const written: FeeParameters | undefined =
      fee === undefined ? undefined : { factor: fee.factor, cap: capOf(fee.maxQuantum), readAt: undefined }
    return written
  }
  const parameters = yield* (yield* Listings).parameters
  const readAt = yield* settings.get(parametersReadKey)
  const factor = fraction(parameters.get("transfer.fee.factor") ?? "")
  if (factor === undefined || readAt === undefined) return undefined
  const cap = capOf(fraction(parameters.get("transfer.fee.maxQuantumAmount") ?? ""))
  const read: FeeParameters = { factor, cap, readAt: Number(readAt) }
  return read
})

/** The asset's quantum as listed of late: an old one may cap a fee that is higher by now. */
const quantumOf = Effect.fnUntraced(function* (assetId: string) {
  const readAt = Number((yield* (yield* Settings).get(assetsReadKey)) ?? Number.NaN)
  const age = (yield* Clock.currentTimeMillis) - readAt
  if (!(age >= 0 && age <= feeAgeMillisMax)) return undefined
  return (yield* (yield* Listings).assets).find(({ id }) => id === assetId)?.quantum
})

/** Facts for the signer to judge the bytes by, and those that are stored with its signature. */
const requestFacts = Effect.fnUntraced(function* (intent: Intent, anchorHeight: bigint) {
  const { fromKey, assetId } = intent.payment
  const { treasury } = yield* CycleConfig
  const observations = yield* Observations
  const outbox = yield* Outbox
  const asOf = (yield* observations.watermark)?.timestamp
  const account = (yield* observations.accounts).find(
    (a) => a.party === fromKey && a.asset === assetId && a.market === "" && a.type === general,
  )
  return {
    spendable: spendableOf(intent, account?.balance ?? 0n, yield* outbox.claims(intent.payment, asOf ?? 0n)),
    fee: yield* feeParametersOf(assetId),
    given: approvalOf(treasury, intent) === undefined ? [] : yield* (yield* Approvals).about(intent.id),
    installation: (yield* (yield* Settings).get("installation")) ?? "00000000",
    windowMax: yield* (yield* ChainState).windowAt(anchorHeight),
    /** Block time up to which balances are known, Unix nanoseconds. */
    asOf,
  }
})

type Facts<F extends (...args: never) => Effect.Effect<unknown, unknown, unknown>> = Effect.Success<ReturnType<F>>

/**
 * All values that a signature depends on, of the store, the rules and the network. Each method reads at one moment, by
 * the configuration of the caller's cycle.
 *
 * @effect-expect-leaking CycleConfig
 */
export class SigningFacts extends Context.Service<
  SigningFacts,
  {
    readonly beginning: (intent: Intent) => Effect.Effect<Beginning, StoreError, CycleConfig>
    /** Asks the rules in force. */
    readonly need: (intent: Intent) => Effect.Effect<NeedVerdict, StoreError, CycleConfig>
    /** Asks the network. */
    readonly chain: (
      rows: NonNullable<Beginning["rows"]>,
    ) => Effect.Effect<Anchors, GatewayError | StoreError, CycleConfig>
    /** Reads what the plan of the next attempt depends on. Call it in the transaction that signs. */
    readonly context: (
      beginning: Beginning,
      heads: Anchors["heads"],
    ) => Effect.Effect<AttemptContext, StoreError, CycleConfig>
    /** Reads the signer's input. Call it in the transaction that signs. */
    readonly request: (
      intent: Intent,
      anchorHeight: bigint,
    ) => Effect.Effect<Facts<typeof requestFacts>, StoreError, CycleConfig>
  }
>()("cofferer/submitter/SigningFacts") {
  /** `judgeNeed` decides the payment again by the rules in force, as the engine does. */
  static readonly layer = <R>(judgeNeed: (intent: Intent) => Effect.Effect<NeedVerdict, StoreError, R>) =>
    Layer.effect(
      SigningFacts,
      Effect.gen(function* () {
        type Read = ReturnType<
          typeof beginningOf | typeof attemptContext | typeof chainFor | typeof requestFacts | typeof judgeNeed
        >
        const services = yield* Effect.context<Effect.Services<Read>>()
        const by = <A, E>(effect: Effect.Effect<A, E, Effect.Services<Read>>) =>
          Effect.updateContext(effect, (cycle: Context.Context<CycleConfig>) => Context.merge(services, cycle))
        return SigningFacts.of({
          beginning: (intent) => by(beginningOf(intent)),
          need: (intent) => by(judgeNeed(intent)),
          chain: (rows) => by(chainFor(rows)),
          context: (beginning, heads) => by(attemptContext(beginning, heads)),
          request: (intent, anchorHeight) => by(requestFacts(intent, anchorHeight)),
        })
      }),
    )
}

/** Source that backs an unsigned payment under the rules in force. */
export const currentBacking = Effect.fnUntraced(function* (intent: Intent) {
  const { treasury, mode } = yield* CycleConfig
  const { rules } = treasury
  const siblings = isTogether(subjectOfIntent(rules, intent)) ? yield* (yield* Outbox).siblings(intent) : []
  return backingOf(intent, { rules, mode }, siblings)
})

/** The other payments of the same decision. */
export const otherParts = Effect.fnUntraced(function* (intent: Intent) {
  const at = intent.subject.lastIndexOf(": ")
  if (at < 0) return []
  const ours = intent.subject.slice(0, at + 2)
  return (yield* (yield* Outbox).siblings(intent)).filter(({ subject }) => subject.startsWith(ours))
})

/** Wire form that this chain is known to execute, or the configured one; undefined while unknown. */
export const knownFraming = Effect.gen(function* () {
  const { framing, chainId } = (yield* CycleConfig).treasury.network
  return framing === "auto" ? yield* (yield* Settings).framing(chainId) : framing
})

const refusedKey = (chainId: string): string => `refusedForm/${chainId}`

/**
 * Wire form that the chain refused last; undefined: none. Attempts begin with the other one: with slow answers, a short
 * window leaves no time to try both.
 */
export const refusedForm = Effect.fnUntraced(function* (chainId: string) {
  const stored = yield* (yield* Settings).get(refusedKey(chainId))
  return stored === "prefixed" || stored === "bare" ? stored : undefined
})

export const noteRefusedForm = Effect.fnUntraced(function* (chainId: string, form: Framing) {
  yield* (yield* Settings).set(refusedKey(chainId), form)
})
