import { hexToBytes } from "@noble/hashes/utils.js"
import { Result } from "effect"
import type { AssetStatusName } from "../../../src/domain/Asset.ts"
import {
  type Chain,
  type Included,
  nodeTransferStatuses,
  type Transfer,
  type Withdrawal,
} from "../../../src/sandbox/Chain.ts"
import { checkStatic, codes } from "../../../src/sandbox/checkTx.ts"
import { type Account, accountId, type Movement, restoreAccount, toMicros } from "../../../src/sandbox/Ledger.ts"
import { remember } from "../../../src/sandbox/Mempool.ts"
import { recordTx, rulesNow, zerosOf } from "../../../src/sandbox/ReplayGuard.ts"
import type { Scenario, ScenarioAsset } from "../../../src/sandbox/Scenario.ts"

type Name = Pick<Account, "asset" | "party" | "market" | "type">

/**
 * A network as it stood after a block: what a new ledger can go on from, so that what a real network answered can be
 * held against what the sandbox answers. Times are Unix nanoseconds, amounts base units, hashes lower-case hex.
 */
export interface NetworkState {
  readonly chainId: string
  /** The newest block, its time, and the time of the first one. */
  readonly height: number
  readonly time: bigint
  readonly genesisTime: bigint
  /** Network parameters by key; those that a sandbox obeys replace the scenario's, the others are reported as given. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly epoch: {
    readonly seq: number
    readonly startTime: bigint
    readonly firstBlock: number
    /** Transfers and cancellations of this epoch, by party. */
    readonly transfers?: Readonly<Record<string, number>>
  }
  /** Block hashes by height. Those above the newest block are what the blocks to come will have. */
  readonly hashes: Readonly<Record<string, string>>
  readonly assets?: ReadonlyArray<Omit<ScenarioAsset, "statuses"> & { readonly status: AssetStatusName }>
  readonly accounts?: ReadonlyArray<Name & { readonly balance: bigint }>
  /** Balance history; in any order. */
  readonly changes?: ReadonlyArray<Name & { readonly time: bigint; readonly balance: bigint }>
  readonly movements?: ReadonlyArray<Omit<Movement, "from" | "to"> & { readonly from: Name; readonly to: Name }>
  readonly transfers?: ReadonlyArray<Transfer>
  readonly withdrawals?: ReadonlyArray<Withdrawal>
  /** Transactions of blocks, with what became of them. */
  readonly transactions?: ReadonlyArray<StateTransaction>
}

interface StateTransaction extends Pick<Included, "height" | "index" | "time" | "code" | "error"> {
  /** Hex. */
  readonly bytes: string
}

/** The network parameters that a sandbox obeys, by the name that the scenario has for each. */
const obeyed = {
  difficulty: "spam.pow.difficulty",
  pastBlocks: "spam.pow.numberOfPastBlocks",
  txPerBlock: "spam.pow.numberOfTxPerBlock",
  increaseDifficulty: "spam.pow.increaseDifficulty",
  transfersPerEpoch: "spam.protection.maxUserTransfersPerEpoch",
  minWithdrawalQuantum: "spam.protection.minimumWithdrawalQuantumMultiple",
  feeFactor: "transfer.fee.factor",
  feeMaxQuantum: "transfer.fee.maxQuantumAmount",
  minTransferQuantum: "transfer.minTransferQuantumMultiple",
  epochLength: "validators.epoch.length",
} as const

/** The scenario of a network that goes on from a state: chain id, parameters and assets are the state's. */
export const scenarioOfState = (scenario: Scenario, state: NetworkState): Scenario => {
  const parameters = state.parameters ?? {}
  const text = (name: keyof typeof obeyed, fallback: string): string => parameters[obeyed[name]] ?? fallback
  const { pow } = scenario
  return {
    ...scenario,
    chainId: state.chainId,
    pow: {
      difficulty: Number(text("difficulty", String(pow.difficulty))),
      pastBlocks: Number(text("pastBlocks", String(pow.pastBlocks))),
      txPerBlock: Number(text("txPerBlock", String(pow.txPerBlock))),
      increaseDifficulty: text("increaseDifficulty", pow.increaseDifficulty ? "1" : "0") === "1",
    },
    transfersPerEpoch: Number(text("transfersPerEpoch", String(scenario.transfersPerEpoch))),
    minWithdrawalQuantum: text("minWithdrawalQuantum", scenario.minWithdrawalQuantum),
    feeFactor: text("feeFactor", scenario.feeFactor),
    feeMaxQuantum: text("feeMaxQuantum", scenario.feeMaxQuantum),
    minTransferQuantum: text("minTransferQuantum", scenario.minTransferQuantum),
    epochLength: text("epochLength", scenario.epochLength),
    parameters: new Map(Object.entries(parameters)),
    assets: (state.assets ?? []).map(({ status, ...asset }) => ({ ...asset, statuses: [{ height: 0, status }] })),
  }
}

/**
 * Puts an empty chain where the state says; no file keeps it. Throws a RangeError on a transaction that is none of this
 * chain.
 */
export const applyState = (chain: Chain, state: NetworkState): void => {
  chain.height = state.height
  chain.time = state.time
  chain.genesisTime = state.genesisTime
  for (const [height, hash] of Object.entries(state.hashes)) chain.hashes.set(Number(height), hash)
  chain.hash = chain.hashes.get(state.height) ?? ""
  chain.epoch.seq = state.epoch.seq
  chain.epoch.startTime = state.epoch.startTime
  chain.epoch.firstBlock = state.epoch.firstBlock
  for (const [party, count] of Object.entries(state.epoch.transfers ?? {})) chain.epoch.transfers.set(party, count)
  for (const asset of chain.scenario.assets) {
    const status = asset.statuses.findLast(({ height }) => height <= state.height)?.status
    if (status !== undefined) chain.assets.set(asset.id, { ...asset, status })
  }
  fillLedger(chain, state)
  for (const transfer of state.transfers ?? []) {
    chain.transfers.set(transfer.id, transfer)
    if (transfer.open && transfer.status in nodeTransferStatuses) chain.openTransfers.add(transfer.id)
  }
  for (const withdrawal of state.withdrawals ?? []) chain.withdrawals.set(withdrawal.id, withdrawal)
  for (const entry of state.transactions ?? []) include(chain, entry)
}

const fillLedger = (chain: Chain, state: NetworkState): void => {
  const accounts = new Map<string, Account>()
  const accountOf = ({ asset, party, market, type }: Name): Account => {
    const name = { asset, party, market, type }
    const id = accountId(name)
    const found = accounts.get(id) ?? { id, ...name, balance: 0n }
    if (!accounts.has(id)) {
      accounts.set(id, found)
      restoreAccount(chain.ledger, found)
    }
    return found
  }
  for (const { balance, ...name } of state.accounts ?? []) accountOf(name).balance = balance
  const rows = (state.changes ?? []).map(({ time, balance, ...name }) => ({
    time: toMicros(time),
    account: accountOf(name),
    balance,
  }))
  rows.sort((a, b) => (a.time === b.time ? (a.account.id < b.account.id ? -1 : 1) : a.time < b.time ? -1 : 1))
  for (const row of rows) chain.ledger.rows.push(row)
  const movements = (state.movements ?? []).map((movement) => ({
    ...movement,
    from: accountOf(movement.from),
    to: accountOf(movement.to),
  }))
  movements.sort((a, b) => (a.time < b.time ? -1 : 1))
  for (const movement of movements) chain.ledger.movements.push(movement)
}

/** Adds a transaction of a block; the replay guard knows it while its window is open. */
const include = (chain: Chain, entry: StateTransaction): void => {
  const bytes = hexToBytes(entry.bytes)
  const checked = checkStatic(bytes, { profile: chain.profile, chainId: chain.scenario.chainId })
  if (Result.isFailure(checked)) throw new RangeError(`a transaction is none of this chain: ${checked.failure}`)
  const tx = checked.success
  const included: Included = {
    hash: tx.hash,
    party: tx.party,
    nonce: tx.nonce,
    height: entry.height,
    index: entry.index,
    time: entry.time,
    command: tx.commandName,
    transferId: tx.id,
    reference: tx.command.case === "transfer" ? tx.command.value.reference : "",
    code: entry.code,
    error: entry.error,
    bytes,
  }
  chain.included.push(included)
  if (entry.code === codes.ok) remember(chain.mempool, tx.hash)
  if (tx.height + rulesNow(chain).pastBlocks > chain.height) {
    const { hash, party, nonce, tid, height } = tx
    recordTx(chain.guard, { hash, party, nonce, tid, height, zeros: zerosOf(chain, tx) })
  }
}
