import { DatabaseSync } from "node:sqlite"

/** Negated, both of its cases are wrong. */
export const half = (n: number): number | undefined => {
  if (n % 2 !== 0) return undefined
  return n / 2
}

/** Needless: what it keeps away comes out alike. */
export const doubled = (n: number): number => {
  if (n === 0) return n + n
  return 2 * n
}

/** Nothing calls it. */
export const tripled = (n: number): number => {
  if (n === 0) return 0
  return 3 * n
}

/** Negated, it never ends. */
export const awaited = (n: number): number => {
  while (true) {
    if (n > 0) return n
  }
}

const sql = (parts: TemplateStringsArray, ...values: ReadonlyArray<number>) =>
  new DatabaseSync(":memory:").prepare(parts.join("?")).get(...values)

/** Its last condition says the same as the one before. */
export const isBetween = (n: number, low: number, high: number): boolean =>
  sql`SELECT 1 AS found WHERE ${n} >= ${low} AND ${n} <= ${high} AND ${high} >= ${n}` !== undefined

/** What a mutant leaves behind would fail every later test of the process. */
export const left: Array<number> = []
export const note = (n: number): number => {
  if (n < 0) left.push(n)
  return left.length
}

/** Yields within a condition. */
export function* answers(): Generator<string, string, boolean> {
  if ((yield "first?") && (yield "second?")) return "both"
  return "not both"
}
