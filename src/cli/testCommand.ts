import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { jsonSchemaOf } from "../config/jsonSchemaOf.ts"
import { type Fault, paidText, type TestResult } from "../rehearsal/Course.ts"
import { readTests } from "../rehearsal/readTests.ts"
import { runPlan } from "../rehearsal/runPlan.ts"
import { TestFile } from "../rehearsal/TestFile.ts"
import { failWith } from "./CliFailure.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag } from "./setup.ts"

const placeText = ({ at: { file, line, column } }: { readonly at: Fault["at"] }): string => `${file}:${line}:${column}`

const faultLines = (fault: Fault): ReadonlyArray<string> => [
  `  ${placeText(fault)}  at ${fault.when}`,
  `    expected  ${fault.expected}`,
  `    got       ${fault.got}`,
  ...fault.why.map((why) => `    why       ${why}`),
]

const resultLines = ({ plan, faults }: TestResult): ReadonlyArray<string> =>
  faults.length === 0 ? [`ok    ${plan.name}`] : [`FAIL  ${plan.name}`, ...faults.flatMap(faultLines)]

const toResult = ({ plan, faults, paid, told }: TestResult) => ({
  name: plan.name,
  file: plan.at.file,
  line: plan.at.line,
  ok: faults.length === 0,
  failures: faults.map(({ at, ...fault }) => ({ ...at, ...fault })),
  payments: paid.map((one) => ({
    at: new Date(one.at).toISOString(),
    rule: one.rule,
    account: one.subject,
    state: one.state,
    payment: paidText(one),
  })),
  alerts: told.map(({ at, kind, rule, subject, detail }) => ({
    at: new Date(at).toISOString(),
    kind,
    rule,
    account: subject,
    detail,
  })),
})

/** Tests of rules: the treasury's own rules, in virtual time, against what a file expects of them. */
export const testCommand = Command.make(
  "test",
  {
    files: Argument.String("file").pipe(
      Argument.withDescription("File of tests; may be repeated"),
      Argument.variadic({ min: 0 }),
    ),
    config: configFlag.pipe(
      Flag.withDescription("Treasury file or folder that is tested, instead of the one that the file of tests names"),
    ),
    output: outputFlag,
    schema: Flag.Boolean("schema").pipe(
      Flag.withDescription("Print the JSON Schema of files of tests, for editors, and test nothing"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ files, config, output, schema }) {
    if (schema) return yield* printResult("json", jsonSchemaOf(TestFile), () => "")
    if (files.length === 0) return yield* failWith("usage", "name a file of tests")
    const plans = (yield* Effect.forEach(files, (file) => readTests(file, config))).flat()
    const began = performance.now()
    const results = yield* Effect.forEach(plans, (plan) => Effect.promise(() => runPlan(plan)))
    const seconds = ((performance.now() - began) / 1_000).toFixed(2)
    const failed = results.filter(({ faults }) => faults.length > 0).length
    yield* printResult(output, { ok: failed === 0, tests: results.map(toResult) }, () =>
      [
        ...results.flatMap(resultLines),
        `${results.length} ${results.length === 1 ? "test" : "tests"}, ${failed} failed, in ${seconds} s`,
      ].join("\n"),
    )
    if (failed > 0) return yield* failWith("failure", `${failed} of ${results.length} tests failed`)
  }),
).pipe(Command.withDescription("Test rules in virtual time against what a file expects of them"))
