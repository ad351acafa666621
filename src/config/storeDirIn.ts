import { readdirSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { parsePlaced } from "./Placed.ts"
import { readUtf8 } from "./readBytes.ts"

/** From "store:" at the margin to the next line that begins there. */
const storeBlock = /^store[ \t]*:[^\n]*(?:\n(?:[ \t#\r][^\n]*)?)*/m
const bytesMax = 4_000_000

const partsOf = (file: string): ReadonlyArray<string> => {
  if (!statSync(file).isDirectory()) return [file]
  return readdirSync(file)
    .filter((name) => /^[^.].*\.ya?ml$/.test(name))
    .toSorted()
    .flatMap((name) => partsOf(join(file, name)))
}

const writtenIn = (file: string): string | undefined => {
  const text = readUtf8(file, bytesMax)
  const block = (typeof text === "string" ? storeBlock.exec(text)?.[0] : undefined) ?? ""
  const { tree } = parsePlaced(file, block)
  const store = tree.kind === "map" ? tree.entries.get("store")?.value : undefined
  const dir = store?.kind === "map" ? store.entries.get("dir")?.value : undefined
  return dir?.kind === "text" && dir.text !== "" ? resolve(dirname(file), dir.text) : undefined
}

const attempt = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/**
 * The data directory that files name which cannot be used as a whole: `store` is read apart, so that the rest may be no
 * YAML at all. Undefined where none of them says it in a form that can be read. Later files lie over earlier ones.
 */
export const storeDirIn = (files: ReadonlyArray<string>): string | undefined =>
  files
    .flatMap((file) => attempt(() => partsOf(file), []))
    .map((file) => attempt(() => writtenIn(file), undefined))
    .findLast((dir) => dir !== undefined)
