import type { Chain } from "../Chain.ts"
import type { FaultRegistry, Moment } from "../Faults.ts"
import type { Account } from "../Ledger.ts"
import { toMicros } from "../Time.ts"

/** Remembers the newest block, so that it can be read again later. */
export const rememberMoment = (chain: Chain, keep: number): void => {
  const { past } = chain.faults
  past.push({ height: chain.height, time: chain.time, hash: chain.hash })
  if (past.length > keep) past.shift()
}

/** The newest remembered block that is not above `height`, or the oldest one. */
export const momentAt = ({ past }: FaultRegistry, height: number): Moment | undefined =>
  past.findLast((moment) => moment.height <= height) ?? past[0]

/** The chain as a reader saw it after an earlier block. Listings that keep no past show their present rows. */
export const asOf = (chain: Chain, then: Moment): Chain => {
  const until = toMicros(then.time)
  const isPast = ({ time }: { readonly time: bigint }): boolean => time <= until
  const rows = chain.ledger.rows.filter(isPast)
  const balances = new Map(rows.map((row) => [row.account.id, row.balance]))
  const accounts = new Map<string, Account>()
  for (const [key, account] of chain.ledger.accounts) {
    const balance = balances.get(account.id)
    if (balance !== undefined) accounts.set(key, { ...account, balance })
  }
  const assets = [...chain.assets].flatMap(([id, asset]) => {
    const status = asset.statuses.findLast(({ height }) => height <= then.height)?.status
    return status === undefined ? [] : [[id, { ...asset, status }] as const]
  })
  return {
    ...chain,
    height: then.height,
    time: then.time,
    hash: then.hash,
    ledger: {
      ...chain.ledger,
      rows,
      accounts,
      movements: chain.ledger.movements.filter(({ blockTime }) => blockTime <= until),
    },
    assets: new Map(assets),
    transfers: new Map([...chain.transfers].filter(([, transfer]) => transfer.time <= then.time)),
    withdrawals: new Map([...chain.withdrawals].filter(([, withdrawal]) => withdrawal.time <= then.time)),
    deposits: new Map([...chain.deposits].filter(([, made]) => made.credited <= then.time)),
    included: chain.included.filter((entry) => entry.height <= then.height),
  }
}

/** The chain with a wrong clock: every time that readers see is shifted. */
export const skewed = (chain: Chain, nanos: bigint): Chain => {
  const shift = <A extends { readonly time: bigint }>(entry: A): A => ({ ...entry, time: entry.time + nanos })
  return {
    ...chain,
    time: chain.time + nanos,
    genesisTime: chain.genesisTime + nanos,
    ledger: {
      ...chain.ledger,
      rows: chain.ledger.rows.map(shift),
      movements: chain.ledger.movements.map(shift),
    },
    transfers: new Map([...chain.transfers].map(([id, transfer]) => [id, shift(transfer)])),
    withdrawals: new Map([...chain.withdrawals].map(([id, withdrawal]) => [id, shift(withdrawal)])),
    deposits: new Map(
      [...chain.deposits].map(([id, made]) => [
        id,
        { ...made, created: made.created + nanos, credited: made.credited + nanos },
      ]),
    ),
    included: chain.included.map(shift),
    epoch: { ...chain.epoch, startTime: chain.epoch.startTime + nanos },
  }
}
