import { durationMillis } from "../config/Fields.ts"
import type { AccountTypeName } from "../domain/AccountType.ts"
import type { AssetStatusName } from "../domain/Asset.ts"
import { emptyFaults, type FaultRegistry } from "./Faults.ts"
import { publicKeyOf } from "./Keys.ts"
import { emptyLedger, type Ledger } from "./Ledger.ts"
import { emptyMempool, type Mempool } from "./Mempool.ts"
import { type Profile, profiles } from "./Profiles.ts"
import { emptyGuard, type ReplayGuard } from "./ReplayGuard.ts"
import type { Scenario, ScenarioAsset } from "./Scenario.ts"

/** Hashes kept: the largest window that the network allows. */
export const hashesMax = 500

export interface AssetState extends ScenarioAsset {
  status: AssetStatusName
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
  readonly deliverOn: bigint
  readonly fee: bigint
  readonly epoch: number
  readonly status: "STATUS_DONE" | "STATUS_REJECTED"
  /** Block time of this version, Unix nanoseconds cut to microseconds. */
  readonly time: bigint
  /** Why it was rejected; "" otherwise. */
  readonly reason: string
  /** False while the money of a later delivery waits in the asset's account of pending transfers. */
  readonly delivered: boolean
}

/** A transaction in a block, with what became of it. */
export interface Included {
  /** SHA-256 of the bytes, lower case. */
  readonly hash: string
  readonly party: string
  readonly nonce: bigint
  /** Height inside the signed data, whose hash the work used. */
  readonly signedHeight: number
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

export interface Epoch {
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
  readonly ledger: Ledger
  readonly assets: Map<string, AssetState>
  readonly transfers: Map<string, Transfer>
  /** Ids of transfers whose money still waits for its delivery. */
  readonly undelivered: Set<string>
  /** Ids of transfers that the block being made changed. */
  readonly changedTransfers: Set<string>
  readonly included: Array<Included>
  readonly mempool: Mempool
  readonly guard: ReplayGuard
  readonly epoch: Epoch
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
  ledger: emptyLedger(),
  assets: new Map(),
  transfers: new Map(),
  undelivered: new Set(),
  changedTransfers: new Set(),
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
