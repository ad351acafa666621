import { type AccountTypeName, accountTypeName } from "../domain/AccountType.ts"
import type { Transfer as WireTransfer } from "../tx/proto/transaction_pb.ts"
import type { Chain, Transfer } from "./Chain.ts"
import { network } from "./Ledger.ts"
import { checkPayment, enabledAsset, handOver, noParty, type Payable, payTransfer, putTransfer } from "./Payments.ts"
import { problemOfRecurring } from "./Recurring.ts"
import type { Tx } from "./Tx.ts"

const amountMax = 2n ** 256n - 1n

/** The receiver as the ledger knows it. */
const ownerOf = (to: string): string => (to === noParty ? network : to)

/** The state check of submission and block alike: the network's text where the money cannot move. */
export const checkTransfer = (chain: Chain, tx: Pick<Tx, "party">, command: WireTransfer): Payable | string => {
  const asset = enabledAsset(chain, command.asset)
  if (asset === undefined) return "could not transfer funds, asset does not exist"
  // A text of 79 digits is beyond 256 bits, and a text of two million would block the node.
  const digits = command.amount.replace(/^\+?0*/, "")
  const amount = digits.length > 78 ? amountMax + 1n : BigInt(digits)
  if (amount > amountMax) return "invalid transfer amount"
  return checkPayment(chain, { ...command, party: tx.party }, amount)
}

/** The transfer as the command asks for it, before anything is known of its fate. */
const drafted = (chain: Chain, tx: Tx, command: WireTransfer): Omit<Transfer, "status" | "reason" | "open"> => {
  const { kind } = command
  const digits = command.amount.replace(/^\+/, "").slice(0, 80)
  return {
    id: tx.id,
    from: tx.party,
    fromAccountType: accountTypeName(command.fromAccountType) as AccountTypeName,
    to: ownerOf(command.to),
    toAccountType: accountTypeName(command.toAccountType) as AccountTypeName,
    asset: command.asset,
    amount: BigInt(digits),
    reference: command.reference,
    kind:
      kind.case === "recurring"
        ? {
            _tag: "recurring",
            startEpoch: epochNumber(kind.value.startEpoch),
            ...(kind.value.endEpoch === undefined ? {} : { endEpoch: epochNumber(kind.value.endEpoch) }),
            factor: kind.value.factor,
            dispatched: kind.value.dispatchStrategy !== undefined,
          }
        : { _tag: "oneOff", deliverOn: kind.value?.deliverOn ?? 0n },
    fees: [],
    time: chain.time,
  }
}

/** Epochs beyond 2^53 never come. */
const epochNumber = (epoch: bigint): number =>
  epoch <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(epoch) : Number.MAX_SAFE_INTEGER

/**
 * Executes a transfer in the block being made: a one-off pays at once, a recurring one is noted for the ends of its
 * epochs. Returns the text of its failure; undefined: it went well. With `failure` given it fails with that.
 */
export const executeTransfer = (chain: Chain, tx: Tx, command: WireTransfer, failure?: string): string | undefined => {
  const transfer = drafted(chain, tx, command)
  const payable = failure ?? checkTransfer(chain, tx, command)
  const reason = typeof payable === "string" ? payable : problemOfRecurring(chain, transfer)
  const before = chain.transfers.get(tx.id)
  const isOpen = before?.open === true
  if (reason !== undefined || typeof payable === "string") {
    // What an earlier execution of the same signature still owes stays owed.
    const left = isOpen ? { ...before, time: chain.time } : { ...transfer, open: false }
    putTransfer(chain, { ...left, status: "STATUS_REJECTED", reason: reason ?? "" })
    return reason
  }
  if (transfer.kind._tag === "recurring") {
    putTransfer(chain, { ...transfer, status: "STATUS_PENDING", reason: "", open: true })
    return undefined
  }
  const due = transfer.kind.deliverOn <= chain.time
  const fees = [{ epoch: chain.epoch.seq, amount: payTransfer(chain, transfer, { ...payable, deliver: due }) }]
  // Later deliveries are reported as done at once, and once more when the money arrives.
  const repeats = isOpen ? { repeats: (before.repeats ?? 0) + 1 } : {}
  putTransfer(chain, { ...transfer, fees, status: "STATUS_DONE", reason: "", open: !due, ...repeats })
  return undefined
}

/** Delivers what has become due, in the order in which it was sent. */
export const deliverDue = (chain: Chain): void => {
  for (const id of [...chain.openTransfers]) {
    const transfer = chain.transfers.get(id)
    if (transfer?.kind._tag !== "oneOff" || transfer.kind.deliverOn > chain.time) continue
    const { repeats = 0, ...rest } = transfer
    for (let n = 0; n <= repeats; n++) handOver(chain, transfer, transfer.asset, transfer.amount)
    putTransfer(chain, { ...rest, status: "STATUS_DONE", reason: "", time: chain.time, open: false })
  }
}
