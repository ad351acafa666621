import type { Party, PinnedAsset } from "../rules/Account.ts"
import { accountKey } from "../rules/overlay.ts"
import { type Drawing, makeDrawing } from "./Drawing.ts"
import type { Holding } from "./Ledger.ts"
import { makeRehearsal, type Rehearsal } from "./Rehearsal.ts"
import type { NearLine } from "./Windows.ts"
import type { Paid, RaisedAlert, WorldEvent, WorldSettings } from "./World.ts"

/** Amount paid under one line of the policy on one day (UTC). */
interface DaySpend {
  readonly day: string
  readonly line: number
  readonly asset: string
  readonly decimals: number
  readonly amount: bigint
  readonly count: number
}

/** How an account fared under one rule. */
interface BandReport {
  readonly rule: string
  readonly account: string
  readonly decimals: number
  readonly least: bigint | undefined
  readonly most: bigint | undefined
  readonly outsideMillis: number
  readonly times: number
}

interface AccountReport {
  readonly account: string
  readonly decimals: number
  readonly lowest: bigint
  readonly lowestAt: number
  readonly highest: bigint
  readonly last: bigint
  /** Balance that the party keeps; undefined if it keeps none. */
  readonly floor: bigint | undefined
}

interface HoldReport {
  readonly rule: string
  readonly subject: string
  readonly reason: string
  readonly millis: number
}

/** How often, and how long, the condition of an alert rule was true. */
interface AlertReport {
  readonly rule: string
  readonly severity: RaisedAlert["severity"]
  /** Number of alerts that it is true. */
  readonly told: number
  /** Times that it was true, alerted or not. */
  readonly times: number
  readonly millis: number
  readonly longestMillis: number
  /** Times that its condition became true, whether or not for long enough, and how long that is. */
  readonly begun: number
  readonly forMillis: number
}

/** Outcome of the payments that needed the approval of a group of operators. */
interface ApprovalReport {
  readonly group: string
  readonly asked: number
  readonly approved: number
  /** Not approved in time. */
  readonly lapsed: number
  /** Approved, and not signed any more. */
  readonly denied: number
  /** At the end. */
  readonly waiting: number
}

/** Simulated result of the rules. Times are Unix milliseconds. */
export interface Backtest {
  readonly from: number
  readonly to: number
  /** Those that were signed. */
  readonly payments: ReadonlyArray<Paid>
  /** Those that people let pass, or had not answered at the end. */
  readonly unsigned: ReadonlyArray<Paid>
  readonly approvals: ReadonlyArray<ApprovalReport>
  /** How long people were counted to take; undefined: they never approve. */
  readonly approvedAfterMillis: number | undefined
  readonly told: ReadonlyArray<RaisedAlert>
  readonly conditions: ReadonlyArray<AlertReport>
  readonly days: ReadonlyArray<DaySpend>
  readonly lines: ReadonlyArray<NearLine>
  readonly quota: ReadonlyArray<{ readonly party: string; readonly most: number; readonly limit: number }>
  readonly bands: ReadonlyArray<BandReport>
  readonly accounts: ReadonlyArray<AccountReport>
  readonly holds: ReadonlyArray<HoldReport>
  readonly drawing: Drawing | undefined
}

interface BacktestAsked {
  readonly settings: WorldSettings
  readonly parties: Iterable<Party>
  readonly assets: Iterable<PinnedAsset>
  readonly events: Iterable<WorldEvent>
  readonly until: number
  /** True if a chart will be drawn. */
  readonly draws?: boolean
}

/** Plays rules over the past. */
export const runBacktest = async (asked: BacktestAsked): Promise<Backtest> => {
  const { settings, events, until } = asked
  const drawing = asked.draws === true ? makeDrawing(settings.start, until) : undefined
  const rehearsal = makeRehearsal(settings, drawing?.listener)
  await rehearsal.advance(events, until)
  rehearsal.end()
  const { ledger, told, windows, entries } = rehearsal
  const payments = ledger.paid.filter(isSigned)
  return {
    from: settings.start,
    to: until,
    payments,
    unsigned: ledger.paid.filter((paid) => !isSigned(paid)),
    approvals: approvalsOf(ledger.paid),
    approvedAfterMillis: settings.approvedAfterMillis,
    told,
    conditions: conditionsOf(rehearsal, until),
    days: daysOf(payments),
    lines: windows.near(),
    quota: quotaOf(asked, rehearsal),
    bands: bandsOf(rehearsal),
    accounts: accountsOf(asked, rehearsal),
    holds: entries.flatMap(({ subject, millis }) =>
      [...millis].map(([reason, spent]) => ({ rule: subject.rule.name, subject: subject.name, reason, millis: spent })),
    ),
    drawing: drawing?.drawn(rehearsal, settings.rules),
  }
}

const conditionsOf = ({ alarms, told }: Rehearsal, until: number): ReadonlyArray<AlertReport> =>
  alarms.map(({ rule: { name, severity, forMillis }, spans, begun }) => {
    const lengths = spans.map((span) => (span.until ?? until) - span.from)
    return {
      rule: name,
      severity,
      told: told.filter(({ kind, rule }) => kind === "firing" && rule === name).length,
      times: spans.length,
      millis: lengths.reduce((sum, one) => sum + one, 0),
      longestMillis: lengths.reduce((most, one) => Math.max(most, one), 0),
      begun,
      forMillis,
    }
  })

type Signed = Paid & { readonly signedAt: number }
const isSigned = (paid: Paid): paid is Signed => paid.signedAt !== undefined

const approvalsOf = (paid: ReadonlyArray<Paid>): ReadonlyArray<ApprovalReport> =>
  [...Map.groupBy(paid, ({ group }) => group?.name)].flatMap(([group, own]) => {
    if (group === undefined) return []
    const count = (is: (one: Paid) => boolean) => own.filter(is).length
    return [
      {
        group,
        asked: own.length,
        approved: count(isSigned),
        lapsed: count(({ state }) => state === "rejected"),
        denied: count(({ state }) => state === "denied"),
        waiting: count(({ state }) => state === "waiting"),
      },
    ]
  })

const daysOf = (paid: ReadonlyArray<Signed>): ReadonlyArray<DaySpend> => {
  const days = new Map<string, DaySpend>()
  for (const { signedAt, line, state, intent } of paid) {
    if (state === "failed") continue
    const day = new Date(signedAt).toISOString().slice(0, 10)
    const { asset, amount } = intent.payment
    const key = `${day} ${line} ${asset}`
    const known = days.get(key) ?? { day, line, asset, decimals: intent.decimals, amount: 0n, count: 0 }
    days.set(key, { ...known, amount: known.amount + amount, count: known.count + 1 })
  }
  return [...days.values()]
}

const quotaOf = ({ settings, parties }: BacktestAsked, { windows }: Rehearsal): Backtest["quota"] => {
  const limit = settings.quota?.limit
  if (limit === undefined) return []
  return [...parties].flatMap(({ name, publicKey }) => {
    const most = windows.busiest.get(publicKey)
    return most === undefined ? [] : [{ party: name, most, limit }]
  })
}

const bandsOf = ({ ledger }: Rehearsal): ReadonlyArray<BandReport> =>
  [...ledger.holdings.values()].flatMap(({ outside }) =>
    outside.map(({ band, rule, millis, times }) => ({
      rule,
      account: `${band.level.party.name}/${band.level.asset.symbol}`,
      decimals: band.level.asset.decimals,
      least: band.least,
      most: band.most,
      outsideMillis: millis,
      times,
    })),
  )

const accountsOf = ({ parties, assets }: BacktestAsked, { ledger }: Rehearsal): ReadonlyArray<AccountReport> => {
  const pinned = [...assets]
  return [...parties].flatMap((party) =>
    pinned.flatMap((asset) => {
      const holding = ledger.holdings.get(accountKey(party.publicKey, asset.id))
      return holding?.known === true ? accountReport(holding, party, asset) : []
    }),
  )
}

const accountReport = (holding: Holding, party: Party, asset: PinnedAsset): ReadonlyArray<AccountReport> => {
  const { lowest, highest, free } = holding
  if (lowest === undefined || highest === undefined) return []
  return [
    {
      account: `${party.name}/${asset.symbol}`,
      decimals: asset.decimals,
      lowest: lowest.free,
      lowestAt: lowest.at,
      highest: highest.free,
      last: free,
      floor: party.floor.get(asset.id),
    },
  ]
}

/** Decisions this near in time with the same content are the same; so are alerts. */
const sameMillis = 60_000

/** Count of equal results, and the results of one side alone. */
export interface Sides<A> {
  readonly both: number
  readonly onlyHere: ReadonlyArray<A>
  readonly onlyThere: ReadonlyArray<A>
}

/** Difference between the results of two sets of rules. */
export interface PaymentDifference extends Sides<Paid> {
  readonly alerts: Sides<RaisedAlert>
}

const paidKey = ({ intent: { payment } }: Paid): string =>
  [payment.fromKey, payment.toKey, payment.assetId, payment.amount].join("|")

const toldKey = ({ kind, rule, subject }: RaisedAlert): string => [kind, rule, subject].join("|")

/** Compares the payments and alerts of two backtests of one past. */
export const difference = (here: Backtest, there: Backtest): PaymentDifference => ({
  ...sides(here.payments, there.payments, paidKey),
  alerts: sides(here.told, there.told, toldKey),
})

const sides = <A extends { readonly at: number }>(
  here: ReadonlyArray<A>,
  there: ReadonlyArray<A>,
  keyOf: (one: A) => string,
): Sides<A> => {
  const left = new Map<string, Array<A>>()
  for (const one of there) {
    const same = left.get(keyOf(one))
    if (same === undefined) left.set(keyOf(one), [one])
    else same.push(one)
  }
  const onlyHere: Array<A> = []
  for (const one of here) {
    const same = left.get(keyOf(one)) ?? []
    const twin = same.findIndex(({ at }) => Math.abs(at - one.at) <= sameMillis)
    if (twin < 0) onlyHere.push(one)
    else same.splice(twin, 1)
  }
  const onlyThere = [...left.values()].flat().toSorted((a, b) => a.at - b.at)
  return { both: here.length - onlyHere.length, onlyHere, onlyThere }
}
