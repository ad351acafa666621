import { Effect } from "effect"
import { type NotRead, readUtf8 } from "../config/readBytes.ts"
import type { ToldRow } from "../rehearsal/historyOf.ts"
import { failWith } from "./CliFailure.ts"

/** Takes rows, and asks for the place of the one that it looks at. */
type Take = (rows: Iterable<ToldRow>, place: () => string) => void

/** Hands over the rows of a file, CSV where it ends in .csv, else one JSON object a line. */
export const readRows = (file: string, take: Take) =>
  Effect.try({
    try: () => {
      const text = readUtf8(file, historyBytesMax)
      if (typeof text !== "string") throw new Error(reasonOf(text, file))
      let line = 0
      const place = () => `${file}:${line}`
      const at = (next: number) => {
        line = next
      }
      take(file.endsWith(".csv") ? csvRows(text, at, place) : jsonRows(text, at, place), place)
    },
    catch: (error) => failWith("failure", (error as Error).message),
  })

/** The longest text that can be had as one: some millions of rows. */
const historyBytesMax = 500_000_000

const reasonOf = ({ problem, code }: NotRead, file: string): string =>
  code === "ENOENT"
    ? `${file}: no such file; "export --what balances" and "--what payments" write such files`
    : `${file}: ${problem}; name a file that this process may read`

type At = (line: number) => void

const jsonRows = function* (text: string, at: At, place: () => string): Iterable<ToldRow> {
  for (const [i, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    at(i + 1)
    yield objectIn(line, place)
  }
}

const objectIn = (line: string, place: () => string): ToldRow => {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = undefined
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as ToldRow
  throw new Error(`${place()}: no JSON object; end the file's name in .csv if it is CSV, else write one object a line`)
}

const csvRows = function* (text: string, at: At, place: () => string): Iterable<ToldRow> {
  let columns: ReadonlyArray<string> | undefined
  for (const cells of csvCells(text.replace(/^\uFEFF/, ""), at, place)) {
    if (columns === undefined) columns = cells
    else if (cells.length > 1 || cells[0] !== "")
      yield Object.fromEntries(columns.map((name, i) => [name, cells[i] ?? ""]))
  }
}

/** Lines of cells by RFC 4180. */
const csvCells = function* (text: string, at: At, place: () => string): Iterable<ReadonlyArray<string>> {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  let cells: Array<string> = []
  let line = 1
  at(line)
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text)
    if (match === null)
      throw new Error(`${place()}: no CSV; put a cell with quotes or commas in quotes, and double them`)
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "")
    if (match[3] === ",") continue
    yield cells
    cells = []
    line += match[0].split("\n").length - 1
    at(line)
  }
}
