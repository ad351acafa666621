import type { Party, PinnedAsset } from "../rules/Account.ts"
import { accountKey } from "../rules/Snapshot.ts"
import { makeDrawing } from "./Drawing.ts"
import { makeVirtualTreasury, type VirtualTreasury } from "./VirtualTreasury.ts"
import {
  type DecidedPayment,
  isSigned,
  type RaisedAlert,
  type SignedPayment,
  type WorldEvent,
  type WorldSettings,
} from "./World.ts"

/** Simulated result of the rules. Times are Unix milliseconds. */
export type Backtest = Awaited<ReturnType<typeof runBacktest>>

interface BacktestOptions {
  readonly settings: WorldSettings
  readonly parties: ReadonlyArray<Party>
  readonly assets: ReadonlyArray<PinnedAsset>
  readonly events: Iterable<WorldEvent>
  readonly until: number
  /** True if a chart will be drawn. */
  readonly draws?: boolean
}

/** Runs rules over a past and returns what they would have done. */
export const runBacktest = async (options: BacktestOptions) => {
  const { settings, events, until } = options
  const drawing = options.draws === true ? makeDrawing(settings.start, until) : undefined
  const treasury = makeVirtualTreasury(settings, drawing?.listener)
  await treasury.advance(events, until)
  treasury.end()
  const { ledger, raised, entries } = treasury
  const payments = ledger.payments.filter(isSigned)
  return {
    from: settings.start,
    to: until,
    payments,
    /** Not signed: rejected, lapsed, or still waiting at the end. */
    unsigned: ledger.payments.filter((paid) => !isSigned(paid)),
    approvals: approvalsOf(ledger.payments),
    /** Assumed time from a decision to its approval; undefined: nobody approves. */
    approvedAfterMillis: settings.approvedAfterMillis,
    raised,
    conditions: conditionsOf(treasury, until),
    days: daysOf(payments),
    lines: linesOf(options, treasury),
    quota: quotaOf(options, treasury),
    bands: bandsOf(treasury),
    accounts: accountsOf(options, treasury),
    holds: entries.flatMap(({ subject, millis }) =>
      [...millis].map(([reason, spent]) => ({ rule: subject.rule.name, subject: subject.name, reason, millis: spent })),
    ),
    drawing: drawing?.toDrawing(treasury),
  }
}

/** How often each alert rule's condition was true for its `for`, and for how long, whether or not it alerted. */
const conditionsOf = ({ alertEntries, raised }: VirtualTreasury, until: number) =>
  alertEntries.map(({ rule: { name, severity, forMillis }, spans, begun }) => {
    const lengths = spans.map((span) => (span.until ?? until) - span.from)
    return {
      rule: name,
      severity,
      alerts: raised.filter(({ kind, rule }) => kind === "firing" && rule === name).length,
      times: spans.length,
      millis: lengths.reduce((sum, one) => sum + one, 0),
      longestMillis: lengths.reduce((most, one) => Math.max(most, one), 0),
      /** Times that it became true, whether or not for long enough. */
      begun,
      forMillis,
    }
  })

/** Outcome of the payments that needed the approval of each group of operators. */
const approvalsOf = (paid: ReadonlyArray<DecidedPayment>) =>
  [...Map.groupBy(paid, ({ group }) => group?.name)].flatMap(([group, own]) => {
    if (group === undefined) return []
    const count = (is: (one: DecidedPayment) => boolean) => own.filter(is).length
    const ended = (wanted: DecidedPayment["state"]) => count(({ state }) => state === wanted)
    const [lapsed, denied, waiting] = [ended("rejected"), ended("denied"), ended("waiting")]
    return [{ group, asked: own.length, approved: count(isSigned), lapsed, denied, waiting }]
  })

/** Amounts paid under each line of the policy on each day (UTC). */
const daysOf = (paid: ReadonlyArray<SignedPayment>) => {
  const dayOf = ({ signedAt }: SignedPayment) => new Date(signedAt).toISOString().slice(0, 10)
  const counted = paid.filter(({ state }) => state !== "failed")
  const days = Map.groupBy(counted, (one) => `${dayOf(one)} ${one.line} ${one.intent.payment.asset}`)
  return [...days.values()].map((own) => {
    const { line, intent } = own[0]!
    const amount = own.reduce((sum, one) => sum + one.intent.payment.amount, 0n)
    const { asset } = intent.payment
    return { day: dayOf(own[0]!), line, asset, decimals: intent.decimals, amount, count: own.length }
  })
}

/** Use of each policy line, with the name and decimals of its asset. */
const linesOf = ({ assets }: BacktestOptions, { limits }: VirtualTreasury) =>
  limits.lineTotals().map((totals) => {
    const pin = assets.find(({ id }) => id === totals.line.assetId)
    return { ...totals, asset: pin?.symbol ?? "", decimals: pin?.decimals ?? 0 }
  })

const quotaOf = ({ settings, parties }: BacktestOptions, { limits }: VirtualTreasury) => {
  const limit = settings.quota?.limit
  if (limit === undefined) return []
  return parties.flatMap(({ name, publicKey }) => {
    const most = limits.busiest.get(publicKey)
    return most === undefined ? [] : [{ party: name, most, limit }]
  })
}

/** Time that each account spent outside its band, by rule. */
const bandsOf = ({ ledger }: VirtualTreasury) =>
  [...ledger.holdings.values()].flatMap(({ outside }) =>
    outside.map(({ band: { level, least, most }, rule, millis, times }) => {
      const account = `${level.party.name}/${level.asset.symbol}`
      return { rule, account, decimals: level.asset.decimals, least, most, outsideMillis: millis, times }
    }),
  )

const accountsOf = ({ parties, assets }: BacktestOptions, { ledger }: VirtualTreasury) =>
  parties.flatMap((party) =>
    assets.flatMap(({ id, symbol, decimals }) => {
      const holding = ledger.holdings.get(accountKey(party.publicKey, id))
      if (holding?.lowest === undefined || holding.highest === undefined) return []
      return {
        account: `${party.name}/${symbol}`,
        decimals,
        lowest: holding.lowest.free,
        lowestAt: holding.lowest.at,
        highest: holding.highest.free,
        last: holding.free,
        floor: party.floor.get(id),
      }
    }),
  )

/** Equal payments, or alerts, of two backtests count as the same if they are at most this far apart. */
const sameMillis = 60_000

/** Number of results that both sides have, and the results that one side alone has. */
export interface Sides<A> {
  readonly both: number
  readonly onlyHere: ReadonlyArray<A>
  readonly onlyThere: ReadonlyArray<A>
}

/** Difference between the results of two sets of rules. */
export interface BacktestDifference extends Sides<DecidedPayment> {
  readonly alerts: Sides<RaisedAlert>
}

const paidKey = ({ intent: { payment } }: DecidedPayment): string =>
  [payment.fromKey, payment.toKey, payment.assetId, payment.amount].join("|")

const alertKey = ({ kind, rule, subject }: RaisedAlert): string => [kind, rule, subject].join("|")

/** Compares the payments and alerts of two backtests of one past. */
export const compareBacktests = (here: Backtest, there: Backtest): BacktestDifference => ({
  ...sides(here.payments, there.payments, paidKey),
  alerts: sides(here.raised, there.raised, alertKey),
})

const sides = <A extends { readonly at: number }>(
  here: ReadonlyArray<A>,
  there: ReadonlyArray<A>,
  keyOf: (one: A) => string,
): Sides<A> => {
  const left = Map.groupBy(there, keyOf)
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
