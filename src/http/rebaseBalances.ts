import { Clock, Effect, Option, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { deadlineHeight } from "../domain/Attempt.ts"
import { type AccountKey, accountKeyText } from "../domain/Balance.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { nanosOf } from "../domain/Time.ts"
import { aligned, blockNanos } from "../poller/askWindow.ts"
import { keptNanosMin } from "../poller/bridgeGap.ts"
import { subjectOf } from "../poller/Comparison.ts"
import { Reconciliation } from "../poller/Reconciliation.ts"
import { type Base, readBaseOrRows } from "../poller/readBase.ts"
import { assetById } from "../rules/Account.ts"
import { isUnsigned } from "../rules/policy/Policy.ts"
import { type BalanceDifference, Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Journal } from "../store/journal/Journal.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { agreeing, haltNamed, needAgreement } from "./agreeing.ts"
import { SignatureText } from "./approvals.ts"
import { Words } from "./controlVerbs.ts"
import { problem } from "./stories.ts"

export const RebaseBody = Schema.Struct({
  party: Words,
  /** Symbol or id; gateways may report any text, or none. */
  asset: Schema.String.check(Schema.isMaxLength(256)),
  reason: Words,
  author: Words,
  signature: Schema.optional(SignatureText),
})

type Asked = Omit<typeof RebaseBody.Type, "signature">

type Account = Pick<AccountKey, "party" | "asset">

const notRead = {
  unsupported: "the gateway reports no balances",
  unusable: "the gateway's balances cannot be used now",
  apart: "no quorum of the gateways reports the same balances",
}

/** Upper bound of readings; a newer block may overtake each. */
const readingsMax = 3

/**
 * Reads a party's accounts of an asset again, once the operators agree: present balances, and the rows of the time that
 * every gateway still has. From then on rules on it hold as for a mismatch, until two comparisons agree.
 */
export const rebaseBalances = Effect.fn("Control.rebase")(function* (
  treasury: Treasury,
  { signature, ...asked }: typeof RebaseBody.Type,
) {
  const party = treasury.parties.get(asked.party)?.publicKey
  // Assets that no rule uses are compared as well, and have no name.
  const asset = treasury.assets.get(asked.asset)?.id ?? asked.asset
  if (party === undefined) return problem(`no party is named ${asked.party}`, 404, "see the treasury file")
  return yield* agreeing(treasury, signature, rebase(treasury, { party, asset }, asked))
})

const rebase = Effect.fnUntraced(function* (treasury: Treasury, account: Account, asked: Asked) {
  const database = yield* Database
  for (let readings = 0; readings < readingsMax; readings++) {
    const now = nanosOf(yield* Clock.currentTimeMillis)
    const { base, isByRows } = yield* readBaseOrRows([account.party], now)
    if (typeof base === "string") return problem(notRead[base], 409, "nothing was changed; try again")
    const done = yield* database.write(beginAnew(treasury, { account, base, isByRows, asked }))
    if (done !== undefined) return done
  }
  return problem("newer blocks were read meanwhile", 409, "nothing was changed; try again")
})

interface Anew {
  readonly account: Account
  readonly base: Base
  /** True if balance rows are the only source of its balances. */
  readonly isByRows: boolean
  readonly asked: Asked
}

/** Replaces the account's rows; undefined if newer rows than the balances read are known, which would be lost. */
const beginAnew = Effect.fnUntraced(function* (treasury: Treasury, { account, base, isByRows, asked }: Anew) {
  const { party, asset } = account
  const isOwn = (one: Account) => one.party === party && one.asset === asset
  const observations = yield* Observations
  const drifts = yield* Drifts
  const watermark = yield* observations.watermark
  if (watermark === undefined) return problem("no balance was read yet", 409, "run the daemon first")
  const { timestamp: until } = watermark
  if (until > base.until && !isByRows) return undefined
  const end = until > base.until ? until : base.until
  const busy = yield* underWay(account, watermark.height)
  if (busy !== undefined) {
    const why = `payment ${shortId(busy.id)} of the account is under way, or was settled less than a window ago`
    return problem(why, 409, `${yield* endOf(busy)} and for one window of the network, then try again`)
  }
  const listed = new Map(base.openings.filter(isOwn).map((row) => [accountKeyText(row), row]))
  const known = new Map((yield* observations.accounts).filter(isOwn).map((one) => [accountKeyText(one), one]))
  const accounts = [...new Map([...known, ...listed])].map(([name, { market, type }]): BalanceDifference => {
    const held = known.get(name)
    const isNewer = held !== undefined && held.timestamp >= base.until
    const reported = (isNewer ? held : listed.get(name))?.balance ?? 0n
    return { party, asset, market, type, stored: held?.balance ?? 0n, reported }
  })
  if (accounts.length === 0)
    return problem(`${asked.party} has no account of "${asked.asset}"`, 404, "give an asset's symbol or id")
  const mismatches = (yield* drifts.all).filter(isOwn)
  const trail = yield* (yield* Journal).trail("balances")
  const before = trail.findLast(({ kind, body }) => kind === "rebase" && isOwn(JSON.parse(body) as Account))
  const agreed = yield* needAgreement(treasury, {
    kind: "rebase",
    party: asked.party,
    partyKey: party,
    asset: asked.asset,
    assetId: asset,
    mismatches: mismatches.map((one) => haltNamed({ seq: one.seq, reason: subjectOf(treasury, one), at: one.since })),
    replaces: before?.seq ?? 0,
    reason: asked.reason,
  })
  const openings = accounts.map(({ stored: _, reported: balance, ...key }) => ({
    ...key,
    balance,
    timestamp: end - blockNanos,
  }))
  const [kept, begins] = [aligned(end - keptNanosMin), (yield* (yield* Observations).begins) ?? 0n]
  const since = kept > begins ? kept : begins
  const rows = yield* observations.reopen({ party, asset, since, openings })
  // With nothing to compare them with, what ends it is a later block alone.
  const differing = isByRows ? accounts.map((one) => ({ ...one, stored: one.reported })) : accounts
  yield* drifts.note({ differing, agreeing: new Set(), listed: end, until })
  yield* (yield* Observations).backfillBetween(since, until)
  const by = agreed.length === 0 ? asked.author : `${asked.author}, approved by ${agreed.join(" and ")}`
  const body = { party, asset, accounts, rows, since, until, by, reason: asked.reason }
  yield* (yield* Journal).append({ kind: "rebase", subject: "balances", body })
  yield* (yield* Reconciliation).request
  yield* (yield* Signals).wake("engine", "balances", "backfill")
  const subject = `${asked.party}/${asked.asset}`
  yield* logEvent("balances rebased", {
    account: subject,
    author: asked.author,
    reason: asked.reason,
    rows,
    approvers: agreed.length === 0 ? undefined : agreed,
  })
  const pin = assetById(treasury.assets, asset)
  return { rebased: subject, rows, symbol: pin?.symbol, decimals: pin?.decimals, accounts }
})

/** How a person ends the payment: a manual one, or an unsigned one that waits for equal balances, never ends alone. */
const endOf = Effect.fnUntraced(function* (intent: Intent) {
  if (intent.state === "manual") {
    const resolve = `"cofferer intents resolve ${shortId(intent.id)} --reason TEXT"`
    return `compare the ledger, then ${resolve}, with --executed TXHASH or --never-executed: wait for its end`
  }
  if (!isUnsigned(intent)) return "wait for its end"
  const verb = (yield* (yield* Outbox).attempts(intent.id)).length === 0 ? "cancel" : "abandon"
  return `"cofferer intents ${verb} ${shortId(intent.id)} --reason TEXT" ends it: wait for its end`
})

/** A payment of the account that is open, or whose bytes could still execute: its rows may be in doubt. */
const underWay = Effect.fnUntraced(function* ({ party, asset }: Account, height: bigint) {
  const outbox = yield* Outbox
  const watched = (yield* (yield* LedgerAudit).watched).filter((attempt) => height <= deadlineHeight(attempt) + 1n)
  const sent = yield* Effect.forEach(watched, ({ intentId }) => outbox.byId(intentId))
  const payments = [...(yield* outbox.open), ...(yield* outbox.unmoved), ...sent.flatMap(Option.toArray)]
  return payments.find(
    ({ payment: { fromKey, toKey, assetId } }) => assetId === asset && (fromKey === party || toKey === party),
  )
})
