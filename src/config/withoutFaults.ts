import type { Complaint } from "./decodeAll.ts"

type Path = ReadonlyArray<PropertyKey>
type Values = Record<PropertyKey, unknown>

/** Maps whose names other parts of the file speak of. */
const named: ReadonlyArray<Path> = [
  ["assets"],
  ["parties"],
  ["addresses"],
  ["alerts", "receivers"],
  ["approvals"],
  ["hours"],
]

/** What stands for the network while its own faults are told. */
const noNetwork = { chainId: "none", gateways: { none: "https://gateway.example" } }

/** The part that goes with a fault: the innermost entry of a list or of a map of names, or the part of the file. */
const lossOf = ({ path, at, meant }: Complaint): Path => {
  // Without the key that was meant, the rest of the entry would be told to lack it.
  if (at === "name" && meant === undefined) return path
  const list = path.findLastIndex((step) => typeof step === "number")
  const entry = named.find((map) => path.length > map.length && map.every((step, i) => step === path[i]))
  if (list >= 0) return path.slice(0, list + 1)
  return path.slice(0, entry === undefined ? 1 : entry.length + 1)
}

const marked = Symbol("lost")

const lose = (value: unknown, path: Path): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return marked
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? lose(item, rest) : item))
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return value
  return { ...value, [step]: lose((value as Values)[step], rest) }
}

const swept = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => item !== marked).map(swept)
  if (typeof value !== "object" || value === null) return value
  const kept = Object.entries(value).filter(([, inner]) => inner !== marked)
  return Object.fromEntries(kept.map(([name, inner]) => [name, swept(inner)]))
}

/** The way to a value before parts were lost: those after a lost item of a list have moved up. */
const before = (value: unknown, path: Path): Path => {
  const [step, ...rest] = path
  if (step === undefined) return []
  if (!Array.isArray(value)) return [step, ...before((value as Values | undefined)?.[step], rest)]
  const kept = value.flatMap((item, i) => (item === marked ? [] : [i]))
  const index = kept[Number(step)] ?? Number(step)
  return [index, ...before(value[index], rest)]
}

const nameOf = (value: unknown, path: Path): unknown =>
  [...path, "name"].reduce<unknown>((inner, step) => (inner as Values | undefined)?.[step], value)

export interface Rest {
  readonly value: unknown
  readonly lost: ReadonlySet<string>
  readonly isLost: (path: Path) => boolean
  /** Where the value that now stands at a path is written. */
  readonly original: (path: Path) => Path
}

/**
 * A treasury file as read, without the parts that a schema refuses, so that the rest can be looked at as well; and the
 * names that it lost: what is said about those would only follow from faults that are told already.
 */
export const withoutFaults = (value: unknown, complaints: ReadonlyArray<Complaint>): Rest => {
  const losses = complaints.map(lossOf)
  const lost = new Set(losses.filter(({ length }) => length > 1).map((path) => String(path.at(-1))))
  for (const path of losses) {
    if (path.length === 2 && path[0] === "rules") lost.add(String(nameOf(value, path)))
  }
  const holed = losses.reduce(lose, value)
  const rest = swept(holed) as Values
  const complete = { version: "1", network: noNetwork, ...rest }
  const parts = new Set(losses.flatMap((path) => (path.length === 1 ? [path[0]] : [])))
  if (!Object.hasOwn(rest, "network")) parts.add("network")
  for (const [part] of named) {
    if (parts.has(part)) for (const name of Object.keys(((value as Values)[part!] ?? {}) as Values)) lost.add(name)
  }
  const isLost = ([part]: Path) => part !== undefined && parts.has(part)
  return { value: complete, lost, isLost, original: (path) => before(holed, path) }
}
