import { type AccountTypeName, accountTypeName, accountTypeNumbers } from "../domain/Balance.ts"
import type { Transfer as WireTransfer, WithdrawSubmission } from "../tx/proto/transaction_pb.ts"
import type { AssetState, Chain, Transfer, Withdrawal } from "./Chain.ts"
import { parseFactor, parseFraction, power, timesFloor } from "./Fraction.ts"
import { type Account, findAccount, move, network, openAccount, withdraw } from "./Ledger.ts"
import type { Tx } from "./Mempool.ts"

const amountMax = 2n ** 256n - 1n

/** The receiver's name in the ledger. */
const ownerOf = (to: string): string => (to === noParty ? network : to)

/** Checks a transfer against the ledger, at submission and again in the block. A text is the network's refusal. */
export const checkTransfer = (chain: Chain, tx: Pick<Tx, "party">, command: WireTransfer): Payable | string => {
  const asset = enabledAsset(chain, command.asset)
  if (asset === undefined) return "could not transfer funds, asset does not exist"
  // 79 digits exceed 256 bits; BigInt of two million digits would block the process.
  const digits = command.amount.replace(/^\+?0*/, "")
  const amount = digits.length > 78 ? amountMax + 1n : BigInt(digits)
  if (amount > amountMax) return "invalid transfer amount"
  return checkPayment(chain, { ...command, party: tx.party }, amount)
}

/** The transfer as the command asks for it, without its outcome. */
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
 * Executes a transfer in the block being made: a one-off pays at once, a recurring one at the ends of its epochs.
 * Returns the text of its failure; undefined if it has none. With `failure` it fails with that text.
 */
export const executeTransfer = (chain: Chain, tx: Tx, command: WireTransfer, failure?: string): string | undefined => {
  const transfer = drafted(chain, tx, command)
  const payable = failure ?? checkTransfer(chain, tx, command)
  const reason = typeof payable === "string" ? payable : problemOfRecurring(chain, transfer)
  const before = chain.transfers.get(tx.id)
  const isOpen = before?.open === true
  if (reason !== undefined || typeof payable === "string") {
    // An earlier execution of the same signature stays open: it still owes its delivery.
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
  // A transfer with a later delivery is reported as done now, and again when the money arrives.
  const repeats = isOpen ? { repeats: (before.repeats ?? 0) + 1 } : {}
  putTransfer(chain, { ...transfer, fees, status: "STATUS_DONE", reason: "", open: !due, ...repeats })
  return undefined
}

/** Delivers the transfers that are due, oldest first. */
export const deliverDue = (chain: Chain): void => {
  for (const id of [...chain.openTransfers]) {
    const transfer = chain.transfers.get(id)
    if (transfer?.kind._tag !== "oneOff" || transfer.kind.deliverOn > chain.time) continue
    const { repeats = 0, ...rest } = transfer
    for (let n = 0; n <= repeats; n++) handOver(chain, transfer, transfer.asset, transfer.amount)
    putTransfer(chain, { ...rest, status: "STATUS_DONE", reason: "", time: chain.time, open: false })
  }
}

/** A transfer whose state check passed: whose money, how much, and the fee on top. */
interface Payable {
  readonly from: Account
  readonly asset: AssetState
  readonly amount: bigint
  readonly fee: bigint
}

/** The key that nobody has: as a receiver it means the network. */
const noParty = "0".repeat(64)

/** Fee in base units, taken on top: a share of the amount, capped by a multiple of the asset's quantum. */
const transferFee = (chain: Chain, asset: Pick<AssetState, "quantum">, amount: bigint): bigint => {
  const share = timesFloor(parseFraction(chain.scenario.feeFactor), amount)
  const cap = timesFloor(parseFraction(chain.scenario.feeMaxQuantum), asset.quantum)
  return share < cap ? share : cap
}

interface Wish {
  readonly party: string
  readonly asset: string
  readonly fromAccountType: number
  readonly to: string
  readonly toAccountType: number
}

/** An asset that may move; undefined where there is none, or not yet. */
const enabledAsset = (chain: Chain, id: string): AssetState | undefined => {
  const asset = chain.assets.get(id)
  return asset?.status === "STATUS_ENABLED" ? asset : undefined
}

/** `checkTransfer` for an amount in base units. A recurring transfer is checked again at each payment. */
const checkPayment = (chain: Chain, wish: Wish, amount: bigint): Payable | string => {
  const asset = enabledAsset(chain, wish.asset)
  if (asset === undefined) return "could not transfer funds, asset does not exist"
  const type = accountTypeName(wish.fromAccountType) as AccountTypeName
  const from = findAccount(chain.ledger, { party: wish.party, asset: asset.id, market: "", type })
  const minimum = timesFloor(parseFraction(chain.scenario.minTransferQuantum), asset.quantum)
  if (amount < minimum) return "could not transfer funds, less than minimal amount requested to transfer"
  const treasury = wish.toAccountType === accountTypeNumbers.ACCOUNT_TYPE_NETWORK_TREASURY
  if (treasury && wish.to !== noParty && wish.to !== network) return "could not transfer funds, invalid to account"
  if (from === undefined) {
    const id = `!${wish.party}${asset.id}${String.fromCharCode(48 + wish.fromAccountType)}`
    return `could not transfer funds, account does not exist: ${id}`
  }
  const fee = transferFee(chain, asset, amount)
  if (from.balance < amount + fee) return "could not transfer funds, not enough funds to transfer"
  return { from, asset, amount, fee }
}

type Parts = Pick<Transfer, "id" | "to" | "toAccountType">

/** Takes amount and fee from the sender, and hands the amount over or lets it wait. Returns the fee. */
const payTransfer = (
  chain: Chain,
  transfer: Parts,
  { from, asset, amount, fee, deliver }: Payable & { readonly deliver: boolean },
): bigint => {
  const pending = ofNetwork(chain, asset.id, "ACCOUNT_TYPE_PENDING_TRANSFERS")
  const { id: transferId } = transfer
  move(chain.ledger, { from, to: pending, amount, type: "TRANSFER_TYPE_TRANSFER_FUNDS_SEND", transferId })
  if (deliver) handOver(chain, transfer, asset.id, amount)
  if (fee > 0n) {
    const fees = ofNetwork(chain, asset.id, "ACCOUNT_TYPE_FEES_INFRASTRUCTURE")
    move(chain.ledger, { from, to: fees, amount: fee, type: "TRANSFER_TYPE_INFRASTRUCTURE_FEE_PAY" })
  }
  return fee
}

const ofNetwork = (chain: Chain, asset: string, type: AccountTypeName): Account =>
  openAccount(chain.ledger, { party: network, asset, market: "", type })

/** Moves the amount from the network's pending account to the receiver. */
const handOver = (chain: Chain, { id, to, toAccountType }: Parts, asset: string, amount: bigint): void =>
  move(chain.ledger, {
    from: ofNetwork(chain, asset, "ACCOUNT_TYPE_PENDING_TRANSFERS"),
    to: openAccount(chain.ledger, { party: to, asset, market: "", type: toAccountType }),
    amount,
    type: "TRANSFER_TYPE_TRANSFER_FUNDS_DISTRIBUTE",
    transferId: id,
  })

const putTransfer = (chain: Chain, transfer: Transfer): void => {
  chain.transfers.set(transfer.id, transfer)
  chain.changedTransfers.add(transfer.id)
  if (transfer.open) chain.openTransfers.add(transfer.id)
  else chain.openTransfers.delete(transfer.id)
}

type Draft = Pick<Transfer, "kind" | "from" | "to" | "asset" | "fromAccountType" | "toAccountType">

/** Why a recurring transfer may not begin; undefined where it may, and for one-off transfers. */
const problemOfRecurring = (chain: Chain, draft: Draft): string | undefined => {
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
  a.from === b.from &&
  a.to === b.to &&
  a.asset === b.asset &&
  a.fromAccountType === b.fromAccountType &&
  a.toAccountType === b.toAccountType

/**
 * Makes payments that are due at the end of an epoch, in the order of their requests. One that is too small or not
 * covered stops its transfer for good.
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
  const payable = checkPayment(chain, wishOf(transfer), amountOf(transfer, kind, seq))
  if (typeof payable === "string") {
    end(transfer, "STATUS_STOPPED", payable)
    return
  }
  const amount = payTransfer(chain, transfer, { ...payable, deliver: true })
  const paid = { ...transfer, fees: [...transfer.fees, { epoch: seq, amount }] }
  // Time and status stay: the network reports the fee alone.
  chain.transfers.set(paid.id, paid)
  chain.changedTransfers.add(paid.id)
  if (seq === endEpoch) end(paid, "STATUS_DONE")
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

/**
 * Executes a withdrawal in the block being made; nothing of it is checked at submission. The money leaves the ledger at
 * once; of a bridged asset its owner claims it on the bridge. Returns the text of a failure.
 */
export const executeWithdrawal = (chain: Chain, tx: Tx, command: WithdrawSubmission): string | undefined => {
  const asset = chain.assets.get(command.asset)
  if (asset?.status !== "STATUS_ENABLED") return "asset does not exist"
  const amount = BigInt(command.amount.replace(/^\+/, "").slice(0, 80))
  const minimum = timesFloor(parseFraction(chain.scenario.minWithdrawalQuantum), asset.quantum)
  if (amount < minimum) return "invalid withdrawal, the amount is less than the minimum"
  const receiver = command.ext?.erc20?.receiverAddress
  if (asset.source.kind === "erc20" && receiver === undefined) return "missing withdraw submission erc20 ext"
  const from = findAccount(chain.ledger, {
    party: tx.party,
    asset: asset.id,
    market: "",
    type: "ACCOUNT_TYPE_GENERAL",
  })
  const covered = from !== undefined && from.balance >= amount
  if (covered) withdraw(chain.ledger, from, amount)
  const withdrawal: Withdrawal = {
    id: tx.id,
    party: tx.party,
    asset: asset.id,
    amount,
    status: covered ? "STATUS_FINALIZED" : "STATUS_REJECTED",
    time: chain.time,
    receiver: receiver ?? "",
  }
  chain.withdrawals.set(withdrawal.id, withdrawal)
  chain.newWithdrawals.push(withdrawal)
  return covered ? undefined : "not enough funds to withdraw"
}
