import { basename, dirname, resolve } from "node:path"
import { Effect } from "effect"
import { withCode } from "../config/code/withCode.ts"
import { type Treasury, treasuryOf } from "../config/Treasury.ts"
import { ConfigError, type Problem } from "../config/yaml/ConfigError.ts"
import { decodeYaml } from "../config/yaml/decodeParts.ts"
import { reporter } from "../config/yaml/Reporter.ts"
import { readSources } from "../config/yaml/readSources.ts"
import { documentOf, type Placed, readYaml, type YamlDocument } from "../config/yaml/Yaml.ts"
import { resolveTests } from "./resolveTests.ts"
import { TestFile } from "./TestFile.ts"

type PlacedMap = Extract<Placed, { kind: "map" }>

type Files = readonly [string, ...ReadonlyArray<string>]

/** Loads a treasury whose rules are only simulated: its keys and secrets need not be on this machine. */
export const loadSimulated = (files: Files): Effect.Effect<Treasury, ConfigError> =>
  Effect.flatMap(readSources(files), (document) => treasuryOf(document, false))

/** Loads a treasury that is written inside a file of tests. Sections that its rules do not need may be missing. */
const loadEmbedded = (document: YamlDocument, tree: PlacedMap): Effect.Effect<Treasury, ConfigError> => {
  const { at } = tree
  const text = (value: string): Placed => ({ kind: "text", at, text: value })
  const map = (entries: Readonly<Record<string, Placed>>): Placed => ({
    kind: "map",
    at,
    entries: new Map(Object.entries(entries).map(([name, value]) => [name, { name: at, value }])),
  })
  const entries = new Map(tree.entries)
  const setDefault = (name: string, value: Placed) => entries.has(name) || entries.set(name, { name: at, value })
  setDefault("version", text("1"))
  setDefault("name", text("played"))
  setDefault("network", map({ chainId: text("played"), gateways: map({ none: text("https://gateway.invalid") }) }))
  const whole = withCode(documentOf({ ...document, tree: { ...tree, entries } }))
  return Effect.flatMap(whole, (embedded) => treasuryOf(embedded, false))
}

/** Reads a file of tests. The treasury is that of `treasuryFiles`; if there are none, the file names or contains it. */
export const readTests = Effect.fnUntraced(function* (file: string, treasuryFiles: ReadonlyArray<string>) {
  const document = yield* readYaml(file)
  if (document.tree.kind === "map" && document.tree.entries.has("policy")) {
    const remedy = `name a file of tests, which begins with "treasury: ${basename(file)}"`
    return yield* new ConfigError({ problems: [document.problem(["policy"], "this is a treasury file", remedy)] })
  }
  const text = yield* decodeYaml(TestFile, document)
  const treasury = yield* treasuryFor(document, treasuryFiles)
  const problems: Array<Problem> = []
  const plans = resolveTests(text, { treasury, report: reporter(document, problems) })
  if (problems.length > 0) return yield* new ConfigError({ problems })
  return plans
})

const isFiles = (files: ReadonlyArray<string>): files is Files => files.length > 0

const treasuryFor = (document: YamlDocument, given: ReadonlyArray<string>): Effect.Effect<Treasury, ConfigError> => {
  if (isFiles(given)) return loadSimulated(given)
  const { tree } = document
  const written = tree.kind === "map" ? tree.entries.get("treasury")?.value : undefined
  if (written?.kind === "map") return loadEmbedded(document, written)
  const named = written === undefined ? [] : written.kind === "list" ? written.items : [written]
  const files = named.map((one) => resolve(dirname(document.file), one.kind === "text" ? one.text : ""))
  if (isFiles(files) && named.every((one) => one.kind === "text" && one.text !== "")) return loadSimulated(files)
  const remedy = 'name its file, such as "treasury: harbor.yaml", or use -c'
  const problem = document.problem(["treasury"], "the treasury to test is missing", remedy)
  return Effect.fail(new ConfigError({ problems: [problem] }))
}
