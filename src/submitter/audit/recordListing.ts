import { Clock, Effect } from "effect"
import { ConfigInForce } from "../../config/ConfigInForce.ts"
import type { Attempt } from "../../domain/Attempt.ts"
import { type BalanceChange, general } from "../../domain/Balance.ts"
import { shortId } from "../../domain/Hex.ts"
import { readReference } from "../../domain/Reference.ts"
import { dayMillis, millisOf, nanosOf } from "../../domain/Time.ts"
import { plural } from "../../domain/text.ts"
import { type Gateway, Gateways } from "../../gateway/Gateways.ts"
import type { BalanceChangesQuery } from "../../gateway/readRows.ts"
import type { TransferListing } from "../../gateway/readTransfers.ts"
import { pageSize, reachNanos } from "../../gateway/walkPages.ts"
import { partyName, pinnedSum } from "../../rules/Account.ts"
import { raise } from "../../store/alerts/raise.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { haltSigningWith } from "../../store/controls/Controls.ts"
import { Database } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { Signals } from "../../store/database/Signals.ts"
import { Journal } from "../../store/journal/Journal.ts"
import { LedgerAudit } from "../../store/payments/LedgerAudit.ts"
import type { ListedTransfer, UnrecognizedTransfer } from "../../store/payments/noteListing.ts"
import { SpendLog } from "../../store/payments/SpendLog.ts"

/**
 * Counts payments unknown to the journal in the policy's periods, for 24 hours from their block and once each: the
 * money is spent. One with an unknown receiver counts for every receiver. Returns how many were not counted before.
 */
export const countSpends = Effect.fn("Reconcile.countSpends")(function* (payments: ReadonlyArray<ListedTransfer>) {
  const spends = yield* SpendLog
  const watermark = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const now = yield* Clock.currentTimeMillis
  const spent = payments.filter(({ status }) => status === "done" || status === "pending")
  // If our clock is ahead, the newest payment sets the time from which the 24 hours count.
  const newest = spent.reduce((last, payment) => Math.max(last, spentAtOf(payment)), 0)
  // A gateway could name a time in the far future, and use a limit up for ever.
  const latest = Math.max(now, millisOf(watermark) + 1)
  const since = Math.min(now, newest) - dayMillis
  let count = 0
  for (const payment of spent) {
    const { id, from, to, asset: assetId, amount } = payment
    const spentAt = Math.min(latest, spentAtOf(payment))
    if (spentAt <= since) continue
    const intentId = `transfer ${id}`
    const earlier = yield* spends.attempts(intentId)
    const last = earlier.at(-1)
    if (last?.amount === amount && last.to === to && last.assetId === assetId) continue
    // If a gateway shows other terms than before, the last ones count, like the last attempt of an intent.
    const signed = { digest: "", signature: "", policy: "", line: 0, intentId, k: earlier.length + 1 }
    yield* spends.record({ ...signed, from, to, assetId, amount, spentAt })
    yield* spends.close(intentId, spentAt)
    count++
  }
  return count
})

/** Unix milliseconds, rounded up past the block's time. */
const spentAtOf = ({ timestamp }: ListedTransfer): number => millisOf(timestamp) + 1

/** The sequence number of the journal that a reference of this installation carries; undefined for any other. */
export const ownSequence = (installation: string | undefined, reference: string): number | undefined => {
  const own = readReference(reference)
  return own?.installation === installation ? own?.seq : undefined
}

/** The last sequence number of this installation among the transfers; undefined where none carries one. */
export const lastOwnSequence = (
  installation: string | undefined,
  transfers: ReadonlyArray<{ readonly reference: string }>,
): number | undefined =>
  transfers.reduce<number | undefined>((last, { reference }) => {
    const seq = ownSequence(installation, reference)
    return seq === undefined || (last !== undefined && last >= seq) ? last : seq
  }, undefined)

interface Listed {
  readonly transfers: ReadonlyArray<ListedTransfer>
  readonly cursor: string | undefined
}

/** Compares a listing of a key with the journal, stores new transfers, and halts on unrecognized ones. */
export const recordListing = Effect.fnUntraced(function* (party: string, listing: Listed) {
  const { transfers, cursor } = listing
  if (transfers.length === 0) return
  const audit = yield* LedgerAudit
  const installation = yield* (yield* Settings).get("installation")
  const isOwn = (reference: string) => ownSequence(installation, reference) !== undefined
  const database = yield* Database
  yield* database.write(
    Effect.gen(function* () {
      const { unrecognized, done } = yield* audit.note({ party, cursor, transfers, isOwn })
      yield* haltOnUnrecognized(installation, unrecognized)
      yield* countSpends(unrecognized)
      for (const { attempt, executions } of done) yield* judgeDone(attempt, executions)
    }),
  )
})

export const haltOnUnrecognized = Effect.fnUntraced(function* (
  installation: string | undefined,
  unrecognized: ReadonlyArray<UnrecognizedTransfer>,
) {
  const own = unrecognized.filter((transfer) => transfer.own)
  if (own.length > 0) {
    const { seq } = yield* (yield* Journal).head
    const detail = `the ledger lists ${plural(own.length, "payment")} of this installation that the journal does not know, the last signed at its entry ${lastOwnSequence(installation, own)}; it ends at ${seq}`
    yield* haltSigningWith("restored_store", Effect.succeed(detail))
  }
  const foreign = unrecognized.filter((transfer) => !transfer.own)
  const last = foreign.at(-1)
  if (last !== undefined) {
    const { parties, assets } = (yield* ConfigInForce).now().treasury
    const count = `${plural(foreign.length, "payment")} that ${foreign.length === 1 ? "is" : "are"}`
    const sum = pinnedSum(assets, last.asset, last.amount)
    const what = `${last.id.slice(0, 8)}${sum === undefined ? "" : `, ${sum}`} to ${partyName(parties, last.to)}`
    const detail = `the key of ${partyName(parties, last.from)} signed ${count} not in this journal, the last ${what}`
    yield* haltSigningWith("foreign_payment", Effect.succeed(detail))
  }
})

/**
 * Judges an attempt that the ledger shows as done: it must not be settled as something else. If it is done in two
 * blocks it executed twice, or the gateway errs about times: a count of the ledger's movements decides. Returns true if
 * that count is needed.
 */
const judgeDone = Effect.fnUntraced(function* (attempt: Attempt, executions: number) {
  yield* haltOnSecondExecution(attempt, 1)
  if (executions <= 1) return false
  yield* (yield* LedgerAudit).watch(attempt)
  return true
})

/** Notes an execution that was seen by the transfer's id, and halts where it is not the first. */
export const noteExecution = Effect.fn("Reconcile.execution")(function* (attempt: Attempt, timestamp: bigint) {
  const audit = yield* LedgerAudit
  yield* audit.noteExecution(attempt.transferId, timestamp)
  // The movements are counted by the loop that compares the ledger: at once, not at its next turn.
  if (yield* judgeDone(attempt, yield* audit.countExecutions(attempt.transferId)))
    yield* (yield* Signals).wake("reconcile")
})

/** Halts where an attempt executed more often than once, or executed although it was settled as not executed. */
export const haltOnSecondExecution = Effect.fnUntraced(function* (attempt: Attempt, executions: number) {
  const { intentId, k, state } = attempt
  const isSettledUnexecuted = state === "failed" || state === "expired"
  if (executions < (isSettledUnexecuted ? 1 : 2)) return
  const audit = yield* LedgerAudit
  const how = isSettledUnexecuted ? `executed although it was settled as ${state}` : `executed ${executions} times`
  const detail = `attempt ${k} of payment ${shortId(intentId)} (transfer ${attempt.transferId.slice(0, 8)}) ${how}`
  const noted = audit.noteDuplicate(intentId, Math.max(2, executions), detail)
  yield* haltSigningWith(
    "duplicate_execution",
    Effect.map(noted, (isNew) => (isNew ? detail : undefined)),
  )
})

const dayNanos = nanosOf(dayMillis)
/** Most pages of balance rows that are read, and most accounts whose earlier balance is read alone. */
const pagesMax = 20

const keyOf = (party: string): string => `counted/${party}`

/** True if the key was cleared here before. */
export const isCounted = (party: string) =>
  Effect.flatMap(Settings, (settings) => Effect.map(settings.get(keyOf(party)), (at) => at !== undefined))

/**
 * Before a key is cleared for the first time: what left it in the last 24 hours without this store counts in the
 * policy's periods. Transfers are counted as they are listed; here withdrawals, and where the gateway does not list
 * both of them, every fall of the key's general accounts, whoever received it.
 */
export const countHistory = Effect.fn("Reconcile.countHistory")(function* (
  party: string,
  listsTransfers: boolean,
  withdrawals: TransferListing | undefined,
) {
  const settings = yield* Settings
  if (yield* isCounted(party)) return
  // An incomplete listing may lack the newest transfers: balances show them.
  const isListed = listsTransfers && withdrawals?.complete === true
  const falls = isListed ? [] : yield* fallsOf(party)
  const database = yield* Database
  yield* database.write(
    Effect.gen(function* () {
      yield* countSpends(withdrawals?.transfers ?? [])
      const count = yield* countSpends(falls)
      yield* settings.set(keyOf(party), String(yield* Clock.currentTimeMillis))
      if (count === 0) return
      yield* raise("debits_counted", { party, who: party.slice(0, 8), what: plural(count, "debit"), count })
    }),
  )
})

/** Falls of the key's general accounts in the last 24 hours that any gateway shows. */
const fallsOf = Effect.fnUntraced(function* (party: string) {
  const answers = yield* (yield* Gateways).several((gateway) => fallsShown(gateway, party))
  const ascending = answers.flatMap(({ value }) => value).toSorted((a, b) => (a.amount < b.amount ? -1 : 1))
  // Of one fall that gateways show differently the largest counts.
  return [...new Map(ascending.map((fall) => [fall.id, fall])).values()]
})

/** The falls that one gateway shows, each as a payment to an unknown receiver. */
export const fallsShown = Effect.fnUntraced(function* (reader: Pick<Gateway, "balanceChanges">, party: string) {
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const rows: Array<BalanceChange> = []
  const read = Effect.fnUntraced(function* (query: BalanceChangesQuery) {
    const range = { partyIds: [party], accountTypes: [general], startTimestamp: now - reachNanos, newestFirst: true }
    const page = yield* reader.balanceChanges({ ...range, ...query })
    for (const { node } of page.rows) {
      if (node.party === party && node.type === general && node.market === "") rows.push(node)
    }
    return page
  })
  let since = now - dayNanos
  let after: string | undefined
  for (let page = 1; page <= pagesMax; page++) {
    const { mark, rows: shown, pageInfo } = yield* read({ first: pageSize, after })
    if (mark !== undefined && mark.timestamp - dayNanos < since) since = mark.timestamp - dayNanos
    const last = shown.at(-1)?.node
    if (!pageInfo.hasNextPage || last === undefined) return fallsAmong(party, rows, since)
    if (last.timestamp <= since) break
    after = pageInfo.endCursor
  }
  // Older rows were not read: the earlier balance of an account that seldom changes may be among them.
  const oldest = new Map(rows.map(({ asset, timestamp }) => [asset, timestamp]))
  const unopened = [...oldest].filter(([, timestamp]) => timestamp > since).slice(0, pagesMax)
  for (const [assetId, endTimestamp] of unopened) yield* read({ assetId, endTimestamp, first: 1 })
  return fallsAmong(party, rows, since)
})

/** Each fall of an account after a time (Unix nanoseconds); for the first known row none can be computed. */
export const fallsAmong = (
  party: string,
  rows: ReadonlyArray<BalanceChange>,
  since: bigint,
): ReadonlyArray<ListedTransfer> => {
  const held = new Map<string, bigint>()
  return rows
    .toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
    .flatMap(({ asset, balance, timestamp }) => {
      const fell = (held.get(asset) ?? balance) - balance
      held.set(asset, balance)
      if (fell <= 0n || timestamp <= since) return []
      const id = `debit ${timestamp} ${asset} ${party.slice(0, 8)}`
      return [{ id, from: party, to: "", asset, amount: fell, reference: "", status: "done", timestamp }]
    })
}
