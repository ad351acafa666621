import type { Backtest, BacktestDifference, Sides } from "../backtest/Backtest.ts"
import { paidText } from "../backtest/TestRun.ts"
import type { DecidedPayment, RaisedAlert } from "../backtest/World.ts"
import { formatAmount, formatLevel } from "../domain/Amount.ts"
import { instantText, timeText } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import { table } from "./common/output.ts"
import type { UnknownBefore } from "./history.ts"

export interface PastSummary {
  readonly rows: number
  /** Real payments, removed from the past balances before the rules run over them. */
  readonly taken: number
  readonly gaps: ReadonlyArray<{ readonly since: number; readonly until: number }>
  readonly unknown: ReadonlyArray<UnknownBefore>
}

const percent = (part: bigint | number, whole: bigint | number): string =>
  Number(whole) === 0 ? "" : ` (${Math.round((Number(part) / Number(whole)) * 100)} %)`

const indent = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split("\n").map((line) => `  ${line}`))

const section = (title: string, rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  rows.length === 0 ? [] : [title, ...indent(table(rows))]

/** Sums of what was paid, and of the fees, by asset. */
const sums = ({ payments }: Backtest): ReadonlyArray<string> => {
  const byAsset = Map.groupBy(
    payments.filter(({ state }) => state !== "failed"),
    ({ intent }) => intent.payment.asset,
  )
  return [...byAsset].map(([asset, paid]) => {
    const decimals = paid[0]?.intent.decimals ?? 0
    const amount = paid.reduce((sum, { intent }) => sum + intent.payment.amount, 0n)
    const fees = paid.reduce((sum, { intent }) => sum + (intent.fee ?? 0n), 0n)
    return `${formatAmount(amount, decimals)} ${asset}, fees ${formatAmount(fees, decimals)} ${asset}`
  })
}

const lineRows = ({ lines, payments }: Backtest): ReadonlyArray<ReadonlyArray<string>> =>
  lines
    .filter(({ count }) => count > 0)
    .map(({ line, amountMax, countMax, transferMax, asset, decimals }) => {
      const level = (units: bigint) => formatLevel(units, decimals)
      return [
        `line ${line.line}`,
        `${level(amountMax)} of ${level(line.per24h)} ${asset}${percent(amountMax, line.per24h)}`,
        `${countMax} of ${line.transfersPer24h} transfers${percent(countMax, line.transfersPer24h)}`,
        `largest ${level(transferMax)} of ${level(line.perTransfer)}`,
        plural(payments.filter((paid) => paid.line === line.line).length, "payment"),
      ]
    })

const accountRows = ({ accounts }: Backtest): ReadonlyArray<ReadonlyArray<string>> =>
  accounts.map(({ account, lowest, lowestAt, highest, last, floor, decimals }) => {
    const amount = (units: bigint) => formatAmount(units, decimals)
    const from = (least: bigint) =>
      lowest < least ? `${amount(least - lowest)} below its floor` : `${amount(lowest - least)} above its floor`
    const ofFloor = floor === undefined ? "" : `${from(floor)} of ${formatLevel(floor, decimals)}`
    const remark = lowest < 0n ? `overdrawn by ${amount(-lowest)}: the past spent more than the rules brought` : ofFloor
    return [
      account,
      `lowest ${amount(lowest)}`,
      instantText(lowestAt),
      `highest ${amount(highest)}`,
      `at the end ${amount(last)}`,
      remark,
    ]
  })

const bandRows = ({ bands, from, to }: Backtest): ReadonlyArray<ReadonlyArray<string>> =>
  bands.map(({ rule, account, least, most, outsideMillis, times, decimals }) => [
    rule,
    account,
    least === undefined ? `above ${formatLevel(most ?? 0n, decimals)}` : `below ${formatLevel(least, decimals)}`,
    `${timeText(outsideMillis)}${percent(outsideMillis, to - from)}`,
    plural(times, "time"),
  ])

const holdRows = ({ holds }: Backtest): ReadonlyArray<ReadonlyArray<string>> => {
  const subjects = Map.groupBy(holds, ({ rule, subject }) => `${rule}|${subject}`)
  return [...subjects.values()].map((rows) => [
    rows[0]?.rule ?? "",
    rows[0]?.subject ?? "",
    rows
      .filter(({ millis }) => millis > 0)
      .toSorted((a, b) => b.millis - a.millis)
      .map(({ reason, millis }) => `${reason.replaceAll("_", " ")} ${timeText(millis)}`)
      .join(", "),
  ])
}

const shownMax = 20

const conditionRows = ({ conditions, from, to }: Backtest): ReadonlyArray<ReadonlyArray<string>> =>
  conditions.map(({ rule, severity, alerts, times, millis, longestMillis, begun, forMillis }) => {
    const title = [rule, severity, plural(alerts, "alert")]
    if (times > 0) {
      const often = `true ${plural(times, "time")}${forMillis === 0 ? "" : ` for ${timeText(forMillis)} or longer`}`
      return [...title, often, `${timeText(millis)}${percent(millis, to - from)}`, `longest ${timeText(longestMillis)}`]
    }
    if (begun === 0) return [...title, "never true", "", ""]
    const often = `true ${plural(begun, "time")}, never for ${timeText(forMillis)}`
    return [...title, "never long enough", often, ""]
  })

const alertText = ({ at, severity, kind, rule, detail }: RaisedAlert): string =>
  `${instantText(at)}  ${severity}  ${kind}  ${rule}  ${detail}`

/** The first alerts of each rule, and how many more there were. */
const alertLines = ({ raised }: Backtest): ReadonlyArray<string> =>
  [...Map.groupBy(raised, ({ rule }) => rule)].flatMap(([rule, alerts]) => [
    ...alerts.slice(0, shownMax).map((one) => `  ${alertText(one)}`),
    ...(alerts.length > shownMax ? [`  and ${alerts.length - shownMax} more of ${rule}`] : []),
  ])

const approvalLines = ({ approvals, approvedAfterMillis: after }: Backtest): ReadonlyArray<string> => {
  if (approvals.length === 0) return []
  const how = after === undefined ? "nobody approves" : `approved ${timeText(after)} after the decision`
  const rows = approvals.map(({ group, asked, approved, lapsed, denied, waiting }) => [
    group,
    `${asked} waited`,
    `${approved} approved`,
    `${lapsed} lapsed`,
    ...(denied === 0 ? [] : [`${denied} not signed any more`]),
    ...(waiting === 0 ? [] : [`${waiting} still ${waiting === 1 ? "waits" : "wait"}`]),
  ])
  return section(`payments that people must approve, with --approved-after: ${how}`, rows)
}

export const backtestText = (name: string, result: Backtest, past: PastSummary): string => {
  const { payments, raised, days, from, to, quota } = result
  const failed = payments.filter(({ state }) => state === "failed").length
  const sum = sums(result)
  return [
    `${name}, ${instantText(from)} to ${instantText(to)}, ${timeText(to - from)}`,
    `${plural(past.rows, "past balance")}; ${plural(past.taken, "real payment")} removed from them`,
    ...past.gaps.map(({ since, until }) => `nothing is known of ${instantText(since)} to ${instantText(until)}: stale`),
    ...past.unknown.map(({ account, until }) => `${account} is not known before ${instantText(until)}: no data`),
    `${plural(payments.length, "payment")}${failed > 0 ? ` (${failed} failed)` : ""}${sum.length === 0 ? "" : `: ${sum.join("; ")}`}; ${plural(raised.length, "alert")}`,
    ...approvalLines(result),
    ...section(
      "paid each day (UTC)",
      days.map((d) => [
        d.day,
        `line ${d.line}`,
        `${formatAmount(d.amount, d.decimals)} ${d.asset}`,
        plural(d.count, "transfer"),
      ]),
    ),
    ...section("nearest to the limits, in any 24 hours", lineRows(result)),
    ...section(
      "transfers in an epoch of the network",
      quota.map(({ party, most, limit }) => [party, `${most} of ${limit}`]),
    ),
    ...section("accounts", accountRows(result)),
    ...section("outside the band", bandRows(result)),
    ...section("why rules did not act", holdRows(result)),
    ...section("conditions that alert", conditionRows(result)),
    ...(raised.length === 0 ? [] : ["alerts", ...alertLines(result)]),
  ].join("\n")
}

/** How two sets of rules differ over the same past. */
export const differenceText = (here: string, there: string, { alerts, ...paid }: BacktestDifference): string => {
  const payment = (one: DecidedPayment) => `${instantText(one.at)}  ${one.rule}  ${paidText(one)}`
  return [
    ...sidesText("payments", [here, there], paid, payment),
    ...sidesText("alerts", [here, there], alerts, alertText),
  ].join("\n")
}

const sidesText = <A>(
  what: "payments" | "alerts",
  [here, there]: readonly [string, string],
  { both, onlyHere, onlyThere }: Sides<A>,
  text: (one: A) => string,
): ReadonlyArray<string> => {
  if (both + onlyHere.length + onlyThere.length === 0 && what === "alerts") return []
  const list = (name: string, own: ReadonlyArray<A>) => [
    `only by ${name}: ${own.length}`,
    ...own.slice(0, shownMax).map((one) => `  ${text(one)}`),
    ...(own.length > shownMax ? [`  and ${own.length - shownMax} more`] : []),
  ]
  return [`${what} of both: ${both}`, ...list(here, onlyHere), ...list(there, onlyThere)]
}
