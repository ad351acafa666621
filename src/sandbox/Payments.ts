import { type AccountTypeName, accountTypeName, accountTypeNumbers } from "../domain/AccountType.ts"
import type { AssetState, Chain, Transfer } from "./Chain.ts"
import { parseFraction, timesFloor } from "./Fraction.ts"
import { type Account, findAccount, move, network, openAccount } from "./Ledger.ts"

/** A transfer whose state check passed: whose money, how much, and the fee on top. */
export interface Payable {
  readonly from: Account
  readonly asset: AssetState
  readonly amount: bigint
  readonly fee: bigint
}

/** The key of nobody: as a receiver it stands for the network. */
export const noParty = "0".repeat(64)

/** Fee in base units, taken on top: a share of the amount, capped by a multiple of the asset's quantum. */
export const transferFee = (chain: Chain, asset: Pick<AssetState, "quantum">, amount: bigint): bigint => {
  const share = timesFloor(parseFraction(chain.scenario.feeFactor), amount)
  const cap = timesFloor(parseFraction(chain.scenario.feeMaxQuantum), asset.quantum)
  return share < cap ? share : cap
}

/** Whose money, of which asset, to which kind of account. */
interface Wish {
  readonly party: string
  readonly asset: string
  readonly fromAccountType: number
  readonly to: string
  readonly toAccountType: number
}

/** An asset that may move; undefined where there is none, or not yet. */
export const enabledAsset = (chain: Chain, id: string): AssetState | undefined => {
  const asset = chain.assets.get(id)
  return asset?.status === "STATUS_ENABLED" ? asset : undefined
}

/** The same for an amount: what each payment of a recurring transfer must pass again. */
export const checkPayment = (chain: Chain, wish: Wish, amount: bigint): Payable | string => {
  const asset = enabledAsset(chain, wish.asset)
  if (asset === undefined) return "could not transfer funds, asset does not exist"
  const type = accountTypeName(wish.fromAccountType) as AccountTypeName
  const from = findAccount(chain.ledger, { party: wish.party, asset: asset.id, market: "", type })
  const minimum = timesFloor(parseFraction(chain.scenario.minTransferQuantum), asset.quantum)
  if (amount < minimum && (type !== "ACCOUNT_TYPE_VESTED_REWARDS" || from === undefined || amount !== from.balance)) {
    return type === "ACCOUNT_TYPE_VESTED_REWARDS"
      ? "transfer from vested account under minimal transfer amount must be the full balance"
      : "could not transfer funds, less than minimal amount requested to transfer"
  }
  const treasury = wish.toAccountType === accountTypeNumbers.ACCOUNT_TYPE_NETWORK_TREASURY
  if (treasury && wish.to !== noParty && wish.to !== network) return "could not transfer funds, invalid to account"
  if (from === undefined) {
    const id = `!${wish.party}${asset.id}${String.fromCharCode(48 + wish.fromAccountType)}`
    return `could not transfer funds, account does not exist: ${id}`
  }
  const own = type === "ACCOUNT_TYPE_VESTED_REWARDS" && wish.to === wish.party
  const fee = own ? 0n : transferFee(chain, asset, amount)
  if (from.balance < amount + fee) return "could not transfer funds, not enough funds to transfer"
  return { from, asset, amount, fee }
}

type Parts = Pick<Transfer, "id" | "to" | "toAccountType">

/** Takes amount and fee from the sender, and hands the amount over or lets it wait. Returns the fee. */
export const payTransfer = (
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

/** Hands over what waited for its delivery. */
export const handOver = (chain: Chain, { id, to, toAccountType }: Parts, asset: string, amount: bigint): void =>
  move(chain.ledger, {
    from: ofNetwork(chain, asset, "ACCOUNT_TYPE_PENDING_TRANSFERS"),
    to: openAccount(chain.ledger, { party: to, asset, market: "", type: toAccountType }),
    amount,
    type: "TRANSFER_TYPE_TRANSFER_FUNDS_DISTRIBUTE",
    transferId: id,
  })

/** The latest version of a transfer, kept. */
export const putTransfer = (chain: Chain, transfer: Transfer): void => {
  chain.transfers.set(transfer.id, transfer)
  chain.changedTransfers.add(transfer.id)
  if (transfer.open) chain.openTransfers.add(transfer.id)
  else chain.openTransfers.delete(transfer.id)
}
