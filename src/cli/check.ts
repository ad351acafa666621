import { Console, Effect, Result, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { formatProblem, type Problem } from "../config/ConfigError.ts"
import { isCodeIsolated } from "../config/codeProcess.ts"
import { needCertificates, ProcessContext } from "../config/Environment.ts"
import { durationMillis } from "../config/Fields.ts"
import { jsonSchemaOf } from "../config/jsonSchemaOf.ts"
import { refuseSharedFolder } from "../config/ownFiles.ts"
import { isEmbedded, lintTreasury, problemOf, type Treasury } from "../config/Treasury.ts"
import { WrittenTreasury } from "../config/TreasuryFile.ts"
import { plural } from "../domain/plural.ts"
import { isPaying } from "../rules/Rule.ts"
import { networkTransfersPerDay, type WorstLine, worstCase } from "../rules/worstCase.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { ScenarioText } from "../sandbox/ScenarioText.ts"
import { checkGateway } from "./checkGateway.ts"
import { checkKeys } from "./checkKeys.ts"
import { checkNetwork } from "./checkNetwork.ts"
import { outputFlag, printResult } from "./output.ts"
import { printOrigins } from "./printOrigins.ts"
import { type Chosen, configFlag, dataFlag, fileArgument, setup } from "./setup.ts"
import { worstText } from "./worstCase.ts"

const flags = {
  file: fileArgument,
  config: configFlag,
  data: dataFlag,
  output: outputFlag,
  schema: Flag.Boolean("schema").pipe(
    Flag.withDescription("Print the JSON Schema of treasury files, for editors, and check nothing"),
    Flag.withDefault(false),
  ),
  print: Flag.Boolean("print").pipe(
    Flag.withDescription("Print every value with the file and line that it comes from, overlays applied"),
    Flag.withDefault(false),
  ),
}

/** Transfers that a key may send in 24 hours: the embedded network says how many, another has the usual number. */
const transfersPerDay = Effect.fnUntraced(function* (treasury: Treasury) {
  if (!isEmbedded(treasury)) return networkTransfersPerDay
  const { transfersPerEpoch, epochLength } = yield* decodeScenario(treasury.document, treasury.network.chainId)
  return Math.floor((transfersPerEpoch * 86_400_000) / durationMillis(epochLength))
})

/** What is legal and still worth a second look. */
const warnings = (treasury: Treasury): ReadonlyArray<Problem> => [
  ...(treasury.rules.some(isPaying) && treasury.mode !== "live"
    ? [treasury.document.problem(["mode"], `mode ${treasury.mode}: nothing will be paid`, "mode live pays")]
    : []),
  ...lintTreasury(treasury)
    .filter(({ severity }) => severity === "warning")
    .map((finding) => problemOf(treasury, finding)),
  ...codeNotes(treasury),
]

/** Where the kernel refuses the wall around code that Node itself has not. */
const codeNotes = ({ rules, document }: Treasury): ReadonlyArray<Problem> => {
  const place = rules.findIndex(({ kind }) => kind === "code")
  if (place < 0 || isCodeIsolated()) return []
  const message =
    "rules in code run in a process that has this machine's network: user namespaces are refused here, and Node's permissions know no network. Nothing that waits ever comes there, so that they reach nobody, but no wall of the kernel says so"
  return [document.problem(["rules", place], message, "permit user namespaces to this user, or go on without")]
}

/** With the people who are asked by their names. */
const toPlain = ({ approval, ...line }: WorstLine) => ({
  ...line,
  approval: approval && { need: approval.group.need, of: [...approval.group.of.keys()], above: approval.above },
})

/** JSON Schema of a whole treasury file, with the network that may be embedded in it. */
export const schemaOfFiles = () =>
  jsonSchemaOf(Schema.Struct({ ...WrittenTreasury.fields, sandbox: Schema.optional(ScenarioText) }))

/** What the files say, with what is doubtful of its keys and its network. */
const sound = Effect.fnUntraced(function* (chosen: Chosen) {
  const found = yield* setup(chosen)
  yield* needCertificates((yield* ProcessContext).env, found.mode)
  return {
    found,
    keys: yield* checkKeys(found, false),
    network: [...(yield* checkNetwork(found.treasury)), ...(yield* checkGateway(found.treasury))],
  }
})

export const check = Command.make(
  "check",
  flags,
  Effect.fn(function* (chosen) {
    if (chosen.schema) return yield* Console.log(JSON.stringify(schemaOfFiles(), null, 2))
    const { found, keys, network } = yield* sound(chosen)
    const { treasury, mode } = found
    const worst = worstCase(treasury, yield* transfersPerDay(treasury))
    if (chosen.print) return yield* printOrigins(chosen.output, treasury, mode)
    const shared = yield* Effect.result(refuseSharedFolder(treasury.watermarkFile))
    const folders = Result.isFailure(shared) ? shared.failure.problems : []
    const notes = [...warnings(treasury), ...folders, ...network, ...keys]
    const { rules, parties, assets, policy } = treasury
    const result = {
      file: treasury.file,
      ok: true,
      treasury: treasury.name,
      mode: treasury.mode,
      rules: rules.length,
      parties: parties.size,
      assets: assets.size,
      policy: policy.hash,
      worst: { ...worst, lines: worst.lines.map(toPlain) },
      atWorst: worstText(worst),
      warnings: notes,
    }
    const counts = [plural(rules.length, "rule"), `${parties.size} parties`, plural(assets.size, "asset")].join(", ")
    return yield* printResult(chosen.output, result, () =>
      [
        `${treasury.file}  ok   ${counts}, mode ${treasury.mode}, policy ${policy.hash}`,
        "At worst, whatever the gateway says and whatever the rules decide, in any 24 hours:",
        ...worstText(worst).map((line) => `  ${line}`),
        ...notes.map((note) => `warn ${formatProblem(note)}`),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Check a treasury file and say what it permits at worst"))
