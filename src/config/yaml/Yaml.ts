import { Effect } from "effect"
import { Alias, isMap, isPair, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from "yaml"
import { ConfigError, configProblem, type Problem } from "./ConfigError.ts"
import { readUtf8 } from "./readBytes.ts"

type Path = ReadonlyArray<PropertyKey>

/** A YAML file whose scalars are all text as written: 0.1 stays "0.1", so no amount passes through a double. */
export interface YamlDocument {
  readonly file: string
  /** Files that are laid over it. */
  readonly overlays?: ReadonlyArray<string>
  readonly text: string
  readonly value: unknown
  /** Every value with its place. */
  readonly tree: Placed
  /** Syntax problems with which the values can still be read: duplicate names, broken aliases. */
  readonly problems: ReadonlyArray<Problem>
  /** Functions of rules in TypeScript, by the texts that stand for them. */
  readonly code?: ReadonlyMap<string, unknown>
  /** A problem at the value (or, for `name`, at the name) that the path leads to, or at the nearest parent. */
  readonly problem: (path: Path, message: string, remedy: string, at?: "name" | "value") => Problem
}

/** The parser takes seconds for half a megabyte of brackets; real files are far smaller. */
const bytesMax = 500_000

/** Text of a file. Fails if it cannot be read, is not a file or not UTF-8, or has more than 500 kB. */
export const readText = (file: string): Effect.Effect<string, ConfigError> =>
  Effect.suspend(() => {
    const text = readUtf8(file, bytesMax)
    if (typeof text === "string") return Effect.succeed(text)
    const remedy =
      text.problem === "is not UTF-8 text" ? "save it as UTF-8" : "name a YAML file, or a folder of several"
    return Effect.fail(configProblem(file, text.problem, remedy))
  })

/** Reads and parses a file. Fails with a ConfigError that names line and remedy. */
export const readYaml = (file: string): Effect.Effect<YamlDocument, ConfigError> =>
  Effect.flatMap(readText(file), (text) => parseYaml(file, text))

/** Parses text as if it were read from `file`. */
export const parseYaml = (file: string, text: string): Effect.Effect<YamlDocument, ConfigError> =>
  Effect.suspend(() => {
    const { tree, problems } = parsePlaced(file, text)
    if (problems.length > 0) return Effect.fail(new ConfigError({ problems: [...problems] }))
    return Effect.succeed(documentOf({ file, text, tree, problems }))
  })

/** A document of values with their places, which may come from several files. */
export const documentOf = (
  parts: Pick<YamlDocument, "file" | "overlays" | "text" | "tree" | "problems" | "code">,
): YamlDocument => ({
  ...parts,
  value: valueOf(parts.tree),
  problem: (path, message, remedy, at = "value") => ({ ...placeOf(parts.tree, path, at), message, remedy }),
})

/** Position of a value. */
export interface Place {
  readonly file: string
  /** 1-based, as is the column. */
  readonly line: number
  readonly column: number
}

/** A value of a file with its place: text, a list, or a map whose names have places of their own. */
export type Placed =
  | { readonly kind: "text"; readonly at: Place; readonly text: string }
  | { readonly kind: "list"; readonly at: Place; readonly items: ReadonlyArray<Placed> }
  | { readonly kind: "map"; readonly at: Place; readonly entries: ReadonlyMap<string, PlacedEntry> }

export interface PlacedEntry {
  /** Where the name stands. */
  readonly name: Place
  readonly value: Placed
}

const levelsMax = 40
/** Largest number of names in a map: an unknown name is compared with all of them. */
const namesMax = 5_000
/** Largest number of values, those repeated by aliases included. */
const valuesMax = 100_000

/** The place of the value (or, for `name`, of its name) that the path leads to, or of the nearest parent. */
export const placeOf = (root: Placed, path: Path, what: "name" | "value"): Place => {
  let here = root
  let at = root.at
  for (const [i, step] of path.entries()) {
    if (here.kind === "text") return at
    const entry = here.kind === "map" ? here.entries.get(String(step)) : undefined
    const next = here.kind === "list" ? here.items[Number(step)] : entry?.value
    if (next === undefined) return at
    at = what === "name" && i === path.length - 1 ? (entry?.name ?? next.at) : next.at
    here = next
  }
  return at
}

/** The plain value: maps become objects, everything else is text. */
export const valueOf = (placed: Placed): unknown => {
  if (placed.kind === "text") return placed.text
  if (placed.kind === "list") return placed.items.map(valueOf)
  return Object.fromEntries([...placed.entries].map(([name, { value }]) => [name, valueOf(value)]))
}

interface Walk {
  readonly place: (offset: number) => Place
  readonly problems: Array<Problem>
  /** Undefined while the value behind the anchor is being read. */
  readonly anchors: Map<string, Placed | undefined>
  left: number
}

const complain = (walk: Walk, at: Place, message: string, remedy: string): void => {
  walk.problems.push({ ...at, message, remedy })
}

const entriesOf = (
  pairs: ReadonlyArray<Pair>,
  at: Place,
  walk: Walk,
  level: number,
): ReadonlyMap<string, PlacedEntry> => {
  const entries = new Map<string, PlacedEntry>()
  if (pairs.length > namesMax) {
    complain(walk, at, `a map with more than ${namesMax} names`, "divide it")
    return entries
  }
  for (const pair of pairs) {
    const start = (pair.key as Node | null)?.range?.[0]
    const name = start === undefined ? at : walk.place(start)
    const key = isScalar(pair.key) ? String(pair.key.value ?? "") : undefined
    const value = placedOf(pair.value as Node | null, name, walk, level + 1)
    const first = key === undefined ? undefined : entries.get(key)
    if (key === undefined) complain(walk, name, "a list or a map cannot be a name", "write a word")
    else if (key === "__proto__" || key === "") complain(walk, name, `"${key}" cannot be a name`, "write a word")
    else if (first === undefined) entries.set(key, { name, value })
    else {
      complain(
        walk,
        name,
        `"${key}" is given twice, first on line ${first.name.line}: keys are unique`,
        "keep one of the two",
      )
      entries.set(key, { ...first, value: both(first.value, value) })
    }
  }
  return entries
}

/** Merges the values of a key given twice, the first one winning, so that mistakes in both are found. */
const both = (first: Placed, second: Placed): Placed => {
  if (first.kind === "map" && second.kind === "map")
    return { ...first, entries: new Map([...first.entries, ...second.entries, ...first.entries]) }
  if (first.kind === "list" && second.kind === "list") return { ...first, items: [...first.items, ...second.items] }
  return first
}

const aliasOf = (alias: Alias, at: Place, walk: Walk): Placed => {
  const { source } = alias
  const known = walk.anchors.get(source)
  if (known !== undefined) {
    walk.left -= sizeOf(known)
    return walk.left < 0 ? { kind: "text", at, text: "" } : known
  }
  if (walk.anchors.has(source)) complain(walk, at, `"*${source}" contains itself`, "write the values out")
  else complain(walk, at, `nothing above is called "&${source}"`, "name it, or write the values out")
  return { kind: "text", at, text: "" }
}

const sizes = new WeakMap<Placed, number>()

const sizeOf = (placed: Placed): number => {
  const known = sizes.get(placed)
  if (known !== undefined) return known
  const parts = placed.kind === "list" ? placed.items : placed.kind === "map" ? valuesIn(placed.entries) : []
  const size = parts.reduce((sum, part) => sum + sizeOf(part), 1)
  sizes.set(placed, size)
  return size
}

const valuesIn = (entries: ReadonlyMap<string, PlacedEntry>): ReadonlyArray<Placed> =>
  [...entries.values()].map(({ value }) => value)

const placedOf = (node: Node | null, parent: Place, walk: Walk, level: number): Placed => {
  const at = node?.range == null ? parent : walk.place(node.range[0])
  const none: Placed = { kind: "text", at, text: "" }
  walk.left -= 1
  if (node === null) return none
  if (node instanceof Alias) return aliasOf(node, at, walk)
  if (level > levelsMax) {
    complain(walk, at, `more than ${levelsMax} levels`, "write it flatter")
    return none
  }
  const anchor = (node as { readonly anchor?: string }).anchor
  if (anchor !== undefined) walk.anchors.set(anchor, undefined)
  let placed: Placed = none
  if (isScalar(node)) placed = { kind: "text", at, text: String(node.value ?? "") }
  else if (isSeq(node)) {
    placed = { kind: "list", at, items: node.items.map((item) => placedOf(item as Node | null, at, walk, level + 1)) }
  } else if (isMap(node)) {
    placed = { kind: "map", at, entries: entriesOf(node.items.filter(isPair), at, walk, level) }
  }
  if (anchor !== undefined) walk.anchors.set(anchor, placed)
  return placed
}

/** The parser creates an Error for each fault, and its stack is the largest cost. */
const withoutStacks = <A>(parse: () => A): A => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return parse()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Remedy of a syntax error, where there is a single one. */
const remedies: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "indent with spaces",
  TAG_RESOLVE_FAILED: "remove the tag: every value is read as the text that is written",
  BAD_INDENT: "indent this line like the others of its map or list",
  BLOCK_AS_IMPLICIT_KEY: "indent the next line like this one, or write the value in quotes",
}

/** A syntax error in plain words: the parser calls a name before ":" an implicit key. */
const syntaxText = ({ code, message }: { readonly code: string; readonly message: string }) => {
  if (message.startsWith("Implicit "))
    return { says: 'is not "name: value"', remedy: 'write a space after ":", or close a quote that begins here' }
  const bracket = /^Flow .* end with a ([}\]])/.exec(message)?.[1]
  if (bracket !== undefined) {
    const says = `no "${bracket}" closes the map or list in brackets before this line`
    return { says, remedy: `write "${bracket}" at the end of the line before, or indent this line more` }
  }
  if (message.startsWith("Sequence item without "))
    return { says: "neither an item of the list nor a key of the item above", remedy: remedies["BAD_INDENT"]! }
  if (code === "MULTIPLE_DOCS") return { says: "a second document begins", remedy: 'remove the line "---"' }
  const remedy = message.startsWith("Missing closing ")
    ? "close the quote that begins on a line before"
    : (remedies[code] ?? "correct the YAML there, or on the line before")
  const says = code === "BLOCK_AS_IMPLICIT_KEY" ? "a map begins within this value" : (message.split("\n")[0] ?? code)
  return { says, remedy }
}

/** Parses YAML as text with places. Where there are problems, the tree is only what could be read. */
export const parsePlaced = (
  file: string,
  text: string,
): { readonly tree: Placed; readonly problems: ReadonlyArray<Problem> } => {
  const counter = new LineCounter()
  const place = (offset: number): Place => {
    const { line, col } = counter.linePos(offset)
    return { file, line: Math.max(1, line), column: Math.max(1, col) }
  }
  const none: Placed = { kind: "text", at: { file, line: 1, column: 1 }, text: "" }
  const problems: Array<Problem> = []
  const walk: Walk = { place, problems, anchors: new Map(), left: valuesMax }
  try {
    const options = { schema: "failsafe", lineCounter: counter, prettyErrors: false, uniqueKeys: false } as const
    const parsed = withoutStacks(() => parseDocument(text, { ...options, logLevel: "error" }))
    // Later problems mostly follow from the first syntax error.
    const [first] = [...parsed.errors, ...parsed.warnings].toSorted((a, b) => a.pos[0] - b.pos[0])
    if (first !== undefined) {
      const { says, remedy } = syntaxText(first)
      complain(walk, place(first.pos[0]), says, remedy)
      return { tree: none, problems }
    }
    const tree = placedOf(parsed.contents as Node | null, none.at, walk, 0)
    if (walk.left < 0)
      complain(walk, none.at, `its aliases unfold into more than ${valuesMax} values`, "write them out")
    return { tree: walk.left < 0 ? none : tree, problems }
  } catch (error) {
    // The parser fails on a file that is nested too deeply.
    if (!(error instanceof Error)) throw error
    return {
      tree: none,
      problems: [{ ...none.at, message: `cannot be read: ${error.message}`, remedy: "write it flatter" }],
    }
  }
}

/** One value of a treasury, with its position. */
interface Origin {
  readonly path: string
  readonly value: string
  readonly at: Place
}

/** Addresses of receivers often contain a token; other secrets are in files. */
const isSecret = (path: string): boolean =>
  /^alerts\.(heartbeat\.url|receivers\.[^.]+\.[^.]+\.(url|headers\.[^.]+))$/.test(path)

const masked = "***"

/** Every value in the order in which it stands, secrets masked. */
export const originsOf = (placed: Placed, path = ""): ReadonlyArray<Origin> => {
  const under = (name: string) => (path === "" ? name : `${path}.${name}`)
  if (placed.kind === "text") return [{ path, value: isSecret(path) ? masked : placed.text, at: placed.at }]
  const parts =
    placed.kind === "list"
      ? placed.items.flatMap((item, i) => originsOf(item, under(String(i))))
      : [...placed.entries].flatMap(([name, { value }]) => originsOf(value, under(name)))
  return parts.length > 0 ? parts : [{ path, value: placed.kind === "list" ? "[]" : "{}", at: placed.at }]
}
