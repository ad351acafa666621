import { accessSync, constants, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { type BaseUnits, parseWritten } from "../../domain/Amount.ts"
import type { PinnedAsset } from "../../rules/Account.ts"
import type { Problem } from "./ConfigError.ts"
import type { YamlDocument } from "./Yaml.ts"

/** Services with which a resolver reports a problem at its place. */
export interface Reporter {
  readonly document: YamlDocument
  readonly add: (path: ReadonlyArray<PropertyKey>, message: string, remedy: string) => void
  /** Parses an amount of the pinned asset, reporting at the path. */
  readonly amount: (path: ReadonlyArray<PropertyKey>, text: string, asset: PinnedAsset | undefined) => BaseUnits
  /** Absolute form of a file's path that is written at `at`: relative to the file in which it stands. */
  readonly path: (written: string, at?: ReadonlyArray<PropertyKey>) => string
  /** False if the files that the document names need not exist on this machine. */
  readonly checksFiles: boolean
}

/** Decimals assumed for an asset that is not pinned: only the form of its amounts is checked. */
const decimalsUnknown = 30

/** True if the text is an amount of the asset. */
export const isAmount = (text: string, asset: PinnedAsset | undefined): boolean =>
  "units" in parseWritten(text, asset?.decimals ?? decimalsUnknown)

/** Collects problems of one document. */
export const reporter = (document: YamlDocument, problems: Array<Problem>, checksFiles = true): Reporter => {
  const add: Reporter["add"] = (path, message, remedy) => {
    problems.push(document.problem(path, message, remedy))
  }
  return {
    document,
    checksFiles,
    add,
    amount: (path, text, asset) => {
      const parsed = parseWritten(text, asset?.decimals ?? decimalsUnknown)
      if ("units" in parsed) return parsed.units
      const [message = "", remedy] = parsed.error.split(/: (?=write )/)
      add(path, message, remedy ?? "write it in units of the asset, and no finer")
      return 0n as BaseUnits
    },
    path: (written, at = []) => resolve(dirname(document.problem(at, "", "").file), written),
  }
}

/** Header or key name to the absolute path of the file that holds its secret value. */
export const secretFiles = (
  headers: Readonly<Record<string, { readonly file: string }>>,
  path: ReadonlyArray<string>,
  report: Reporter,
): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(headers).map(([header, { file }]) => [header, secretFile(file, [...path, header, "file"], report)]),
  )

/** Absolute path of a secret's file, which is checked. */
export const secretFile = (file: string, path: ReadonlyArray<PropertyKey>, report: Reporter): string => {
  const full = report.path(file, path)
  needFile(full, path, report)
  return full
}

/** Absolute path of the file that holds PostgreSQL's address; undefined where there is none. */
export const postgresUrlFile = (
  { database }: { readonly database?: { readonly postgres: { readonly urlFile: string } } | undefined },
  report: Reporter,
): string | undefined => database && secretFile(database.postgres.urlFile, ["database", "postgres", "urlFile"], report)

/** Reports a secret's file that is missing or that this process may not read. */
export const needFile = (
  file: string,
  path: ReadonlyArray<PropertyKey>,
  report: Reporter,
  remedy = "put the secret there, readable by this process alone",
): void => {
  if (!report.checksFiles) return
  try {
    // The secret itself is not read: it would stay in this process's memory.
    if (statSync(file).isFile()) accessSync(file, constants.R_OK)
    else report.add(path, `${file} is not a file`, "name a file")
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const message = code === "ENOENT" ? `no such file: ${file}` : `${file} cannot be read (${code})`
    report.add(path, message, remedy)
  }
}
