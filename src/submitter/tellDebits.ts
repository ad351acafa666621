import { Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { Confirmation } from "../gateway/Confirmation.ts"
import type { LedgerDebits } from "../gateway/LedgerHistory.ts"
import { type LedgerEntry, withdrawn } from "../gateway/schema/LedgerEntries.ts"
import { Debits } from "../store/Debits.ts"
import { Findings, type ListedTransfer } from "../store/Findings.ts"
import { tripWith } from "../store/trip.ts"
import { noteListing } from "./noteListing.ts"
import type { Debit } from "./reckon.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/** A debit that no payment of the journal explains. */
export interface ForeignDebit {
  /** As the listing would have it; of a withdrawal or of a fall alone as much as is known. */
  readonly transfer: ListedTransfer
  readonly kind: "transfer" | "withdrawal" | "fall"
  /** Whether the gateway knows the transfer by its id, though it does not list it. */
  readonly isKnown: boolean
}

/** What looking into debits brought, and whether all of it was shown. */
export interface Proof {
  readonly found: ReadonlyArray<ForeignDebit>
  readonly complete: boolean
}

/** Those of the ledger's movements that the journal does not know; what else is among them, trading may explain. */
export const foreignAmong = Effect.fnUntraced(function* (
  party: string,
  falls: ReadonlyArray<Debit>,
  entries: LedgerDebits,
) {
  const first = falls[0]!.timestamp
  const last = falls.at(-1)!.timestamp
  const moved = entries.debits.filter(({ timestamp }) => timestamp >= first)
  const idOf = idsOf(moved, yield* withdrawalsOf(party, moved))
  const named = moved.map((entry) => ({ entry, id: idOf(entry) }))
  const unknown = yield* (yield* Debits).unknown(named.map(({ id }) => id))
  yield* watchAgain(named, unknown, falls)
  const found: Array<ForeignDebit> = []
  for (const { entry, id } of named) {
    if (!unknown.has(id) || found.some(({ transfer }) => transfer.id === id)) continue
    found.push(yield* describe(party, entry, id))
  }
  const { complete, mark } = entries
  return { found, complete: complete && (mark === undefined || mark.timestamp > last) } satisfies Proof
})

interface Named {
  readonly entry: LedgerEntry
  readonly id: string
}

/** A payment of the journal that moved money where none was left to explain a fall may have executed once more. */
const watchAgain = Effect.fnUntraced(function* (
  named: ReadonlyArray<Named>,
  unknown: ReadonlySet<string>,
  falls: ReadonlyArray<Debit>,
) {
  const again = named.filter(({ entry, id }) => !unknown.has(id) && falls.some((fall) => isIn(entry, fall)))
  if (again.length === 0) return
  yield* (yield* Findings).watchTransfers([...new Set(again.map(({ id }) => id))])
})

const isIn = ({ asset, timestamp }: LedgerEntry, fall: Debit): boolean => {
  const after = timestamp - fall.timestamp
  return asset === fall.asset && after > -1_000n && after < entryNanosMax
}

/** What the ledger lists of the key's withdrawals, where any of the movements is one. */
const withdrawalsOf = Effect.fnUntraced(function* (party: string, moved: ReadonlyArray<LedgerEntry>) {
  if (!moved.some(({ type }) => type === withdrawn)) return []
  const listing = yield* (yield* Confirmation)
    .withdrawalsFrom(party)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  return listing?.transfers.filter(({ status }) => status === "done") ?? []
})

/** An entry is written at its block's time and a microsecond more for each before it in the block. */
const entryNanosMax = 1_000_000_000n

/**
 * Movements of withdrawals bear no id: each has that of the listed one that fits it best, which no other has. One that
 * nothing listed fits is known by its own time.
 */
const idsOf = (moved: ReadonlyArray<LedgerEntry>, listed: ReadonlyArray<ListedTransfer>) => {
  const ids = new Map<LedgerEntry, string>()
  const left = new Set(listed)
  for (const entry of moved) {
    if (entry.type !== withdrawn && entry.transferId !== "") {
      ids.set(entry, entry.transferId)
      continue
    }
    const after = (one: ListedTransfer): bigint => entry.timestamp - one.timestamp
    const own = [...left]
      .filter((one) => one.asset === entry.asset && one.amount === entry.quantity)
      .filter((one) => after(one) > -1_000n && after(one) < entryNanosMax)
      .toSorted((a, b) => (after(a) < after(b) ? -1 : 1))[0]
    if (own !== undefined) left.delete(own)
    ids.set(entry, own?.id ?? `debit ${entry.timestamp}`)
  }
  return (entry: LedgerEntry): string => ids.get(entry) ?? `debit ${entry.timestamp}`
}

const describe = Effect.fnUntraced(function* (party: string, entry: LedgerEntry, id: string) {
  const { asset, quantity: amount, timestamp, type, transferId } = entry
  const transfer = { id, from: party, to: "", asset, amount, reference: "", status: "done", timestamp }
  if (type === withdrawn) return { transfer, kind: "withdrawal", isKnown: false } satisfies ForeignDebit
  const { found } = yield* (yield* Confirmation).transfer(transferId)
  const isKnown = found !== undefined && found.from === party
  return { transfer: isKnown ? found : transfer, kind: "transfer", isKnown } satisfies ForeignDebit
})

/** Falls of balances that nothing explains, as if each were a transfer to nobody. */
export const fallsOf = (party: string, falls: ReadonlyArray<Debit>): ReadonlyArray<ForeignDebit> =>
  falls.map(({ asset, timestamp, amount }) => {
    const id = `debit ${timestamp} ${asset}`
    const transfer = { id, from: party, to: "", asset, amount, reference: "", status: "done", timestamp }
    return { transfer, kind: "fall", isKnown: false }
  })

/** Stores what nobody explains as payments that the journal does not know, and halts. */
export const tellDebits = Effect.fnUntraced(function* (party: string, debits: ReadonlyArray<ForeignDebit>) {
  const listed = debits.filter(({ isKnown }) => isKnown).map(({ transfer }) => transfer)
  yield* noteListing(party, { transfers: listed, cursor: undefined })
  const others = debits.filter(({ isKnown }) => !isKnown)
  const transfers = others.map(({ transfer }) => transfer)
  const { strangers } = yield* (yield* Findings).note({ party, cursor: undefined, transfers, isOwn: () => false })
  const last = strangers.at(-1)
  if (last === undefined) return
  const kind = others.find(({ transfer }) => transfer.id === last.id)?.kind ?? "fall"
  const detail = yield* wordsOf(last, kind)
  const more = strangers.length > 1 ? `${strangers.length} debits that the journal does not know, the last: ` : ""
  yield* tripWith("foreign_payment", Effect.succeed(more + detail))
})

const how = {
  transfer: "by a transfer that the gateway does not list and the journal does not know",
  withdrawal: "by a withdrawal that the journal does not know",
  fall: "and no payment explains it",
} as const

const wordsOf = Effect.fnUntraced(function* (debit: ListedTransfer, kind: ForeignDebit["kind"]) {
  const { parties, assets } = yield* SubmitterOptions
  const party = [...parties.values()].find(({ publicKey }) => publicKey === debit.from)
  const pinned = [...assets.values()].find(({ id }) => id === debit.asset)
  const money =
    pinned === undefined
      ? `${debit.amount} of ${debit.asset.slice(0, 8)}`
      : `${formatAmount(debit.amount, pinned.decimals)} ${pinned.symbol}`
  const at = new Date(Number(debit.timestamp / 1_000_000n)).toISOString()
  return `${money} left the general account of ${party?.name ?? debit.from.slice(0, 8)} in the block of ${at}, ${how[kind]}`
})
