type Path = ReadonlyArray<PropertyKey>

/** What names an item of a list well enough to be found by it. */
const nameForm = /^[\p{L}\p{N}][\p{L}\p{N} ,._-]{0,79}$/u

const stepInto = (value: unknown, step: PropertyKey): unknown =>
  (value as Record<PropertyKey, unknown> | null | undefined)?.[step]

const nameOf = (value: unknown): string | undefined => {
  const name = stepInto(value, "name")
  return typeof name === "string" && nameForm.test(name) ? name : undefined
}

const joined = (path: Path): string => {
  let text = ""
  for (const step of path) {
    if (typeof step === "number") text += ` #${step + 1}`
    else
      text +=
        text === "" ? String(step) : text.endsWith("]") || / #\d+$/.test(text) ? ` ${String(step)}` : `.${String(step)}`
  }
  return text
}

interface Parts {
  /** The item of a list in which the path ends, if it is in one: "rule keep-hot", "policy.allow #2". */
  readonly item: string | undefined
  readonly rest: Path
}

const partsOf = (value: unknown, path: Path): Parts => {
  const at = path.findIndex((step) => typeof step === "number")
  if (at < 0) return { item: undefined, rest: path }
  const name = nameOf(path.slice(0, at + 1).reduce(stepInto, value))
  const list = joined(path.slice(0, at))
  const isRule = list === "rules"
  const item = name === undefined ? joined(path.slice(0, at + 1)) : isRule ? `rule ${name}` : `${list} "${name}"`
  return { item, rest: path.slice(at + 1) }
}

/** A value of a file by the words of its path, items counted from 1: "rule keep-hot: topUp.levels #1 below". */
export const pathWords = (value: unknown, path: Path): string => {
  const { item, rest } = partsOf(value, path)
  if (item === undefined) return joined(rest) || "the file"
  return rest.length === 0 ? item : `${item}: ${joined(rest)}`
}

/** The sentence with the item of a list that it is about before it, where it does not name it itself. */
export const withItem = (value: unknown, path: Path, message: string): string => {
  const { item } = partsOf(value, path)
  if (item === undefined) return message
  const words = message.split(/[^\p{L}\p{N}_-]+/u)
  return item.startsWith("rule ") && words.includes(item.slice("rule ".length)) ? message : `${item}: ${message}`
}
