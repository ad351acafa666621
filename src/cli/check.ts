import { Effect } from "effect"
import { Command } from "effect/cli"
import type { Treasury } from "../config/Treasury.ts"
import { isPaying } from "../rules/Rule.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { outputFlag, printResult } from "./output.ts"
import { checkKeys, configFlag, dataFlag, fileArgument, setup } from "./setup.ts"
import { worstCase } from "./worstCase.ts"

const flags = { file: fileArgument, config: configFlag, data: dataFlag, output: outputFlag }

const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`

/** What is legal and still worth a second look. */
const warnings = (treasury: Treasury): ReadonlyArray<string> => {
  const notes: Array<string> = []
  const paying = treasury.rules.filter(isPaying)
  if (paying.length > 0 && treasury.mode !== "live") notes.push(`mode ${treasury.mode}: nothing will be paid`)
  for (const rule of paying) {
    for (const level of rule.levels) {
      const [from, to] = rule.kind === "topUp" ? [rule.from, level.party] : [level.party, rule.to]
      const line = treasury.policy.lines.find(
        (l) => l.from.has(from.publicKey) && l.to.has(to.publicKey) && l.assetId === level.asset.id,
      )
      const what = `${rule.name}: ${from.name} -> ${to.name}, ${level.asset.symbol}`
      if (line === undefined) notes.push(`${what} is denied: no policy line allows it`)
      else if (rule.kind === "topUp" && level.target > line.perTransfer) {
        notes.push(`${what}: an empty account needs more than policy line ${line.line} allows for one transfer`)
      }
    }
  }
  return notes
}

export const check = Command.make(
  "check",
  flags,
  Effect.fn(function* (chosen) {
    const { treasury } = yield* setup(chosen)
    yield* checkKeys(treasury)
    const hasSandbox = (treasury.document.value as { sandbox?: unknown } | null)?.sandbox !== undefined
    if (hasSandbox) yield* decodeScenario(treasury.document, treasury.network.chainId)
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
    yield* printResult(chosen.output, result, () =>
      [
        `${treasury.file}  ok   ${counts}, mode ${treasury.mode}, policy ${policy.hash}`,
        "At worst, whatever the gateway says and whatever the rules decide, in any 24 hours:",
        ...worst.map((line) => `  ${line}`),
        ...notes.map((note) => `warn ${treasury.file}  ${note}`),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Check a treasury file and say what it permits at worst"))
