import { Clock, Console, Effect, Layer } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { general } from "../domain/AccountType.ts"
import type { BalanceChange } from "../domain/Balance.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { NetworkParameters } from "../gateway/NetworkParameters.ts"
import { walkAssets } from "../gateway/walkAssets.ts"
import { pollerOptionsOf } from "../poller/BalancePollerOptions.ts"
import { type HeldSpan, readSpan, type Tell } from "../poller/readSpan.ts"
import { type History, type HistoryRow, millisOf } from "../rehearsal/History.ts"
import { gatewayLayer } from "../services.ts"
import { failureOf, failWith } from "./CliFailure.ts"
import { layerMetrics } from "./logging.ts"

/** An account whose balance is not known before a moment (Unix milliseconds). */
export interface Unknown {
  readonly account: string
  readonly until: number
}

/** More rows than this do not fit into the memory of a command. */
const rowsMax = 5_000_000
const tellMillis = 5_000

/** The past as the gateways tell it, of the treasury alone; nothing is stored. Times are Unix milliseconds. */
export const readGateway = Effect.fnUntraced(
  function* (treasury: Treasury, span: { readonly from: number | undefined; readonly to: number | undefined }) {
    const from = nanosOf(span.from)
    const asked = { from, until: nanosOf(span.to), rowsMax }
    const held = yield* readSpan(pollerOptionsOf(treasury), asked, yield* makeTell)
    if (held._tag === "Nothing") return yield* failWith("notFound", "the gateway holds no balance change of that time")
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

/** Every few seconds, beside the result. */
const makeTell = Effect.map(Clock.currentTimeMillis, (begun): Tell => {
  let toldAt = begun
  return Effect.fnUntraced(function* (rows, { from, until, next }) {
    const now = yield* Clock.currentTimeMillis
    if (now - toldAt < tellMillis && next < until) return
    toldAt = now
    const percent = ((next - from) * 100n) / (until - from)
    yield* Console.error(`read ${rows} balance changes, ${percent} %, up to ${new Date(millisOf(next)).toISOString()}`)
  })
})

const parameters = Effect.flatMap(NetworkParameters, (network) => network.parameters).pipe(
  Effect.catchReason("GatewayError", "Unsupported", () => Effect.succeed(new Map<string, string>())),
)

const quanta = Effect.gen(function* () {
  const { rows } = yield* walkAssets(yield* GatewayReader)
  return new Map(rows.map(({ id, quantum }) => [id, quantum]))
})

/** A row tells a balance from its block on: what the account had before is not known. */
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
