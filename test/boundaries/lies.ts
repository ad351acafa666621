import { Effect, type Scope } from "effect"
import { type Front, type Manner, type Passed, startFront } from "../support/Fronts.ts"

/** Limits of integers: of 32 bits, a double, our own bounds, 64 bits and amounts; and values below zero. */
export const boundaries: ReadonlyArray<bigint> = [
  ...[31n, 32n, 53n, 63n, 64n, 128n, 256n].flatMap((bits) => [
    2n ** bits - 1n,
    2n ** bits,
    -(2n ** bits),
    -(2n ** bits) - 1n,
  ]),
  ...[-1n, 0n, 1n, 9n * 10n ** 18n, 9n * 10n ** 18n + 1n],
]

/** A value of an answer that is an integer, or a time: its route, and its keys with "*" for each place in a list. */
export interface Place {
  readonly route: string
  readonly keys: string
  /** An answer that has it. */
  readonly sample: unknown
}

export interface Lie extends Omit<Place, "sample"> {
  readonly value: bigint
}

export const routeOf = (method: string, path: string): string => `${method} ${path.replace(/[0-9a-fA-F]{64}/g, "*")}`

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const isInteger = (value: unknown): boolean =>
  typeof value === "number" || (typeof value === "string" && (/^-?\d+$/.test(value) || time.test(value)))

/** The document with another value wherever `change` gives one. */
export const rewrite = (value: unknown, change: (keys: string, old: unknown) => unknown, keys = ""): unknown => {
  if (Array.isArray(value)) return value.map((one) => rewrite(one, change, `${keys}.*`))
  if (typeof value !== "object" || value === null) return change(keys, value)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, rewrite(one, change, `${keys}.${key}`)]))
}

/** All integers and times of an answer. */
export const integersOf = (document: unknown): ReadonlySet<string> => {
  const found = new Set<string>()
  rewrite(document, (keys, old) => {
    if (isInteger(old)) found.add(keys)
    return old
  })
  return found
}

/** JSON form of a value: that of the one it replaces, text, or number. */
export type Form = "as it was" | "text" | "number"

/** The value as JSON: all digits of a number, even beyond a double; for a time, the year of that number. */
const jsonOf = (old: unknown, value: bigint, form: Form): string => {
  if (form === "number" || (form === "as it was" && typeof old === "number")) return value.toString()
  const isTime = form === "as it was" && typeof old === "string" && time.test(old)
  return JSON.stringify(isTime ? `${value}-01-01T00:00:00Z` : value.toString())
}

/** The document as JSON with the value in all places of these keys. */
export const withBoundary = (document: unknown, keys: string, value: bigint, form: Form = "as it was"): string => {
  const texts: Array<string> = []
  const marked = rewrite(document, (at, old) => {
    if (at !== keys || !isInteger(old)) return old
    texts.push(jsonOf(old, value, form))
    return `@${texts.length - 1}@`
  })
  return JSON.stringify(marked).replace(/"@([0-9]+)@"/g, (_, i) => texts[Number(i)]!)
}

export const headers = "headers"

const withLie = (answer: Passed, route: string, lie: Lie): Passed => {
  if (lie.route === headers && lie.keys in answer.headers) {
    return { ...answer, headers: { ...answer.headers, [lie.keys]: lie.value.toString() } }
  }
  if (lie.route !== route) return answer
  try {
    return { ...answer, text: withBoundary(JSON.parse(answer.text), lie.keys, lie.value) }
  } catch {
    return answer
  }
}

/** A gateway that changes one value or none, and records the values that it could change. */
export interface Liar {
  lie: Lie | undefined
  readonly places: Map<string, Place>
}

export const makeLiar = (): Liar => ({ lie: undefined, places: new Map() })

const notePlaces = ({ places }: Liar, route: string, { text, headers: sent }: Passed): void => {
  const add = (place: Place) => places.set(`${place.route}${place.keys}`, place)
  for (const keys of ["x-block-height", "x-block-timestamp"]) {
    if (keys in sent) add({ route: headers, keys, sample: undefined })
  }
  const sample: unknown = JSON.parse(text)
  for (const keys of integersOf(sample)) add({ route, keys, sample })
}

const mannerOf =
  (liar: Liar): Manner =>
  async ({ method, url }, ask) => {
    const answer = await ask()
    const route = routeOf(method, url.pathname)
    if (liar.lie !== undefined) return withLie(answer, route, liar.lie)
    notePlaces(liar, route, answer)
    return answer
  }

/** Starts the liar as a proxy of the network; returns its address. */
export const startLiar =
  (liar: Liar) =>
  (network: string): Effect.Effect<string, never, Scope.Scope> =>
    Effect.map(startFront("liar", network), (front: Front) => {
      front.manner = mannerOf(liar)
      return front.server.url
    })
