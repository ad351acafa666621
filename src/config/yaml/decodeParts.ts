import { Effect, type Schema } from "effect"
import { type ConfigError, inOrder, type Problem } from "./ConfigError.ts"
import { decodeAll, valueAt } from "./decodeAll.ts"
import { documentOf, type Place, type Placed, type PlacedEntry, placeOf, valueOf, type YamlDocument } from "./Yaml.ts"

type Path = ReadonlyArray<PropertyKey>

interface Parts {
  /** Where the decoded value stands in the document. */
  readonly under?: Path
  /** Maps and lists whose names other parts refer to: where one is left out as a whole, nothing else is judged. */
  readonly naming?: ReadonlyArray<Path>
  /** Values in place of required keys that are left out. */
  readonly instead?: Readonly<Record<PropertyKey, Placed>>
}

/** The readable part of a document: malformed values are left out, so that the rest is checked too. */
interface Decoded<A> {
  /** Mistakes of form. */
  readonly problems: ReadonlyArray<Problem>
  /** Undefined where too little is left to judge the rest by. */
  readonly value: A | undefined
  /** Places of the values left out. In a list, later items move up. */
  readonly left: ReadonlyArray<Path>
  /** Names of parts that are left out, whole or in part. */
  readonly lost: ReadonlySet<unknown>
  /** The rest of the document, for problems in `value`: they have the lines of the file. */
  readonly document: YamlDocument
  /** The path in `value` of a problem that this document made. */
  readonly pathOf: (problem: Problem) => Path
  /** True if a problem may be only the consequence of what is left out. */
  readonly isConsequence: (problem: Problem) => boolean
}

/** Each round leaves out more; a file that still does not decode is judged by its form alone. */
const roundsMax = 20

/** The part of the tree that the path leads to. */
const partAt = (tree: Placed, path: Path): Placed | undefined =>
  path.reduce<Placed | undefined>((part, step) => {
    if (part?.kind === "list") return part.items[Number(step)]
    return part?.kind === "map" ? part.entries.get(String(step))?.value : undefined
  }, tree)

const beginsWith = (path: Path, start: Path): boolean => start.every((step, i) => path[i] === step)

/** The tree with the map or list changed that the path leads to. */
const inside = (here: Placed, [step, ...rest]: Path, change: (part: Placed) => Placed): Placed => {
  if (step === undefined) return change(here)
  if (here.kind === "list") {
    return { ...here, items: here.items.map((item, i) => (i === step ? inside(item, rest, change) : item)) }
  }
  const entry = here.kind === "map" ? here.entries.get(String(step)) : undefined
  if (here.kind !== "map" || entry === undefined) return here
  const entries = new Map(here.entries).set(String(step), { ...entry, value: inside(entry.value, rest, change) })
  return { ...here, entries }
}

/**
 * A map or list with other names for some of its items, without those whose name is undefined or taken: of several with
 * one name the last has it.
 */
const renamed = (part: Placed, names: ReadonlyMap<PropertyKey, string | undefined>): Placed => {
  if (part.kind === "list") return { ...part, items: part.items.filter((_, i) => !names.has(i)) }
  if (part.kind === "text") return part
  const last = new Map([...part.entries.keys()].map((key) => [names.get(key), key]))
  const entries = [...part.entries].flatMap(([key, entry]): ReadonlyArray<readonly [string, PlacedEntry]> => {
    if (!names.has(key)) return [[key, entry]]
    const name = names.get(key)
    return name === undefined || part.entries.has(name) || last.get(name) !== key ? [] : [[name, entry]]
  })
  return { ...part, entries: new Map(entries) }
}

const withKey = (part: Placed, key: PropertyKey, value: Placed): Placed =>
  part.kind === "map" ? { ...part, entries: new Map(part.entries).set(String(key), { name: part.at, value }) } : part

/**
 * Decodes the part of a document under a path, strictly, and what is left of one that has mistakes of form. A misspelt
 * key is read as the one that was most likely meant.
 */
export const decodeParts = <A>(
  schema: Schema.ConstraintDecoder<A>,
  whole: YamlDocument,
  { under = [], naming = [], instead = {} }: Parts = {},
): Decoded<A> => {
  let { tree } = whole
  const problems: Array<Problem> = []
  const left: Array<Path> = []
  const lost = new Set<unknown>()
  /** Maps and lists that something is left out of, directly or further inside. */
  const thinned = new Set<Place>()
  /** Values that are wrong perhaps only since a key in them, or their own, is unknown. */
  const doubtful = new Set<Place>()
  const placeAt = (path: Path) => placeOf(tree, path, "value")
  /** A value beside or around one that is left out may be faulty only because of that. */
  const isBeside = (path: Path) => path.length === 0 || thinned.has(placeAt(path.slice(0, -1)))

  /** Its value alone is made: that of the whole document, for each of many mistakes, would take a minute. */
  const leftAt = (path: Path): unknown => {
    const part = partAt(tree, path)
    return part && valueOf(part)
  }

  /** False where too little is left. */
  const leaveOut = (path: Path): boolean => {
    const [parent, key] = [path.slice(0, -1), path.at(-1)!]
    const place = instead[key]
    const isReplaced = path.length === under.length + 1 && place !== undefined
    if (path.length <= under.length || naming.some((one) => one.length === path.length && beginsWith(path, one))) {
      return false
    }
    if (!isReplaced && partAt(tree, path) === undefined) return partAt(tree, parent) === undefined || leaveOut(parent)
    left.push(path)
    for (const { length } of naming.filter((one) => beginsWith(path, one))) {
      const [name, item] = [path[length], leftAt(path.slice(0, length + 1))]
      for (const one of typeof name === "number" ? [item, valueAt(item, ["name"]), valueAt(item, ["symbol"])] : [name])
        lost.add(one)
    }
    for (const i of path.keys()) thinned.add(placeAt(path.slice(0, i)))
    tree = inside(tree, parent, (part) =>
      isReplaced ? withKey(part, key, place) : renamed(part, new Map([[key, undefined]])),
    )
    return true
  }

  const decodeLeft = (): A | undefined => {
    for (let round = 0; round < roundsMax; round++) {
      const value = tree === whole.tree ? valueAt(whole.value, under) : leftAt(under)
      const decoded = decodeAll(schema, value, under)
      if ("value" in decoded) return decoded.value
      const unknown = decoded.complaints.filter((one) => one.unknown !== undefined)
      const found =
        unknown.length > 0
          ? unknown
          : decoded.complaints.filter(({ path }) => !isBeside(path) && !doubtful.has(placeAt(path)))
      for (const { path, message, remedy, at: part } of found) {
        problems.push({ ...placeOf(tree, path, part ?? "value"), message, remedy })
      }
      // All of a map at once: to copy it for each of thousands would take seconds.
      for (const same of Map.groupBy(unknown, ({ path }) => placeAt(path.slice(0, -1))).values()) {
        const parent = same[0]!.path.slice(0, -1)
        for (const { path, unknown: key } of same) doubtful.add(placeAt(key?.meant === undefined ? parent : path))
        const names = new Map(same.map(({ path, unknown: key }) => [path.at(-1)!, key?.meant]))
        tree = inside(tree, parent, (part) => renamed(part, names))
      }
      if (unknown.length > 0) continue
      // From the end, so that the places of a list's other items stay.
      for (const { path } of decoded.complaints.toReversed()) if (!leaveOut(path)) return undefined
    }
    return undefined
  }

  const decoded = decodeLeft()
  const document = documentOf({ ...whole, tree })
  const paths = new WeakMap<Problem, Path>()
  const pathOf = (problem: Problem) => paths.get(problem) ?? []
  return {
    problems,
    value: decoded,
    left,
    lost,
    document: {
      ...document,
      problem: (path, ...rest) => {
        const problem = document.problem(path, ...rest)
        paths.set(problem, path)
        return problem
      },
    },
    pathOf,
    isConsequence: (problem) => {
      const path = pathOf(problem)
      return isBeside(path) || [...path, valueAt(document.value, path)].flat().some((one) => lost.has(one))
    },
  }
}

/**
 * Decodes the value under `path` by a schema, strictly: an unknown key is a problem that names the nearest known one.
 * All problems are found, each with its line.
 */
export const decodeYaml = <A>(
  schema: Schema.ConstraintDecoder<A>,
  document: YamlDocument,
): Effect.Effect<A, ConfigError> =>
  Effect.suspend(() => {
    const { problems, value } = decodeParts(schema, document)
    return value !== undefined && problems.length === 0 ? Effect.succeed(value) : Effect.fail(inOrder(problems))
  })
