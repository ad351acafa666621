import { dirname, resolve } from "node:path"
import { Effect } from "effect"
import { ConfigError, type Problem } from "../config/ConfigError.ts"
import { reporter } from "../config/Reporter.ts"
import type { Treasury } from "../config/Treasury.ts"
import { decodeYaml, readYaml, type YamlDocument } from "../config/Yaml.ts"
import type { Plan } from "./Course.ts"
import { loadPlayed, playedOf } from "./loadPlayed.ts"
import { resolveTests } from "./resolveTests.ts"
import { TestFile } from "./TestFile.ts"

type Files = readonly [string, ...ReadonlyArray<string>]

/** Reads a file of tests. The treasury is the one that is given, else the one that the file names or holds. */
export const readTests = Effect.fnUntraced(function* (file: string, treasuryFiles: ReadonlyArray<string>) {
  const document = yield* readYaml(file)
  const text = yield* decodeYaml(TestFile, document)
  const treasury = yield* treasuryFor(document, treasuryFiles)
  const problems: Array<Problem> = []
  const plans = resolveTests(text, { treasury, report: reporter(document, problems) })
  if (problems.length > 0) return yield* new ConfigError({ problems })
  return plans satisfies ReadonlyArray<Plan>
})

const isFiles = (files: ReadonlyArray<string>): files is Files => files.length > 0

const treasuryFor = (document: YamlDocument, given: ReadonlyArray<string>): Effect.Effect<Treasury, ConfigError> => {
  if (isFiles(given)) return loadPlayed(given)
  const { tree } = document
  const written = tree.kind === "map" ? tree.entries.get("treasury")?.value : undefined
  if (written?.kind === "map") return playedOf(document, written)
  const named = written === undefined ? [] : written.kind === "list" ? written.items : [written]
  const files = named.map((one) => resolve(dirname(document.file), one.kind === "text" ? one.text : ""))
  if (isFiles(files) && named.every((one) => one.kind === "text" && one.text !== "")) return loadPlayed(files)
  const remedy = 'name its file, such as "treasury: harbor.yaml", or use -c'
  const problem = document.problem(["treasury"], "the file does not say which treasury it tests", remedy)
  return Effect.fail(new ConfigError({ problems: [problem] }))
}
