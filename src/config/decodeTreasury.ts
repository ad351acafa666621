import { TreasuryFile } from "./schema/TreasuryFile.ts"
import type { Problem } from "./yaml/ConfigError.ts"
import { decodeAll, nearest } from "./yaml/decodeAll.ts"
import type { YamlDocument } from "./yaml/Yaml.ts"

type Path = ReadonlyArray<PropertyKey>
type Node = Record<PropertyKey, unknown>

/** A document as far as it can be read: what is wrong in form is left out, so that the rest is checked as well. */
interface Decoded {
  /** Mistakes of form. */
  readonly problems: ReadonlyArray<Problem>
  /** Undefined where too little is left to judge the rest by. */
  readonly raw: TreasuryFile | undefined
  /** Places of what is left out. */
  readonly left: ReadonlyArray<Path>
  /** The document for problems in `raw`: places are those of the file. */
  readonly document: YamlDocument
  /** The place of a problem that this document made. */
  readonly pathOf: (problem: Problem) => Path
  /** True if a problem is only the consequence of what was left out. */
  readonly isConsequence: (problem: Problem) => boolean
}

/** Maps whose names the rest of the file refers to. */
const naming: ReadonlyArray<string> = ["parties", "assets", "addresses", "hours", "approvals"]
/** A network in place of one that is left out: nothing else is checked against it. */
const someNetwork = { chainId: "unknown", gateways: { unknown: "https://gateway.invalid" } }
/** Each round leaves out more; a file that still does not decode is judged by its form alone. */
const roundsMax = 12

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inner, step) => (inner as Node)?.[step], value)

/** Items of lists keep their places: `kept` has the first place of each that is left, by the path of its list. */
type Kept = Map<string, Array<number>>

const placeIn = (kept: Kept, path: Path): Path => {
  const place: Array<PropertyKey> = []
  for (const step of path) {
    place.push(typeof step === "number" ? (kept.get(JSON.stringify(place))?.[step] ?? step) : step)
  }
  return place
}

const leaveOut = (value: unknown, path: Path, kept: Kept): void => {
  const [parent, step] = [path.slice(0, -1), path.at(-1)!]
  const holder = at(value, parent)
  if (Array.isArray(holder)) {
    const key = JSON.stringify(placeIn(kept, parent))
    const places = kept.get(key) ?? [...holder.keys()]
    places.splice(Number(step), 1)
    kept.set(key, places)
    holder.splice(Number(step), 1)
  } else delete (holder as Node)[step]
}

/** The name that others may refer to, of the party, asset, receiver or rule that a path leads into. */
export const nameIn = (path: Path, value: unknown): ReadonlyArray<unknown> => {
  const [section, name, inner] = path
  if (section === "rules") return [at(value, ["rules", name!, "name"])]
  return section === "alerts" && name === "receivers" ? [inner] : [name]
}

const beginsWith = (path: Path, start: Path): boolean => start.every((step, i) => path[i] === step)

/** The part that may be wrong only since the key is left out. */
const around = (path: Path): Path => {
  if (path[0] === "network") return ["network"]
  return typeof path.at(-1) === "number" || path.length < 3 ? path : path.slice(0, -1)
}

/** Decodes a treasury file, and what is left of one that has mistakes of form. */
export const decodeTreasury = (document: YamlDocument): Decoded => {
  const first = decodeAll(TreasuryFile, document.value)
  const complaints = "value" in first ? [] : first.complaints
  const left: Array<Path> = []
  const kept: Kept = new Map()
  const raw = "value" in first ? first.value : decodeLeft(document.value, left, kept)
  const names = new Set(left.flatMap((path) => nameIn(path, document.value)))
  const paths = new WeakMap<Problem, Path>()
  const pathOf = (problem: Problem) => paths.get(problem) ?? []
  return {
    problems: complaints.map((c) => document.problem(c.path, c.message, c.remedy, c.at)),
    raw,
    left,
    document: {
      ...document,
      problem: (path, ...rest) => {
        const place = placeIn(kept, path)
        const problem = document.problem(place, ...rest)
        paths.set(problem, place)
        return problem
      },
    },
    pathOf,
    isConsequence: (problem) => {
      const path = pathOf(problem)
      const said = [...path, at(document.value, path)].flat()
      return (
        said.some((one) => one !== undefined && names.has(one)) ||
        left.map(around).some((inside) => beginsWith(path, inside) || beginsWith(inside, path))
      )
    },
  }
}

/** Leaves out what is wrong until the rest decodes; undefined where names get lost that the rest refers to. */
const decodeLeft = (value: unknown, left: Array<Path>, kept: Kept): TreasuryFile | undefined => {
  const rest = structuredClone(value) as Node
  for (let round = 0; round < roundsMax; round++) {
    const decoded = decodeAll(TreasuryFile, rest)
    if ("value" in decoded) return decoded.value
    const found = decoded.complaints
      .map(({ path }) =>
        at(rest, path) === undefined && at(rest, path.slice(0, -1)) !== undefined ? path.slice(0, -1) : path,
      )
      .toReversed()
    for (const path of found) {
      const [section, ...more] = path
      if (section === undefined) return undefined
      if (more.length === 0 && nearest(String(section), naming) !== undefined) return undefined
      // An earlier one of this round may have taken it along.
      if (at(rest, path) === undefined && section !== "version") continue
      left.push(placeIn(kept, path))
      if (section === "version") rest["version"] = "1"
      else if (section === "network" && more.length === 0) rest["network"] = someNetwork
      else leaveOut(rest, path, kept)
    }
  }
  return undefined
}
