import { existsSync, readdirSync, statSync } from "node:fs"
import { basename, dirname, extname, join, resolve } from "node:path"
import { Effect, Schema } from "effect"
import { subjectsIn } from "../rules/Subject.ts"
import { CountText } from "./schema/Fields.ts"
import { DatabaseText, processFields } from "./schema/Receivers.ts"
import { type ProcessConfig, resolveProcess, type Treasury } from "./Treasury.ts"
import { ConfigError, configProblem, type Problem } from "./yaml/ConfigError.ts"
import { nameRemedy } from "./yaml/decodeAll.ts"
import { decodeYaml } from "./yaml/decodeParts.ts"
import { postgresUrlFile, type Reporter, reporter } from "./yaml/Reporter.ts"
import { textIn } from "./yaml/readBytes.ts"
import { daemonFile, isPart } from "./yaml/readSources.ts"
import { readYaml, type YamlDocument } from "./yaml/Yaml.ts"

const optional = Schema.optional

/** A process of several treasuries as written. */
export const DaemonFile = Schema.Struct({
  version: Schema.Literal("1"),
  ...processFields,
  dataDir: optional(Schema.String.check(Schema.isNonEmpty({ expected: "the path of a folder" }))),
  requestsPerSecond: optional(CountText),
  database: optional(DatabaseText),
})
type Written = typeof DaemonFile.Type

/** Settings of a process of several treasuries. */
export interface DaemonConfig extends ProcessConfig {
  /** The folder with the files. */
  readonly dir: string
  /** The process's own; beside what it writes there, each treasury has a folder of its name. */
  readonly dataDir: string
  /** To each gateway at most, of all treasuries together; undefined: as for one treasury. */
  readonly requestsPerSecond: number | undefined
  /** The file that holds the address of the PostgreSQL of all treasuries that name none. */
  readonly postgresUrlFile: string | undefined
}

/** True for a folder of several treasuries. That file of one treasury's folder of parts has the key "daemon". */
export const isTreasuries = (dir: string): boolean => {
  const file = join(dir, daemonFile)
  return existsSync(file) && !/^daemon[ \t]*:/m.test(textIn(file))
}

/** Reads daemon.yaml of a folder. */
export const loadDaemon = Effect.fnUntraced(function* (dir: string) {
  const document = yield* readYaml(join(dir, daemonFile))
  const problems: Array<Problem> = []
  const config = resolveDaemon(dir, yield* decodeYaml(DaemonFile, document), reporter(document, problems))
  return problems.length === 0 ? config : yield* new ConfigError({ problems })
})

const resolveDaemon = (dir: string, raw: Written, report: Reporter): DaemonConfig => ({
  dir: resolve(dir),
  ...resolveProcess(raw, [], report),
  dataDir: report.path(raw.dataDir ?? ".cofferer", ["dataDir"]),
  requestsPerSecond: raw.requestsPerSecond === undefined ? undefined : Number(raw.requestsPerSecond),
  postgresUrlFile: postgresUrlFile(raw, report),
})

/** One of the treasuries of a folder. */
export interface TreasuryEntry {
  /** Name in the file, else the name of the file. */
  readonly name: string
  /** A file, or a folder of parts. */
  readonly file: string
}

/** Folder at the root of a file system, and so of a mounted folder; only root can read it. */
const lostAndFound = "lost+found"

/** The treasuries of a folder, by name. Only the names are read from their files, which may be faulty otherwise. */
export const treasuriesIn = ({ dir, dataDir }: Pick<DaemonConfig, "dir" | "dataDir">): ReadonlyArray<TreasuryEntry> =>
  readdirSync(dir, { withFileTypes: true })
    .flatMap((one): ReadonlyArray<TreasuryEntry> => {
      const file = join(dir, one.name)
      if ([daemonFile, lostAndFound].includes(one.name) || one.name.startsWith(".") || file === dataDir) return []
      const parts = partsOf(file)
      if (parts?.length === 0) return []
      const written = parts?.flatMap((part) => nameIn(textIn(part)) ?? [])[0]
      return [{ name: written ?? basename(one.name, extname(one.name)), file }]
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.file < b.file ? -1 : 1))

/** Problem of a folder without treasuries. */
export const noTreasury = (dir: string): ConfigError =>
  configProblem(dir, "has no treasury: nothing is watched or paid", "put NAME.yaml there, or a folder of its parts")

/** The files of a treasury, none if it is none; undefined where they cannot be read: it fails alone, and visibly. */
const partsOf = (file: string): ReadonlyArray<string> | undefined => {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat?.isDirectory() !== true) return isPart(basename(file)) ? [file] : []
    return readdirSync(file)
      .filter(isPart)
      .map((name) => join(file, name))
  } catch {
    return undefined
  }
}

const nameIn = (text: string): string | undefined =>
  /^name[ \t]*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#]+))/m
    .exec(text)
    ?.slice(1)
    .find((name) => name !== undefined)

/** The data directory of a treasury whose file names none. */
export const dataDirIn = ({ dataDir }: Pick<DaemonConfig, "dataDir">, name: string): string => join(dataDir, name)

/** Why a treasury cannot run beside the others; undefined where it can. A name stands in each row and metric. */
export const nameProblem = (entry: TreasuryEntry, all: ReadonlyArray<TreasuryEntry>): ConfigError | undefined => {
  const twin = all.find(({ name, file }) => name === entry.name && file !== entry.file)
  if (twin === undefined) return undefined
  const remedy = 'give each a name of its own: "name: ..."'
  return configProblem(entry.file, `the name ${entry.name} is also that of ${basename(twin.file)}`, remedy)
}

/** Keys and watermarks that a treasury shares with another one, each with its place: neither is permitted. */
export const clashesOf = (treasury: Treasury, all: ReadonlyArray<Treasury>): ReadonlyArray<Problem> => {
  const others = all.filter((one) => one !== treasury)
  return [...sharedKeys(treasury, others), ...sharedMark(treasury, others)]
}

/** A watermark that another treasury writes too: each would halt at its next start by what the other one wrote. */
const sharedMark = ({ watermarkFile, document }: Treasury, others: ReadonlyArray<Treasury>): ReadonlyArray<Problem> => {
  const other = watermarkFile === undefined ? undefined : others.find((one) => one.watermarkFile === watermarkFile)
  if (other === undefined) return []
  const message = `treasury ${other.name} writes this watermark too: each would halt by that of the other`
  return [document.problem(["store", "watermark"], message, "give each a file of its own")]
}

/** Keys with which another treasury signs on the same chain: the limits of neither count payments of the other. */
const sharedKeys = (treasury: Treasury, others: ReadonlyArray<Treasury>): ReadonlyArray<Problem> =>
  [...treasury.parties.values()].flatMap(({ name, publicKey, signer }) => {
    const other = others.find(
      (one) =>
        one.network.chainId === treasury.network.chainId &&
        [...one.parties.values()].some((party) => party.signer !== undefined && party.publicKey === publicKey),
    )
    if (signer === undefined || other === undefined) return []
    const message = `treasury ${other.name} signs with the same key: neither knows the other's payments`
    return [treasury.document.problem(["parties", name], message, "give each treasury a key of its own")]
  })

/** Accounts that another treasury fills on the same chain too: at the same need, both pay the whole of it. */
export const sharedAccounts = (treasury: Treasury, all: ReadonlyArray<Treasury>): ReadonlyArray<Problem> => {
  const others = all.filter((one) => one !== treasury && one.network.chainId === treasury.network.chainId)
  const filled = new Map(others.flatMap((one) => filledIn(one).map(({ id }) => [id, one.name] as const)))
  return filledIn(treasury).flatMap(({ id, name, rule }) => {
    const other = filled.get(id)
    if (other === undefined) return []
    const path = ["rules", treasury.rules.indexOf(rule)]
    const message = `treasury ${other} fills ${name} too: at the same need, both pay the whole of it`
    return [treasury.document.problem(path, message, "fill it in one treasury")]
  })
}

const filledIn = ({ rules, mode }: Treasury) =>
  subjectsIn(rules, mode).paying.flatMap(({ kind, rule, name, accounts }) =>
    kind === "topUp" || kind === "request"
      ? accounts.map(({ party, asset }) => ({ id: `${party.publicKey}/${asset.id}`, name, rule }))
      : [],
  )

/** The treasury of that name, or an error that names the nearest ones. */
export const findTreasury = (
  { dir }: Pick<DaemonConfig, "dir">,
  name: string | undefined,
  all: ReadonlyArray<TreasuryEntry>,
): Effect.Effect<TreasuryEntry, ConfigError> =>
  Effect.suspend(() => {
    const found = all.find((one) => one.name === name)
    if (found !== undefined) return nameProblem(found, all) ?? Effect.succeed(found)
    const names = all.map((one) => one.name)
    const remedy = nameRemedy(name ?? "", names, "put the file of one there")
    if (name === undefined)
      return configProblem(dir, `holds ${names.length} treasuries`, `name one with --treasury; ${remedy}`)
    return configProblem(dir, `holds no treasury ${name}`, remedy)
  })

/** Settings of a treasury file that do not count beside others, each with its place: those of the process do. */
export const unusedSettings = ({ document }: Pick<Treasury, "document">): ReadonlyArray<Problem> => {
  const { daemon } = document.value as { readonly daemon?: Readonly<Record<string, unknown>> }
  return Object.keys(daemon ?? {}).map((key) => unused(document, key))
}

const unused = (document: YamlDocument, key: string): Problem =>
  document.problem(
    ["daemon", key],
    `daemon.${key} is not used: one process runs several treasuries`,
    `what ${daemonFile} of ${dirname(document.file)} says counts`,
    "name",
  )
