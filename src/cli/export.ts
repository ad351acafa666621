import { Effect, Option, Schema, SchemaGetter } from "effect"
import { Command, Flag } from "effect/cli"
import { visibleJson, visibleLines } from "../domain/visible.ts"
import { storeLayer } from "../services.ts"
import {
  type ExportAsked,
  type ExportPage,
  type ExportRow,
  exportColumns,
  exportKinds,
  exportPage,
} from "../status/exports.ts"
import { type CliFailure, failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { writeOut } from "./output.ts"
import { type Chosen, configFlag, dataDirOf, dataFlag } from "./setup.ts"
import { storedSetup } from "./throughDaemon.ts"

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

const pathOf = ({ what, from, to, after }: ExportAsked): string =>
  `/api/v1/export?what=${what}&from=${from}&to=${to}&after=${after}`

/** Page after page of an export, from the daemon or where none runs from its database: none is held as a whole. */
export const exportPages = Effect.fnUntraced(function* (
  chosen: Chosen,
  asked: Omit<ExportAsked, "after">,
  use: (page: ExportPage) => Effect.Effect<void, CliFailure>,
) {
  const dataDir = yield* dataDirOf(chosen)
  const answer = yield* control(dataDir, "GET", "/api/v1/live")
  if (answer !== undefined) {
    return yield* eachPage(asked, use, (page) =>
      Effect.flatMap(control(dataDir, "GET", pathOf(page)), (reply) =>
        reply === undefined
          ? Effect.fail(failWith("failure", "the daemon went away; what was read is not all"))
          : Effect.map(bodyOf(reply), (body) => body as ExportPage),
      ),
    )
  }
  return yield* eachPage(asked, use, exportPage).pipe(
    Effect.provide(storeLayer(yield* storedSetup(chosen, dataDir))),
    Effect.catchTag("StoreError", (error) => failWith("failure", error.message)),
  )
})

const eachPage = <E, R>(
  asked: Omit<ExportAsked, "after">,
  use: (page: ExportPage) => Effect.Effect<void, CliFailure>,
  read: (asked: ExportAsked) => Effect.Effect<ExportPage, E, R>,
) =>
  Effect.gen(function* () {
    for (let after: string | null = ""; after !== null; ) {
      const page: ExportPage = yield* read({ ...asked, after })
      yield* use(page)
      after = page.next
    }
  })

const dayMillis = 86_400_000
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text)

/** Begin and end of what a date or a time names, in Unix milliseconds; undefined where it names nothing. */
export const instantOf = (text: string): { readonly begin: number; readonly end: number } | undefined => {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const begin = isDay(text) || isTime ? Date.parse(text) : Number.NaN
  if (Number.isNaN(begin) || (isDay(text) && new Date(begin).toISOString().slice(0, 10) !== text)) return undefined
  return { begin, end: isDay(text) ? begin + dayMillis : begin }
}

const expected = "a date such as 2026-11-21, or a time such as 2026-11-21T08:00:00Z"
export const DateText = Schema.String.check(
  Schema.makeFilter((text) => instantOf(text) !== undefined, { expected }),
).pipe(
  Schema.decodeTo(Schema.Struct({ begin: Schema.Finite, end: Schema.Finite }), {
    decode: SchemaGetter.transform((text: string) => instantOf(text)!),
    encode: SchemaGetter.transform(({ begin }: { begin: number }) => new Date(begin).toISOString()),
  }),
)

export const exportCommand = Command.make(
  "export",
  {
    what: Flag.Literals("what", exportKinds).pipe(
      Flag.withDescription(
        "payments, the journal's entries, or the balances and their changes, as backtest reads them",
      ),
      Flag.withDefault("payments" as const),
    ),
    format: Flag.Literals("format", ["csv", "jsonl"]).pipe(
      Flag.withDescription("csv by RFC 4180, or one JSON object a line"),
      Flag.withDefault("csv" as const),
    ),
    from: Flag.String("from").pipe(
      Flag.withSchema(DateText),
      Flag.withDescription("From this day or time on (UTC)"),
      Flag.optional,
    ),
    to: Flag.String("to").pipe(
      Flag.withSchema(DateText),
      Flag.withDescription("Up to and with this day, or before this time (UTC)"),
      Flag.optional,
    ),
    config: configFlag,
    data: dataFlag,
  },
  Effect.fn(function* (chosen) {
    const { what, format } = chosen
    const from = Option.match(chosen.from, { onNone: () => 0, onSome: ({ begin }) => begin })
    const to = Option.match(chosen.to, { onNone: () => Number.MAX_SAFE_INTEGER, onSome: ({ end }) => end })
    if (from >= to) return yield* failWith("usage", "--from must be before --to")
    const columns = exportColumns[what]
    if (format === "csv") yield* writeOut(csvLines([columns]))
    yield* exportPages(chosen, { what, from, to }, ({ rows }) =>
      writeOut(
        format === "csv" ? csvText(columns, rows) : rows.map((row) => `${visibleJson(JSON.stringify(row))}\n`).join(""),
      ),
    )
  }),
).pipe(Command.withDescription("Write payments, the journal or balances to standard output"))
