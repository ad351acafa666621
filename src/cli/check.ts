import { Console, Effect, Layer, Option, Result, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { isCodeIsolated } from "../config/code/codeProcess.ts"
import { needCertificates, ProcessContext } from "../config/Environment.ts"
import { refuseSharedFolder } from "../config/ownFiles.ts"
import { durationMillis } from "../config/schema/Fields.ts"
import { jsonSchemaOf } from "../config/schema/jsonSchemaOf.ts"
import { WrittenTreasury } from "../config/schema/TreasuryFile.ts"
import { isEmbedded, lintTreasury, type Mode, problemOf, type Treasury } from "../config/Treasury.ts"
import { ConfigError, formatProblem, type Problem } from "../config/yaml/ConfigError.ts"
import { originsOf } from "../config/yaml/Placed.ts"
import type { Asset } from "../domain/Asset.ts"
import { plural } from "../domain/text.ts"
import { ChainContext } from "../gateway/ChainContext.ts"
import { escapeText } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { walkAssets } from "../gateway/walkPages.ts"
import { gatewayLayer } from "../layers.ts"
import { networkTransfersPerDay, type WorstLine, worstCase } from "../rules/policy/worstCase.ts"
import { isPaying } from "../rules/Rule.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { ScenarioText } from "../sandbox/ScenarioText.ts"
import { checkKeys, checkNetwork, wrongDecimals } from "./checks.ts"
import { type Output, printResult, table } from "./common/output.ts"
import { type Chosen, commonFlags, fileArgument, setup } from "./common/setup.ts"
import { worstText } from "./common/worstCase.ts"
import { layerMetrics } from "./run/logging.ts"

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

/** Whoever waits for `check` waits no longer for a gateway. */
const patience = "5 seconds"

/**
 * Compares chain id, ids, decimals and symbols of the file with those of its gateways. Other decimals are an error,
 * since amounts would be paid a power of ten too large or too small; other symbols are a warning. If no gateway
 * answers, one line on standard error says that nothing was compared.
 */
const checkGateway = Effect.fn("Check.gateway")(
  function* (treasury: Treasury) {
    // The file's own network is held against the file itself.
    if (isEmbedded(treasury)) return []
    const { chainId } = yield* (yield* ChainContext).head
    if (chainId !== treasury.network.chainId) return yield* otherChain(treasury, chainId)
    const listed = yield* listing
    if (listed === undefined) {
      yield* Console.error("note: the gateway tells no whole listing of assets; ids and decimals were not compared")
      return []
    }
    const wrong = wrongDecimals(treasury, listed, "at the gateway", "if not, the gateway is wrong")
    if (wrong.length > 0) return yield* new ConfigError({ problems: [...wrong] })
    return otherwise(treasury, listed)
  },
  (effect, treasury) =>
    effect.pipe(
      Effect.provide(gatewayLayer({ treasury }).pipe(Layer.provide(layerMetrics(treasury)))),
      Effect.timeoutOption(patience),
      Effect.map(Option.getOrUndefined),
      Effect.catchTag("GatewayError", ({ reason }) =>
        reason._tag === "OtherChain" ? otherChain(treasury, reason.chainId) : Effect.undefined,
      ),
      Effect.tap((found) =>
        found === undefined
          ? Console.error("note: no gateway answered; chain id, asset ids and decimals were not compared")
          : Effect.void,
      ),
      Effect.map((found): ReadonlyArray<Problem> => found ?? []),
    ),
)

const otherChain = ({ document, network }: Treasury, told: string) => {
  const message = `the gateway is on chain ${escapeText(told)}, not on ${network.chainId}`
  const remedy = "correct network.chainId, or the address in network.gateways"
  return Effect.fail(new ConfigError({ problems: [document.problem(["network", "chainId"], message, remedy)] }))
}

/** Undefined if the gateway lists no assets, or its list has no end. */
const listing = Effect.flatMap(GatewayReader, walkAssets).pipe(
  Effect.map(({ rows, complete }) => (complete ? new Map(rows.map((asset) => [asset.id, asset])) : undefined)),
  Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined),
)

/** An id that the gateway does not list, or lists under another symbol. */
const otherwise = ({ assets, document }: Treasury, listed: ReadonlyMap<string, Asset>): ReadonlyArray<Problem> =>
  [...assets.values()].flatMap(({ symbol, id }) => {
    const found = listed.get(id)
    if (found?.symbol === symbol) return []
    const message =
      found === undefined
        ? `the gateway does not list ${symbol}: nothing of it is paid`
        : `the gateway calls ${symbol} "${escapeText(found.symbol)}"`
    return [document.problem(["assets", symbol, "id"], message, 'compare the id: "cofferer assets" lists them')]
  })

const flags = {
  file: fileArgument,
  ...commonFlags,
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

/** Warnings about values that are legal. */
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

/** Includes the names of the people who approve. */
const toPlain = ({ approval, ...line }: WorstLine) => ({
  ...line,
  approval: approval && { need: approval.group.need, of: [...approval.group.of.keys()], above: approval.above },
})

/** JSON Schema of a whole treasury file, with the network that may be embedded in it. */
export const schemaOfFiles = () =>
  jsonSchemaOf(Schema.Struct({ ...WrittenTreasury.fields, sandbox: Schema.optional(ScenarioText) }))

/** Reads the files, and warns of doubtful keys and network settings. */
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
