import { Clock, Context, Effect, Layer, Schema } from "effect"
import { type Asset, type AssetStatusWord, statusWord, statusWords } from "../../domain/Asset.ts"
import { Digits, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"

const Text = Schema.String
/** A field of an asset that was listed with another value before. */
const AssetChange = Schema.Struct({ field: Text, before: Text, after: Text })
type AssetChange = typeof AssetChange.Type

const EventKind = Schema.Literals(["status", "changed", "vanished", "returned"])

/** Change of an asset between two listings. */
export interface AssetEvent {
  readonly kind: typeof EventKind.Type
  readonly asset: string
  readonly symbol: string
  /** Undefined: the asset was not listed before. */
  readonly from: AssetStatusWord | undefined
  readonly to: AssetStatusWord
  /** Changed fields; only for kind "changed". */
  readonly changes: ReadonlyArray<AssetChange>
}

/** Complete listings in a row without an asset after which it counts as gone: a single one may be cut short. */
const missedMax = 2

/** Longest text of a field that is kept and compared; names and symbols are free text of whoever proposes an asset. */
const textMax = 256

/** All reported fields of an asset but its status, as text. */
export const fieldsOf = ({ name, symbol, decimals, quantum, source }: Asset): Readonly<Record<string, string>> => {
  const { kind, ...more } = source
  const fields = { name, symbol, decimals: String(decimals), quantum: String(quantum), source: kind, ...more }
  return Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, text.slice(0, textMax)]))
}

const changesOf = (before: AssetRow["fields"], after: Readonly<Record<string, string>>): Array<AssetChange> => {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .map((field) => ({ field, before: before[field] ?? "", after: after[field] ?? "" }))
    .filter((change) => change.before !== change.after)
}

/**
 * Compares a complete listing without duplicate ids with the stored assets. `missing` are stored assets that it does
 * not name. If nothing is stored the listing is the baseline, with no events.
 */
const compareListing = (
  stored: ReadonlyMap<string, AssetRow>,
  listed: ReadonlyArray<Asset>,
): { readonly events: ReadonlyArray<AssetEvent>; readonly missing: ReadonlyArray<AssetRow> } => {
  const events: Array<AssetEvent> = []
  const ids = new Set(listed.map(({ id }) => id))
  for (const asset of listed) {
    const before = stored.get(asset.id)
    const to = statusWord(asset.status)
    const event = { asset: asset.id, symbol: asset.symbol.slice(0, textMax), from: before?.status, to, changes: [] }
    if (before === undefined) {
      if (stored.size > 0) events.push({ ...event, kind: "status" })
      continue
    }
    if (before.missed >= missedMax) events.push({ ...event, kind: "returned" })
    const changes = changesOf(before.fields, fieldsOf(asset))
    if (changes.length > 0) events.push({ ...event, kind: "changed", changes })
    if (before.status !== to) events.push({ ...event, kind: "status" })
  }
  const missing = [...stored.values()].filter(({ id }) => !ids.has(id))
  for (const { id, symbol, status, missed } of missing) {
    if (missed + 1 !== missedMax) continue
    events.push({ kind: "vanished", asset: id, symbol, from: status, to: status, changes: [] })
  }
  return { events, missing }
}

/** A stored event of an asset. */
export interface AssetTransition extends AssetEvent {
  readonly seq: number
  readonly at: number
}

const Status = Schema.Literals(Object.values(statusWords))
const AssetRow = Schema.Struct({
  id: Text,
  symbol: Text,
  name: Text,
  decimals: Schema.Int,
  quantum: Digits,
  status: Status,
  /** Unix milliseconds of our clock, when this was stored. */
  seenAt: Schema.Int,
  /** All but the status, by name. */
  fields: Schema.fromJsonString(Schema.Record(Text, Text)),
  /** Complete listings in a row without it. */
  missed: Schema.Int,
})
type AssetRow = typeof AssetRow.Type

/** An asset as last listed. */
export type ListedAsset = Omit<AssetRow, "fields" | "missed">

const TransitionRow = Schema.Struct({
  seq: Schema.Int,
  kind: EventKind,
  asset: Text,
  symbol: Text,
  from: Schema.NullOr(Status),
  to: Status,
  changes: Schema.fromJsonString(Schema.Array(AssetChange)),
  at: Schema.Int,
})
const ParameterRow = Schema.Struct({ key: Text, value: Text })

/** The asset listing, its transitions until a rule has seen them, and the network parameters that were read. */
export class Listings extends Context.Service<Listings>()("cofferer/store/Listings", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const journal = yield* Journal
    const database = yield* Database
    const stored = database.memoryOf<ReadonlyArray<AssetRow>>("assets")(
      "",
      sql`SELECT id, symbol, name, decimals, quantum, status, seen_at AS "seenAt", fields, missed
        FROM assets`.pipe(rowsOf(AssetRow, "Listings.assets")),
    )
    /** Assets that are listed. */
    const assets = database.memoryOf<ReadonlyArray<ListedAsset>>("assets")(
      "",
      Effect.map(stored, (rows) =>
        rows.filter(({ missed }) => missed < missedMax).map(({ fields: _, missed: __, ...row }) => row),
      ),
    )
    /** Events that no rule has handled yet, oldest first. */
    const unhandled = database.memoryOf<ReadonlyArray<AssetTransition>>("asset_transitions")(
      "",
      sql`SELECT seq, kind, asset, symbol, from_status AS "from", to_status AS "to", changes, at
        FROM asset_transitions WHERE handled = 0 ORDER BY seq`.pipe(
        rowsOf(TransitionRow, "Listings.unhandled"),
        Effect.map((rows) => rows.map((row) => ({ ...row, from: row.from ?? undefined }))),
      ),
    )
    /** As last read, however long ago: without the minimum, rules would decide payments that the network refuses. */
    const parameters = database.memoryOf<ReadonlyMap<string, string>>("parameters")(
      "",
      sql`SELECT key, value FROM parameters`.pipe(
        rowsOf(ParameterRow, "Listings.parameters"),
        Effect.map((rows) => new Map(rows.map(({ key, value }) => [key, value]))),
      ),
    )
    const record = Effect.fnUntraced(function* (event: AssetEvent, at: number) {
      const { kind, asset, symbol, from, to, changes } = event
      yield* sql.write`INSERT INTO asset_transitions ${sql.insert({
        kind,
        asset,
        symbol,
        from_status: from ?? null,
        to_status: to,
        changes: JSON.stringify(changes),
        at,
      })}`
      yield* journal.append({
        kind: "asset",
        subject: asset,
        body: {
          asset,
          symbol,
          from,
          to,
          at,
          ...(kind === "status" ? {} : { kind, changes: changes.map(changeText) }),
        },
      })
    })
    /**
     * Stores a complete listing without duplicate ids, and returns the changes since the last one. The first listing of
     * an installation is the baseline, without changes. A missing asset stays as it was, until it is missing twice in a
     * row.
     */
    const replace = Effect.fnUntraced(function* (listed: ReadonlyArray<Asset>) {
      const at = yield* Clock.currentTimeMillis
      const known = new Map((yield* stored).map((row) => [row.id, row]))
      const { events, missing } = compareListing(known, listed)
      const touched = new Set(events.map(({ asset }) => asset))
      for (const asset of listed) {
        const before = known.get(asset.id)
        const isSame = before?.missed === 0 && !touched.has(asset.id)
        if (isSame) continue
        yield* sql.write`INSERT INTO assets ${sql.insert(assetColumns(asset, at))} ON CONFLICT (id) DO UPDATE SET
            symbol = excluded.symbol, name = excluded.name, decimals = excluded.decimals,
            quantum = excluded.quantum, status = excluded.status, seen_at = excluded.seen_at,
            fields = excluded.fields, missed = 0`
      }
      for (const { id, missed } of missing) {
        if (missed < missedMax) yield* sql.write`UPDATE assets SET missed = ${missed + 1} WHERE id = ${id}`
      }
      for (const event of events) yield* record(event, at)
      return events
    }, sql.change("Listings.replace"))
    /** Replaces all parameters: those that the network no longer reports are removed. */
    const saveParameters = Effect.fn("Listings.saveParameters")(function* (values: ReadonlyMap<string, string>) {
      const seenAt = yield* Clock.currentTimeMillis
      for (const [key, value] of values) {
        yield* sql.write`INSERT INTO parameters ${sql.insert({ key, value, seen_at: seenAt })}
            ON CONFLICT (key) DO UPDATE SET value = excluded.value, seen_at = excluded.seen_at`
      }
      yield* sql.write`DELETE FROM parameters WHERE seen_at <> ${seenAt}`
    }, sql.durable("Listings.saveParameters"))
    return {
      replace,
      assets,
      unhandled,
      markHandled: (seq: number) =>
        sql.write`UPDATE asset_transitions SET handled = 1 WHERE seq = ${seq}`.pipe(
          Effect.asVoid,
          sql.change("Listings.markHandled"),
        ),
      saveParameters,
      parameters,
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Listings, Listings.make)
}

const changeText = ({ field, before, after }: AssetChange): string => `${field}: ${before} -> ${after}`

const assetColumns = (asset: Asset, seenAt: number) => ({
  id: asset.id,
  symbol: asset.symbol,
  name: asset.name,
  decimals: asset.decimals,
  quantum: asset.quantum.toString(),
  status: statusWord(asset.status),
  seen_at: seenAt,
  fields: JSON.stringify(fieldsOf(asset)),
})
