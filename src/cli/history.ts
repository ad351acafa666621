import { Clock, Console, Effect, Layer, Option } from "effect"
import { byTime, type History, makeHistoryReader } from "../backtest/History.ts"
import type { Treasury } from "../config/Treasury.ts"
import { type BalanceChange, general } from "../domain/Balance.ts"
import { dayMillis, millisOf, nanosOf } from "../domain/Time.ts"
import { ifSupported } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { walkAssets } from "../gateway/walkPages.ts"
import { gatewayLayer } from "../layers.ts"
import { type HeldSpan, type ReportProgress, readSpan } from "../poller/Backfill.ts"
import { failureOf, failWith } from "./common/output.ts"
import type { Chosen } from "./common/setup.ts"
import { exportPages } from "./receipt.ts"
import { layerMetrics } from "./run/logging.ts"

/** An account whose balance is not known before a moment (Unix milliseconds). */
export interface UnknownBefore {
  readonly account: string
  readonly until: number
}

/** Requested time, Unix milliseconds; undefined: without a bound. */
interface Span {
  readonly from: number | undefined
  readonly to: number | undefined
}

/** More rows than this do not fit into the memory of a command. */
const rowsMax = 5_000_000
/** Interval between reports of progress. */
const reportMillis = 5_000

/** The treasury's past as its gateways report it; nothing is stored. */
const readGateway = Effect.fnUntraced(
  function* (treasury: Treasury, span: Span) {
    const from = span.from === undefined ? undefined : nanosOf(span.from)
    const asked = { from, until: span.to === undefined ? undefined : nanosOf(span.to), rowsMax }
    const held = yield* readSpan(treasury, asked, yield* makeProgress)
    if (held._tag === "Nothing") return yield* failWith("notFound", "the gateway has no balance change of that time")
    if (held._tag === "Unreadable") return yield* failWith("failure", held.detail)
    const history: History = {
      before: held.openings,
      rows: byTime(held.rows),
      gaps: from !== undefined && held.from > from ? [{ since: from, until: held.from }] : [],
      payments: [],
      parameters: (yield* parameters) ?? new Map<string, string>(),
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

/** Reports progress on standard error, at most every `reportMillis`, and at the end. */
const makeProgress = Effect.map(Clock.currentTimeMillis, (begun): ReportProgress => {
  let reportedAt = begun
  return Effect.fnUntraced(function* (rows, { from, until, next }) {
    const now = yield* Clock.currentTimeMillis
    if (now - reportedAt < reportMillis && next < until) return
    reportedAt = now
    const percent = ((next - from) * 100n) / (until - from)
    yield* Console.error(`read ${rows} balance changes, ${percent} %, up to ${new Date(millisOf(next)).toISOString()}`)
  })
})

const parameters = Effect.flatMap(GatewayReader, (network) => ifSupported(network.parameters))

const quanta = Effect.gen(function* () {
  const { rows } = yield* walkAssets(yield* GatewayReader)
  return new Map(rows.map(({ id, quantum }) => [id, quantum]))
})

/** A row gives a balance from its block on: the balance before it is unknown. */
const unknownOf = (
  { parties, assets }: Treasury,
  { from }: HeldSpan,
  { before, rows }: History,
): ReadonlyArray<UnknownBefore> => {
  const keyed = (row: BalanceChange): string => `${row.party}|${row.asset}`
  const isFree = ({ type, market }: BalanceChange): boolean => type === general && market === ""
  const opened = new Set(before.filter(isFree).map(keyed))
  const firsts = new Map<string, bigint>()
  for (const row of rows) if (isFree(row) && !firsts.has(keyed(row))) firsts.set(keyed(row), row.timestamp)
  return [...parties.values()].flatMap(({ name, publicKey }) =>
    [...assets.values()].flatMap(({ symbol, id }) => {
      const key = `${publicKey}|${id}`
      const first = firsts.get(key)
      if (opened.has(key) || first === undefined || first <= from) return []
      return [{ account: `${name}/${symbol}`, until: millisOf(first) }]
    }),
  )
}

/** Value of --history that names the gateways instead of the store. */
export const fromGateway = "gateway"

/** The past, from the gateways or the store, and the accounts without a balance at its beginning (`unknown`). */
export const readHistory = Effect.fnUntraced(function* (
  chosen: Chosen & { readonly history: Option.Option<typeof fromGateway> },
  treasury: Treasury,
  asked: Span,
) {
  if (Option.isSome(chosen.history)) return yield* readGateway(treasury, asked)
  const unknown: ReadonlyArray<UnknownBefore> = []
  return { history: yield* readStored(chosen, asked), unknown }
})

/** Longest time from a decision to its execution that is searched: exports list payments by decision. */
const openMillisMax = 31 * dayMillis

const readStored = Effect.fnUntraced(function* (chosen: Chosen, asked: Span) {
  const span = { from: asked.from ?? 0, to: asked.to ?? Number.MAX_SAFE_INTEGER }
  const reader = makeHistoryReader()
  yield* exportPages(chosen, { what: "balances", ...span }, ({ rows }) => Effect.sync(() => reader.addBalances(rows)))
  const decided = { ...span, from: Math.max(0, span.from - openMillisMax) }
  yield* exportPages(chosen, { what: "payments", ...decided }, ({ rows }) =>
    Effect.sync(() => reader.addPayments(rows)),
  )
  const history = reader.history()
  if (history.before.length + history.rows.length > 0) return history
  return yield* failWith("notFound", 'no balance is known for that time; "cofferer backfill" reads it')
})
