import { nameRemedy, nearest } from "./nearest.ts"
import { replacementOf } from "./removedKeys.ts"
import { type Ast, knownKeys } from "./schemaKeys.ts"

type Path = ReadonlyArray<PropertyKey>

/** A map on the way to a value: what it may hold, and where it stands. */
export interface Around {
  readonly ast: Ast
  readonly path: Path
}

interface Unknown {
  readonly message: string
  readonly remedy: string
  /** The key that was most likely meant: that it is missing follows. */
  readonly meant: Path | undefined
}

/** What is said of a key that its map does not know: which was meant, or which there are. */
export const unknownKey = (key: string, { ast, path }: Around): Unknown => {
  const message = `unknown key "${key}"`
  const replacement = replacementOf(path, key)
  if (replacement !== undefined) {
    return { message: `there is no "${key}" any more`, remedy: replacement, meant: undefined }
  }
  if (key === "<<")
    return { message: 'merge keys ("<<") are not read', remedy: "write the values out", meant: undefined }
  if (/^[0-9]{1,3}$/.test(key)) {
    const remedy = 'a bare comma begins another key: put the amount in quotes, such as "10,000"'
    return { message, remedy, meant: undefined }
  }
  const known = knownKeys(ast)
  const near = nearest(key, known)
  const remedy = nameRemedy(key, known, "remove it")
  return { message, remedy, meant: near === undefined ? undefined : [...path, near] }
}
