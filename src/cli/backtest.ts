import { writeFileSync } from "node:fs"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Backtest, type BacktestDifference, compareBacktests, runBacktest } from "../backtest/Backtest.ts"
import { chart } from "../backtest/chart.ts"
import { externalEvents, type History } from "../backtest/History.ts"
import { loadSimulated, readTests } from "../backtest/readTests.ts"
import { runPlan } from "../backtest/runPlan.ts"
import { TestFile } from "../backtest/TestFile.ts"
import { paidText, type TestResult, type UnmetExpectation } from "../backtest/TestRun.ts"
import type { DecidedPayment, RaisedAlert, WorldEvent, WorldSettings } from "../backtest/World.ts"
import { ProcessContext } from "../config/Environment.ts"
import { shareOf } from "../config/resolve/resolvePolicy.ts"
import { DurationText, durationMillis, PercentText } from "../config/schema/Fields.ts"
import { jsonSchemaOf } from "../config/schema/jsonSchemaOf.ts"
import { isEmbedded, type Treasury } from "../config/Treasury.ts"
import { formatAmount } from "../domain/Amount.ts"
import { dayMillis, millisOf } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import { approvalFor, lineFor, type Policy } from "../rules/policy/Policy.ts"
import { networkTransfersPerDay } from "../rules/policy/worstCase.ts"
import { isPaying } from "../rules/Rule.ts"
import { transferParametersOf, uncappedFee } from "../rules/Snapshot.ts"
import { backtestText, differenceText, type PastSummary } from "./backtestText.ts"
import { withLastFiles } from "./common/client.ts"
import { failWith, outputFlag, printResult, progressBar } from "./common/output.ts"
import {
  chosenTreasury,
  commonFlags,
  configFlag,
  filesOf,
  optionalOf,
  optionalText,
  pathArgument,
  pathFlag,
  switchFlag,
} from "./common/setup.ts"
import { fromGateway, readHistory } from "./history.ts"
import { DateText } from "./receipt.ts"

const iso = (millis: number): string => new Date(millis).toISOString()

const paidRow = ({ at, signedAt, group, rule, subject, state, line, intent }: DecidedPayment) => {
  const { payment, decimals, fee, detail } = intent
  return {
    at: iso(at),
    signedAt: signedAt === undefined ? null : iso(signedAt),
    approval: group?.name ?? null,
    rule,
    account: subject,
    state,
    from: payment.from,
    to: payment.to,
    asset: payment.asset,
    amount: formatAmount(payment.amount, decimals),
    fee: fee === undefined ? null : formatAmount(fee, decimals),
    line,
    detail,
  }
}

/** JSON form: times as text, amounts of payments in units of the asset, all other amounts in base units. */
const jsonOf = ({ drawing: _, lines, payments, unsigned, raised, from, to, accounts, ...result }: Backtest) => ({
  from: iso(from),
  to: iso(to),
  payments: payments.map(paidRow),
  unsigned: unsigned.map(paidRow),
  alerts: raised.map(alertRow),
  lines: lines.map(({ line, ...totals }) => ({
    line: line.line,
    per24h: line.per24h,
    transfersPer24h: line.transfersPer24h,
    perTransfer: line.perTransfer,
    ...totals,
  })),
  accounts: accounts.map(({ lowestAt, ...account }) => ({ ...account, lowestAt: iso(lowestAt) })),
  ...result,
})

const alertRow = ({ at, request: _, ...alert }: RaisedAlert) => ({ at: iso(at), ...alert })

const jsonDifference = ({ both, onlyHere, onlyThere, alerts }: BacktestDifference) => ({
  both,
  onlyHere: onlyHere.map(paidRow),
  onlyThere: onlyThere.map(paidRow),
  alerts: {
    both: alerts.both,
    onlyHere: alerts.onlyHere.map(alertRow),
    onlyThere: alerts.onlyThere.map(alertRow),
  },
})

const ApprovedAfterText = Schema.Union([Schema.Literal("never"), DurationText])

const flags = {
  from: optionalOf("from", DateText, "From this day or time on (UTC); default: the first known balance"),
  to: optionalOf("to", DateText, "Through this day, or before this time (UTC); default: the last known balance"),
  against: pathFlag(
    "against",
    "Second treasury file, to compare. May be repeated: each is an overlay on those before it",
  ).pipe(Flag.atLeast(0)),
  history: Flag.Literals("history", [fromGateway]).pipe(
    Flag.withDescription("Read the past from the gateways, at most 364 days back; default: from the database"),
    Flag.optional,
  ),
  withTrial: switchFlag("with-trial", "Let rules on trial pay too"),
  approvedAfter: Flag.String("approved-after").pipe(
    Flag.withSchema(ApprovedAfterText),
    Flag.withDescription("Approve payments that need it after this time, such as 30m or 0s, or never; default 30m"),
    Flag.withDefault("30m"),
  ),
  fee: optionalOf(
    "fee",
    PercentText,
    "Network fee as a percentage of the amount, such as 0.2%; default: by the last known parameters",
  ),
  chart: optionalText("chart", "Draw balances, bands, payments and holds into this SVG file"),
  ...commonFlags,
}

type Choices = Command.Command.Config.Infer<typeof flags>

const parametersOf = (history: History, fee: Option.Option<string>): WorldSettings["parameters"] => {
  const known = transferParametersOf(history.parameters)
  return Option.isSome(fee) ? uncappedFee(shareOf(fee.value), known?.minQuantum) : known
}

/** Time to settle if the past has no payment to measure. */
const settlesMillisDefault = 2_000

/** Median milliseconds from decision to execution of the past's payments, without those that needed approval. */
const settlesMillisOf = ({ payments }: History, policy: Policy): number => {
  const delays = payments
    .filter(
      ({ fromKey: from, toKey: to, assetId, amount }) => !approvalFor(lineFor(policy, { from, to, assetId }), amount),
    )
    .map(({ executedAt, decidedAt }) => millisOf(executedAt) - decidedAt)
    .toSorted((a, b) => a - b)
  return Math.max(1, delays[Math.floor((delays.length - 1) / 2)] ?? settlesMillisDefault)
}

const settingsOf = (treasury: Treasury, history: History, start: number, chosen: Choices) => ({
  rules: treasury.rules.filter((rule) => chosen.withTrial || !isPaying(rule) || !rule.trial),
  policy: treasury.policy,
  maxAgeMillis: treasury.network.maxAgeMillis,
  approvedAfterMillis: chosen.approvedAfter === "never" ? undefined : durationMillis(chosen.approvedAfter),
  start,
  assets: new Map(
    [...treasury.assets.values()].map(({ id, decimals }) => [id, { decimals, quantum: history.quanta.get(id) ?? 1n }]),
  ),
  parameters: parametersOf(history, chosen.fee),
  quota: isEmbedded(treasury) ? undefined : { limit: networkTransfersPerDay, epochMillis: dayMillis },
})

const spanOf = (history: History, from: number | undefined, to: number | undefined) => {
  const first = history.rows[0] ?? history.before[0]
  const last = history.rows.at(-1) ?? first
  const begun = millisOf(first?.timestamp ?? 0n)
  // The treasury began with its first balance: payouts planned before it are not owed.
  const start = from === undefined || history.before.length === 0 ? Math.max(from ?? 0, begun) : from
  // The last row belongs to the past, and so does what the rules do on it within a minute.
  return { start: Math.floor(start / 1_000) * 1_000, until: to ?? millisOf(last?.timestamp ?? 0n) + 60_000 }
}

/** The same events; `report` gets the time of each as it is consumed. */
function* reported(events: Iterable<WorldEvent>, report: (at: number) => void): Iterable<WorldEvent> {
  for (const event of events) {
    report(event.at)
    yield event
  }
}

export const backtest = Command.make(
  "backtest",
  flags,
  Effect.fn(function* (asked) {
    const chosen = yield* withLastFiles(asked)
    const from = Option.getOrUndefined(chosen.from)?.begin
    const to = Option.getOrUndefined(chosen.to)?.end
    if (from !== undefined && to !== undefined && from >= to)
      return yield* failWith("usage", "--from must be before --to")
    const files = filesOf(yield* chosenTreasury(chosen))
    const treasury = yield* loadSimulated(files)
    const [base, ...overlays] = chosen.against
    const other = base === undefined ? undefined : yield* loadSimulated([base, ...overlays])
    const { history, unknown } = yield* readHistory(chosen, treasury, { from, to })
    const { start, until } = spanOf(history, from, to)
    if (until <= start) return yield* failWith("notFound", "no balance is known for that time")
    const events = externalEvents(history, start)
    const draws = Option.isSome(chosen.chart)
    const settlesMillis = settlesMillisOf(history, treasury.policy)
    const bar = progressBar((yield* ProcessContext).progress, "backtest")
    const play = (one: Treasury) =>
      Effect.promise(() =>
        runBacktest({
          settings: { ...settingsOf(one, history, start, chosen), settlesMillis },
          parties: [...one.parties.values()],
          assets: [...one.assets.values()],
          events: reported(events, (at) => bar.show((at - start) / (until - start))),
          until,
          draws,
        }).finally(bar.end),
      )
    const result = yield* play(treasury)
    const against = other === undefined ? undefined : yield* play(other)
    const past = { ...pastOf(history, start, until), unknown }
    const names = [files.join(" + "), chosen.against.join(" + ")] as const
    const difference = against && compareBacktests(result, against)
    const value = {
      past: { ...past, unknown: unknown.map((one) => ({ ...one, until: iso(one.until) })) },
      ...jsonOf(result),
      ...(difference === undefined ? {} : { against: jsonOf(against!), difference: jsonDifference(difference) }),
    }
    yield* printResult(chosen.output, value, () =>
      [
        backtestText(names[0], result, past),
        ...(difference === undefined
          ? []
          : ["", backtestText(names[1], against!, past), "", differenceText(...names, difference)]),
      ].join("\n"),
    )
    if (Option.isSome(chosen.chart)) {
      const first = { drawing: result.drawing!, name: names[0] }
      const others = against === undefined ? [] : [{ drawing: against.drawing!, name: names[1] }]
      const svg = chart([first, ...others], against === undefined ? `${treasury.name}: ${names[0]}` : treasury.name)
      yield* writeChart(chosen.chart.value, svg)
    }
  }),
).pipe(Command.withDescription("Replay rules over past balances, and show payments, holds and limits"))

const pastOf = (history: History, start: number, until: number): Omit<PastSummary, "unknown"> => ({
  rows: history.before.length + history.rows.length,
  taken: history.payments.filter(({ executedAt }) => millisOf(executedAt) >= start && millisOf(executedAt) <= until)
    .length,
  gaps: history.gaps.map(({ since, until: end }) => ({ since: millisOf(since), until: millisOf(end) })),
})

const writeChart = (file: string, svg: string) =>
  Effect.try({
    try: () => writeFileSync(file, svg),
    catch: (error) => failWith("failure", `the chart is not written: ${error}; name a file in a folder of yours`),
  })

const placeText = ({ at: { file, line, column } }: { readonly at: UnmetExpectation["at"] }): string =>
  `${file}:${line}:${column}`

const unmetLines = (one: UnmetExpectation): ReadonlyArray<string> => [
  `  ${placeText(one)}  at ${one.when}`,
  `    expected  ${one.expected}`,
  `    got       ${one.got}`,
  ...one.why.map((why) => `    why       ${why}`),
]

const resultLines = ({ plan, unmet }: TestResult): ReadonlyArray<string> =>
  unmet.length === 0 ? [`ok    ${plan.name}`] : [`FAIL  ${plan.name}`, ...unmet.flatMap(unmetLines)]

const toResult = ({ plan, unmet, payments, raised }: TestResult) => ({
  name: plan.name,
  file: plan.at.file,
  line: plan.at.line,
  ok: unmet.length === 0,
  failures: unmet.map(({ at, ...rest }) => ({ ...at, ...rest })),
  payments: payments.map((one) => ({
    at: iso(one.at),
    rule: one.rule,
    account: one.subject,
    state: one.state,
    payment: paidText(one),
  })),
  alerts: raised.map(({ at, kind, rule, subject, detail }) => ({
    at: iso(at),
    kind,
    rule,
    account: subject,
    detail,
  })),
})

export const testCommand = Command.make(
  "test",
  {
    files: pathArgument("file", "Test file; may be repeated").pipe(Argument.variadic({ min: 0 })),
    config: configFlag.pipe(
      Flag.withDescription("Treasury file or folder to test, instead of the one that the test file names"),
    ),
    output: outputFlag,
    schema: switchFlag("schema", "Print the JSON Schema of test files, for editors, and test nothing"),
  },
  Effect.fn(function* ({ files, config, output, schema }) {
    if (schema) return yield* printResult("json", jsonSchemaOf(TestFile), () => "")
    if (files.length === 0) return yield* failWith("usage", "name a file of tests")
    const plans = (yield* Effect.forEach(files, (file) => readTests(file, config))).flat()
    const began = performance.now()
    const results = yield* Effect.forEach(plans, (plan) => Effect.promise(() => runPlan(plan)))
    const seconds = ((performance.now() - began) / 1_000).toFixed(2)
    const failed = results.filter(({ unmet }) => unmet.length > 0).length
    yield* printResult(output, { ok: failed === 0, tests: results.map(toResult) }, () =>
      [...results.flatMap(resultLines), `${plural(results.length, "test")}, ${failed} failed, in ${seconds} s`].join(
        "\n",
      ),
    )
    if (failed > 0) return yield* failWith("failure", `${failed} of ${results.length} tests failed`)
  }),
).pipe(Command.withDescription("Run a test file: does each rule do what it expects, in virtual time"))
