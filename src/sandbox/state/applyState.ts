import { hexToBytes } from "@noble/hashes/utils.js"
import { Effect, Result } from "effect"
import type { BlockDelta } from "../Blocks.ts"
import { type Chain, type Included, transferStatuses } from "../Chain.ts"
import { checkStatic } from "../checkStatic.ts"
import { codes } from "../checkTx.ts"
import { type Account, accountId, restoreAccount } from "../Ledger.ts"
import { remember } from "../Mempool.ts"
import { recordSeen, type Seen, zerosOf } from "../ReplayGuard.ts"
import { SandboxError } from "../SandboxError.ts"
import { toMicros } from "../Time.ts"
import { rulesNow } from "../WorkRules.ts"
import type { NetworkState } from "./NetworkState.ts"

type Name = Pick<Account, "asset" | "party" | "market" | "type">

/**
 * Puts an empty chain where the state says. Returns the whole of it, for the first write. Fails on a transaction that
 * is none of this chain, and on a newest block without a hash.
 */
export const applyState = (chain: Chain, state: NetworkState): Effect.Effect<BlockDelta, SandboxError> =>
  Effect.suspend(() => {
    if (state.height > 0 && state.hashes[state.height] === undefined) {
      return Effect.fail(badState("hashes", `the newest block, ${state.height}, has none`))
    }
    chain.height = state.height
    chain.time = state.time
    chain.genesisTime = state.genesisTime
    for (const [height, hash] of Object.entries(state.hashes)) chain.hashes.set(Number(height), hash)
    chain.hash = chain.hashes.get(state.height) ?? ""
    chain.epoch.seq = state.epoch.seq
    chain.epoch.startTime = state.epoch.startTime
    chain.epoch.firstBlock = state.epoch.firstBlock
    for (const [party, count] of Object.entries(state.epoch.transfers ?? {})) chain.epoch.transfers.set(party, count)
    for (const { party, proposal, count } of state.epoch.votes ?? []) {
      chain.epoch.votes.set(`${party} ${proposal}`, count)
    }
    for (const asset of chain.scenario.assets) {
      const status = asset.statuses.findLast(({ height }) => height <= state.height)?.status
      if (status !== undefined) chain.assets.set(asset.id, { ...asset, status })
    }
    fillLedger(chain, state)
    for (const transfer of state.transfers ?? []) {
      chain.transfers.set(transfer.id, transfer)
      if (transfer.open && transfer.status in transferStatuses) chain.openTransfers.add(transfer.id)
    }
    for (const withdrawal of state.withdrawals ?? []) chain.withdrawals.set(withdrawal.id, withdrawal)
    for (const made of state.deposits ?? []) chain.deposits.set(made.id, made)
    return Effect.map(
      Effect.forEach(state.transactions ?? [], (entry, n) => include(chain, entry, n)),
      (seen) => wholeDelta(chain, seen.flat()),
    )
  })

const badState = (place: string, cause: string): SandboxError =>
  new SandboxError({ operation: "state", reason: { _tag: "BadState", place, cause } })

const wholeDelta = (chain: Chain, seen: ReadonlyArray<Seen>): BlockDelta => ({
  rows: chain.ledger.rows,
  movements: chain.ledger.movements,
  included: chain.included,
  seen,
  transfers: [...chain.transfers.values()],
  withdrawals: [...chain.withdrawals.values()],
  deposits: [...chain.deposits.values()],
  assets: [...chain.assets.values()],
  gone: [],
  prunedTo: 0,
  armed: [],
})

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

type StateTransaction = NonNullable<NetworkState["transactions"]>[number]

/** Adds a transaction of a block. Returns what the replay guard must know of it, where its window is still open. */
const include = (
  chain: Chain,
  entry: StateTransaction,
  n: number,
): Effect.Effect<ReadonlyArray<Seen>, SandboxError> => {
  const bytes = hexToBytes(entry.bytes)
  const checked = checkStatic(bytes, { profile: chain.profile, chainId: chain.scenario.chainId })
  if (Result.isFailure(checked)) {
    return Effect.fail(badState(`transactions[${n}]`, `it is none of this chain: ${checked.failure}`))
  }
  const tx = checked.success
  const included: Included = {
    hash: tx.hash,
    party: tx.party,
    nonce: tx.nonce,
    signedHeight: tx.height,
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
  if (tx.height + rulesNow(chain).pastBlocks <= chain.height) return Effect.succeed([])
  const { hash, party, nonce, tid, height } = tx
  const seen = { hash, party, nonce, tid, height, zeros: zerosOf(chain, tx) }
  recordSeen(chain.guard, seen)
  return Effect.succeed([seen])
}
