import type { PolicyLine } from "./Policy.ts"
import type { Snapshot } from "./Snapshot.ts"

/** What a rule would have moved since it rehearses: decided like any payment, and never signed. */
export interface Rehearsal {
  readonly rule: string
  /** Unix milliseconds since which it rehearses. */
  readonly since: number
  readonly payments: number
  /** Base units by account (see `accountKey`): what it would have received less what it would have paid with fees. */
  readonly moved: ReadonlyMap<string, bigint>
}

export const accountKey = (party: string, assetId: string): string => `${party}|${assetId}`

const dayMillis = 86_400_000

/**
 * The snapshot as it would be had the rehearsed payments been made: their balances, and what they took of the policy's
 * windows. Decisions on it are made by the same code as any.
 */
export const overlaid = (snapshot: Snapshot, rehearsals: ReadonlyArray<Rehearsal>): Snapshot => {
  if (rehearsals.length === 0) return snapshot
  const moved = new Map<string, bigint>()
  for (const rehearsal of rehearsals) {
    for (const [key, units] of rehearsal.moved) moved.set(key, (moved.get(key) ?? 0n) + units)
  }
  const names = new Set(rehearsals.map(({ rule }) => rule))
  const since = snapshot.now - dayMillis
  const recent = snapshot.settled.filter(
    ({ rule, state, createdAt }) => state === "rehearsed" && names.has(rule) && createdAt > since,
  )
  return {
    ...snapshot,
    balance: (party, assetId, kind) => {
      const observed = snapshot.balance(party, assetId, kind)
      return observed === undefined ? undefined : observed + (moved.get(accountKey(party, assetId)) ?? 0n)
    },
    signed: (line: PolicyLine) =>
      recent
        .filter(({ payment: { fromKey, toKey, assetId } }) => {
          return line.from.has(fromKey) && line.to.has(toKey) && line.assetId === assetId
        })
        .reduce(
          (sum, { payment }) => ({ amount: sum.amount + payment.amount, count: sum.count + 1 }),
          snapshot.signed(line),
        ),
  }
}
