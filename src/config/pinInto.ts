import { isMap, isPair, isScalar, parseDocument, type YAMLMap } from "yaml"

/** An asset as the file pins it. */
export interface Pin {
  readonly symbol: string
  readonly id: string
  readonly decimals: number
}

/** Keys before which `assets` is put where a file has none: it reads from what there is to what is done with it. */
const followers: ReadonlyArray<string> = ["parties", "rules", "policy", "alerts", "store", "daemon", "sandbox"]

const lineOf = ({ symbol, id, decimals }: Pin): string => `${symbol}: { id: "${id}", decimals: ${decimals} }`

/** The block `assets` of a treasury file. */
export const pinsBlock = (pins: ReadonlyArray<Pin>): string =>
  ["assets:", ...pins.map((pin) => `  ${lineOf(pin)}`)].join("\n")

const parse = (text: string) => parseDocument(text, { schema: "failsafe" })

/** Start of the line, after going up over the comments that stand right above it. */
const aboveComments = (text: string, at: number): number => {
  let start = text.lastIndexOf("\n", at - 1) + 1
  while (start > 0) {
    const before = text.lastIndexOf("\n", start - 2) + 1
    if (!text.slice(before, start).startsWith("#")) break
    start = before
  }
  return start
}

const insert = (text: string, at: number, what: string): string => text.slice(0, at) + what + text.slice(at)

const intoMap = (text: string, map: YAMLMap, pins: ReadonlyArray<Pin>): string | undefined => {
  const end = map.range?.[1] ?? 0
  if (map.flow === true) {
    const close = text.lastIndexOf("}", end)
    const inside = text.slice(0, close).trimEnd().length
    const comma = map.items.length === 0 || text[inside - 1] === "," ? " " : ", "
    return insert(text, inside, `${comma}${pins.map(lineOf).join(", ")}${inside === close ? " " : ""}`)
  }
  const first = map.items[0]?.key
  const last = map.items.at(-1)
  const lastRange = (last?.value as { readonly range?: readonly [number, number, number] } | null)?.range
  if (!isScalar(first) || first.range == null || lastRange == null) return undefined
  const indent = " ".repeat(first.range[0] - text.lastIndexOf("\n", first.range[0] - 1) - 1)
  const lineEnd = text.indexOf("\n", text.slice(0, lastRange[1]).trimEnd().length)
  const lines = pins.map((pin) => `${indent}${lineOf(pin)}`).join("\n")
  return lineEnd < 0 ? `${text}\n${lines}\n` : insert(text, lineEnd, `\n${lines}`)
}

const edit = (text: string, pins: ReadonlyArray<Pin>): string | undefined => {
  const root = parse(text).contents
  if (!isMap(root)) return undefined
  const pairs = root.items.filter(isPair)
  const keyed = (name: string) => pairs.find(({ key }) => isScalar(key) && key.value === name)
  const held = keyed("assets")
  if (held !== undefined) {
    if (isMap(held.value)) return intoMap(text, held.value, pins)
    return undefined
  }
  if (root.flow === true) return undefined
  const next = followers.map(keyed).find((pair) => pair !== undefined)?.key
  const block = `${pinsBlock(pins)}\n`
  if (!isScalar(next) || next.range == null) return `${text.endsWith("\n") ? text : `${text}\n`}\n${block}`
  return insert(text, aboveComments(text, next.range[0]), `${block}\n`)
}

/**
 * The text of a treasury file with these pins added, all else of it byte by byte as it was. Undefined where the file is
 * written in a way that this cannot edit: the result is read again, and must say what it said before and the pins.
 */
export const pinInto = (text: string, pins: ReadonlyArray<Pin>): string | undefined => {
  if (pins.length === 0) return text
  const edited = edit(text, pins)
  if (edited === undefined) return undefined
  const after = parse(edited)
  if (after.errors.length > 0) return undefined
  const before = parse(text).toJS() as { readonly assets?: object }
  const added = pins.map(({ symbol, id, decimals }) => [symbol, { id, decimals: String(decimals) }])
  const wanted = { ...before, assets: { ...before.assets, ...Object.fromEntries(added) } }
  const sorted = (value: object) => JSON.stringify(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return sorted(after.toJS() as object) === sorted(wanted) ? edited : undefined
}
