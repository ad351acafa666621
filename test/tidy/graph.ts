import { exportsOf } from "./dead.ts"
import { type Code, complaint } from "./Source.ts"

export const filesInFolderMax = 25

/** Files that lie side by side, folders not counted. */
export const foldersAreSmall = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...Map.groupBy(paths, (path) => path.slice(0, path.lastIndexOf("/")))]
    .filter(([, inFolder]) => inFolder.length > filesInFolderMax)
    .map(([folder, { length }]) => complaint(folder, 1, `${length} files, ${filesInFolderMax} are a folder`))

/** Files that import each other, types included: one import of each circle. */
export const importsHaveNoCircles = (all: ReadonlyArray<Code>): ReadonlyArray<string> => {
  const targets = new Map(all.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]))
  const complaints: Array<string> = []
  const done = new Set<string>()
  const visit = (path: string, above: ReadonlyArray<string>): void => {
    for (const target of targets.get(path) ?? []) {
      const way = [...above, path]
      if (way.includes(target)) complaints.push(complaint(path, 1, `imports ${target}, which imports it`))
      else if (!done.has(target)) visit(target, way)
    }
    done.add(path)
  }
  for (const path of targets.keys()) if (!done.has(path)) visit(path, [])
  return complaints
}

/** Names of modules that are imported as a namespace. */
const ofNamespaces: ReadonlySet<string> = new Set(["layer"])

/** An exported name means one thing in the whole source. */
export const namesAreExportedOnce = (all: ReadonlyArray<Code>): ReadonlyArray<string> => {
  const exported = all.flatMap((code) =>
    [...new Set(exportsOf(code).map(([name]) => name))].map((name) => ({ name, code })),
  )
  return [...Map.groupBy(exported, ({ name }) => name)]
    .filter(([name, { length }]) => length > 1 && !ofNamespaces.has(name))
    .map(([name, places]) => complaint(places[0]!.code.path, 1, `${name} is exported by ${places[1]!.code.path} too`))
}
