import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import type { Framing } from "../../tx/Transaction.ts"
import { rowsOf } from "./columns.ts"
import { Database } from "./Database.ts"
import { Sql } from "./Sql.ts"

const SettingRow = Schema.Struct({ key: Schema.String, value: Schema.String })
const FramingRow = Schema.Struct({ framing: Schema.Literals(["prefixed", "bare"]) })

/** Small facts that outlive the process, such as the installation's id and the wire form of a chain. */
export class Settings extends Context.Service<Settings>()("cofferer/store/Settings", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const { memoryOf } = yield* Database
    const remembered = memoryOf<ReadonlyMap<string, string>>("settings")
    const framings = memoryOf<Option.Option<Framing>>("framings")
    const all = remembered(
      "",
      sql`SELECT key, value FROM settings`.pipe(
        rowsOf(SettingRow, "Settings.get"),
        Effect.map((rows) => new Map(rows.map(({ key, value }) => [key, value]))),
      ),
    )
    const get = (key: string) => Effect.map(all, (values) => values.get(key))
    const set = (key: string, value: string) =>
      sql.write`INSERT INTO settings ${sql.insert({ key, value })}
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`.pipe(Effect.asVoid, sql.change("Settings.set"))
    /** The wire form of an executed transaction of this chain, which all its gateways accept; undefined before one. */
    const framing = Effect.fn("Settings.framing")((chainId: string) =>
      framings(
        chainId,
        sql`SELECT framing FROM framings WHERE chain_id = ${chainId}`.pipe(
          rowsOf(FramingRow, "Settings.framing"),
          Effect.map((rows) => Option.fromNullishOr(rows[0]?.framing)),
        ),
      ).pipe(Effect.map(Option.getOrUndefined)),
    )
    return {
      all,
      get,
      set,
      forget: (key: string) =>
        sql.write`DELETE FROM settings WHERE key = ${key}`.pipe(Effect.asVoid, sql.change("Settings.forget")),
      /** The stored value; without one, stores what `make` returns. */
      getOrMake: Effect.fn("Settings.getOrMake")(function* (key: string, make: Effect.Effect<string>) {
        const stored = yield* get(key)
        if (stored !== undefined) return stored
        const value = yield* make
        yield* set(key, value)
        return value
      }),
      framing,
      rememberFraming: Effect.fnUntraced(function* (chainId: string, known: Framing) {
        if ((yield* framing(chainId)) === known) return
        const at = yield* Clock.currentTimeMillis
        yield* sql.write`DELETE FROM framings WHERE chain_id = ${chainId}`
        yield* sql.write`INSERT INTO framings ${sql.insert({ gateway: "", chain_id: chainId, framing: known, at })}`
      }, sql.change("Settings.rememberFraming")),
      forgetFraming: (chainId: string) =>
        sql.write`DELETE FROM framings WHERE chain_id = ${chainId}`.pipe(
          Effect.asVoid,
          sql.change("Settings.forgetFraming"),
        ),
    }
  }),
}) {
  static readonly layer = Layer.effect(Settings, Settings.make)
}

/** Returns a reader that remembers the value of the last text. No text and an empty one are undefined. */
export const memoizeLast = <A>(
  read: (text: string) => A | undefined,
): ((text: string | undefined) => A | undefined) => {
  let last: { readonly text: string; readonly value: A | undefined } | undefined
  return (text) => {
    if (text === undefined || text === "") return undefined
    if (last?.text !== text) last = { text, value: read(text) }
    return last.value
  }
}

/** JSON form of a setting. Unreadable text, and none, decode to undefined. */
export const jsonSetting = <A, I>(schema: Schema.Codec<A, I>) => {
  const json = Schema.fromJsonString(schema)
  const decode = Schema.decodeUnknownOption(json)
  return {
    decode: (text: string | undefined): A | undefined =>
      text === undefined ? undefined : Option.getOrUndefined(decode(text)),
    encode: Schema.encodeSync(json),
  }
}

/** A setting of values by name. Unreadable text counts as no values. */
export const recordOf = <A>(value: Schema.Codec<A>) => {
  const { decode } = jsonSetting(Schema.Record(Schema.String, value))
  return (settings: Settings["Service"], key: string) => {
    const stored = Effect.map(settings.get(key), (text) => decode(text) ?? {})
    return {
      now: Effect.map(stored, (values): ReadonlyMap<string, A> => new Map(Object.entries(values))),
      keep: Effect.fnUntraced(function* (values: ReadonlyMap<string, A>) {
        const text = JSON.stringify(Object.fromEntries(values))
        if (text !== JSON.stringify(yield* stored))
          yield* values.size === 0 ? settings.forget(key) : settings.set(key, text)
      }),
    }
  }
}
