import { readdirSync, statSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { Effect, Result } from "effect"
import { listedRules, withCode } from "../code/withCode.ts"
import { ConfigError, configProblem, type Problem } from "./ConfigError.ts"
import { textIn } from "./readBytes.ts"
import { documentOf, type Placed, type PlacedEntry, parsePlaced, readText } from "./Yaml.ts"

/** One file, or a folder of parts, as named on the command line. */
interface Source {
  readonly text: string
  readonly tree: Placed
  readonly problems: ReadonlyArray<Problem>
}

/** Keys that an overlay replaces as a whole, so that policy lines or gateways of two networks never mix. */
const wholes: ReadonlySet<string> = new Set([
  "policy",
  "approvals",
  "rules",
  "parties",
  "addresses",
  "network.gateways",
])

/** The file of a folder that configures the process: of one treasury with the key "daemon", else of several. */
export const daemonFile = "daemon.yaml"

/**
 * Reads a treasury, a file or a folder, and lays its overlays over it. Files of rules in TypeScript are read if the
 * result names them. Fails where a file cannot be read as YAML; all other problems are among those of the document.
 */
export const readSources = Effect.fnUntraced(function* (files: readonly [string, ...ReadonlyArray<string>]) {
  const sources = yield* Effect.forEach(files, (file) => (isFolder(file) ? readFolder(file) : readOne(file)))
  const tree = sources.map((source) => source.tree).reduce((under, over) => overlaid(under, over, ""))
  const problems = sources.flatMap((source) => source.problems)
  const [file, ...overlays] = files
  return yield* withCode(documentOf({ file, overlays, text: sources[0]!.text, tree, problems }))
})

const isFolder = (file: string): boolean => attempt(() => statSync(file).isDirectory(), false)

const readOne = Effect.fnUntraced(function* (file: string) {
  const text = yield* readText(file)
  const { tree, problems } = parsePlaced(file, text)
  if (tree.kind === "map") return { text, tree: listedRules(tree), problems } as Source
  if (problems.length > 0) return yield* new ConfigError({ problems: [...problems] })
  const found = tree.kind === "list" ? "a list" : tree.text === "" ? "empty" : "one text"
  const remedy = 'write a map of keys, beginning with "version: 1"'
  return yield* new ConfigError({ problems: [{ ...tree.at, message: `the file is ${found}`, remedy }] })
})

/** True for the name of a file or folder that is a part of a folder. */
export const isPart = (name: string): boolean => /\.ya?ml$/.test(name) && !name.startsWith(".")

/** The parts of a folder, in the order of their names, as one tree. */
const readFolder = Effect.fnUntraced(function* (folder: string) {
  const names = yield* Effect.try({
    try: () => readdirSync(folder).filter(isPart).toSorted(),
    catch: (error) => {
      const message = `cannot be read (${(error as NodeJS.ErrnoException).code})`
      return configProblem(folder, message, "name a folder of YAML files")
    },
  })
  if (names.length === 0) {
    return yield* configProblem(folder, "the folder holds no *.yaml", "put the treasury's files there")
  }
  const results = yield* Effect.forEach(names, (name) => Effect.result(readOne(join(folder, name))))
  const failed = results.flatMap((result) => (result._tag === "Failure" ? result.failure.problems : []))
  if (failed.length > 0) return yield* new ConfigError({ problems: failed })
  const parts = results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
  const problems: Array<Problem> = parts.flatMap((part) => [...part.problems])
  for (const { tree } of parts) checkDaemon(tree, problems)
  const tree = parts.map((part): Placed => part.tree).reduce((one, other) => joined(one, other, "", problems))
  return { text: "", tree, problems } satisfies Source
})

const checkDaemon = (tree: Placed, problems: Array<Problem>): void => {
  const daemon = tree.kind === "map" ? tree.entries.get("daemon") : undefined
  if (daemon === undefined || basename(daemon.name.file) === daemonFile) return
  problems.push({ ...daemon.name, message: '"daemon" stands in a part', remedy: `move it to ${daemonFile} beside it` })
}

const where = ({ file, line }: PlacedEntry["name"]): string => `${basename(file)}:${line}`

/** Sections that must be in one file of a folder, so that people can read them as a whole. */
const undivided: ReadonlySet<string> = new Set(["policy", "approvals"])

/** Joins two parts of a folder: maps and the list of rules merge, anything else given twice is a problem. */
const joined = (one: Placed, other: Placed, path: string, problems: Array<Problem>): Placed => {
  if (one.kind !== "map" || other.kind !== "map") return one
  const entries = new Map(one.entries)
  for (const [name, entry] of other.entries) {
    const held = entries.get(name)
    if (held === undefined) entries.set(name, entry)
    else if (held.value.kind === "map" && entry.value.kind === "map" && !undivided.has(name)) {
      entries.set(name, { ...held, value: joined(held.value, entry.value, `${path}${name}.`, problems) })
    } else if (`${path}${name}` === "rules" && held.value.kind === "list" && entry.value.kind === "list") {
      entries.set(name, { ...held, value: { ...held.value, items: [...held.value.items, ...entry.value.items] } })
    } else {
      const message = `${path}${name} is given twice, first in ${where(held.name)}`
      problems.push({ ...entry.name, message, remedy: "keep one of the two" })
    }
  }
  return { ...one, entries }
}

/** Lays `over` over `under`: maps merge by key; lists and the keys of `wholes` are replaced. */
const overlaid = (under: Placed, over: Placed, path: string): Placed => {
  if (under.kind !== "map" || over.kind !== "map") return over
  const entries = new Map(under.entries)
  for (const [name, entry] of over.entries) {
    const held = entries.get(name)
    const here = `${path}${name}`
    const whole = held === undefined || wholes.has(here)
    entries.set(name, whole ? entry : { ...entry, value: overlaid(held.value, entry.value, `${here}.`) })
  }
  return { ...under, entries }
}

/** From "store:" at the margin to the next line that begins there. */
const storeBlock = /^store[ \t]*:[^\n]*(?:\n(?:[ \t#\r][^\n]*)?)*/m

const partsOf = (file: string): ReadonlyArray<string> => {
  if (!statSync(file).isDirectory()) return [file]
  return readdirSync(file)
    .filter(isPart)
    .toSorted()
    .flatMap((name) => partsOf(join(file, name)))
}

const writtenIn = (file: string): string | undefined => {
  const { tree } = parsePlaced(file, storeBlock.exec(textIn(file))?.[0] ?? "")
  const store = tree.kind === "map" ? tree.entries.get("store")?.value : undefined
  const dir = store?.kind === "map" ? store.entries.get("dir")?.value : undefined
  return dir?.kind === "text" && dir.text !== "" ? resolve(dirname(file), dir.text) : undefined
}

const attempt = <A>(read: () => A, otherwise: A): A => Result.getOrElse(Result.try(read), () => otherwise)

/**
 * The data directory named by files that cannot be used as a whole: reads only `store`, so that the rest need not even
 * be YAML. The last file that names one wins; undefined if none does.
 */
export const storeDirIn = (files: ReadonlyArray<string>): string | undefined =>
  files
    .flatMap((file) => attempt(() => partsOf(file), []))
    .map((file) => attempt(() => writtenIn(file), undefined))
    .findLast((dir) => dir !== undefined)
