import type { PolicyLine } from "./policy/Policy.ts"
import type { Snapshot } from "./Snapshot.ts"

/** Sum of a rule's simulated payments since its simulation began: decided like any payment, never signed. */
export interface TrialMovement {
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
export const overlaid = (snapshot: Snapshot, rehearsals: ReadonlyArray<TrialMovement>): Snapshot => {
  if (rehearsals.length === 0) return snapshot
  const names = new Set(rehearsals.map(({ rule }) => rule))
  // As the signer would: from the earlier of clock and newest block. What is rehearsed ends when it is decided.
  const newest = snapshot.asOf === undefined ? snapshot.now : Number(snapshot.asOf / 1_000_000n)
  const since = Math.min(snapshot.now, newest) - dayMillis
  const recent = snapshot.settled.filter(
    ({ rule, state, createdAt }) => state === "rehearsed" && names.has(rule) && createdAt > since,
  )
  return {
    ...snapshot,
    balance: overlaidBalance(snapshot.balance, rehearsals),
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

/** Balances as they would be had the rehearsed payments been made. */
export const overlaidBalance = (
  balance: Snapshot["balance"],
  rehearsals: ReadonlyArray<TrialMovement>,
): Snapshot["balance"] => {
  const moved = new Map<string, bigint>()
  for (const rehearsal of rehearsals) {
    for (const [key, units] of rehearsal.moved) moved.set(key, (moved.get(key) ?? 0n) + units)
  }
  return (party, assetId, kind) => {
    const observed = balance(party, assetId, kind)
    return observed === undefined ? undefined : observed + (moved.get(accountKey(party, assetId)) ?? 0n)
  }
}
