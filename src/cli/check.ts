import { Console, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { jsonSchemaOf } from "../config/jsonSchemaOf.ts"
import type { Treasury } from "../config/Treasury.ts"
import { TreasuryFile } from "../config/TreasuryFile.ts"
import { lineFor } from "../rules/Policy.ts"
import { isPaying, type Party, type PayingRule, type PinnedAsset } from "../rules/Rule.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { ScenarioText } from "../sandbox/ScenarioText.ts"
import { outputFlag, printResult } from "./output.ts"
import { printOrigins } from "./printOrigins.ts"
import { checkKeys, configFlag, dataFlag, fileArgument, setup } from "./setup.ts"
import { worstCase } from "./worstCase.ts"

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

const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`

interface Way {
  readonly from: Party
  readonly to: Party
  readonly asset: PinnedAsset
  /** The largest single payment that the rule can want; undefined where the balances decide. */
  readonly most: bigint | undefined
}

/** Every way on which the rule may move money. */
const paths = (rule: PayingRule): ReadonlyArray<Way> => {
  switch (rule.kind) {
    case "topUp":
      return rule.levels.map(({ party, asset, target }) => ({ from: rule.from, to: party, asset, most: target }))
    case "sweep":
      return rule.levels.map(({ party, asset }) => ({ from: party, to: rule.to, asset, most: undefined }))
    case "rebalance":
      return rule.weights.flatMap(({ party: from }) =>
        rule.weights
          .filter(({ party }) => party !== from)
          .map(({ party: to }) => ({ from, to, asset: rule.asset, most: undefined })),
      )
    case "split":
      return rule.to.map(({ party }) => ({
        from: rule.level.party,
        to: party,
        asset: rule.level.asset,
        most: undefined,
      }))
    case "payout":
      return [{ from: rule.from, to: rule.to, asset: rule.asset, most: rule.amount }]
    case "request":
      return []
  }
}

/** What is legal and still worth a second look. */
const warnings = (treasury: Treasury): ReadonlyArray<string> => {
  const notes: Array<string> = []
  const paying = treasury.rules.filter(isPaying)
  if (paying.length > 0 && treasury.mode !== "live") notes.push(`mode ${treasury.mode}: nothing will be paid`)
  for (const rule of paying) {
    for (const { from, to, asset, most } of paths(rule)) {
      const line = lineFor(treasury.policy, { from: from.publicKey, to: to.publicKey, assetId: asset.id })
      const what = `${rule.name}: ${from.name} -> ${to.name}, ${asset.symbol}`
      if (line === undefined) notes.push(`${what} is denied: no policy line allows it`)
      else if (most !== undefined && most > line.perTransfer) {
        notes.push(`${what}: an empty account needs more than policy line ${line.line} allows for one transfer`)
      }
    }
  }
  return notes
}

/** JSON Schema of a whole treasury file, with the network that may be embedded in it. */
export const schemaOfFiles = () =>
  jsonSchemaOf(Schema.Struct({ ...TreasuryFile.fields, sandbox: Schema.optional(ScenarioText) }))

export const check = Command.make(
  "check",
  flags,
  Effect.fn(function* (chosen) {
    if (chosen.schema) return yield* Console.log(JSON.stringify(schemaOfFiles(), null, 2))
    const { treasury, mode } = yield* setup(chosen)
    yield* checkKeys(treasury)
    const hasSandbox = (treasury.document.value as { sandbox?: unknown } | null)?.sandbox !== undefined
    if (hasSandbox) yield* decodeScenario(treasury.document, treasury.network.chainId)
    if (chosen.print) return yield* printOrigins(chosen.output, treasury, mode)
    const worst = worstCase(treasury)
    const notes = warnings(treasury)
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
      worst,
      warnings: notes,
    }
    const counts = [plural(rules.length, "rule"), `${parties.size} parties`, plural(assets.size, "asset")].join(", ")
    return yield* printResult(chosen.output, result, () =>
      [
        `${treasury.file}  ok   ${counts}, mode ${treasury.mode}, policy ${policy.hash}`,
        "At worst, whatever the gateway says and whatever the rules decide, in any 24 hours:",
        ...worst.map((line) => `  ${line}`),
        ...notes.map((note) => `warn ${treasury.file}  ${note}`),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Check a treasury file and say what it permits at worst"))
