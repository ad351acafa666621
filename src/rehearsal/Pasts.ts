import { type Past, pastKey } from "../rules/Condition.ts"
import { accountKey } from "../rules/overlay.ts"
import { type Holding, seenOf } from "./Holding.ts"

/** Balances as they were, as far back as conditions look. Times are Unix milliseconds. */
interface Pasts {
  readonly note: (holding: Holding, at: number) => void
  /** The balance at a time, which must never go back for the same past; undefined before the first that is known. */
  readonly at: (past: Past, time: number) => bigint | undefined
  /** When, after the time that was last asked for, the balance was another; infinite where it never was. */
  readonly nextAfter: (past: Past) => number
}

interface Trail {
  readonly past: Past
  ats: Array<number>
  units: Array<bigint>
  /** Place of the balance at the time that was last asked for, or of the first one. */
  head: number
  asked: number
}

export const makePasts = (pasts: Iterable<Past>): Pasts => {
  const trails = new Map<string, Trail>()
  const byAccount = new Map<string, Array<Trail>>()
  for (const past of pasts) {
    if (trails.has(pastKey(past))) continue
    const { party, asset } = past.account
    const trail: Trail = { past, ats: [], units: [], head: 0, asked: Number.NEGATIVE_INFINITY }
    trails.set(pastKey(past), trail)
    const key = accountKey(party.publicKey, asset.id)
    byAccount.set(key, [...(byAccount.get(key) ?? []), trail])
  }
  return {
    note: (holding, at) => {
      for (const trail of byAccount.get(holding.key) ?? []) {
        const units = seenOf(holding)[trail.past.account.balance]
        if (trail.units.at(-1) === units) continue
        trail.ats.push(at)
        trail.units.push(units)
      }
    },
    at: (past, time) => {
      const trail = trails.get(pastKey(past))
      if (trail === undefined) return undefined
      trail.asked = time
      while ((trail.ats[trail.head + 1] ?? Number.POSITIVE_INFINITY) <= time) trail.head++
      forget(trail)
      return (trail.ats[trail.head] ?? Number.POSITIVE_INFINITY) <= time ? trail.units[trail.head] : undefined
    },
    nextAfter: (past) => {
      const { ats, head, asked } = trails.get(pastKey(past))!
      const at = ats[head] ?? Number.POSITIVE_INFINITY
      return at > asked ? at : (ats[head + 1] ?? Number.POSITIVE_INFINITY)
    },
  }
}

const forget = (trail: Trail): void => {
  if (trail.head < 1_000) return
  trail.ats = trail.ats.slice(trail.head)
  trail.units = trail.units.slice(trail.head)
  trail.head = 0
}
