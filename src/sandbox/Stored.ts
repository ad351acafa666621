import { Schema } from "effect"
import { type AccountTypeName, accountTypeNumbers } from "../domain/AccountType.ts"
import { type AssetStatusName, assetStatusNumbers } from "../domain/Asset.ts"
import type { Chain, Included, Transfer } from "./Chain.ts"
import { restoreFaults, StoredFaults, storeFaults } from "./Faults.ts"

/** The forms in which the ledger file keeps what has no columns of its own: JSON text with amounts as digits. */
const Big = Schema.BigIntFromString
const AccountType = Schema.Literals(Object.keys(accountTypeNumbers) as Array<AccountTypeName>)

export const StoredAccount = Schema.Struct({
  id: Schema.String,
  asset: Schema.String,
  party: Schema.String,
  market: Schema.String,
  type: AccountType,
  balance: Big,
})

export const StoredStatus = Schema.Struct({
  id: Schema.String,
  status: Schema.Literals(Object.keys(assetStatusNumbers) as Array<AssetStatusName>),
})

const StoredTransfer: Schema.Codec<Transfer, unknown> = Schema.Struct({
  id: Schema.String,
  from: Schema.String,
  fromAccountType: AccountType,
  to: Schema.String,
  toAccountType: AccountType,
  asset: Schema.String,
  amount: Big,
  reference: Schema.String,
  deliverOn: Big,
  fee: Big,
  epoch: Schema.Int,
  status: Schema.Literals(["STATUS_DONE", "STATUS_REJECTED"]),
  time: Big,
  reason: Schema.String,
  delivered: Schema.Boolean,
})
export const TransferText = Schema.fromJsonString(StoredTransfer)

const StoredIncluded: Schema.Codec<Omit<Included, "bytes">, unknown> = Schema.Struct({
  hash: Schema.String,
  party: Schema.String,
  nonce: Big,
  signedHeight: Schema.Int,
  height: Schema.Int,
  index: Schema.Int,
  time: Big,
  command: Schema.String,
  transferId: Schema.String,
  reference: Schema.String,
  code: Schema.Int,
  error: Schema.String,
})
export const IncludedText = Schema.fromJsonString(StoredIncluded)

/** Where the chain stands: everything small enough to be written whole with each block. */
const StoredState = Schema.Struct({
  height: Schema.Int,
  time: Big,
  hash: Schema.String,
  genesisTime: Big,
  epoch: Schema.Struct({
    seq: Schema.Int,
    startTime: Big,
    firstBlock: Schema.Int,
    transfers: Schema.Array(Schema.Tuple([Schema.String, Schema.Int])),
  }),
  faults: StoredFaults,
})
export const StateText = Schema.fromJsonString(StoredState)
export type StoredState = typeof StoredState.Type

export const stateOf = (chain: Chain): StoredState => ({
  height: chain.height,
  time: chain.time,
  hash: chain.hash,
  genesisTime: chain.genesisTime,
  epoch: { ...chain.epoch, transfers: [...chain.epoch.transfers] },
  faults: storeFaults(chain.faults),
})

export const restoreState = (chain: Chain, state: StoredState): void => {
  chain.height = state.height
  chain.time = state.time
  chain.hash = state.hash
  chain.genesisTime = state.genesisTime
  chain.epoch.seq = state.epoch.seq
  chain.epoch.startTime = state.epoch.startTime
  chain.epoch.firstBlock = state.epoch.firstBlock
  for (const [party, count] of state.epoch.transfers) chain.epoch.transfers.set(party, count)
  restoreFaults(chain.faults, state.faults)
}
