import { dayMillis } from "../domain/Time.ts"
import {
  isCountedBy,
  type PeriodUse,
  type Policy,
  type PolicyLine,
  type PolicyPayment,
} from "../rules/policy/Policy.ts"
import type { Quota } from "../rules/Snapshot.ts"

interface Spend {
  /** Time of its block. */
  readonly at: number
  readonly amount: bigint
}

/** Sums and highest values of a policy line in the whole run. */
interface LineTotals {
  readonly line: PolicyLine
  readonly spent: bigint
  readonly count: number
  /** The most in any 24 hours. */
  readonly amountMax: bigint
  readonly countMax: number
  readonly transferMax: bigint
}

interface Use {
  readonly line: PolicyLine
  spends: Array<Spend>
  /** Index of the first spend that still counts; `amount` is the sum from there on. */
  first: number
  amount: bigint
  totals: LineTotals
}

interface Signature extends PolicyPayment {
  readonly at: number
  /** Time of its block. A policy line counts it until 24 hours later. */
  readonly settlesAt: number
  /** True if it counts as a transfer of the network's epoch. */
  readonly usesQuota: boolean
}

/** Use of the limits: signed payments of each policy line in 24 hours, and transfers of each key in an epoch. */
export type LimitsUsed = ReturnType<typeof makeLimitsUsed>

/** Use in the 24 hours up to `until`, which is not before the last spend. */
const lastDay = ({ spends, first, amount }: Use, until: number): PeriodUse => {
  let before = first
  for (; before < spends.length && spends[before]!.at <= until - dayMillis; before++) amount -= spends[before]!.amount
  return { amount, count: spends.length - before }
}

export const makeLimitsUsed = (
  policy: Policy,
  quota: { readonly limit: number; readonly epochMillis: number } | undefined,
  start: number,
) => {
  const uses = new Map(
    policy.lines.map((line): [PolicyLine, Use] => {
      const totals = { line, spent: 0n, count: 0, amountMax: 0n, countMax: 0, transferMax: 0n }
      return [line, { line, spends: [], first: 0, amount: 0n, totals }]
    }),
  )
  const sent = new Map<string, { readonly epoch: number; readonly used: number }>()
  const busiest = new Map<string, number>()
  const epochOf = (at: number): number => (quota === undefined ? 0 : Math.floor((at - start) / quota.epochMillis))
  const forget = (use: Use, since: number): void => {
    while (use.first < use.spends.length && use.spends[use.first]!.at <= since)
      use.amount -= use.spends[use.first++]!.amount
    if (use.first < 1_000) return
    use.spends = use.spends.slice(use.first)
    use.first = 0
  }
  return {
    /** The most transfers of one key in one epoch. */
    busiest: busiest as ReadonlyMap<string, number>,
    sign: ({ from, to, assetId, amount, at, settlesAt, usesQuota }: Signature): void => {
      if (usesQuota) {
        const epoch = epochOf(at)
        const before = sent.get(from)
        const used = (before?.epoch === epoch ? before.used : 0) + 1
        sent.set(from, { epoch, used })
        busiest.set(from, Math.max(busiest.get(from) ?? 0, used))
      }
      for (const use of uses.values()) {
        const { line, totals } = use
        if (!isCountedBy(line, { from, to, assetId })) continue
        use.spends.push({ at: settlesAt, amount })
        use.amount += amount
        const day = lastDay(use, settlesAt)
        use.totals = {
          line,
          spent: totals.spent + amount,
          count: totals.count + 1,
          amountMax: day.amount > totals.amountMax ? day.amount : totals.amountMax,
          countMax: Math.max(totals.countMax, day.count),
          transferMax: amount > totals.transferMax ? amount : totals.transferMax,
        }
      }
    },
    /** Use of a line after `since` (Unix milliseconds), which may only grow from call to call. */
    used: (line: PolicyLine, since: number): PeriodUse => {
      const use = uses.get(line)
      if (use === undefined) return { amount: 0n, count: 0 }
      forget(use, since)
      return { amount: use.amount, count: use.spends.length - use.first }
    },
    /** When the oldest spend that still counts leaves its period; infinite if none counts. */
    nextFree: (now: number): number => {
      let next = Number.POSITIVE_INFINITY
      for (const { spends, first } of uses.values()) {
        const oldest = spends.find(({ at }, i) => i >= first && at + dayMillis > now)
        if (oldest !== undefined) next = Math.min(next, oldest.at + dayMillis)
      }
      return next
    },
    quota: (party: string, now: number): Quota | undefined => {
      if (quota === undefined) return undefined
      const epoch = epochOf(now)
      const known = sent.get(party)
      const endsAt = start + (epoch + 1) * quota.epochMillis
      return { limit: quota.limit, used: known?.epoch === epoch ? known.used : 0, endsAt }
    },
    lineTotals: (): ReadonlyArray<LineTotals> => [...uses.values()].map(({ totals }) => totals),
  }
}
