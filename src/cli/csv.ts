import { visibleLines } from "../domain/visible.ts"
import type { ExportRow } from "../status/exports.ts"

/** Characters with which a spreadsheet takes a cell for a formula. */
const formula = /^[=+\-@\t\r]/

/** One cell by RFC 4180; what a spreadsheet would compute gets an apostrophe before it. */
export const csvCell = (value: string | number | null): string => {
  if (value === null) return ""
  const seen = visibleLines(String(value))
  const text = typeof value === "string" && formula.test(value) ? `'${seen}` : seen
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Lines by RFC 4180, each with its end. */
export const csvLines = (rows: ReadonlyArray<ReadonlyArray<string | number | null>>): string =>
  rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("")

/** Rows as lines, the values in the order of the columns. */
export const csvText = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ExportRow>): string =>
  csvLines(rows.map((row) => columns.map((name) => row[name] ?? null)))
