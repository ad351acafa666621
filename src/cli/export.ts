import { Effect, Option, Schema, SchemaGetter } from "effect"
import { Command, Flag } from "effect/cli"
import { visibleJson } from "../domain/visible.ts"
import { exportColumns, exportKinds } from "../status/exports.ts"
import { failWith } from "./CliFailure.ts"
import { csvLines, csvText } from "./csv.ts"
import { exportPages } from "./exportPages.ts"
import { writeOut } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"

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
