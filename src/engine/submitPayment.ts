import { Clock, Effect, Option, Schema } from "effect"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { formatAmount, formatLevel, parseWritten } from "../domain/Amount.ts"
import { type ApprovalGroup, groupText } from "../domain/Approval.ts"
import type { Payment } from "../domain/Decision.ts"
import { type Intent, submittedRule } from "../domain/Intent.ts"
import { isoOf, millisOf } from "../domain/Time.ts"
import { shortOf, spendableOf } from "../payments/planAttempt.ts"
import { clockGap } from "../rules/checks/wrongClock.ts"
import {
  approvalFor,
  feeMax,
  freeAt,
  judgePolicy,
  type PolicyLine,
  periodUse,
  refusalText,
} from "../rules/policy/Policy.ts"
import { networkMinimum, transferParametersOf } from "../rules/Snapshot.ts"
import { Observations } from "../store/balances/Observations.ts"
import { holdsOf } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { checkDiskSpace } from "../store/database/DiskSpace.ts"
import { Listings } from "../store/network/Listings.ts"
import { LedgerAudit, listedBefore } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent, logPayment } from "../telemetry/Logging.ts"
import { decisionEntry, intentIdOf } from "./record.ts"
import { balanceOf, dayOf, listedOf, signedUses } from "./snapshot.ts"

/** A submitted payment was refused. */
class SubmitRejected extends Schema.TaggedError<SubmitRejected>()("SubmitRejected", {
  message: Schema.String,
  remedy: Schema.String,
  /** True if the policy refuses it; otherwise the request itself is wrong. */
  byPolicy: Schema.Boolean,
}) {}

/** A payment by a person, as written in its file. */
export const SubmitBody = Schema.Struct({
  /** Identifies the payment: one key is paid once. */
  idempotencyKey: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9._:/-]{1,100}$/, { expected: "1 to 100 letters, digits and . _ : / -" }),
  ),
  /** Person who submits it: an operator of this name cannot approve it. */
  author: Schema.optional(
    Schema.String.check(
      Schema.isPattern(/^[A-Za-z0-9_][A-Za-z0-9._@-]{0,62}$/, { expected: "a name of letters, digits and . _ @ -" }),
    ),
  ),
  transfer: Schema.Struct({ from: Schema.String, to: Schema.String, asset: Schema.String, amount: Schema.String }),
})

/** Result of a submitted payment. */
export interface Submitted {
  readonly intentId: string
  /** False if the payment was known already. */
  readonly created: boolean
  readonly state: Intent["state"]
  /** Group whose approval it needs; null if it needs none, or was known already. */
  readonly needs: string | null
  /**
   * Since when the ledger lists payments of the payer's key (ISO 8601). An earlier one that a lost store made under the
   * same idempotency key is not recognized. Null: none is listed.
   */
  readonly listedSince: string | null
  /** Halts and pauses that hold it, each with its reason and what ends it. */
  readonly held: ReadonlyArray<string>
}

const rejected = (message: string, remedy: string, byPolicy = false) =>
  new SubmitRejected({ message, remedy, byPolicy })

/** Judges a payment of a person by the policy, and records it for the submitter like any other. */
export const submitPayment = Effect.fn("Submit.submit")(function* (treasury: Treasury, mode: Mode, body: unknown) {
  const intent = yield* readIntent(treasury, mode, body)
  const { rule, subject: idempotencyKey, payment, submittedBy: author } = intent
  const recorded = yield* (yield* Database).write(recordOnce(treasury, intent))
  if (recorded.created) yield* logEvent("payment submitted", { ...logPayment(intent), idempotencyKey, author })
  const oldest = (yield* (yield* LedgerAudit).oldestListed).get(payment.fromKey)
  const listedSince = oldest === undefined ? null : isoOf(oldest)
  const holds = yield* holdsOf({ rule, payment, state: recorded.state })
  return { ...recorded, listedSince, held: holds.map(({ text }) => text) } satisfies Submitted
})

/** Reads a payment that this treasury can make. */
const readIntent = Effect.fnUntraced(function* (treasury: Treasury, mode: Mode, body: unknown) {
  const { idempotencyKey, author, transfer } = yield* Schema.decodeUnknownEffect(SubmitBody)(body, {
    onExcessProperty: "error",
  }).pipe(
    Effect.mapError((error) =>
      rejected(error.message.split("\n").join(" "), 'see "A payment by hand" in docs/commands.md'),
    ),
  )
  const { from, to, asset, amount } = yield* readTransfer(treasury, transfer)
  if (mode !== "live") return yield* rejected(`mode ${mode} pays nothing`, "run the treasury in mode live", true)
  yield* checkDiskSpace()
  const now = yield* Clock.currentTimeMillis
  const intent: Intent = {
    id: intentIdOf({ treasury: treasury.name, rule: submittedRule, subject: idempotencyKey, episode: 1 }),
    treasury: treasury.name,
    rule: submittedRule,
    subject: idempotencyKey,
    episode: 1,
    submittedBy: author,
    command: "transfer",
    payment: {
      from: from.name,
      fromKey: from.publicKey,
      to: to.name,
      toKey: to.publicKey,
      asset: asset.symbol,
      assetId: asset.id,
      amount,
    },
    decimals: asset.decimals,
    feeMax: feeMax(treasury.policy.maxFee, amount),
    state: "proposed",
    detail: `submitted as ${idempotencyKey}`,
    fee: undefined,
    settledAt: undefined,
    createdAt: now,
    updatedAt: now,
  }
  return intent
})

/** Looks up what a transfer names. Fails with all its mistakes at once. */
const readTransfer = ({ parties, assets }: Treasury, transfer: (typeof SubmitBody.Type)["transfer"]) => {
  const mistakes: Array<readonly [message: string, remedy: string]> = []
  const named = <A>(all: ReadonlyMap<string, A>, name: string, lacks: string): A | undefined => {
    const found = all.get(name)
    if (found === undefined) mistakes.push([`"${name}" ${lacks}`, `known: ${[...all.keys()].join(", ")}`])
    return found
  }
  const from = named(parties, transfer.from, "is not a party")
  if (from !== undefined && from.signer === undefined)
    mistakes.push([`${from.name} has no signer`, "name a party that can pay"])
  const to = named(parties, transfer.to, "is not a party")
  // It would cost a fee, and a gateway that lists no transfers never shows that it was made.
  if (from !== undefined && from === to) mistakes.push([`${from.name} would pay itself`, "name another party"])
  const asset = named(assets, transfer.asset, "is not pinned")
  const parsed = asset && parseWritten(transfer.amount, asset.decimals)
  if (parsed && "error" in parsed) mistakes.push([parsed.error, "write it in units of the asset"])
  const last = mistakes.pop()
  if (last !== undefined) return rejected([...mistakes.map((one) => one.join("; ")), last[0]].join("\n"), last[1])
  return from && to && asset && parsed && "units" in parsed
    ? Effect.succeed({ from, to, asset, amount: parsed.units })
    : Effect.die("a mistake without a name")
}

/** Records the payment if its key is new and the policy permits it. A known key must be of the same payment. */
const recordOnce = Effect.fnUntraced(function* (treasury: Treasury, intent: Intent) {
  const outbox = yield* Outbox
  const { payment, subject: idempotencyKey, submittedBy: author, createdAt: now } = intent
  const known = Option.getOrUndefined(yield* outbox.byId(intent.id))
  if (known !== undefined) {
    if (!isSamePayment(known.payment, payment)) {
      const { from: payer, to: payee, asset: paid, amount } = known.payment
      const was = `${formatAmount(amount, known.decimals)} ${paid} ${payer} -> ${payee}`
      return yield* rejected(`"${idempotencyKey}" stands for another payment (${was})`, "give this one its own key")
    }
    return { intentId: intent.id, created: false, state: known.state, needs: null }
  }
  const open = yield* outbox.open
  const watermark = yield* (yield* Observations).watermark
  const blockTime = watermark === undefined ? now : millisOf(watermark.timestamp)
  const uses = { open, ...(yield* signedUses(treasury.policy, dayOf(open, now, blockTime))) }
  const request = { from: payment.fromKey, to: payment.toKey, assetId: payment.assetId, amount: payment.amount }
  const used = (line: PolicyLine) => periodUse(uses, line, [])
  const verdict = judgePolicy(treasury.policy, request, used)
  if (!verdict.permitted) {
    const { amount } = request
    const free = verdict.line && freeAt(verdict.line, used(verdict.line), amount)
    const sum = (units: bigint) => `${formatLevel(units, intent.decimals)} ${payment.asset}`
    const why = refusalText(verdict, { amount, used: (line) => used(line).amount, freeAt: free }, sum)
    const paid = yield* paidBeforeText(intent)
    const remedy = '"cofferer status" shows the limits in force'
    return yield* rejected(`the policy refuses it: ${why}${paid}`, remedy, true)
  }
  yield* checkMinimum(intent)
  const group = approvalFor(verdict.line, payment.amount)
  yield* checkApprovers(group, author)
  if (group === undefined) yield* checkFunds(treasury, intent)
  yield* outbox.record(intent, decisionEntry(intent, treasury.policy))
  const needs = group === undefined ? null : groupText(group)
  return { intentId: intent.id, created: true, state: intent.state, needs }
})

/**
 * Fails below the network's minimum: mempools refuse such a payment, and it would hold its accounts for one window
 * after the other.
 */
const checkMinimum = Effect.fnUntraced(function* ({ payment, decimals }: Intent) {
  const listings = yield* Listings
  const known = {
    listed: listedOf(yield* listings.assets),
    parameters: transferParametersOf(yield* listings.parameters),
  }
  const least = networkMinimum(known, { id: payment.assetId })
  if (payment.amount >= least) return
  const sum = (units: bigint) => `${formatAmount(units, decimals)} ${payment.asset}`
  const below = `${sum(payment.amount)} is below ${sum(least)}, the least that the network transfers`
  return yield* rejected(below, "submit a larger amount", true)
})

/**
 * Fails if the payer lacks the money: a payment without approval does not wait for it. Passes if balances are old or
 * unknown.
 */
const checkFunds = Effect.fnUntraced(function* (treasury: Treasury, intent: Intent) {
  const { payment, feeMax: fee } = intent
  const observations = yield* Observations
  const asOf = (yield* observations.watermark)?.timestamp
  const balance = balanceOf(yield* observations.accounts)(payment.fromKey, payment.assetId, "free")
  const { maxAgeMillis } = treasury.network
  if (balance === undefined || asOf === undefined) return
  if (clockGap(yield* Clock.currentTimeMillis, millisOf(asOf), maxAgeMillis) !== undefined) return
  const spendable = spendableOf(intent, balance, yield* (yield* Outbox).claims(payment, asOf))
  const floor = treasury.parties.get(payment.from)?.floor.get(payment.assetId) ?? 0n
  const asset = { symbol: payment.asset, decimals: intent.decimals }
  const short = shortOf(asset, { spendable, amount: payment.amount, fee, floor })
  if (short === undefined) return
  const remedy = `fund ${payment.from}, then submit the same file again`
  return yield* rejected(`${payment.from} is short: ${short}${yield* paidBeforeText(intent)}`, remedy, true)
})

/** Adds that the ledger already lists this payment: another copy of this store made it, which counts in the limits. */
const paidBeforeText = Effect.fnUntraced(function* (intent: Intent) {
  const last = (yield* listedBefore(intent)).at(-1)
  if (last === undefined) return ""
  return `; the ledger lists this very payment already, as transfer ${last.id} (${last.status}): give it no other key`
})

/** The proposer of a payment cannot approve it: the group must have enough others. */
const checkApprovers = (group: ApprovalGroup | undefined, author: string | undefined) => {
  if (group === undefined) return Effect.void
  if (author === undefined)
    return rejected(`it needs the approval of ${groupText(group)}`, "say who proposes it: author")
  const others = [...group.of.keys()].filter((name) => name !== author)
  return others.length >= group.need
    ? Effect.void
    : rejected(`${group.need} others than ${author} must approve it: ${group.name} has ${others.length}`, "see check")
}

const isSamePayment = (a: Payment, b: Payment): boolean =>
  a.fromKey === b.fromKey && a.toKey === b.toKey && a.assetId === b.assetId && a.amount === b.amount
