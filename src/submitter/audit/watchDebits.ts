import { Effect, Option, Schema } from "effect"
import { CycleConfig } from "../../config/ConfigInForce.ts"
import { general, withdrawn } from "../../domain/Balance.ts"
import { isoOf } from "../../domain/Time.ts"
import { ifSupported } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import { Gateways } from "../../gateway/Gateways.ts"
import { pageSize, reachNanos } from "../../gateway/walkPages.ts"
import {
  type Balances,
  type DebitBaseline,
  explainDebits,
  type GeneralRow,
  type Unexplained,
} from "../../payments/explainDebits.ts"
import { partyName, pinnedSum } from "../../rules/Account.ts"
import { Observations } from "../../store/balances/Observations.ts"
import type { AccountBalance } from "../../store/balances/storeRows.ts"
import { haltSigningWith } from "../../store/controls/Controls.ts"
import { Database } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { debitBook, knownTransfers } from "../../store/payments/Debits.ts"
import { LedgerAudit } from "../../store/payments/LedgerAudit.ts"
import type { ListedTransfer } from "../../store/payments/noteListing.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { recordListing } from "./recordListing.ts"

/** A gateway may correct the last minute, and rows never lead the watermark by more. */
const settleNanos = 60_000_000_000n

/** Types of the accounts of a key that never traded: general accounts and rewards. */
const untraded: ReadonlySet<string> = new Set([general, "ACCOUNT_TYPE_VESTING_REWARDS", "ACCOUNT_TYPE_VESTED_REWARDS"])

const Stored = Schema.fromJsonString(
  Schema.Struct({
    until: Schema.BigIntFromString,
    held: Schema.Array(Schema.Tuple([Schema.String, Schema.BigIntFromString, Schema.BigIntFromString])),
    used: Schema.Array(Schema.Tuple([Schema.String, Schema.Int])),
  }),
)
const decode = Schema.decodeUnknownOption(Stored)
const encode = Schema.encodeSync(Stored)

const load = Effect.fnUntraced(function* (party: string) {
  const stored = Option.getOrUndefined(decode(yield* (yield* Settings).get(`debits/${party}`)))
  if (stored === undefined) return undefined
  const held = new Map(stored.held.map(([asset, balance, since]) => [asset, { balance, since }]))
  return { until: stored.until, held, used: new Map(stored.used) } satisfies DebitBaseline
})

const save = Effect.fnUntraced(function* (party: string, { until, held, used }: DebitBaseline) {
  const accounts = [...held].map(([asset, { balance, since }]) => [asset, balance, since] as const)
  yield* (yield* Settings).set(`debits/${party}`, encode({ until, held: accounts, used: [...used] }))
})

/**
 * Explains all debits of the key's general accounts, given the latest balances of all: loads the known facts, has them
 * explained, and writes once. The gateway is queried only if payments leave something unexplained. What stays
 * unexplained halts, and is known after its alert.
 */
export const watchDebits = Effect.fnUntraced(function* (party: string, all: ReadonlyArray<AccountBalance>) {
  const watermark = (yield* (yield* Observations).watermark)?.timestamp
  if (watermark === undefined) return
  const accounts = all.filter((account) => account.party === party)
  const before = yield* load(party)
  // Debits before the first sighting of a key are not judged. A time in the future was never a block's.
  if (before === undefined || before.until > watermark + settleNanos) {
    const own = accounts.filter(({ type, market }) => type === general && market === "")
    const held = new Map(own.map(({ asset, balance, timestamp }) => [asset, { balance, since: timestamp }]))
    return yield* save(party, { until: watermark, held, used: before?.used ?? new Map() })
  }
  if (!accounts.some(({ timestamp }) => timestamp > before.until)) return
  const { rows, payments, gaps } = yield* debitBook(party, before.until)
  const isTraded = accounts.some(({ type }) => !untraded.has(type))
  const book = { payments, balances: { rows, gaps, end: watermark - settleNanos } }
  const { unexplained: falls } = explainDebits(before, book)
  const asked = falls.length === 0 ? undefined : yield* ask({ party, isTraded, falls, before, balances: book.balances })
  if (asked?.balances.end === 0n) yield* logEvent("debits of a party incomplete", { party })
  const { unexplained, again, baseline } = explainDebits(before, { ...book, ...asked })
  if (unexplained.length === 0 && again.length === 0 && baseline.until <= before.until) return
  const found = yield* Effect.forEach(unexplained, (one) => sighted(party, one))
  yield* (yield* Database).write(
    Effect.gen(function* () {
      if (again.length > 0) yield* (yield* LedgerAudit).watchTransfers(again)
      yield* haltOnUnexplained(party, found)
      if (baseline.until > before.until) yield* save(party, baseline)
    }),
  )
})

interface Doubt {
  readonly party: string
  readonly isTraded: boolean
  readonly falls: ReadonlyArray<Unexplained>
  readonly before: DebitBaseline
  readonly balances: Balances
}

/**
 * The ledger's movements, up to their mark; of a gateway that reports none, the rows that it shows now. Such a gateway
 * does not report costs of trading: then nothing moved.
 */
const ask = Effect.fnUntraced(function* ({ party, isTraded, falls, before, balances }: Doubt) {
  const reader = yield* GatewayReader
  const answer = yield* ifSupported(reader.debits(party, falls[0]!.timestamp, falls.at(-1)!.timestamp))
  if (answer === undefined && !isTraded) {
    // Rows that a quorum gave are proof: the best gateway alone would hide a fall behind a rise.
    return { balances: (yield* Gateways).quorum > 1 ? balances : yield* shownNow(party, before, balances) }
  }
  const entries = answer?.debits ?? []
  const withdrawals = entries.some(({ type }) => type === withdrawn) ? yield* withdrawalsOf(party) : []
  const ids = entries.flatMap(({ transferId, timestamp }) => [transferId, `debit ${timestamp}`])
  const known = yield* knownTransfers([...ids, ...withdrawals.map(({ id }) => id)])
  const end = answer?.complete === false ? 0n : (answer?.mark?.timestamp ?? balances.end)
  return { movements: { entries, withdrawals, known }, balances: { ...balances, end } }
})

const withdrawalsOf = Effect.fnUntraced(function* (party: string) {
  const listing = yield* ifSupported((yield* GatewayReader).withdrawalsFrom(party))
  return listing?.transfers.filter(({ status }) => status === "done") ?? []
})

/**
 * Balances with rows that the gateway shows now in one answer. Stored rows come from several readings: one at a wrong
 * time makes the same fall appear twice, also where it was judged before. `end` is 0 if the answer lacks the newest
 * stored row.
 */
const shownNow = Effect.fnUntraced(function* (party: string, before: DebitBaseline, balances: Balances) {
  const stored = balances.rows.filter(({ isOpening }) => !isOpening)
  const [first, last] = [stored[0]!, stored.at(-1)!]
  const reach = last.timestamp - reachNanos
  const { rows, pageInfo } = yield* (yield* GatewayReader).balanceChanges({
    partyIds: [party],
    accountTypes: [general],
    startTimestamp: first.timestamp < reach ? first.timestamp : reach,
    endTimestamp: last.timestamp + 1_000n,
    first: pageSize,
    newestFirst: true,
  })
  const own = rows.flatMap(({ node }) =>
    node.party === party && node.type === general && node.market === "" ? node : [],
  )
  const sinceOf = (asset: string) => before.held.get(asset)?.since
  const shown = own
    .filter(({ asset, timestamp }) => timestamp > (sinceOf(asset) ?? before.until))
    .map(({ asset, balance, timestamp }): GeneralRow => ({ asset, balance, timestamp, isOpening: false }))
  // Newest first: of each asset the last to be set is the newest of those that were judged.
  const judged = own.filter(({ asset, timestamp }) => timestamp <= (sinceOf(asset) ?? -1n)).toReversed()
  const held = new Map(judged.map(({ asset, balance, timestamp }) => [asset, { balance, since: timestamp }]))
  const since = pageInfo.hasNextPage ? (own.at(-1)?.timestamp ?? 0n) : 0n
  const kept = balances.rows.filter(({ isOpening, timestamp }) => isOpening || timestamp < since)
  const isShown = shown.some(
    ({ asset, timestamp, balance }) => asset === last.asset && timestamp === last.timestamp && balance === last.balance,
  )
  return { ...balances, held, rows: [...kept, ...shown].toSorted(byTime), end: isShown ? balances.end : 0n }
})

const byTime = (a: GeneralRow, b: GeneralRow): number => {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  return Number(b.isOpening) - Number(a.isOpening)
}

interface Sighted extends Unexplained {
  readonly transfer: ListedTransfer
  /** True if the gateway knows the transfer by its id, though it does not list it. */
  readonly isKnown: boolean
}

/** The debit as a listed transfer; of a withdrawal or a fall only what is known. */
const sighted = Effect.fnUntraced(function* (party: string, one: Unexplained) {
  const { id, asset, amount, timestamp, kind } = one
  const transfer = { id, from: party, to: "", asset, amount, reference: "", status: "done", timestamp }
  const found = kind === "transfer" ? (yield* (yield* GatewayReader).transfer(id)).found : undefined
  const isKnown = found?.from === party
  return { ...one, transfer: isKnown ? found : transfer, isKnown } satisfies Sighted
})

/** Stores unexplained debits as payments that the journal does not know, and halts. */
const haltOnUnexplained = Effect.fnUntraced(function* (party: string, found: ReadonlyArray<Sighted>) {
  const ofKind = (is: boolean) => found.flatMap(({ isKnown, transfer }) => (isKnown === is ? [transfer] : []))
  yield* recordListing(party, { transfers: ofKind(true), cursor: undefined })
  const seen = { party, cursor: undefined, transfers: ofKind(false), isOwn: () => false }
  const { unrecognized } = yield* (yield* LedgerAudit).note(seen)
  const last = found.findLast(({ id }) => id === unrecognized.at(-1)?.id)
  if (last === undefined) return
  const more = unrecognized.length > 1 ? `${unrecognized.length} debits that the journal does not know, the last: ` : ""
  yield* haltSigningWith(
    "foreign_payment",
    Effect.map(wordsOf(party, last), (words) => more + words),
  )
})

const how = {
  transfer: "by a transfer that the gateway does not list and the journal does not know",
  withdrawal: "by a withdrawal that the journal does not know",
  fall: "and no payment explains it",
} as const

const wordsOf = Effect.fnUntraced(function* (key: string, { asset, amount, timestamp, kind }: Unexplained) {
  const { parties, assets } = (yield* CycleConfig).treasury
  const sum = pinnedSum(assets, asset, amount) ?? `${amount} of ${asset.slice(0, 8)}`
  return `${sum} left the general account of ${partyName(parties, key)} in the block of ${isoOf(timestamp)}, ${how[kind]}`
})
