import { type AccountTypeName, accountTypeName } from "../domain/AccountType.ts"
import type { Transfer as WireTransfer } from "../tx/proto/transaction_pb.ts"
import type { AssetState, Chain, Transfer } from "./Chain.ts"
import { parseFraction, timesFloor } from "./Fraction.ts"
import { type Account, findAccount, move, network, openAccount } from "./Ledger.ts"
import { toMicros } from "./Time.ts"
import type { Tx } from "./Tx.ts"

/** A transfer whose state check passed: whose money, how much, and the fee on top. */
interface Payable {
  readonly from: Account
  readonly asset: AssetState
  readonly amount: bigint
  readonly fee: bigint
}

const noParty = "0".repeat(64)
const amountMax = 2n ** 256n - 1n

/** The receiver as the ledger knows it: the key of nobody stands for the network. */
const ownerOf = (to: string): string => (to === noParty ? network : to)

/** Fee in base units, taken on top: a share of the amount, capped by a multiple of the asset's quantum. */
export const transferFee = (chain: Chain, asset: Pick<AssetState, "quantum">, amount: bigint): bigint => {
  const share = timesFloor(parseFraction(chain.scenario.feeFactor), amount)
  const cap = timesFloor(parseFraction(chain.scenario.feeMaxQuantum), asset.quantum)
  return share < cap ? share : cap
}

/** The state check of submission and block alike: the network's text where the money cannot move. */
export const checkTransfer = (chain: Chain, tx: Tx, command: WireTransfer): Payable | string => {
  const asset = chain.assets.get(command.asset)
  if (asset === undefined || asset.status !== "STATUS_ENABLED") return "could not transfer funds, asset does not exist"
  // A text of 79 digits is beyond 256 bits, and a text of two million would block the node.
  const digits = command.amount.replace(/^\+?0*/, "")
  const amount = digits.length > 78 ? amountMax + 1n : BigInt(digits)
  if (amount > amountMax) return "invalid transfer amount"
  const type = accountTypeName(command.fromAccountType) as AccountTypeName
  const from = findAccount(chain.ledger, { party: tx.party, asset: asset.id, market: "", type })
  const minimum = timesFloor(parseFraction(chain.scenario.minTransferQuantum), asset.quantum)
  if (amount < minimum && (type !== "ACCOUNT_TYPE_VESTED_REWARDS" || from === undefined || amount !== from.balance)) {
    return type === "ACCOUNT_TYPE_VESTED_REWARDS"
      ? "transfer from vested account under minimal transfer amount must be the full balance"
      : "could not transfer funds, less than minimal amount requested to transfer"
  }
  if (command.toAccountType === 21 && command.to !== noParty) return "could not transfer funds, invalid to account"
  if (from === undefined) {
    const id = `!${tx.party}${asset.id}${String.fromCharCode(48 + command.fromAccountType)}`
    return `could not transfer funds, account does not exist: ${id}`
  }
  const own = type === "ACCOUNT_TYPE_VESTED_REWARDS" && command.to === tx.party
  const fee = own ? 0n : transferFee(chain, asset, amount)
  if (from.balance < amount + fee) return "could not transfer funds, not enough funds to transfer"
  return { from, asset, amount, fee }
}

/**
 * Executes a one-off transfer in the block being made. Returns the text of its failure; undefined: the money moved.
 * With `failure` given it fails with that.
 */
export const executeTransfer = (chain: Chain, tx: Tx, command: WireTransfer, failure?: string): string | undefined => {
  if (command.kind.case !== "oneOff") return "recurring transfers are not executed here"
  const payable = failure ?? checkTransfer(chain, tx, command)
  const base = {
    id: tx.id,
    from: tx.party,
    fromAccountType: accountTypeName(command.fromAccountType) as AccountTypeName,
    to: ownerOf(command.to),
    toAccountType: accountTypeName(command.toAccountType) as AccountTypeName,
    asset: command.asset,
    reference: command.reference,
    deliverOn: command.kind.value.deliverOn,
    epoch: chain.epoch.seq,
    time: toMicros(chain.time),
  }
  if (typeof payable === "string") {
    const amount = BigInt(command.amount.replace(/^\+/, "").slice(0, 80))
    const rejected: Transfer = { ...base, amount, fee: 0n, status: "STATUS_REJECTED", reason: payable, delivered: true }
    putTransfer(chain, rejected)
    return payable
  }
  const { from, asset, amount, fee } = payable
  const ofNetwork = (type: AccountTypeName) =>
    openAccount(chain.ledger, { party: network, asset: asset.id, market: "", type })
  if (fee > 0n) move(chain.ledger, from, ofNetwork("ACCOUNT_TYPE_FEES_INFRASTRUCTURE"), fee)
  move(chain.ledger, from, ofNetwork("ACCOUNT_TYPE_PENDING_TRANSFERS"), amount)
  // Later deliveries are reported as done at once, and once more when the money arrives.
  const transfer: Transfer = { ...base, amount, fee, status: "STATUS_DONE", reason: "", delivered: false }
  if (base.deliverOn <= chain.time) deliver(chain, transfer)
  else {
    putTransfer(chain, transfer)
    chain.undelivered.add(transfer.id)
  }
  return undefined
}

const deliver = (chain: Chain, transfer: Transfer): void => {
  const { asset } = transfer
  const pending = { party: network, asset, market: "", type: "ACCOUNT_TYPE_PENDING_TRANSFERS" } as const
  const target = { party: transfer.to, asset, market: "", type: transfer.toAccountType }
  move(chain.ledger, openAccount(chain.ledger, pending), openAccount(chain.ledger, target), transfer.amount)
  putTransfer(chain, { ...transfer, time: toMicros(chain.time), delivered: true })
  chain.undelivered.delete(transfer.id)
}

const putTransfer = (chain: Chain, transfer: Transfer): void => {
  chain.transfers.set(transfer.id, transfer)
  chain.changedTransfers.add(transfer.id)
}

/** Delivers what has become due, in the order in which it was sent. */
export const deliverDue = (chain: Chain): void => {
  for (const id of [...chain.undelivered]) {
    const transfer = chain.transfers.get(id)
    if (transfer !== undefined && transfer.deliverOn <= chain.time) deliver(chain, transfer)
  }
}
