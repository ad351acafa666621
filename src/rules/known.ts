import type { Snapshot } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"

/** What of a moment says what is known. */
export type Knowledge = Pick<Snapshot, "asOf" | "balance">

/** Balances of the subject's accounts, in their order; undefined while one of them is not known. */
export const balancesOf = (subject: Subject, known: Knowledge): ReadonlyArray<bigint> | undefined => {
  if (subject.accounts.length === 0) return []
  if (known.asOf === undefined) return undefined
  const zero = subject.rule.onNoData === "zero" ? 0n : undefined
  const balances: Array<bigint> = []
  for (const { party, asset, balance } of subject.accounts) {
    const units = known.balance(party.publicKey, asset.id, balance) ?? zero
    if (units === undefined) return undefined
    balances.push(units)
  }
  return balances
}
