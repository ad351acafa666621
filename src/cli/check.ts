import { Console, Effect, Option, Result, Schema } from "effect"
import { Command } from "effect/cli"
import { isCodeIsolated } from "../config/code/codeProcess.ts"
import { clashesOf, noTreasury, sharedAccounts, unusedSettings } from "../config/DaemonFile.ts"
import { needCertificates, ProcessContext } from "../config/Environment.ts"
import { refuseMarkFolder } from "../config/ownFiles.ts"
import { durationMillis } from "../config/schema/Fields.ts"
import { jsonSchemaOf } from "../config/schema/jsonSchemaOf.ts"
import { WrittenTreasury } from "../config/schema/TreasuryFile.ts"
import {
  examineTreasury,
  isEmbedded,
  lintTreasury,
  type Mode,
  problemOf,
  type Treasury,
  treasuryOf,
} from "../config/Treasury.ts"
import { ConfigError, formatProblem, inOrder, type Problem } from "../config/yaml/ConfigError.ts"
import { readSources } from "../config/yaml/readSources.ts"
import { originsOf, type YamlDocument } from "../config/yaml/Yaml.ts"
import { plural } from "../domain/text.ts"
import { networkTransfersPerDay, type WorstLine, worstCase } from "../rules/policy/worstCase.ts"
import { isPaying } from "../rules/Rule.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { ScenarioText } from "../sandbox/ScenarioText.ts"
import { checkGateway, checkKeys, checkNetwork, looseSecrets } from "./checks.ts"
import { type Output, printResult, table } from "./common/output.ts"
import {
  type Chosen,
  chosenTreasury,
  commonFlags,
  eachTreasury,
  fileArgument,
  filesOf,
  nearPath,
  refuseTwoFiles,
  setupOf,
  severalIn,
  switchFlag,
} from "./common/setup.ts"
import { worstText } from "./common/worstCase.ts"

/** Prints every value that is in force, with the file, line and column that it comes from. */
const printOrigins = (output: Output, treasury: Treasury, mode: Mode) => {
  const rows = originsOf(treasury.document.tree).map(({ path, value, at }) => ({
    path,
    value,
    at: `${at.file}:${at.line}:${at.column}`,
  }))
  const all =
    mode === treasury.mode
      ? rows
      : [...rows.filter(({ path }) => path !== "mode"), { path: "mode", value: mode, at: "COFFERER_MODE" }]
  return printResult(output, all, () => table(all.map(({ path, value, at }) => [path, value, at])))
}

const flags = {
  file: fileArgument,
  ...commonFlags,
  schema: switchFlag("schema", "Print the JSON Schema of treasury files, for editors, and check nothing"),
  print: switchFlag("print", "Print every value with its file and line, overlays applied"),
}

/** Transfers that a key may send in 24 hours: by the embedded network's scenario, else as real networks permit. */
const transfersPerDay = Effect.fnUntraced(function* (treasury: Treasury) {
  if (!isEmbedded(treasury)) return networkTransfersPerDay
  const { transfersPerEpoch, epochLength } = yield* decodeScenario(treasury.document, treasury.network.chainId)
  return Math.floor((transfersPerEpoch * 86_400_000) / durationMillis(epochLength))
})

/** Warnings about values that are legal. */
const valueWarnings = (treasury: Treasury): ReadonlyArray<Problem> => [
  ...(treasury.rules.some(isPaying) && treasury.mode !== "live"
    ? [treasury.document.problem(["mode"], `mode ${treasury.mode}: nothing will be paid`, "mode live pays")]
    : []),
  ...lintTreasury(treasury)
    .filter(({ severity }) => severity === "warning")
    .map((finding) => problemOf(treasury, finding)),
  ...routeNotes(treasury),
  ...codeNotes(treasury),
]

/** Pages that reach nobody, and receivers that get nothing. */
const routeNotes = ({ receivers, routes, document }: Treasury): ReadonlyArray<Problem> => {
  const arePagesRouted = routes.some((route) => route.severities.has("page") && route.receivers.length > 0)
  const used = new Set(routes.flatMap((route) => [route, ...(route.escalate ?? [])].flatMap((one) => one.receivers)))
  const note = (path: ReadonlyArray<string>, message: string, remedy: string) =>
    document.problem(["alerts", ...path], message, `${remedy} under alerts.routes`)
  return [
    ...(arePagesRouted
      ? []
      : [note(["routes"], "no route takes pages: a halt alerts nobody", "add one with severity: [page]")]),
    ...receivers
      .filter(({ name }) => !used.has(name))
      .map(({ name }) => note(["receivers", name], `no route names "${name}": it gets no alert`, "name it")),
  ]
}

/** Warns if the kernel refuses the network isolation that Node cannot give. */
const codeNotes = ({ rules, document }: Treasury): ReadonlyArray<Problem> => {
  const place = rules.findIndex(({ kind }) => kind === "code")
  if (place < 0 || isCodeIsolated()) return []
  const message =
    "rules in code run without network isolation: this machine refuses user namespaces, and Node's permissions do not cover the network. Rule code cannot wait for an answer, so it cannot use the network, but the kernel does not enforce that"
  return [document.problem(["rules", place], message, "allow user namespaces for this user, or run without them")]
}

/** A line as JSON, with the names of the people who approve. */
const toPlain = ({ approval, ...line }: WorstLine) => ({
  ...line,
  approval: approval && { need: approval.group.need, of: [...approval.group.of.keys()], above: approval.above },
})

/** JSON Schema of a whole treasury file, with the network that may be embedded in it. */
export const schemaOfFiles = () =>
  jsonSchemaOf(Schema.Struct({ ...WrittenTreasury.fields, sandbox: Schema.optional(ScenarioText) }))

/** Problems of keys and of the sandbox section in files that do not load: one run of check names all problems. */
const problemsBeside = Effect.fnUntraced(function* (document: YamlDocument) {
  const { treasury } = examineTreasury(document)
  const keys = treasury && checkKeys({ treasury, mode: treasury.mode, dataDir: "" }, false)
  const checks = [keys ?? Effect.void, isEmbedded({ document }) ? decodeScenario(document, "unknown") : Effect.void]
  const results = yield* Effect.forEach(checks, (one) => Effect.result<unknown, ConfigError, never>(one))
  return results.flatMap((one) => (Result.isFailure(one) ? one.failure.problems : []))
})

/** Reads the files. Fails on wrong keys and network settings; returns warnings about all that is doubtful. */
const readAndCheck = Effect.fnUntraced(function* (given: Chosen) {
  const chosen = yield* chosenTreasury(given)
  const load = Effect.flatMap(readSources(filesOf(chosen)), (document) =>
    Effect.catch(treasuryOf(document), ({ problems }) =>
      Effect.flatMap(problemsBeside(document), (more) => Effect.fail(inOrder([...problems, ...more]))),
    ),
  )
  const found = yield* setupOf(chosen, load)
  const { treasury, mode } = found
  yield* needCertificates((yield* ProcessContext).env, mode)
  const keys = [...(yield* checkKeys(found, false)).warnings, ...looseSecrets(found)]
  const network = yield* checkNetwork(treasury)
  // `checkNetwork` compares an embedded network, which need not run.
  const { warnings = [], note } = isEmbedded(treasury) ? {} : yield* checkGateway(treasury)
  if (note !== undefined) yield* Console.error(`note: ${note}`)
  const folder = yield* Effect.result(refuseMarkFolder(treasury.watermarkFile))
  const folders = Result.isFailure(folder) ? folder.failure.problems : []
  return { treasury, mode, warned: [...valueWarnings(treasury), ...folders, ...network, ...warnings, ...keys] }
})

/** Checks each treasury of a folder; fails with the problems of all that are wrong. */
const checkAll = Effect.fnUntraced(function* (dir: string, output: Output) {
  const entries = yield* eachTreasury(dir)
  if (entries.length === 0) return yield* noTreasury(dir)
  const checked = yield* Effect.forEach(entries, ({ name, file, chosen, problem }) =>
    Effect.gen(function* () {
      if (problem !== undefined) return yield* problem
      const { treasury, mode, warned } = yield* readAndCheck(chosen)
      return { name, file, mode, treasury, warned: [...warned, ...unusedSettings(treasury)] }
    }).pipe(
      Effect.mapError((error) =>
        "problems" in error
          ? error.problems
          : [{ file, line: 0, column: 0, message: error.message, remedy: "check it alone: --treasury NAME" }],
      ),
      Effect.result,
    ),
  )
  const near = <A extends { readonly file: string }>(one: A): A => ({ ...one, file: nearPath(one.file) })
  const found = checked.flatMap((one) => (Result.isSuccess(one) ? [near(one.success)] : []))
  const live = found.flatMap(({ mode, treasury }) => (mode === "live" ? [treasury] : []))
  const shared = live.filter((one) => clashesOf(one, live).length > 0)
  const good = found
    .filter(({ treasury }) => !shared.includes(treasury))
    .map(({ name, file, mode, treasury, warned }) => ({
      treasury: name,
      file,
      mode,
      policy: treasury.policy.hash,
      warnings: [...warned, ...(mode === "live" ? sharedAccounts(treasury, live) : [])].map(near),
    }))
  const text = () =>
    good.flatMap(({ treasury, file, mode, policy, warnings: warned }) => [
      `${file}  ok   ${treasury}, mode ${mode}, policy ${policy}`,
      ...warned.map((one) => `warn ${formatProblem(one)}`),
    ])
  yield* printResult(output, good, () => text().join("\n"))
  const problems = [
    ...checked.flatMap((one) => (Result.isFailure(one) ? one.failure : [])),
    ...shared.flatMap((one) => clashesOf(one, live)),
  ].map(near)
  return problems.length === 0 ? undefined : yield* new ConfigError({ problems })
})

export const check = Command.make(
  "check",
  flags,
  Effect.fn(function* (chosen) {
    if (chosen.schema) return yield* Console.log(JSON.stringify(schemaOfFiles(), null, 2))
    yield* refuseTwoFiles(chosen, "check")
    const dir = severalIn(chosen)
    if (dir !== undefined && Option.isNone(chosen.treasury)) return yield* checkAll(dir, chosen.output)
    const { treasury, mode, warned } = yield* readAndCheck(chosen)
    if (chosen.print) return yield* printOrigins(chosen.output, treasury, mode)
    const worst = worstCase(treasury, yield* transfersPerDay(treasury))
    const { rules, parties, assets, policy } = treasury
    const result = {
      file: treasury.file,
      ok: true,
      treasury: treasury.name,
      mode,
      rules: rules.length,
      parties: parties.size,
      assets: assets.size,
      policy: policy.hash,
      worst: { ...worst, lines: worst.lines.map(toPlain) },
      atWorst: worstText(worst),
      warnings: warned,
    }
    const counts = [plural(rules.length, "rule"), `${parties.size} parties`, plural(assets.size, "asset")].join(", ")
    return yield* printResult(chosen.output, result, () =>
      [
        `${treasury.file}  ok   ${counts}, mode ${mode}, policy ${policy.hash}`,
        "At worst, whatever the gateway says and whatever the rules decide, in any 24 hours:",
        ...worstText(worst).map((line) => `  ${line}`),
        ...warned.map((one) => `warn ${formatProblem(one)}`),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Check a treasury file and print the most that it can pay in 24 hours"))
