import type { Chain, ChainEpoch, FaultRegistry, Included, PastState, Transfer } from "../Chain.ts"
import { blocksOf } from "../Faults.ts"
import { type Account, toMicros } from "../Ledger.ts"
import { emptyMempool } from "../Mempool.ts"

/** The newest block, to be read again later. */
export const pastStateOf = ({ height, time, hash, epoch, ruleSets, guard }: Chain): PastState => ({
  ...{ height, time, hash },
  epoch: { seq: epoch.seq, startTime: epoch.startTime, firstBlock: epoch.firstBlock },
  ruleSets: [...ruleSets],
  prunedTo: guard.prunedTo,
})

/** Remembers the newest block, so that it can be read again later, and lets faults that wait for it settle on one. */
export const rememberMoment = (chain: Chain, keep: number): void => {
  const { past } = chain.faults
  if (past.at(-1)?.height !== chain.height) past.push(pastStateOf(chain))
  if (past.length > keep) past.shift()
  settle(chain)
}

/** Fixes the block that a fault shows for good. Before the end of its first block there is none. */
export const settle = (chain: Chain): void => {
  for (const fault of chain.faults.armed) {
    if (fault.seen !== undefined || (fault.kind !== "stale_read" && fault.kind !== "rolled_back_read")) continue
    const height = fault.kind === "stale_read" ? fault.armedHeight : fault.armedHeight - blocksOf(fault)
    const seen = momentAt(chain.faults, height)
    if (seen !== undefined) fault.seen = seen
  }
}

/** The newest remembered block that is not above `height`, or the oldest one. */
export const momentAt = ({ past }: FaultRegistry, height: number): PastState | undefined =>
  past.findLast((moment) => moment.height <= height) ?? past[0]

/**
 * The chain as a reader saw it at the end of an earlier block. What waited for the next one is not remembered.
 */
export const asOf = (chain: Chain, then: PastState): Chain => {
  const until = toMicros(then.time)
  const rows = chain.ledger.rows.filter(({ time }) => time <= until)
  const included = chain.included.filter(({ height }) => height <= then.height)
  return {
    ...chain,
    height: then.height,
    time: then.time,
    hash: then.hash,
    ruleSets: [...then.ruleSets],
    ledger: {
      ...chain.ledger,
      rows,
      accounts: accountsAt(chain, until),
      movements: chain.ledger.movements.filter(({ blockTime }) => blockTime <= until),
    },
    assets: assetsAt(chain, then.height),
    transfers: transfersAt(chain, then, included),
    withdrawals: new Map([...chain.withdrawals].filter(([, withdrawal]) => withdrawal.time <= then.time)),
    included,
    mempool: emptyMempool(),
    // Few ask for it, and it costs.
    get epoch() {
      return epochAt(then, included)
    },
  }
}

const accountsAt = ({ ledger }: Chain, until: bigint): Map<string, Account> => {
  const balances = new Map<string, bigint>()
  for (const { time, account, balance } of ledger.rows) if (time <= until) balances.set(account.id, balance)
  const accounts = new Map<string, Account>()
  for (const [key, account] of ledger.accounts) {
    const balance = balances.get(account.id)
    if (balance !== undefined) accounts.set(key, { ...account, balance })
  }
  return accounts
}

const assetsAt = (chain: Chain, height: number): Chain["assets"] =>
  new Map(
    [...chain.assets].flatMap(([id, asset]) => {
      const status = asset.statuses.findLast((entry) => entry.height <= height)?.status
      return status === undefined ? [] : [[id, { ...asset, status }] as const]
    }),
  )

const transfersAt = (chain: Chain, then: PastState, included: ReadonlyArray<Included>): Chain["transfers"] => {
  const executed = new Map(included.map((entry) => [entry.transferId, entry]))
  const transfers = new Map<string, Transfer>()
  for (const [id, transfer] of chain.transfers) {
    const version = transfer.time <= then.time ? transfer : firstVersion(transfer, executed.get(id))
    if (version === undefined) continue
    const isRecurring = version.kind._tag === "recurring"
    const fees = isRecurring ? version.fees.filter(({ epoch }) => epoch < then.epoch.seq) : version.fees
    transfers.set(id, { ...version, fees })
  }
  return transfers
}

/** State at its execution of a transfer that had more to come. */
const firstVersion = (transfer: Transfer, entry: Included | undefined): Transfer | undefined => {
  if (entry === undefined) return undefined
  const { time, error: reason } = entry
  if (entry.code !== 0) return { ...transfer, time, status: "STATUS_REJECTED", reason }
  const status = transfer.kind._tag === "oneOff" ? "STATUS_DONE" : "STATUS_PENDING"
  return { ...transfer, time, status, reason: "", open: true }
}

/** Parties' use of an epoch's limits. The transactions of its first block belong to the epoch before. */
const epochAt = (then: PastState, included: ReadonlyArray<Included>): ChainEpoch => {
  const transfers = new Map<string, number>()
  for (const { height, command, party } of included) {
    if (height <= then.epoch.firstBlock) continue
    if (command !== "Transfer Funds" && command !== "Cancel Transfer Funds") continue
    transfers.set(party, (transfers.get(party) ?? 0) + 1)
  }
  return { ...then.epoch, transfers }
}

/** The chain with a wrong clock: every time that its blocks gave to something is shifted. */
export const skewed = (chain: Chain, nanos: bigint): Chain => {
  const shift = <A extends { readonly time: bigint }>(entry: A): A => ({ ...entry, time: entry.time + nanos })
  return {
    ...chain,
    time: chain.time + nanos,
    genesisTime: chain.genesisTime + nanos,
    ledger: {
      ...chain.ledger,
      rows: chain.ledger.rows.map(shift),
      movements: chain.ledger.movements.map((entry) => ({ ...shift(entry), blockTime: entry.blockTime + nanos })),
    },
    transfers: new Map([...chain.transfers].map(([id, transfer]) => [id, shift(transfer)])),
    withdrawals: new Map([...chain.withdrawals].map(([id, withdrawal]) => [id, shift(withdrawal)])),
    included: chain.included.map(shift),
    epoch: { ...chain.epoch, startTime: chain.epoch.startTime + nanos },
  }
}
