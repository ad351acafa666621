import { readFileSync } from "node:fs"
import { Effect, Option } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { History } from "../rehearsal/History.ts"
import { type HistoryBook, makeHistoryBook, type ToldRow } from "../rehearsal/historyOf.ts"
import { failWith } from "./CliFailure.ts"
import { exportPages } from "./exportPages.ts"
import { readGateway } from "./readGateway.ts"
import type { Chosen } from "./setup.ts"

/** Columns and units of a file of balances, in one sentence. */
export const historyForm =
  "columns kind (opening or change), at (2026-11-21T10:00:00Z), party (name or publicKey), asset (symbol or id), " +
  "market (or empty), type (such as ACCOUNT_TYPE_GENERAL), balance (the new one, in base units)"

export interface HistoryAsked extends Chosen {
  readonly history: Option.Option<string>
  readonly payments: Option.Option<string>
}

/** The word that stands for the gateways themselves where a file could. */
const gateway = "gateway"

/** Whether the gateways are asked for the past. */
export const asksGateways = ({ history }: Pick<HistoryAsked, "history">): boolean =>
  Option.isSome(history) && history.value === gateway

/** The past as the gateways tell it, or files that `export` wrote, else the store. Times are Unix milliseconds. */
export const readHistory = Effect.fnUntraced(function* (chosen: HistoryAsked, treasury: Treasury, asked: Span) {
  if (Option.isSome(chosen.history) && !asksGateways(chosen)) {
    return { history: yield* readFiles(chosen.history.value, chosen.payments, treasury), unknown: [] }
  }
  if (!asksGateways(chosen)) return { history: yield* readStored(chosen, asked), unknown: [] }
  const { history, unknown } = yield* readGateway(treasury, asked)
  if (Option.isNone(chosen.payments)) return { history, unknown }
  const book = makeHistoryBook()
  book.addPayments(yield* rowsOf(chosen.payments.value))
  if (book.problems.length > 0) return yield* failWith("failure", `rows ${book.problems.join("\n")}`)
  return { history: { ...history, payments: book.history().payments }, unknown }
})

interface Span {
  readonly from: number | undefined
  readonly to: number | undefined
}

const readStored = Effect.fnUntraced(function* (chosen: HistoryAsked, asked: Span) {
  const span = { from: asked.from ?? 0, to: asked.to ?? Number.MAX_SAFE_INTEGER }
  const book = makeHistoryBook()
  yield* exportPages(chosen, { what: "balances", ...span }, ({ rows }) => Effect.sync(() => book.addBalances(rows)))
  // Payments are listed by their decision: one that was made within the span may have been decided before it.
  const decided = { ...span, from: Math.max(0, span.from - 86_400_000) }
  yield* exportPages(chosen, { what: "payments", ...decided }, ({ rows }) => Effect.sync(() => book.addPayments(rows)))
  return yield* checked(book)
})

const readFiles = Effect.fnUntraced(function* (
  file: string,
  payments: Option.Option<string>,
  { parties, assets }: Treasury,
) {
  const book = makeHistoryBook({
    parties: new Map([...parties.values()].map(({ name, publicKey }) => [name, publicKey])),
    assets: new Map([...assets.values()].map(({ symbol, id }) => [symbol, id])),
  })
  book.addBalances(yield* rowsOf(file))
  if (Option.isSome(payments)) book.addPayments(yield* rowsOf(payments.value))
  const strangers = [...book.strangers()].map(
    ([party, rows]) => `${rows} ${rows === 1 ? "row" : "rows"} of unknown party "${party}"`,
  )
  if (strangers.length > 0) {
    const known = `write its publicKey, or a name of the treasury file: ${[...parties.keys()].join(", ")}`
    return yield* failWith("failure", `${file}: ${strangers.slice(0, 5).join(", ")}; ${known}`)
  }
  const history = yield* checked(book)
  const keys = new Set<string>([...parties.values()].map(({ publicKey }) => publicKey))
  const ids = new Set<string>([...assets.values()].map(({ id }) => id))
  if (![...history.before, ...history.rows].some(({ party, asset }) => keys.has(party) && ids.has(asset))) {
    const remedy = "write their names, or publicKey and asset id, as in the treasury file"
    return yield* failWith("failure", `${file}: no row is of a party and an asset of the treasury; ${remedy}`)
  }
  return history
})

const checked = ({ problems, history }: HistoryBook): Effect.Effect<History, ReturnType<typeof failWith>> => {
  if (problems.length > 0) return Effect.fail(failWith("failure", `rows ${problems.join("\n")}`))
  const found = history()
  return found.before.length + found.rows.length > 0
    ? Effect.succeed(found)
    : Effect.fail(failWith("notFound", "no balance is known of that time; see backfill, or export --what balances"))
}

const rowsOf = (file: string) =>
  Effect.try({
    try: () => {
      const text = readFileSync(file, "utf8")
      return file.endsWith(".csv") ? csvRows(text) : jsonRows(text)
    },
    catch: (error) => failWith("failure", `${file}: ${error instanceof Error ? error.message : error}`),
  })

const jsonRows = function* (text: string): Iterable<ToldRow> {
  for (const line of text.split("\n")) if (line.trim() !== "") yield JSON.parse(line) as ToldRow
}

const csvRows = function* (text: string): Iterable<ToldRow> {
  let columns: ReadonlyArray<string> | undefined
  for (const cells of csvCells(text)) {
    if (columns === undefined) columns = cells
    else yield Object.fromEntries(columns.map((name, i) => [name, cells[i] ?? ""]))
  }
}

/** Lines of cells by RFC 4180. */
export const csvCells = function* (text: string): Iterable<ReadonlyArray<string>> {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  let cells: Array<string> = []
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text)
    if (match === null) throw new Error("is no CSV")
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "")
    if (match[3] === ",") continue
    yield cells
    cells = []
  }
}
