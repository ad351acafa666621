import { Effect, Option } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { History } from "../rehearsal/History.ts"
import { type HistoryBook, makeHistoryBook } from "../rehearsal/historyOf.ts"
import { failWith } from "./CliFailure.ts"
import { exportPages } from "./exportPages.ts"
import { readGateway } from "./readGateway.ts"
import { readRows } from "./readRows.ts"
import type { Chosen } from "./setup.ts"

/** Columns and units of a file of balances, in one sentence. */
export const historyForm =
  "columns kind (opening or change), at (2026-11-21T10:00:00Z), party (name or publicKey), asset (symbol or id), " +
  "market (or empty), type (such as ACCOUNT_TYPE_GENERAL), balance (the new one, in base units)"

const paymentsForm =
  "columns state, decidedAt, executedAt, fromKey, toKey, assetId, amountUnits, feeUnits and rule, as export --what payments writes them"

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
  yield* readPayments(book, chosen.payments.value)
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
  yield* readRows(file, book.addBalances)
  yield* refuseProblems(book, historyForm)
  if (Option.isSome(payments)) yield* readPayments(book, payments.value)
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
    : Effect.fail(failWith("notFound", "no balance is known of that time; see backfill, or export --what balances"))
}
