import { originsOf } from "../config/Placed.ts"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { type Output, printResult, table } from "./output.ts"

/** Prints every value that is in force, with the file, line and column that it comes from. */
export const printOrigins = (output: Output, treasury: Treasury, mode: Mode) => {
  const rows = originsOf(treasury.document.tree).map(({ path, value, at }) => ({
    path,
    value,
    at: `${at.file}:${at.line}:${at.column}`,
  }))
  const all =
    mode === treasury.mode
      ? rows
      : [...rows.filter(({ path }) => path !== "mode"), { path: "mode", value: mode, at: "COFFERER_MODE" }]
  return printResult(output, all, () => table(all.map(({ path, value, at }) => [path, value, at])))
}
