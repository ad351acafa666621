import { Schema } from "effect"
import { type AccountTypeName, accountTypeNumbers } from "../domain/AccountType.ts"
import { type AssetStatusName, assetStatusNumbers } from "../domain/Asset.ts"
import {
  type Chain,
  type Included,
  type Transfer,
  type TransferStatus,
  transferStatuses,
  type Withdrawal,
  withdrawalStatuses,
} from "./Chain.ts"
import { restoreFaults, StoredFaults, storeFaults } from "./Faults.ts"
import { type MovementType, movementTypes } from "./Ledger.ts"
import { restoreRuleSets, StoredRuleSets, storeRuleSets } from "./WorkRules.ts"

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

const StoredKind = Schema.Union([
  Schema.TaggedStruct("oneOff", { deliverOn: Big }),
  Schema.TaggedStruct("recurring", {
    startEpoch: Schema.Int,
    endEpoch: Schema.optionalKey(Schema.Int),
    factor: Schema.String,
  }),
])

const StoredTransfer: Schema.Codec<Transfer, unknown> = Schema.Struct({
  id: Schema.String,
  from: Schema.String,
  fromAccountType: AccountType,
  to: Schema.String,
  toAccountType: AccountType,
  asset: Schema.String,
  amount: Big,
  reference: Schema.String,
  kind: StoredKind,
  fees: Schema.Array(Schema.Struct({ epoch: Schema.Int, amount: Big })),
  status: Schema.Literals(Object.keys(transferStatuses) as Array<TransferStatus>),
  time: Big,
  reason: Schema.String,
  open: Schema.Boolean,
  repeats: Schema.optionalKey(Schema.Int),
})
export const TransferText = Schema.fromJsonString(StoredTransfer)

const StoredWithdrawal: Schema.Codec<Withdrawal, unknown> = Schema.Struct({
  id: Schema.String,
  party: Schema.String,
  asset: Schema.String,
  amount: Big,
  status: Schema.Literals(Object.keys(withdrawalStatuses) as Array<Withdrawal["status"]>),
  time: Big,
  receiver: Schema.String,
})
export const WithdrawalText = Schema.fromJsonString(StoredWithdrawal)

/** A row of the table of movements; accounts by their ids. */
export const StoredMovement = Schema.Struct({
  time: Schema.Union([Schema.BigInt, Schema.Int]),
  blockTime: Schema.Union([Schema.BigInt, Schema.Int]),
  type: Schema.Literals(Object.keys(movementTypes) as Array<MovementType>),
  amount: Big,
  source: Schema.String,
  target: Schema.String,
  sourceBalance: Big,
  targetBalance: Big,
  transfer: Schema.String,
})

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
  ruleSets: StoredRuleSets,
  faults: StoredFaults,
})
export const StateText = Schema.fromJsonString(StoredState)
type StoredState = typeof StoredState.Type

export const stateOf = (chain: Chain): StoredState => ({
  height: chain.height,
  time: chain.time,
  hash: chain.hash,
  genesisTime: chain.genesisTime,
  epoch: { ...chain.epoch, transfers: [...chain.epoch.transfers] },
  ruleSets: storeRuleSets(chain.ruleSets),
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
  chain.ruleSets.splice(0, chain.ruleSets.length, ...restoreRuleSets(state.ruleSets))
  restoreFaults(chain.faults, state.faults)
}
