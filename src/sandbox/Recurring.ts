import { accountTypeNumbers } from "../domain/AccountType.ts"
import type { Chain, Transfer } from "./Chain.ts"
import { parseFactor, power, timesFloor } from "./Fraction.ts"
import { checkPayment, payTransfer, putTransfer } from "./Payments.ts"
import type { Tx } from "./Tx.ts"

type Draft = Pick<Transfer, "kind" | "from" | "to" | "asset" | "fromAccountType" | "toAccountType">

/** Why a recurring transfer may not begin; undefined where it may, and for one-off transfers. */
export const problemOfRecurring = (chain: Chain, draft: Draft): string | undefined => {
  if (draft.kind._tag !== "recurring") return undefined
  for (const id of chain.openTransfers) {
    const other = chain.transfers.get(id)
    if (other !== undefined && isSimilar(other, draft)) {
      return "cannot submit duplicate recurring transfer with same from and to"
    }
  }
  return draft.kind.startEpoch < chain.epoch.seq ? "start epoch in the past" : undefined
}

const isSimilar = (a: Draft, b: Draft): boolean =>
  a.kind._tag === "recurring" &&
  b.kind._tag === "recurring" &&
  a.kind.dispatched === b.kind.dispatched &&
  a.from === b.from &&
  a.to === b.to &&
  a.asset === b.asset &&
  a.fromAccountType === b.fromAccountType &&
  a.toAccountType === b.toAccountType

/**
 * Pays what falls due at the end of an epoch, in the order in which it was asked for. A payment that is too small or
 * not covered stops its transfer for good.
 */
export const payRecurring = (chain: Chain): void => {
  for (const id of [...chain.openTransfers]) {
    const transfer = chain.transfers.get(id)
    if (transfer?.kind._tag !== "recurring" || transfer.kind.startEpoch > chain.epoch.seq) continue
    payOnce(chain, transfer, transfer.kind)
  }
}

const payOnce = (chain: Chain, transfer: Transfer, kind: Transfer["kind"] & { _tag: "recurring" }): void => {
  const { seq } = chain.epoch
  const { endEpoch = Number.POSITIVE_INFINITY } = kind
  const end = (version: Transfer, status: Transfer["status"], reason = ""): void =>
    putTransfer(chain, { ...version, status, reason, time: chain.time, open: false })
  if (seq > endEpoch) {
    end(transfer, "STATUS_DONE")
    return
  }
  let paid = transfer
  if (!kind.dispatched) {
    const payable = checkPayment(chain, wishOf(transfer), amountOf(transfer, kind, seq))
    if (typeof payable === "string") {
      end(transfer, "STATUS_STOPPED", payable)
      return
    }
    const amount = payTransfer(chain, transfer, { ...payable, deliver: true })
    paid = { ...transfer, fees: [...transfer.fees, { epoch: seq, amount }] }
    // No version of its own: the network tells of the fee alone.
    chain.transfers.set(paid.id, paid)
    chain.changedTransfers.add(paid.id)
  }
  // From 0.79 on the network notices an epoch later that nothing is left to do.
  if (seq === endEpoch && !chain.profile.recurringEndsLate) end(paid, "STATUS_DONE")
}

const wishOf = (transfer: Transfer) => ({
  party: transfer.from,
  asset: transfer.asset,
  fromAccountType: accountTypeNumbers[transfer.fromAccountType],
  to: transfer.to,
  toAccountType: accountTypeNumbers[transfer.toAccountType],
})

const amountOf = (transfer: Transfer, kind: Transfer["kind"] & { _tag: "recurring" }, epoch: number): bigint =>
  timesFloor(
    power(parseFactor(kind.factor) ?? { numerator: 1n, denominator: 1n }, epoch - kind.startEpoch),
    transfer.amount,
  )

/** Ends a recurring transfer. Returns the text of its failure; undefined: it is cancelled. */
export const cancelTransfer = (chain: Chain, tx: Pick<Tx, "party">, id: string): string | undefined => {
  const transfer = chain.transfers.get(id)
  if (transfer?.kind._tag !== "recurring" || !transfer.open) return "recurring transfer does not exists"
  if (transfer.from !== tx.party) return "cannot cancel other parties recurring transfers"
  const reason = "transfer cancelled"
  putTransfer(chain, { ...transfer, status: "STATUS_CANCELLED", reason, time: chain.time, open: false })
  return undefined
}
