import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import {
  type AssetState,
  type Chain,
  type Fault,
  type Included,
  keyOfParty,
  type Transfer,
  type Withdrawal,
} from "./Chain.ts"
import { checkAgain, codes, countsAsTransfer, transfersLeft } from "./checkTx.ts"
import { arm, expire } from "./faults/registry.ts"
import { assetAccountTypes, closeBlock, deposit, type LedgerDelta, move, network, openAccount } from "./Ledger.ts"
import type { Tx } from "./Mempool.ts"
import { forget, removePending } from "./Mempool.ts"
import { type IncludedTx, mayInclude, prune, recordTx, updatePowRules, verifyWork, zerosOf } from "./ReplayGuard.ts"
import type { Spender } from "./Scenario.ts"
import { hashesMax } from "./ScenarioText.ts"
import { cancelTransfer, deliverDue, executeTransfer, executeWithdrawal, payRecurring } from "./Transfers.ts"

/** Applies the scenario's deposits, spenders and faults at the beginning of a block. Returns the armed faults. */
const playScript = (chain: Chain, nowMillis: number): ReadonlyArray<Fault> => {
  const { deposits, spenders, faults } = chain.scenario
  moveAssets(chain)
  for (const { party, assetId, amount, height } of deposits) {
    if (height === chain.height) deposit(chain.ledger, generalOf(chain, party, assetId), amount)
  }
  for (const spender of spenders) spend(chain, spender)
  return faults
    .filter(({ height }) => height === chain.height)
    .map(({ fault }) => arm(chain.faults, fault, { millis: nowMillis, height: chain.height }))
}

/** Puts each asset into the status that its height asks for; an enabled asset gets the network's own accounts. */
const moveAssets = (chain: Chain): void => {
  for (const listed of chain.scenario.assets) {
    const status = listed.statuses.findLast(({ height }) => height <= chain.height)?.status
    if (status === undefined || chain.assets.get(listed.id)?.status === status) continue
    const asset = { ...listed, status }
    chain.assets.set(listed.id, asset)
    if (status !== "STATUS_ENABLED") continue
    for (const type of assetAccountTypes)
      openAccount(chain.ledger, { party: network, asset: listed.id, market: "", type })
  }
}

const generalOf = (chain: Chain, party: string, asset: string) =>
  openAccount(chain.ledger, { party: keyOfParty(chain, party), asset, market: "", type: "ACCOUNT_TYPE_GENERAL" })

/** Takes the planned amount, or all that is left: a script never fails. */
const spend = (chain: Chain, spender: Spender): void => {
  const { every } = spender
  const blocks = every === undefined ? 0 : chain.height - every.since
  const regular = every !== undefined && blocks > 0 && blocks % every.blocks === 0 ? every.amount : 0n
  const wanted = (spender.at.get(chain.height) ?? 0n) + regular
  if (wanted === 0n) return
  const from = generalOf(chain, spender.from, spender.assetId)
  const amount = wanted < from.balance ? wanted : from.balance
  const to = generalOf(chain, spender.to, spender.assetId)
  if (amount > 0n) move(chain.ledger, { from, to, amount, type: "TRANSFER_TYPE_LOSS" })
}

/** All changes of one block, which the store writes in one commit. */
export interface BlockDelta extends LedgerDelta {
  readonly included: ReadonlyArray<Included>
  readonly seen: ReadonlyArray<IncludedTx>
  readonly transfers: ReadonlyArray<Transfer>
  readonly withdrawals: ReadonlyArray<Withdrawal>
  readonly assets: ReadonlyArray<AssetState>
  /** Hashes that left the mempool, included or not. */
  readonly gone: ReadonlyArray<string>
  /** Newest height whose replay guards were forgotten. */
  readonly prunedTo: number
  readonly armed: ReadonlyArray<Fault>
}

/** Makes the next block: takes what may be included, plays the script, executes, and checks again what still waits. */
export const produceBlock = (chain: Chain, nowMillis: number): BlockDelta => {
  const statusBefore = new Map([...chain.assets].map(([id, asset]) => [id, asset.status]))
  const proposal = propose(chain)
  beginBlock(chain, proposal, nowMillis)
  expire(chain.faults, nowMillis)
  updatePowRules(chain)
  const prunedTo = prune(chain)
  turnEpoch(chain)
  const armed = playScript(chain, nowMillis)
  deliverDue(chain)
  const included = proposal.map(({ tx }, index) => execute(chain, tx, index))
  for (const entry of included) chain.included.push(entry)
  const delta = closeBlock(chain.ledger, chain.time)
  const gone = commit(chain, included)
  const transfers = [...chain.changedTransfers].flatMap((id) => chain.transfers.get(id) ?? [])
  chain.changedTransfers.clear()
  return {
    ...delta,
    included,
    seen: proposal.map(({ tx, zeros }) => ({ ...seenOf(tx), zeros })),
    transfers,
    withdrawals: chain.newWithdrawals.splice(0),
    assets: [...chain.assets.values()].filter((asset) => statusBefore.get(asset.id) !== asset.status),
    gone,
    prunedTo,
    armed,
  }
}

const seenOf = ({ hash, party, nonce, tid, height }: Tx) => ({ hash, party, nonce, tid, height })

/** Work and limits are judged by the block before: a transaction of height H can stand in block H+N, not later. */
const propose = (chain: Chain): ReadonlyArray<{ readonly tx: Tx; readonly zeros: number }> => {
  const taken: Array<{ readonly tx: Tx; readonly zeros: number }> = []
  for (const tx of chain.mempool.pending.values()) {
    if (verifyWork(chain, tx) !== undefined) continue
    const zeros = zerosOf(chain, tx)
    if (!mayInclude(chain, tx, zeros)) continue
    if (countsAsTransfer(tx)) {
      if (transfersLeft(chain, tx.party) <= 0) continue
      chain.epoch.transfers.set(tx.party, (chain.epoch.transfers.get(tx.party) ?? 0) + 1)
    }
    recordTx(chain.guard, { ...seenOf(tx), zeros })
    taken.push({ tx, zeros })
  }
  return taken
}

/** Height, time and hash of the new block. Times rise by at least a microsecond: readers know blocks by them. */
const beginBlock = (chain: Chain, proposal: ReadonlyArray<{ readonly tx: Tx }>, nowMillis: number): void => {
  const { seed, chainId } = chain.scenario
  chain.height++
  const hashes = proposal.map(({ tx }) => tx.hash).join(" ")
  const digest = sha3_256(utf8ToBytes(`block\0${seed}\0${chainId}\0${chain.height}\0${chain.hash}\0${hashes}`))
  chain.hash = chain.hashes.get(chain.height) ?? bytesToHex(digest)
  const jitter = BigInt(new DataView(digest.buffer, digest.byteOffset).getUint32(0) % 1_000_000)
  const wanted = BigInt(nowMillis) * 1_000_000n + jitter
  const earliest = chain.time + 1_000n + (jitter % 1_000n)
  chain.time = wanted > earliest ? wanted : earliest
  if (chain.height === 1) chain.genesisTime = chain.time
  chain.hashes.set(chain.height, chain.hash)
  chain.hashes.delete(chain.height - hashesMax)
}

/**
 * Recurring transfers pay at an epoch's end; limits per epoch start again. After a pause longer than an epoch there is
 * one new epoch, not many.
 */
const turnEpoch = (chain: Chain): void => {
  const { epoch } = chain
  if (epoch.seq > 0 && chain.time < epoch.startTime + chain.epochNanos) return
  payRecurring(chain)
  epoch.seq++
  epoch.startTime = chain.time
  epoch.firstBlock = chain.height
  epoch.transfers.clear()
}

const execute = (chain: Chain, tx: Tx, index: number): Included => {
  const doomed = chain.faults.doomed.delete(tx.hash)
  const error = run(chain, tx, doomed ? "could not transfer funds, not enough funds to transfer" : undefined)
  return {
    hash: tx.hash,
    party: tx.party,
    nonce: tx.nonce,
    height: chain.height,
    index,
    time: chain.time,
    command: tx.commandName,
    transferId: tx.id,
    reference: tx.command.case === "transfer" ? tx.command.value.reference : "",
    code: error === undefined ? codes.ok : codes.state,
    error: error ?? "",
    bytes: tx.bytes,
  }
}

/** Executes the command; returns the failure text if it fails. A command that a fault doomed always fails. */
const run = (chain: Chain, tx: Tx, doomed: string | undefined): string | undefined => {
  switch (tx.command.case) {
    case "transfer":
      return executeTransfer(chain, tx, tx.command.value, doomed)
    case "cancelTransfer":
      return doomed ?? cancelTransfer(chain, tx, tx.command.value.transferId)
    case "withdrawSubmission":
      return doomed ?? executeWithdrawal(chain, tx, tx.command.value)
    default:
      return doomed ?? "the sandbox executes transfers and withdrawals alone"
  }
}

/** Ends the block for the mempool: what was included leaves, what may no longer wait is dropped without a word. */
const commit = (chain: Chain, included: ReadonlyArray<Included>): ReadonlyArray<string> => {
  const { mempool, guard } = chain
  const gone: Array<string> = []
  const leave = (tx: Tx): void => {
    removePending(mempool, tx)
    gone.push(tx.hash)
  }
  for (const { hash, code } of included) {
    const tx = mempool.pending.get(hash)
    if (tx !== undefined) leave(tx)
    if (code !== codes.ok) forget(mempool, hash)
  }
  guard.burnt.clear()
  for (const tx of [...mempool.pending.values()]) {
    if (checkAgain(chain, tx).code === codes.ok) continue
    leave(tx)
    forget(mempool, tx.hash)
  }
  return gone
}
