import { toDouble } from "../domain/Amount.ts"
import { accountName, type RuleAccount } from "../rules/Account.ts"
import { type AlertRule, partsOf } from "../rules/Condition.ts"
import { accountKey } from "../rules/Snapshot.ts"
import type { Holding } from "./Ledger.ts"
import type { Listener } from "./Play.ts"
import type { VirtualTreasury } from "./VirtualTreasury.ts"
import type { SubjectState } from "./World.ts"

/** Columns of a chart. */
const columns = 900

/** Data of a chart. */
export type Drawing = ReturnType<ReturnType<typeof makeDrawing>["toDrawing"]>
/** Balances of one account in units of the asset, by columns; NaN while none was known. */
export type Line = Drawing["lines"][number]

/** Columns between which a rule on the account held for a reason that is not `calm`. */
export interface HoldSpan {
  readonly reason: string
  readonly from: number
  readonly until: number
}

/** Hold reasons of a subject that needs nothing now. */
const calm: ReadonlySet<string> = new Set(["in_band", "not_due", "pending", "in_flight", "settling"])

interface Trace {
  readonly lows: Array<bigint | undefined>
  readonly highs: Array<bigint | undefined>
  column: number
  last: bigint | undefined
}

/** Collects what a chart shows while a virtual treasury runs. */
export const makeDrawing = (from: number, to: number) => {
  const traces = new Map<string, Trace>()
  const spans = new Map<string, Array<HoldSpan>>()
  const open = new Map<string, SubjectState>()
  const columnOf = (at: number): number => Math.min(columns, ((at - from) / Math.max(1, to - from)) * columns)
  const listener: Listener = {
    changed: ({ key, free }, at) => {
      const column = Math.min(columns - 1, Math.floor(columnOf(at)))
      let trace = traces.get(key)
      if (trace === undefined) {
        trace = { lows: [], highs: [], column, last: undefined }
        traces.set(key, trace)
      }
      fill(trace, column)
      const low = trace.lows[column]
      const high = trace.highs[column]
      if (low === undefined || free < low) trace.lows[column] = free
      if (high === undefined || free > high) trace.highs[column] = free
      trace.last = free
    },
    decided: (state) => {
      const key = `${state.rule}|${state.subject}`
      const before = open.get(key)
      if (before?.reason !== undefined && !calm.has(before.reason)) {
        const own = spans.get(key) ?? []
        own.push({ reason: before.reason, from: columnOf(before.at), until: columnOf(state.at) })
        spans.set(key, own)
      }
      open.set(key, state)
    },
  }
  const toDrawing = ({ ledger, entries, alertEntries }: VirtualTreasury) => {
    for (const state of open.values()) listener.decided?.({ ...state, at: to, reason: undefined })
    const accounts = accountsIn({ entries, alertEntries })
    const lines = [...traces].flatMap(([key, trace]) => {
      fill(trace, columns)
      const holding = ledger.holdings.get(key)
      const account = accounts.get(key)
      if (holding === undefined || account === undefined) return []
      const floor = account.party.floor.get(account.asset.id)
      const units = (one: bigint) => toDouble(one, account.asset.decimals)
      const signedIn = (side: "fromKey" | "toKey") =>
        ledger.payments
          .filter(({ intent: { payment } }) => accountKey(payment[side], payment.assetId) === key)
          .flatMap(({ signedAt }) => (signedAt === undefined ? [] : [columnOf(signedAt)]))
      const own = entries.filter(({ subject }) => subject.accounts.some((one) => keyOf(one) === key))
      return [
        {
          key,
          name: accountName(account),
          lows: numbers(trace.lows, units),
          highs: numbers(trace.highs, units),
          ...bandEdges(holding, units),
          floor: floor === undefined ? undefined : units(floor),
          /** Columns (with fractions) of the payments that it made and received. */
          paid: signedIn("fromKey"),
          received: signedIn("toKey"),
          holds: own.flatMap(({ subject }) => spans.get(`${subject.rule.name}|${subject.name}`) ?? []),
          /** Columns between which the condition of an alert rule on it was true. */
          alerts: alertEntries
            .filter(({ rule }) => accountsOf(rule).some((one) => keyOf(one) === key))
            .flatMap(({ rule, spans: on }) =>
              on.map((span) => ({
                rule: rule.name,
                from: columnOf(span.from),
                until: columnOf(span.until ?? to),
              })),
            ),
        },
      ]
    })
    return { columns, from, to, lines: lines.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
  }
  return { listener, toDrawing }
}

const keyOf = ({ party, asset }: Pick<RuleAccount, "party" | "asset">): string => accountKey(party.publicKey, asset.id)

const accountsOf = (rule: AlertRule): ReadonlyArray<RuleAccount> =>
  partsOf(rule).flatMap((part) => ("account" in part ? [part.account] : []))

/** Continues the last balance up to a column. */
const fill = (trace: Trace, until: number): void => {
  for (; trace.column < until; trace.column++) {
    const { column, last } = trace
    trace.lows[column] ??= last
    trace.highs[column] ??= last
    if (column + 1 < columns && last !== undefined) {
      trace.lows[column + 1] ??= last
      trace.highs[column + 1] ??= last
    }
  }
}

const numbers = (line: ReadonlyArray<bigint | undefined>, units: (one: bigint) => number): ReadonlyArray<number> =>
  Array.from({ length: columns }, (_, i) => {
    const one = line[i]
    return one === undefined ? Number.NaN : units(one)
  })

const bandEdges = ({ outside }: Holding, units: (one: bigint) => number) => {
  const least = outside.flatMap(({ band }) => (band.least === undefined ? [] : [units(band.least)]))
  const most = outside.flatMap(({ band }) => (band.most === undefined ? [] : [units(band.most)]))
  return {
    least: least.length === 0 ? undefined : Math.max(...least),
    most: most.length === 0 ? undefined : Math.min(...most),
  }
}

/** Accounts that rules watch or pay from, or that conditions watch, by key. */
const accountsIn = ({ entries, alertEntries }: Pick<VirtualTreasury, "entries" | "alertEntries">) => {
  const ofRules = entries.flatMap(({ subject: { asset, parties } }) => parties.map((party) => ({ party, asset })))
  const all = [...ofRules, ...alertEntries.flatMap(({ rule }) => accountsOf(rule))]
  return new Map(all.map((account) => [keyOf(account), account]))
}
