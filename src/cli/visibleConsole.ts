import type { Console } from "effect"
import { visibleLines } from "../domain/visible.ts"

const written = (values: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  values.map((value) => (typeof value === "string" ? visibleLines(value) : value))

/** A console that writes nothing unseen: texts of gateways, files and people reach a terminal by it. */
export const visibleConsole = (console: Console.Console): Console.Console => ({
  ...console,
  log: (...values) => console.log(...written(values)),
  error: (...values) => console.error(...written(values)),
  warn: (...values) => console.warn(...written(values)),
  info: (...values) => console.info(...written(values)),
})
