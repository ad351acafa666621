import { Effect } from "effect"
import { shortId } from "../domain/Hex.ts"
import type { ObservedTransfer } from "../gateway/schema/Transfers.ts"
import { type EndedAttempt, Findings } from "../store/Findings.ts"
import { listWhole } from "./adopt.ts"
import { noteListing } from "./noteListing.ts"

/** A payment of which the journal and the gateway's history tell different things. */
interface HistoryDifference {
  /**
   * foreign_payment: the key paid, and no journal knows it. restored_store: this installation paid, and this journal
   * does not know it. second_execution: more than once. not_listed: the journal has it as executed, and the gateway
   * lists none. other_end, other_payment: both know it, and not the same of it.
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
  /** Of the transfer, or of the intent. */
  readonly id: string
  readonly ours: string
  readonly ledger: string
}

/** What was compared. */
interface HistoryComparison {
  readonly differences: ReadonlyArray<HistoryDifference>
  /** Transfers that the gateway lists. */
  readonly transfers: number
  /** Keys of which the gateway lists nothing, because it has no such operation. */
  readonly unlisted: ReadonlyArray<string>
}

/**
 * Compares all that the gateway lists of the keys with the journal, from the beginning. What must not be there halts
 * as it does when the daemon meets it.
 */
export const compareHistory = Effect.fn("Reconcile.history")(function* (keys: ReadonlyArray<string>) {
  const findings = yield* Findings
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
    // Read from the beginning, it says nothing about where the next reading of news goes on.
    yield* noteListing(party, { ...listing, cursor: undefined })
    const ended = (yield* findings.ended(party)).filter(
      ({ command }) => command === "transfer" || (command === "withdraw" && isWithWithdrawals),
    )
    differences.push(...compareEnds(party, ended, listing.transfers))
  }
  for (const { id, from, to, asset, amount, status, own } of yield* findings.strangers) {
    const kind = own ? "restored_store" : "foreign_payment"
    const ledger = `${amount} of ${asset.slice(0, 8)} to ${to.slice(0, 8)}, ${status}`
    differences.push({ kind, party: from, id, ours: "unknown", ledger })
  }
  for (const { intentId, n } of yield* findings.duplicates) {
    differences.push({ kind: "second_execution", party: "", id: shortId(intentId), ours: "once", ledger: `${n} times` })
  }
  return { differences, transfers, unlisted } satisfies HistoryComparison
})

/** Ends of attempts beside what is listed of them. */
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
