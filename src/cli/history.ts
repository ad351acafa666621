import { Clock, Console, Effect, Layer, Option } from "effect"
import {
  type History,
  type HistoryBook,
  type HistoryNames,
  type HistoryRow,
  isMistaken,
  makeHistoryBook,
  millisOf,
  type ToldRow,
  type UnknownName,
} from "../backtest/History.ts"
import type { Treasury } from "../config/Treasury.ts"
import { type NotRead, readUtf8 } from "../config/yaml/readBytes.ts"
import { general } from "../domain/AccountType.ts"
import type { BalanceChange } from "../domain/Balance.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { walkAssets } from "../gateway/walkPages.ts"
import { gatewayLayer } from "../layers.ts"
import { type HeldSpan, readSpan, type Tell } from "../poller/Backfill.ts"
import { failureOf, failWith } from "./common/output.ts"
import type { Chosen } from "./common/setup.ts"
import { exportPages } from "./receipt.ts"
import { layerMetrics } from "./run/logging.ts"

/** An account whose balance is not known before a moment (Unix milliseconds). */
export interface Unknown {
  readonly account: string
  readonly until: number
}

/** More rows than this do not fit into the memory of a command. */
const rowsMax = 5_000_000
const tellMillis = 5_000

/** The treasury's past as its gateways report it; nothing is stored. Times are Unix milliseconds. */
const readGateway = Effect.fnUntraced(
  function* (treasury: Treasury, span: { readonly from: number | undefined; readonly to: number | undefined }) {
    const from = nanosOf(span.from)
    const asked = { from, until: nanosOf(span.to), rowsMax }
    const held = yield* readSpan(treasury, asked, yield* makeProgress)
    if (held._tag === "Nothing") return yield* failWith("notFound", "the gateway has no balance change of that time")
    if (held._tag === "Unreadable") return yield* failWith("failure", held.detail)
    const history: History = {
      before: held.openings.map(rowOf),
      rows: held.rows.map(rowOf).sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
      gaps: from !== undefined && held.from > from ? [{ since: from, until: held.from }] : [],
      payments: [],
      parameters: yield* parameters,
      quanta: yield* quanta,
    }
    return { history, unknown: unknownOf(treasury, held, history) }
  },
  (effect, treasury) =>
    effect.pipe(
      Effect.provide(gatewayLayer({ treasury }).pipe(Layer.provide(layerMetrics(treasury)))),
      Effect.catchTag("GatewayError", failureOf),
    ),
)

const nanosOf = (millis: number | undefined): bigint | undefined =>
  millis === undefined ? undefined : BigInt(millis) * 1_000_000n

const rowOf = ({ timestamp: at, party, asset, market, type, balance }: BalanceChange): HistoryRow => ({
  at,
  party,
  asset,
  market,
  type,
  balance,
})

/** Reports progress on standard error every 5 s, and at the end. */
const makeProgress = Effect.map(Clock.currentTimeMillis, (begun): Tell => {
  let toldAt = begun
  return Effect.fnUntraced(function* (rows, { from, until, next }) {
    const now = yield* Clock.currentTimeMillis
    if (now - toldAt < tellMillis && next < until) return
    toldAt = now
    const percent = ((next - from) * 100n) / (until - from)
    yield* Console.error(`read ${rows} balance changes, ${percent} %, up to ${new Date(millisOf(next)).toISOString()}`)
  })
})

const parameters = Effect.flatMap(GatewayReader, (network) => network.parameters).pipe(
  Effect.catchReason("GatewayError", "Unsupported", () => Effect.succeed(new Map<string, string>())),
)

const quanta = Effect.gen(function* () {
  const { rows } = yield* walkAssets(yield* GatewayReader)
  return new Map(rows.map(({ id, quantum }) => [id, quantum]))
})

/** A row gives a balance from its block on: the balance before it is unknown. */
const unknownOf = (
  { parties, assets }: Treasury,
  { from }: HeldSpan,
  { before, rows }: History,
): ReadonlyArray<Unknown> => {
  const keyed = (row: HistoryRow): string => `${row.party}|${row.asset}`
  const isFree = ({ type, market }: HistoryRow): boolean => type === general && market === ""
  const opened = new Set(before.filter(isFree).map(keyed))
  const firsts = new Map<string, bigint>()
  for (const row of rows) if (isFree(row) && !firsts.has(keyed(row))) firsts.set(keyed(row), row.at)
  return [...parties.values()].flatMap(({ name, publicKey }) =>
    [...assets.values()].flatMap(({ symbol, id }) => {
      const key = `${publicKey}|${id}`
      const first = firsts.get(key)
      if (opened.has(key) || first === undefined || first <= from) return []
      return [{ account: `${name}/${symbol}`, until: millisOf(first) }]
    }),
  )
}

/** Consumes rows. `place` gives file and line of the current one, for error messages. */
type Take = (rows: Iterable<ToldRow>, place: () => string) => void

/** Hands over the rows of a file, CSV where it ends in .csv, else one JSON object a line. */
const readRows = (file: string, take: Take) =>
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

/** A string of Node holds no more: some millions of rows. */
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
  throw new Error(
    `${place()}: not a JSON object; end the file's name in .csv if it is CSV, else write one object a line`,
  )
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
      throw new Error(`${place()}: not CSV; put a cell with quotes or commas in quotes, and double them`)
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "")
    if (match[3] === ",") continue
    yield cells
    cells = []
    line += match[0].split("\n").length - 1
    at(line)
  }
  // A text that ends with a comma has an empty cell behind it.
  if (cells.length > 0) yield [...cells, ""]
}

/** Columns and units of a file of balances, in one sentence. */
export const historyForm =
  "columns kind (opening or change), at (2026-11-21T10:00:00Z), party (name or publicKey), asset (symbol or id), " +
  "market (or empty), type (such as ACCOUNT_TYPE_GENERAL), balance (the new one, in base units)"

const paymentsForm =
  "columns state, decidedAt, executedAt, fromKey, toKey, assetId, amountUnits, feeUnits and rule, as export --what payments writes them"

interface HistoryAsked extends Chosen {
  readonly history: Option.Option<string>
  readonly payments: Option.Option<string>
}

/** Value of --history that names the gateways instead of a file. */
const gateway = "gateway"

/** True if the past is read from the gateways. */
export const asksGateways = ({ history }: Pick<HistoryAsked, "history">): boolean =>
  Option.isSome(history) && history.value === gateway

/** A past; `unknown`: accounts without a balance at its beginning; `leftOut`: names that the treasury does not have. */
interface ReadHistory {
  readonly history: History
  readonly unknown: ReadonlyArray<Unknown>
  readonly leftOut: ReadonlyArray<UnknownName>
}

/** The past as the gateways report it, or from files of `export`, else from the store. Times are Unix milliseconds. */
export const readHistory = Effect.fnUntraced(function* (
  chosen: HistoryAsked,
  treasuries: readonly [Treasury, ...ReadonlyArray<Treasury>],
  asked: Span,
) {
  const names = namesOf(treasuries)
  if (Option.isSome(chosen.history) && !asksGateways(chosen)) {
    return yield* readFiles(chosen.history.value, chosen.payments, names)
  }
  if (!asksGateways(chosen)) {
    return { history: yield* readStored(chosen, asked), unknown: [], leftOut: [] } satisfies ReadHistory
  }
  const { history, unknown } = yield* readGateway(treasuries[0], asked)
  if (Option.isNone(chosen.payments)) return { history, unknown, leftOut: [] } satisfies ReadHistory
  const book = makeHistoryBook(names)
  yield* readPayments(book, chosen.payments.value)
  const leftOut = yield* refuseMistaken(book, names)
  return { history: { ...history, payments: book.history().payments }, unknown, leftOut } satisfies ReadHistory
})

/** Names of parties and assets in the files; where they differ, those of the first file. */
const namesOf = (treasuries: ReadonlyArray<Treasury>): HistoryNames => {
  const all = treasuries.toReversed()
  return {
    party: new Map(
      all.flatMap(({ parties }) => [...parties.values()].map((one) => [one.name, one.publicKey] as const)),
    ),
    asset: new Map(all.flatMap(({ assets }) => [...assets.values()].map((one) => [one.symbol, one.id] as const))),
  }
}

interface Span {
  readonly from: number | undefined
  readonly to: number | undefined
}

/** Payments are listed by their decision; one that executed within the span may have waited so long for people. */
const openMillisMax = 31 * 86_400_000

const readStored = Effect.fnUntraced(function* (chosen: HistoryAsked, asked: Span) {
  const span = { from: asked.from ?? 0, to: asked.to ?? Number.MAX_SAFE_INTEGER }
  const book = makeHistoryBook()
  yield* exportPages(chosen, { what: "balances", ...span }, ({ rows }) => Effect.sync(() => book.addBalances(rows)))
  const decided = { ...span, from: Math.max(0, span.from - openMillisMax) }
  yield* exportPages(chosen, { what: "payments", ...decided }, ({ rows }) => Effect.sync(() => book.addPayments(rows)))
  return yield* checked(book)
})

const readFiles = Effect.fnUntraced(function* (file: string, payments: Option.Option<string>, names: HistoryNames) {
  const book = makeHistoryBook(names)
  yield* readRows(file, book.addBalances)
  yield* refuseProblems(book, historyForm)
  if (Option.isSome(payments)) yield* readPayments(book, payments.value)
  const leftOut = yield* refuseMistaken(book, names)
  const history = yield* checked(book)
  const keys = new Set(names.party.values())
  const ids = new Set(names.asset.values())
  if (![...history.before, ...history.rows].some(({ party, asset }) => keys.has(party) && ids.has(asset))) {
    const remedy = "write their names, or publicKey and asset id, as in the treasury file"
    return yield* failWith("failure", `${file}: no row is of a party and an asset of the treasury; ${remedy}`)
  }
  return { history, unknown: [], leftOut } satisfies ReadHistory
})

const shownMax = 5

/** Fails on mistyped names; returns the other names that the treasury does not have. */
const refuseMistaken = Effect.fnUntraced(function* (book: HistoryBook, names: HistoryNames) {
  const strangers = book.strangers()
  const mistaken = strangers.filter(isMistaken)
  if (mistaken.length === 0) return strangers
  const known = [...names.party.keys()].join(", ")
  const lines = mistaken.slice(0, shownMax).map(({ what, text, rows, place }) => {
    const remedy = `write its publicKey, or a name of the treasury file: ${known}`
    return `${place}: unknown ${what} "${text}" (${rows} ${rows === 1 ? "row" : "rows"}); ${remedy}`
  })
  return yield* failWith("failure", lines.join("\n"))
})

const readPayments = Effect.fnUntraced(function* (book: HistoryBook, file: string) {
  yield* readRows(file, book.addPayments)
  yield* refuseProblems(book, paymentsForm)
})

const refuseProblems = ({ problems }: HistoryBook, form: string) =>
  problems.length === 0 ? Effect.void : Effect.fail(failWith("failure", `${problems.join("\n")}\na row has ${form}`))

const checked = ({ problems, history }: HistoryBook): Effect.Effect<History, ReturnType<typeof failWith>> => {
  if (problems.length > 0) return Effect.fail(failWith("failure", problems.join("\n")))
  const found = history()
  return found.before.length + found.rows.length > 0
    ? Effect.succeed(found)
    : Effect.fail(failWith("notFound", "no balance is known for that time; see backfill, or export --what balances"))
}
