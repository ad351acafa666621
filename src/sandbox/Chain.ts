import { durationMillis } from "../config/schema/Fields.ts"
import type { AssetStatusName } from "../domain/Asset.ts"
import type { AccountTypeName } from "../domain/Balance.ts"
import type { FaultSpec } from "./Faults.ts"
import { publicKeyOf } from "./Keys.ts"
import { emptyLedger, type Ledger } from "./Ledger.ts"
import { emptyMempool, type Mempool, type Tx } from "./Mempool.ts"
import { type Profile, profiles } from "./Profiles.ts"
import type { PowRules, Scenario, ScenarioAsset } from "./Scenario.ts"

export interface AssetState extends ScenarioAsset {
  status: AssetStatusName
}

export const nodeTransferStatuses = {
  STATUS_PENDING: 1,
  STATUS_DONE: 2,
  STATUS_REJECTED: 3,
  STATUS_STOPPED: 4,
  STATUS_CANCELLED: 5,
} as const
type TransferStatus = keyof typeof nodeTransferStatuses

/** When a transfer pays: once, or at the end of each epoch from one to another. */
type TransferKind =
  | { readonly _tag: "oneOff"; readonly deliverOn: bigint }
  | {
      readonly _tag: "recurring"
      readonly startEpoch: number
      /** Without it: until it is cancelled, or stopped for want of money. */
      readonly endEpoch?: number
      /** By how much the amount grows from epoch to epoch, as written. */
      readonly factor: string
    }

/** A transfer as the data node keeps it: the latest version of what the network said about it. */
export interface Transfer {
  readonly id: string
  readonly from: string
  readonly fromAccountType: AccountTypeName
  readonly to: string
  readonly toAccountType: AccountTypeName
  readonly asset: string
  readonly amount: bigint
  readonly reference: string
  readonly kind: TransferKind
  /** One for each payment that it made. */
  readonly fees: ReadonlyArray<{ readonly epoch: number; readonly amount: bigint }>
  readonly status: TransferStatus
  /** Block time of this version, Unix nanoseconds. */
  readonly time: bigint
  /** Why it was rejected, stopped or cancelled; "" otherwise. */
  readonly reason: string
  /** True if more is to come: a delivery, or payments of later epochs. */
  readonly open: boolean
  /** Deliveries to come beside the first: a replay may execute a signature again before it. */
  readonly repeats?: number
}

/** Money on its way out of the network. */
export interface Withdrawal {
  readonly id: string
  readonly party: string
  readonly asset: string
  readonly amount: bigint
  readonly status: "STATUS_OPEN" | "STATUS_REJECTED" | "STATUS_FINALIZED"
  /** Block time, Unix nanoseconds. */
  readonly time: bigint
  /** Address on the other chain; "" where there is none. */
  readonly receiver: string
}

/** A transaction in a block, with its outcome. */
export interface Included {
  /** SHA-256 of the bytes, lower case. */
  readonly hash: string
  readonly party: string
  readonly nonce: bigint
  readonly height: number
  readonly index: number
  readonly time: bigint
  readonly command: string
  readonly transferId: string
  readonly reference: string
  readonly code: number
  readonly error: string
  readonly bytes: Uint8Array
}

export interface ChainEpoch {
  seq: number
  /** Unix nanoseconds. */
  startTime: bigint
  firstBlock: number
  /** Transfers and cancellations included in this epoch, by party. */
  readonly transfers: Map<string, number>
}

/** The whole state of the network in memory. Only blocks, submissions and faults change it, one at a time. */
export interface Chain {
  readonly scenario: Scenario
  readonly profile: Profile
  /** Public keys of the scenario's parties by name. */
  readonly keys: ReadonlyMap<string, string>
  readonly epochNanos: bigint
  /** The newest block; 0 before the first. */
  height: number
  /** Its time, Unix nanoseconds. */
  time: bigint
  hash: string
  genesisTime: bigint
  readonly hashes: Map<number, string>
  /** Rules of work by anchor height, oldest first; the last one is in force. */
  readonly ruleSets: Array<WorkRuleSet>
  readonly ledger: Ledger
  readonly assets: Map<string, AssetState>
  readonly transfers: Map<string, Transfer>
  /** Ids of transfers with more to come, in the order in which they were sent. */
  readonly openTransfers: Set<string>
  /** Ids of transfers that the block being made changed. */
  readonly changedTransfers: Set<string>
  readonly withdrawals: Map<string, Withdrawal>
  /** Withdrawals that the block being made executed or refused. */
  readonly newWithdrawals: Array<Withdrawal>
  readonly included: Array<Included>
  readonly mempool: Mempool
  readonly guard: ReplayGuard
  readonly epoch: ChainEpoch
  readonly faults: FaultRegistry
}

export const emptyChain = (scenario: Scenario): Chain => ({
  scenario,
  profile: profiles[scenario.profile],
  keys: new Map(scenario.parties.map((name) => [name, publicKeyOf(scenario.seed, name)])),
  epochNanos: BigInt(durationMillis(scenario.epochLength)) * 1_000_000n,
  height: 0,
  time: 0n,
  hash: "",
  genesisTime: 0n,
  hashes: new Map(),
  ruleSets: [{ from: 0, until: undefined, rules: scenario.pow }],
  ledger: emptyLedger(),
  assets: new Map(),
  transfers: new Map(),
  openTransfers: new Set(),
  changedTransfers: new Set(),
  withdrawals: new Map(),
  newWithdrawals: [],
  included: [],
  mempool: emptyMempool(),
  guard: emptyGuard(),
  epoch: { seq: 0, startTime: 0n, firstBlock: 0, transfers: new Map() },
  faults: emptyFaults(),
})

/** Public key of a party of the scenario. Throws a RangeError for other names. */
export const keyOfParty = (chain: Chain, name: string): string => {
  const key = chain.keys.get(name)
  if (key === undefined) throw new RangeError(`the scenario has no party "${name}"`)
  return key
}

/** Included at one height: transactions that may not repeat, and the work that each party showed. */
interface HeightSeen {
  readonly txs: Array<Pick<Tx, "hash" | "party" | "nonce" | "tid">>
  readonly parties: Map<string, { zeros: number; count: number }>
}

/** Guards against replay and spam: proof of work, its allowance per block, and what was seen in the window. */
export interface ReplayGuard {
  readonly txs: Set<string>
  readonly tids: Set<string>
  /** "party nonce". */
  readonly nonces: Set<string>
  readonly heights: Map<number, HeightSeen>
  /** Ids of work that this node checked since its last block, accepted or not. */
  readonly burnt: Set<string>
  /** The newest height that was forgotten. */
  prunedTo: number
}

const emptyGuard = (): ReplayGuard => ({
  txs: new Set(),
  tids: new Set(),
  nonces: new Set(),
  heights: new Map(),
  burnt: new Set(),
  prunedTo: 0,
})

/** Rules of work for the commands that are anchored on these heights. */
interface WorkRuleSet {
  readonly from: number
  /** The last height of the set; undefined for the one in force. */
  readonly until: number | undefined
  readonly rules: PowRules
}

/** The end of a block: facts that the ledger's own history does not contain. */
export interface PastState extends Pick<Chain, "height" | "time" | "hash"> {
  readonly epoch: Readonly<Omit<ChainEpoch, "transfers">>
  readonly ruleSets: Readonly<Chain["ruleSets"]>
  /** The newest height that the replay guard has forgotten. */
  readonly prunedTo: number
}

export interface Fault extends FaultSpec {
  readonly id: number
  /** Unix milliseconds after which it is over. */
  readonly untilMillis?: number
  /** The newest block when it began. */
  readonly armedHeight: number
  hits: number
  draws: number
  /** The block at whose end it shows the network, where that does not change. */
  seen?: PastState
}

export interface FaultRegistry {
  nextId: number
  armed: Array<Fault>
  /** Bytes that the network kept back and will broadcast by itself. */
  late: Array<{ readonly height: number; readonly hex: string }>
  /** Hashes of accepted transactions that will fail in their block. */
  readonly doomed: Set<string>
  /** The next block finds an empty mempool. */
  mempoolLost: boolean
  /** The ends of the last blocks, newest last. */
  readonly past: Array<PastState>
}

const emptyFaults = (): FaultRegistry => ({
  nextId: 1,
  armed: [],
  late: [],
  doomed: new Set(),
  mempoolLost: false,
  past: [],
})
