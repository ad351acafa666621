import { complaint } from "./Source.ts"

const exact = /^\d+\.\d+\.\d+$/

interface PackageJson {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const dependencies = (packageJson: string): ReadonlyArray<readonly [string, string]> => {
  const parsed: PackageJson = JSON.parse(packageJson)
  return [parsed.dependencies, parsed.devDependencies, parsed.optionalDependencies].flatMap((d) =>
    Object.entries(d ?? {}),
  )
}

/** Two installations at different times are the same program. */
export const versionsAreExact = (packageJson: string): ReadonlyArray<string> =>
  dependencies(packageJson)
    .filter(([, version]) => !exact.test(version))
    .map(([name, version]) => complaint("package.json", 1, `${name} ${version} is a range`))

/** The lock file holds hashes, and no host: any mirror may serve the archives. */
export const lockNamesNoHost = (lock: string): ReadonlyArray<string> =>
  lock
    .split("\n")
    .flatMap((line, i) => (/"resolved"\s*:/.test(line) ? [complaint("package-lock.json", i + 1, line.trim())] : []))

/** Each dependency stands, with its reason, in a row of the README's table; without a README there is no complaint. */
export const dependenciesAreExplained = (packageJson: string, readme: string | undefined): ReadonlyArray<string> => {
  if (readme === undefined) return []
  const rows = readme.split("\n").filter((line) => line.startsWith("|"))
  return dependencies(packageJson)
    .filter(([name]) => !rows.some((row) => row.includes(`\`${name}\``)))
    .map(([name]) => complaint("README.md", 1, `no row explains \`${name}\``))
}

const topFolders = ["config", "docs", "src", "test"]

/** Folders at the top, apart from those that git ignores. */
export const topIsSmall = (folders: ReadonlyArray<string>, ignored: ReadonlyArray<string>): ReadonlyArray<string> =>
  folders
    .filter((name) => !name.startsWith(".") && !topFolders.includes(name) && !ignored.includes(name))
    .map((name) => complaint(name, 1, "is none of config, docs, src and test"))
