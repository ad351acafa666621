import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { Cause, Console, Effect, Exit, Option } from "effect"
import { ConfigError, formatProblem } from "../config/ConfigError.ts"
import { ProcessContext, readEnvironment } from "../config/Environment.ts"
import { storeDirIn } from "../config/readSources.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { failWith } from "./CliFailure.ts"
import { type Chosen, defaultDataDir, fileOf, filesOf } from "./setup.ts"

/** Of what is wrong in a file, only so much is told where something else was asked. */
const toldMax = 3

const wrongs = (cause: Cause.Cause<unknown>): ReadonlyArray<string> => {
  const error = Cause.squash(cause)
  const all = error instanceof ConfigError ? error.problems.map(formatProblem) : [String(error)]
  const left = all.length - toldMax
  return left > 0 ? [...all.slice(0, toldMax), `and ${left} more: cofferer check`] : all
}

const warn = (lines: ReadonlyArray<string>, dataDir: string) =>
  Console.error(
    [...lines, `goes on with the data directory ${dataDir}; --data DIR names another`]
      .map((line) => `warn ${line}`)
      .join("\n"),
  )

/**
 * The data directory alone, for commands that speak to a daemon. A running daemon does not depend on its file: where
 * the file or the environment is not in order that is told as a warning, and the directory is what can still be read of
 * them. What stops payments goes on even where the named file is not there.
 */
export const dataDirOf = Effect.fnUntraced(function* (chosen: Chosen, purpose: "ask" | "stop" = "ask") {
  if (Option.isSome(chosen.data)) return resolve(chosen.data.value)
  const { env } = yield* ProcessContext
  const environment = yield* Effect.exit(readEnvironment(env))
  const named = Exit.isSuccess(environment) ? environment.value.dataDir : env["COFFERER_DATA_DIR"]
  const lines = Exit.isSuccess(environment) ? [] : wrongs(environment.cause)
  const found = named === undefined ? yield* ofFiles(chosen, purpose) : { dir: named, lines: [] }
  const dataDir = resolve(found.dir ?? defaultDataDir)
  const told = [...lines, ...found.lines]
  if (told.length > 0) yield* warn(told, dataDir)
  return dataDir
})

const ofFiles = Effect.fnUntraced(function* (chosen: Chosen, purpose: "ask" | "stop") {
  const file = fileOf(chosen)
  if (!existsSync(file)) {
    if (chosen.config.length === 0) return { dir: undefined, lines: [] }
    const missing = `no such file: ${file}`
    if (purpose === "ask") return yield* failWith("notFound", `${missing}; --data DIR works without it`)
    return { dir: undefined, lines: [missing] }
  }
  const loaded = yield* Effect.exit(loadTreasury(...filesOf(chosen)))
  if (Exit.isSuccess(loaded)) return { dir: loaded.value.storeDir, lines: [] }
  return { dir: storeDirIn(filesOf(chosen)), lines: wrongs(loaded.cause) }
})
