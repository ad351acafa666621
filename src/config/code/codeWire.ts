import type { Problem } from "../yaml/ConfigError.ts"

/** Longest line of JSON between a rules file's process and this one. */
export const lineCharsMax = 4_000_000
const nodesMax = 100_000
const levelsMax = 60

/** A value of a rules file, or a result of its code, as JSON. A function stays in its process: `f` is its number. */
type Wire =
  | string
  | { readonly f: number }
  | { readonly a: ReadonlyArray<Wire> }
  | { readonly o: ReadonlyArray<readonly [string, Wire]> }
  | { readonly p: "undefined" | "number" | "boolean" | "null" | "bigint" | "symbol"; readonly v: string }
  /** A promise, or another object with `then`. */
  | { readonly t: 1 }

/** Text of an error. */
export interface Thrown {
  readonly message: string
  readonly stack: string
  readonly code: string
}

/** Input of a function: amounts as digits. */
export interface WireSeen {
  readonly balances: ReadonlyArray<readonly [string, string]>
  readonly one: string
  readonly assets: ReadonlyArray<readonly [string, readonly [one: string, decimals: number, status: string]]>
  readonly time: number
}

export type CodeRequest =
  /** `id`: the id by which its functions are called. */
  | { readonly op: "load"; readonly id: number; readonly file: string }
  | { readonly op: "ask"; readonly id: number; readonly f: number; readonly seen: WireSeen }

/** A request with a number. Its reply has the same number; others are ignored. */
export type Numbered = CodeRequest & { readonly n: number }

/** Result of one call, and whether the function read the time. */
export type CodeReply = ({ readonly v: Wire } | { readonly e: Thrown }) & { readonly timed: boolean }

export type Reply =
  /** `rules`: undefined where it exports none. */
  | { readonly loaded: { readonly rules: Wire | undefined } }
  | { readonly fault: Problem }
  | { readonly thrown: Thrown }
  | { readonly told: CodeReply }
  /** Requests the text of a file. The next line has it as `text`, or no `text` where there is no such file. */
  | { readonly file: string }

/** Source of a regular expression that matches exactly the text. */
export const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")

/** Line and column of an offset, from 1. */
export const placeAt = (file: string, text: string, offset: number) => {
  const before = text.slice(0, Math.max(0, offset)).split("\n")
  return { file, line: before.length, column: before.at(-1)!.length + 1 }
}

/** Encodes a value; its functions are appended to the list. Throws if it is larger than any file of rules. */
export const encode = (value: unknown, functions: Array<unknown>): Wire => {
  let nodes = 0
  const walk = (one: unknown, level: number): Wire => {
    if (++nodes > nodesMax) throw new Error("it has more than 100,000 values")
    if (typeof one === "string") return one
    if (typeof one === "function") return { f: functions.push(one) - 1 }
    if (typeof one === "undefined") return { p: "undefined", v: "undefined" }
    if (one === null) return { p: "null", v: "null" }
    if (typeof one !== "object") {
      return { p: typeof one as "number" | "boolean" | "bigint" | "symbol", v: String(one) }
    }
    if (typeof (one as { readonly then?: unknown }).then === "function") return { t: 1 }
    // The reader reports deeper values as too deep.
    if (level > levelsMax) return { o: [] }
    if (Array.isArray(one)) return { a: Array.from(one, (item) => walk(item, level + 1)) }
    return { o: Object.entries(one).map(([name, inner]) => [name, walk(inner, level + 1)] as const) }
  }
  return walk(value, 0)
}

/** Rebuilds an encoded value. `functionOf` stands in for the functions. Throws on input that no encoder writes. */
export const decode = (wire: unknown, functionOf: (f: number) => unknown): unknown => {
  let nodes = 0
  const walk = (one: unknown, level: number): unknown => {
    if (++nodes > nodesMax || level > levelsMax + 2) throw new Error("not an answer of the runner")
    if (typeof one === "string") return one
    if (typeof one !== "object" || one === null) throw new Error("not an answer of the runner")
    const { f, a, o, p, v, t } = one as Readonly<Record<string, unknown>>
    if (Number.isSafeInteger(f)) return functionOf(f as number)
    // biome-ignore lint/suspicious/noThenProperty: what is thenable there is so here
    if (t === 1) return { then: () => {} }
    if (Array.isArray(a)) return a.map((item) => walk(item, level + 1))
    if (Array.isArray(o)) {
      const entries = o.map((entry: unknown) => {
        if (!Array.isArray(entry) || typeof entry[0] !== "string") throw new Error("not an answer of the runner")
        return [entry[0], walk(entry[1], level + 1)] as const
      })
      return Object.fromEntries(entries)
    }
    return plainOf(String(p), String(v))
  }
  return walk(wire, 0)
}

const plainOf = (kind: string, text: string): unknown => {
  if (kind === "undefined") return undefined
  if (kind === "null") return null
  if (kind === "number") return Number(text)
  if (kind === "boolean") return text === "true"
  if (kind === "symbol") return Symbol(text.replace(/^Symbol\((.*)\)$/s, "$1"))
  if (kind === "bigint" && /^-?[0-9]{1,400}$/.test(text)) return BigInt(text)
  throw new Error("not an answer of the runner")
}

const wordsMax = 4_000

/** Text of an error, length-limited; foreign code may throw anything. */
export const thrownBy = (error: unknown): Thrown => {
  try {
    const isError = error instanceof Error
    const message = isError ? error.message : String(error)
    const { stack, code } = (isError ? error : {}) as { readonly stack?: unknown; readonly code?: unknown }
    return {
      message: String(message).slice(0, wordsMax),
      stack: String(stack).slice(0, wordsMax),
      code: String(code ?? "").slice(0, 100),
    }
  } catch {
    return { message: "its error cannot be read", stack: "", code: "" }
  }
}

/** Throws on an unknown name: code could take undefined for a balance of zero, and top it up. */
const namedOnly = <A>(what: string, values: Readonly<Record<string, A>>): Readonly<Record<string, A>> =>
  new Proxy(Object.freeze({ ...values }), {
    get: (known, name) => {
      if (typeof name === "symbol" || Object.hasOwn(known, name)) return Reflect.get(known, name) as unknown
      throw new Error(`its input has no ${what} "${name}"`)
    },
  })

/** Builds a function's input, frozen. */
const inputOf = ({ balances, one, assets, time }: WireSeen, onRead: () => void) => {
  const units = balances.map(([name, amount]) => [name, BigInt(amount)] as const)
  const known = assets.map(
    ([name, [unit, decimals, status]]) => [name, Object.freeze({ one: BigInt(unit), decimals, status })] as const,
  )
  return Object.freeze({
    balances: namedOnly("balance", Object.fromEntries(units)),
    one: BigInt(one),
    assets: namedOnly("asset", Object.fromEntries(known)),
    get time() {
      onRead()
      return time
    },
  })
}

/** Calls an operator's function. The reply shows if it read the time. */
export const askNeed = (need: unknown, seen: WireSeen): CodeReply => {
  let timed = false
  const input = inputOf(seen, () => {
    timed = true
  })
  try {
    return { v: encode((need as (seen: unknown) => unknown)(input), []), timed }
  } catch (error) {
    return { e: thrownBy(error), timed }
  }
}
