import { nameRemedy, nearest } from "./nearest.ts"
import { type Ast, knownKeys, under } from "./schemaKeys.ts"

type Path = ReadonlyArray<PropertyKey>

/** A map on the way to a value: what it may hold, and where it stands. */
export interface Around {
  readonly ast: Ast
  readonly path: Path
}

export interface Unknown {
  readonly message: string
  readonly remedy: string
  /** The key that was most likely meant: that it is missing follows. */
  readonly meant: Path | undefined
}

/** What is said of a key that its map does not know: where it belongs, which was meant, or which there are. */
export const unknownKey = (key: string, around: ReadonlyArray<Around>, value: unknown): Unknown => {
  const { ast, path }: Around = around.at(-1) ?? { ast: {}, path: [] }
  const message = `unknown key "${key}"`
  if (key === "<<")
    return { message: 'merge keys ("<<") are not read', remedy: "write the values out", meant: undefined }
  if (/^[0-9]{1,3}$/.test(key)) {
    const remedy = 'a bare comma begins another key: put the amount in quotes, such as "10,000"'
    return { message, remedy, meant: undefined }
  }
  const way = under(ast, key, value)
  if (way !== undefined) return { message, remedy: `it belongs under "${way.join(".")}"`, meant: [...path, way[0]!] }
  const outer = around.slice(0, -1).findLast((each) => knownKeys(each.ast).includes(key))
  if (outer !== undefined) {
    const child = String(path[outer.path.length])
    return { message, remedy: `it belongs beside "${child}", not in it`, meant: [...outer.path, key] }
  }
  const known = knownKeys(ast)
  const near = nearest(key, known)
  const remedy = nameRemedy(key, known, "remove it")
  return { message, remedy, meant: near === undefined ? undefined : [...path, near] }
}
