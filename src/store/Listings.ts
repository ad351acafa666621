import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Asset, type AssetStatusWord, statusWord } from "../domain/Asset.ts"
import { Digits, rowsOf } from "./columns.ts"
import { Journal } from "./Journal.ts"
import { type StoreError, storeError } from "./StoreError.ts"

/** An asset as last listed. */
export interface ListedAsset {
  readonly id: string
  readonly symbol: string
  readonly name: string
  readonly decimals: number
  readonly quantum: bigint
  readonly status: AssetStatusWord
  /** Unix milliseconds of our clock. */
  readonly seenAt: number
}

/** One change of status, seen once. `from` undefined: the asset was not listed before. */
export interface AssetTransition {
  readonly seq: number
  readonly asset: string
  readonly symbol: string
  readonly from: AssetStatusWord | undefined
  readonly to: AssetStatusWord
  readonly at: number
}

const AssetRow = Schema.Struct({
  id: Schema.String,
  symbol: Schema.String,
  name: Schema.String,
  decimals: Schema.Int,
  quantum: Digits,
  status: Schema.String,
  seenAt: Schema.Int,
})
const TransitionRow = Schema.Struct({
  seq: Schema.Int,
  asset: Schema.String,
  symbol: Schema.String,
  from: Schema.NullOr(Schema.String),
  to: Schema.String,
  at: Schema.Int,
})
const ParameterRow = Schema.Struct({ key: Schema.String, value: Schema.String })

/** The asset listing, its transitions until a rule has seen them, and the network parameters that were read. */
export class Listings extends Context.Service<
  Listings,
  {
    /**
     * Stores a complete listing. Returns the transitions that are new. The first listing of an installation is the
     * baseline: its assets were there before, so they are no transitions.
     */
    readonly replace: (
      assets: ReadonlyArray<Asset>,
    ) => Effect.Effect<ReadonlyArray<Omit<AssetTransition, "seq">>, StoreError>
    readonly assets: Effect.Effect<ReadonlyArray<ListedAsset>, StoreError>
    /** Transitions that no rule has seen yet, oldest first. */
    readonly unhandled: Effect.Effect<ReadonlyArray<AssetTransition>, StoreError>
    readonly markHandled: (seq: number) => Effect.Effect<void, StoreError>
    readonly saveParameters: (values: ReadonlyMap<string, string>) => Effect.Effect<void, StoreError>
    readonly parameters: Effect.Effect<ReadonlyMap<string, string>, StoreError>
  }
>()("cofferer/store/Listings") {
  static readonly layerNoDeps = Layer.effect(
    Listings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* Journal
      const assets = sql`SELECT id, symbol, name, decimals, quantum, status, seen_at AS "seenAt" FROM assets`.pipe(
        rowsOf(AssetRow, "Listings.assets"),
        Effect.map((rows) => rows.map((row): ListedAsset => ({ ...row, status: storedWord(row.status) }))),
      )
      const replace = Effect.fn("Listings.replace")(
        function* (listed: ReadonlyArray<Asset>) {
          const at = yield* Clock.currentTimeMillis
          const known = new Map((yield* assets).map((a) => [a.id, a]))
          const transitions: Array<Omit<AssetTransition, "seq">> = []
          for (const asset of listed) {
            const to = statusWord(asset.status)
            const from = known.get(asset.id)?.status
            yield* sql`INSERT INTO assets ${sql.insert(assetColumns(asset, to, at))} ON CONFLICT (id) DO UPDATE SET
              symbol = excluded.symbol, name = excluded.name, decimals = excluded.decimals,
              quantum = excluded.quantum, status = excluded.status, seen_at = excluded.seen_at`
            if (known.size === 0 || from === to) continue
            const transition = { asset: asset.id, symbol: asset.symbol, from, to, at }
            transitions.push(transition)
            yield* sql`INSERT INTO asset_transitions ${sql.insert({
              asset: asset.id,
              symbol: asset.symbol,
              from_status: from ?? null,
              to_status: to,
              at,
            })}`
            yield* journal.append({ kind: "asset", subject: asset.id, body: transition })
          }
          return transitions
        },
        (effect) => effect.pipe(sql.withTransaction, storeError("Listings.replace")),
      )
      const saveParameters = Effect.fn("Listings.saveParameters")(
        function* (values: ReadonlyMap<string, string>) {
          const seenAt = yield* Clock.currentTimeMillis
          for (const [key, value] of values) {
            yield* sql`INSERT INTO parameters ${sql.insert({ key, value, seen_at: seenAt })}
              ON CONFLICT (key) DO UPDATE SET value = excluded.value, seen_at = excluded.seen_at`
          }
        },
        (effect) => effect.pipe(sql.withTransaction, storeError("Listings.saveParameters")),
      )
      return Listings.of({
        replace,
        assets,
        unhandled: sql`SELECT seq, asset, symbol, from_status AS "from", to_status AS "to", at FROM asset_transitions
          WHERE handled = 0 ORDER BY seq`.pipe(
          rowsOf(TransitionRow, "Listings.unhandled"),
          Effect.map((rows) => rows.map(transitionOf)),
        ),
        markHandled: Effect.fn("Listings.markHandled")((seq: number) =>
          sql`UPDATE asset_transitions SET handled = 1 WHERE seq = ${seq}`.pipe(
            Effect.asVoid,
            storeError("Listings.markHandled"),
          ),
        ),
        saveParameters,
        parameters: sql`SELECT key, value FROM parameters`.pipe(
          rowsOf(ParameterRow, "Listings.parameters"),
          Effect.map((rows) => new Map(rows.map(({ key, value }) => [key, value]))),
        ),
      })
    }),
  )
}

const transitionOf = (row: typeof TransitionRow.Type): AssetTransition => ({
  ...row,
  from: row.from === null ? undefined : storedWord(row.from),
  to: storedWord(row.to),
})

/** Listings stores the operator's words; a word of a later version reads as unspecified. */
const words: ReadonlySet<string> = new Set(["proposed", "rejected", "pendingListing", "enabled"])
const isWord = (text: string): text is AssetStatusWord => words.has(text)
const storedWord = (text: string): AssetStatusWord => (isWord(text) ? text : "unspecified")

const assetColumns = (asset: Asset, status: AssetStatusWord, seenAt: number) => ({
  id: asset.id,
  symbol: asset.symbol,
  name: asset.name,
  decimals: asset.decimals,
  quantum: asset.quantum.toString(),
  status,
  seen_at: seenAt,
})
