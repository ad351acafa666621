import { Effect } from "effect"
import { shortId } from "../../domain/Hex.ts"
import { GatewayError, ifSupported } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import type { TransferListing } from "../../gateway/readTransfers.ts"
import type { ObservedTransfer } from "../../gateway/schema/Transfers.ts"
import { Controls } from "../../store/controls/Controls.ts"
import { Database } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { rememberStoreFile } from "../../store/database/StoreFile.ts"
import { Journal } from "../../store/journal/Journal.ts"
import { type EndedAttempt, LedgerAudit } from "../../store/payments/LedgerAudit.ts"
import type { UnrecognizedTransfer } from "../../store/payments/noteListing.ts"
import { beginQuarantine } from "./quarantine.ts"
import { countSpends, haltOnUnrecognized, lastOwnSequence, ownSequence, recordListing } from "./recordListing.ts"
import { handOverKey } from "./settleListed.ts"

/** The person who asks, and the reason: both are journalled. */
export interface AuditRequest {
  readonly reason: string
  readonly author: string
}

/** Runs in the transaction before the payments are acknowledged; fails while somebody's agreement is missing. */
type Agree<E, R> = (found: ReadonlyArray<UnrecognizedTransfer>) => Effect.Effect<unknown, E, R>

const idsPerEntry = 200

/**
 * Acknowledges transfers that keys signed elsewhere, counts those of the last 24 hours in the policy's limits, and ends
 * the halt that they raised. Nothing is signed for one window, since the other system may have more under way. Payments
 * of this installation that the journal misses are not adopted: `recover` imports them. Returns the adopted ones.
 */
export const adopt = Effect.fn("Adopt")(function* <E, R>(
  keys: ReadonlyArray<string>,
  { reason, author }: AuditRequest,
  agree: Agree<E, R>,
) {
  const audit = yield* LedgerAudit
  const journal = yield* Journal
  const controls = yield* Controls
  const installation = yield* (yield* Settings).get("installation")
  const listings = yield* listAll(keys)
  const database = yield* Database
  return yield* database.write(
    Effect.gen(function* () {
      yield* haltOnUnrecognized(installation, (yield* noteWhole(listings, installation)).own)
      const adopted = (yield* audit.unacknowledged).filter(({ own }) => !own)
      yield* agree(adopted)
      const ids = adopted.map(({ id }) => id)
      yield* audit.acknowledge(ids, "adopted")
      yield* countSpends(adopted)
      for (let i = 0; i === 0 || i < ids.length; i += idsPerEntry) {
        const body = { reason, author, count: ids.length, ids: ids.slice(i, i + idsPerEntry) }
        yield* journal.append({ kind: "adopted", subject: "foreign_payment", body })
      }
      const isHalted = (yield* controls.halts).some(({ reason: halted }) => halted === "foreign_payment")
      if (isHalted || ids.length > 0) yield* beginQuarantine()
      yield* controls.release("foreign_payment", `${author}: ${reason}`)
      return adopted
    }),
  )
})

interface Whole {
  readonly party: string
  /** Withdrawals too; undefined where the gateway lists no transfers at all. */
  readonly listing: TransferListing | undefined
  /** True if the listing includes withdrawals. */
  readonly isWithWithdrawals: boolean
}

/**
 * All transfers and withdrawals that the ledger lists of a key. Fails if a listing has no end, since a part of it
 * proves nothing, or if no quorum agrees on a transfer.
 */
const listWhole = Effect.fnUntraced(function* (party: string) {
  const reader = yield* GatewayReader
  const transfers = yield* ifSupported(reader.transfersFrom(party))
  const withdrawals = yield* ifSupported(reader.withdrawalsFrom(party))
  if (transfers?.complete !== false && withdrawals?.complete !== false) {
    const listing = transfers && {
      ...transfers,
      transfers: [...transfers.transfers, ...(withdrawals?.transfers ?? [])],
    }
    return { party, listing, isWithWithdrawals: withdrawals !== undefined } satisfies Whole
  }
  const detail = "the listing of transfers comes to no end, or gateways differ on one"
  return yield* new GatewayError({
    gateway: "the gateway",
    operation: "transfers",
    reason: { _tag: "Unreadable", detail },
  })
})

/** Listings take at most this long, also with a slow gateway: a command waits an hour for its answer. */
const listMillisMax = 3_000_000

/** Whole listings of keys. Fails where they take too long, before anything is changed. */
const listAll = (keys: ReadonlyArray<string>) =>
  Effect.forEach(keys, listWhole).pipe(
    Effect.timeoutOrElse({
      duration: listMillisMax,
      orElse: () =>
        new GatewayError({
          gateway: "the gateway",
          operation: "transfers",
          reason: { _tag: "Timeout", afterMillis: listMillisMax },
        }),
    }),
  )

/** Stores whole listings without halting. Returns new unrecognized transfers: of this installation, and of others. */
const noteWhole = Effect.fnUntraced(function* (listings: ReadonlyArray<Whole>, installation: string | undefined) {
  const audit = yield* LedgerAudit
  const found: Array<UnrecognizedTransfer> = []
  for (const { party, listing } of listings) {
    if (listing === undefined) continue
    const { transfers } = listing
    const isOwn = (reference: string) => ownSequence(installation, reference) !== undefined
    // Without a cursor later readings begin where they would have: a page of this one may lack rows.
    found.push(...(yield* audit.note({ party, cursor: undefined, transfers, isOwn })).unrecognized)
  }
  return { own: found.filter(({ own }) => own), foreign: found.filter(({ own }) => !own) }
})

/** A payment that differs between the journal and the gateway's history. */
interface HistoryDifference {
  /**
   * foreign_payment: the key paid, and no journal knows it. restored_store: this installation paid, and this journal
   * does not know it. second_execution: more than once. not_listed: the journal has it as executed, and the gateway
   * lists none. other_end: both have it, and one as executed alone. other_payment: receiver, asset or amount differ.
   */
  readonly kind:
    | "foreign_payment"
    | "restored_store"
    | "second_execution"
    | "not_listed"
    | "other_end"
    | "other_payment"
  /** Public key of the payer; "" where the finding names none. */
  readonly party: string
  /** Id of the transfer or the intent. */
  readonly id: string
  readonly ours: string
  readonly ledger: string
}

/** Result of the comparison. */
interface HistoryComparison {
  readonly differences: ReadonlyArray<HistoryDifference>
  /** Transfers that the gateway lists. */
  readonly transfers: number
  /** Keys without a listing, because the gateway has no such operation. */
  readonly unlisted: ReadonlyArray<string>
}

/**
 * Compares all transfers that the gateway lists of the keys with the journal, from the beginning. Unrecognized
 * transfers and second executions halt, as in the daemon.
 */
export const compareHistory = Effect.fn("Reconcile.history")(function* (keys: ReadonlyArray<string>) {
  const audit = yield* LedgerAudit
  const differences: Array<HistoryDifference> = []
  const unlisted: Array<string> = []
  let transfers = 0
  for (const party of keys) {
    const { listing, isWithWithdrawals } = yield* listWhole(party)
    if (listing === undefined) {
      unlisted.push(party)
      continue
    }
    transfers += listing.transfers.length
    // A listing from the beginning does not move the cursor of the next reading.
    yield* recordListing(party, { ...listing, cursor: undefined })
    const ended = (yield* audit.endedAttempts(party)).filter(
      ({ command }) => command === "transfer" || (command === "withdraw" && isWithWithdrawals),
    )
    differences.push(...compareEnds(party, ended, listing.transfers))
  }
  for (const { id, from, to, asset, amount, status, own } of yield* audit.unacknowledged) {
    const kind = own ? "restored_store" : "foreign_payment"
    const ledger = `${amount} of ${asset.slice(0, 8)} to ${to.slice(0, 8)}, ${status}`
    differences.push({ kind, party: from, id, ours: "unknown", ledger })
  }
  for (const { intentId, n } of yield* audit.duplicates) {
    differences.push({ kind: "second_execution", party: "", id: shortId(intentId), ours: "once", ledger: `${n} times` })
  }
  return { differences, transfers, unlisted } satisfies HistoryComparison
})

/** Attempts whose end in the journal differs from the listing. */
const compareEnds = (
  party: string,
  ended: ReadonlyArray<EndedAttempt>,
  transfers: ReadonlyArray<ObservedTransfer>,
): ReadonlyArray<HistoryDifference> => {
  const listed = new Map(transfers.map((transfer) => [transfer.id, transfer]))
  return ended.flatMap(({ transferId, state, to, asset, amount }): ReadonlyArray<HistoryDifference> => {
    const transfer = listed.get(transferId)
    const at = { party, id: transferId }
    if (transfer === undefined) {
      return state === "confirmed" ? [{ ...at, kind: "not_listed", ours: state, ledger: "not listed" }] : []
    }
    const { status } = transfer
    if ((state === "confirmed") !== (status === "done"))
      return [{ ...at, kind: "other_end", ours: state, ledger: status }]
    if (transfer.to === to && transfer.asset === asset && transfer.amount === amount) return []
    const words = (key: string, units: bigint, of: string) => `${units} of ${of.slice(0, 8)} to ${key.slice(0, 8)}`
    const ledger = words(transfer.to, transfer.amount, transfer.asset)
    return [{ ...at, kind: "other_payment", ours: words(to, amount, asset), ledger }]
  })
}

interface Recovered {
  /** Journal entry at which this installation signed its last payment on the ledger; undefined if there is none. */
  readonly lastOnLedger: number | undefined
  /** Last journal entry before the recovery. */
  readonly lastInJournal: number
  /** Payments of this installation that the store did not know, now imported. */
  readonly missing: ReadonlyArray<UnrecognizedTransfer>
  /**
   * Keys without a listing, or whose listing begins later than the store ends, and its begin (Unix nanoseconds;
   * undefined: there is none).
   */
  readonly unlisted: ReadonlyMap<string, bigint | undefined>
}

/**
 * Keys without a listing, or whose listing has nothing of the time up to which the store knows it: what the lost store
 * paid in between is in neither. Keys of an earlier recovery whose payments are not handed over yet are included.
 */
const unlistedOf = Effect.fnUntraced(function* (listings: ReadonlyArray<Whole>, installation: string | undefined) {
  const audit = yield* LedgerAudit
  const [, ...before] = ((yield* (yield* Settings).get(handOverKey)) ?? "").split(" ")
  const unlisted = new Map<string, bigint | undefined>()
  for (const { party, listing } of listings) {
    const last = yield* audit.lastKnown(party)
    // Payments adopted since, and withdrawals, which gateways keep for longer, show nothing of the store's transfers.
    const counted = (listing?.transfers ?? []).filter(
      ({ reference }) => last?.own !== 1 || ownSequence(installation, reference) !== undefined,
    )
    const isReached =
      last === undefined || counted.some(({ id, timestamp }) => id === last.id || timestamp <= last.timestamp)
    if (listing !== undefined && isReached && !before.includes(party)) continue
    const times = counted.map(({ timestamp }) => timestamp)
    unlisted.set(party, times.toSorted((a, b) => (a < b ? -1 : 1))[0])
  }
  return unlisted
})

/**
 * Puts a restored backup into service: imports this installation's payments that it misses, counts them in the policy's
 * limits, remembers the file, and ends the halt. Its payments under way become manual. Nothing is signed for one
 * window, since payments of the lost database may still execute.
 */
export const recover = Effect.fn("Recover")(function* <E, R>(
  keys: ReadonlyArray<string>,
  file: string,
  { reason, author }: AuditRequest,
  agree: Agree<E, R>,
) {
  const audit = yield* LedgerAudit
  const journal = yield* Journal
  const controls = yield* Controls
  const settings = yield* Settings
  const installation = yield* settings.get("installation")
  const listings = yield* listAll(keys)
  const all = listings.flatMap(({ listing }) => listing?.transfers ?? [])
  const database = yield* Database
  const recovered = yield* database.write(
    Effect.gen(function* () {
      const { seq } = yield* journal.head
      const unlisted = yield* unlistedOf(listings, installation)
      yield* haltOnUnrecognized(installation, (yield* noteWhole(listings, installation)).foreign)
      const missing = (yield* audit.unacknowledged).filter(({ own }) => own)
      yield* agree(missing)
      yield* audit.acknowledge(
        missing.map(({ id }) => id),
        "recovered",
      )
      yield* countSpends(missing)
      const lastOnLedger = lastOwnSequence(installation, all)
      const ids = missing.map(({ id }) => id)
      yield* journal.append({
        kind: "recovered",
        subject: "restored_store",
        body: { reason, author, lastOnLedger, lastInJournal: seq, ids },
      })
      yield* rememberStoreFile(file)
      yield* beginQuarantine()
      // Without a halt and without a missing payment, nothing was lost: payments under way stay as they are.
      const isLost = (yield* controls.halts).some(({ reason: halted }) => halted === "restored_store")
      if (isLost || missing.length > 0) yield* settings.set(handOverKey, ["pending", ...unlisted.keys()].join(" "))
      yield* controls.release("restored_store", `${author}: ${reason}`)
      return { lastOnLedger, lastInJournal: seq, missing, unlisted } satisfies Recovered
    }),
  )
  yield* (yield* Journal).noteHead
  return recovered
})
