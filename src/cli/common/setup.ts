import { existsSync } from "node:fs"
import { userInfo } from "node:os"
import { dirname, relative, resolve } from "node:path"
import { Cause, Console, Effect, Exit, Option, Result, type Schema } from "effect"
import { Argument, Flag, Param, Primitive } from "effect/cli"
import {
  type DaemonConfig,
  dataDirIn,
  findTreasury,
  isTreasuries,
  loadDaemon,
  nameProblem,
  type TreasuryEntry,
  treasuriesIn,
} from "../../config/DaemonFile.ts"
import { modeAtStart, ProcessContext, readEnvironment } from "../../config/Environment.ts"
import { parseListen } from "../../config/schema/Fields.ts"
import { loadTreasury, type Treasury } from "../../config/Treasury.ts"
import { ConfigError, formatProblem } from "../../config/yaml/ConfigError.ts"
import { textIn } from "../../config/yaml/readBytes.ts"
import { daemonFile, storeDirIn } from "../../config/yaml/readSources.ts"
import { plural, shellWord } from "../../domain/text.ts"
import { failWith, outputFlag } from "./output.ts"

/** A flag without a value; default off. */
export const switchFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))
/** How many rows of a list are shown: at least one, since an empty list would read as "there is none". */
export const limitFlag = (what: string, max: number) =>
  Flag.Int("limit").pipe(
    Flag.filter(
      (count) => count > 0 && count <= max,
      () => `a number from 1 to ${max}`,
    ),
    Flag.withDescription(`Show at most this many ${what}, the newest first; default 20`),
    Flag.withDefault(20),
  )
/** Cuts a list of which one row more than `limit` was requested, and says so where it has that row. */
export const cutList = Effect.fnUntraced(function* <A>(rows: ReadonlyArray<A>, limit: number, what: string) {
  if (rows.length > limit) yield* Console.error(`the newest ${plural(limit, what)}; --limit N shows more`)
  return rows.slice(0, limit)
})
export const optionalInt = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.optional)
export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)
export const optionalOf = <A>(name: string, schema: Schema.ConstraintCodec<A, string>, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flag.withDescription(description), Flag.optional)
export const textArgument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description))

/** A path that shells complete. It stays as it was typed, and messages show it so. */
const primitiveType: Primitive.Primitive<string> = Object.assign(Primitive.Path("either"), { parse: Effect.succeed })
export const pathArgument = (name: string, description: string) =>
  Param.makeSingle({ kind: Param.argumentKind, name, primitiveType, description: Option.some(description) })
export const pathFlag = (name: string, description: string) =>
  Param.makeSingle({ kind: Param.flagKind, name, primitiveType, description: Option.some(description) })

/** The treasury file: as an argument, by --config, or treasury.yaml of the working directory. */
export const fileArgument = pathArgument("file", "Treasury file or folder; default treasury.yaml").pipe(
  Argument.optional,
)
export const configFlag = pathFlag(
  "config",
  "Treasury file or folder; default treasury.yaml. May be repeated: each is an overlay on those before it",
).pipe(Flag.withAlias("c"), Flag.atLeast(0))
export const dataFlag = pathFlag(
  "data",
  "Data directory; default COFFERER_DATA_DIR, else store.dir of the file, else .cofferer",
).pipe(Flag.withAlias("d"), Flag.optional)

/** Chooses one of several treasuries. */
export const treasuryFlag = Flag.String("treasury").pipe(
  Flag.withDescription("Name of the treasury, if the folder has several"),
  Flag.optional,
)

/** Flags of nearly every command. */
export const commonFlags = { config: configFlag, data: dataFlag, treasury: treasuryFlag, output: outputFlag }

/** Flags and arguments that choose a treasury and its data directory. */
export interface Chosen {
  readonly file?: Option.Option<string>
  readonly config: ReadonlyArray<string>
  readonly data: Option.Option<string>
  readonly treasury?: Option.Option<string>
  /** Data directory of one of several treasuries, if its file names none. */
  readonly ownDir?: string
  /** The process of several treasuries. */
  readonly process?: DaemonConfig
}

/** One of several treasuries, as a command's choice. */
export const chosenIn = (config: DaemonConfig, { name, file }: TreasuryEntry): Chosen => ({
  config: [file],
  data: Option.none(),
  ownDir: dataDirIn(config, name),
  process: config,
})

/** The choice, narrowed to one treasury where a folder holds several. */
export const chosenTreasury = Effect.fnUntraced(function* (chosen: Chosen) {
  const named = Option.getOrUndefined(chosen.treasury ?? Option.none())
  const dir = chosen.ownDir === undefined ? severalIn(chosen) : undefined
  if (dir === undefined) {
    if (named === undefined || chosen.ownDir !== undefined) return chosen
    const remedy = `name the folder with ${daemonFile}: -c DIR`
    return yield* failWith("usage", `${fileOf(chosen)} is no folder of several treasuries; ${remedy}`)
  }
  const config = yield* daemonIn(dir)
  const all = treasuriesIn(config)
  const entry = named === undefined && all.length === 1 ? all[0]! : yield* findTreasury(config, named, all)
  const files = [entry.file, ...filesOf(chosen).slice(1)]
  return { ...chosen, ...chosenIn(config, entry), data: chosen.data, file: Option.none(), config: files }
})

/** The named folder of several treasuries, or the working directory if it is one; else undefined. */
export const severalIn = (chosen: Chosen): string | undefined => {
  const dir = namesFile(chosen) || existsSync(fileOf(chosen)) ? fileOf(chosen) : "."
  return isTreasuries(dir) ? dir : undefined
}

/** The data directory of the environment. An empty one names none: it would be the working directory. */
const dirIn = (env: ProcessContext["env"]): string | undefined => env["COFFERER_DATA_DIR"] || undefined

/** The settings of a process of several treasuries, with its data directory as the environment has it. */
export const daemonIn = Effect.fnUntraced(function* (dir: string) {
  const { env } = yield* ProcessContext
  const config = yield* loadDaemon(dir)
  const dataDir = dirIn(env)
  return dataDir === undefined ? config : { ...config, dataDir: resolve(dataDir) }
})

/** Each treasury of a folder of several, as a command's choice. */
export const eachTreasury = Effect.fnUntraced(function* (dir: string) {
  const config = yield* daemonIn(dir)
  const all = treasuriesIn(config)
  return all.map((entry) => ({ ...entry, problem: nameProblem(entry, all), chosen: chosenIn(config, entry) }))
})

/** Inputs of a command. */
export type Setup = Effect.Success<ReturnType<typeof setup>>

/** The treasury's file or folder, and its overlays. */
export const filesOf = (chosen: Chosen): readonly [string, ...ReadonlyArray<string>] => {
  const named = [...Option.toArray(chosen.file ?? Option.none()), ...chosen.config]
  return [named[0] ?? "treasury.yaml", ...named.slice(1)]
}

/** The files as absolute paths; in a folder of several treasuries, those of the chosen one. */
export const filesForDaemon = (given: Chosen) =>
  Effect.map(chosenTreasury(given), (chosen) => filesOf(chosen).map((file) => resolve(file)))

/** True if the flags name a file or folder. */
export const namesFile = (chosen: Chosen): boolean =>
  chosen.config.length > 0 || Option.isSome(chosen.file ?? Option.none())

export const fileOf = (chosen: Chosen): string => filesOf(chosen)[0]

/** The files as arguments of a command in a shell. */
export const typedFiles = (files: ReadonlyArray<string>): string =>
  files.length === 1 ? files.map(shellWord).join() : files.map((file) => `-c ${shellWord(file)}`).join(" ")

export const defaultDataDir = ".cofferer"

/** Loads the file, and applies the environment and the flags. */
export const setup = Effect.fnUntraced(function* (given: Chosen) {
  const chosen = yield* chosenTreasury(given)
  return yield* setupOf(chosen, loadTreasury(...filesOf(chosen)))
})

/** The same for a choice of one treasury, with the file loaded by `load`. */
export const setupOf = Effect.fnUntraced(function* (chosen: Chosen, load: ReturnType<typeof loadTreasury>) {
  const environment = yield* readEnvironment((yield* ProcessContext).env)
  const treasury = yield* load
  const { ownDir, process } = chosen
  const { listen, metrics } = process ?? treasury
  const fromEnvironment = ownDir === undefined ? environment.dataDir : undefined
  const dataDir = Option.getOrUndefined(chosen.data) ?? fromEnvironment ?? treasury.storeDir ?? ownDir ?? defaultDataDir
  return {
    treasury,
    environment,
    mode: yield* modeAtStart(treasury.mode),
    dataDir: resolve(dataDir),
    postgresUrlFile: treasury.postgresUrlFile ?? process?.postgresUrlFile,
    isOneOfMany: process !== undefined,
    listen: environment.listen === undefined ? listen : parseListen(environment.listen),
    metrics: environment.metrics === undefined ? metrics : parseListen(environment.metrics),
  }
})

/** Flags by which a command finds this treasury from any folder. */
export const flagsOf = ({
  treasury,
  dataDir,
}: {
  readonly treasury: Pick<Treasury, "files" | "storeDir">
  readonly dataDir: string
}): string => {
  const files = treasury.files.map((file) => `-c ${shellWord(file)}`)
  return [...files, ...(treasury.storeDir === dataDir ? [] : [`--data ${shellWord(dataDir)}`])].join(" ")
}

/**
 * Refuses a file as argument together with --config: the second would be an overlay on the first and hide its changes
 * from a person who wants to compare both.
 */
export const refuseTwoFiles = (chosen: Chosen, command: string) => {
  const files = filesOf(chosen)
  const [file, ...overlays] = files.map(shellWord)
  if (overlays.length === 0 || Option.isNone(chosen.file ?? Option.none())) return Effect.void
  return failWith(
    "usage",
    `${overlays.join(", ")} would be an overlay on ${file} and win over it; give the changed file alone: cofferer ${command} ${file}; where it is meant as an overlay: cofferer ${command} ${typedFiles(files)}`,
  )
}

/** True if one of the files defines its own network, as far as they can be read. */
const hasSandbox = (files: ReadonlyArray<string>): boolean =>
  files.some((file) => /^sandbox[ \t]*:/m.test(textIn(file)))

/** A path relative to the working directory, if it is below it. */
export const nearPath = (path: string): string => {
  const near = relative("", path)
  return near.startsWith("..") ? path : near || "."
}

/** Files for a command that starts the daemon: those of the flags, else the `last` ones of its data. */
const filesToRun = (chosen: Chosen, last: ReadonlyArray<string> | undefined): ReadonlyArray<string> | undefined => {
  const several = severalIn(chosen)
  if (several !== undefined) return [several]
  if (chosen.config.length > 0) return filesOf(chosen)
  const [first] = last ?? []
  if (first !== undefined && isTreasuries(dirname(first))) return [nearPath(dirname(first))]
  return last?.map(nearPath) ?? (Option.isNone(chosen.data) ? filesOf(chosen) : undefined)
}

/** The command that starts the daemon of these files, or of the `last` ones of its data. */
export const runCommand = (chosen: Chosen, last?: ReadonlyArray<string>): string => {
  const files = filesToRun(chosen, last)
  const named = files === undefined ? "FILE" : `${hasSandbox(files) ? "--sandbox " : ""}${typedFiles(files)}`
  const data = Option.match(chosen.data, { onNone: () => "", onSome: (dir) => ` --data ${shellWord(dir)}` })
  return `cofferer run ${named}${data}`
}

/** Message that no daemon answers from the data directory, with the command that starts one. */
export const notRunning = (chosen: Chosen, dataDir: string, more = "") => {
  const isElsewhere = Option.isNone(chosen.data) && !existsSync(fileOf(chosen)) && severalIn(chosen) === undefined
  const remedy = isElsewhere
    ? `there is no ${fileOf(chosen)} here: name its data directory with --data DIR, or its file with -c FILE`
    : `start it: ${runCommand(chosen)}`
  return failWith("notFound", `no daemon runs in ${dataDir}${more}; ${remedy}`)
}

/** Problems of a file printed at most by a command that does not check files. */
const printedMax = 3

const problemLines = (cause: Cause.Cause<unknown>): ReadonlyArray<string> => {
  const error = Cause.squash(cause)
  const all = error instanceof ConfigError ? error.problems.map(formatProblem) : [String(error)]
  const left = all.length - printedMax
  return left > 0 ? [...all.slice(0, printedMax), `and ${left} more: cofferer check`] : all
}

const warn = (lines: ReadonlyArray<string>, dataDir: string) =>
  Console.error(
    [...lines, `goes on with the data directory ${dataDir}; --data DIR names another`]
      .map((line) => `warn ${line}`)
      .join("\n"),
  )

/**
 * The data directory alone, for commands that call a daemon. A running daemon does not depend on its file: a faulty
 * file or environment yields a warning, and the directory is read from what is still readable of them. Commands that
 * stop payments work even if the named file is missing.
 */
export const dataDirOf = Effect.fnUntraced(function* (given: Chosen, purpose: "ask" | "stop" = "ask") {
  if (Option.isSome(given.data)) return resolve(given.data.value)
  const chosen = yield* chosenTreasury(given)
  const { env } = yield* ProcessContext
  const environment = yield* Effect.exit(readEnvironment(env))
  const { ownDir } = chosen
  const named = ownDir === undefined ? dirIn(env) : undefined
  const lines = Exit.isSuccess(environment) ? [] : problemLines(environment.cause)
  const found = named === undefined ? yield* dirOfFiles(chosen, purpose) : { dir: named, lines: [] }
  const dataDir = resolve(found.dir ?? ownDir ?? defaultDataDir)
  const warnings = [...lines, ...found.lines]
  if (warnings.length > 0) yield* warn(warnings, dataDir)
  return dataDir
})

const dirOfFiles = Effect.fnUntraced(function* (chosen: Chosen, purpose: "ask" | "stop") {
  const file = fileOf(chosen)
  if (!existsSync(file)) {
    if (chosen.config.length === 0) return { dir: undefined, lines: [] }
    const missing = `no such file: ${file}`
    if (purpose === "ask") return yield* failWith("notFound", `${missing}; --data DIR works without it`)
    return { dir: undefined, lines: [missing] }
  }
  const loaded = yield* Effect.exit(loadTreasury(...filesOf(chosen)))
  if (Exit.isSuccess(loaded)) return { dir: loaded.value.storeDir, lines: [] }
  return { dir: storeDirIn(filesOf(chosen)), lines: problemLines(loaded.cause) }
})

/** Name of the user; the user's number if it has no name, as in a container. */
export const userName = (read: () => string = () => userInfo().username): string =>
  Result.getOrElse(Result.try(read), () => `uid${process.getuid?.() ?? ""}`)
