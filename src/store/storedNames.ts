import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import { rowsOf } from "./columns.ts"
import { databaseFile } from "./Database.ts"
import * as NodeSqlite from "./NodeSqlite.ts"
import { storeError } from "./StoreError.ts"

const TextRow = Schema.Struct({ value: Schema.String })
const AssetRow = Schema.Struct({ symbol: Schema.String, id: Schema.String, decimals: Schema.Int })
const PartyRow = Schema.Struct({ name: Schema.String, key: Schema.String })

/** What a store says by itself of the treasury that it is of. */
export interface StoredNames {
  readonly treasury: string
  /** In which the last process started; undefined where none did. */
  readonly mode: string | undefined
  readonly chainId: string | undefined
  readonly assets: ReadonlyArray<typeof AssetRow.Type>
  readonly parties: ReadonlyArray<typeof PartyRow.Type>
}

const Started = Schema.fromJsonString(Schema.Struct({ mode: Schema.String }))

/** The names that the rows of a store carry, the newest of each: for a treasury whose file cannot be read. */
export const storedNames = (dataDir: string) =>
  Effect.gen(function* () {
    const sql = yield* NodeSqlite.make({ filename: join(dataDir, databaseFile) })
    const texts = rowsOf(TextRow, "StoredNames")
    const [treasury] = yield* texts(sql`SELECT treasury AS value FROM journal ORDER BY seq DESC LIMIT 1`)
    const [started] = yield* texts(
      sql`SELECT body AS value FROM journal WHERE kind = 'started' ORDER BY seq DESC LIMIT 1`,
    )
    const [chain] = yield* texts(sql`SELECT chain_id AS value FROM attempts ORDER BY created_at DESC LIMIT 1`)
    const assets = yield* sql`SELECT asset AS symbol, asset_id AS id, decimals, max(created_at) AS newest
      FROM intents WHERE asset <> '' GROUP BY asset_id ORDER BY newest DESC`.pipe(rowsOf(AssetRow, "StoredNames"))
    const parties = yield* sql`SELECT name, "key", max(created_at) AS newest FROM (
        SELECT from_party AS name, from_key AS "key", created_at FROM intents
        UNION ALL SELECT to_party, to_key, created_at FROM intents WHERE command = 'transfer')
      GROUP BY "key" ORDER BY newest DESC`.pipe(rowsOf(PartyRow, "StoredNames"))
    return {
      treasury: treasury?.value ?? "unknown",
      mode:
        started === undefined ? undefined : Option.getOrUndefined(Schema.decodeOption(Started)(started.value))?.mode,
      chainId: chain?.value,
      assets,
      parties,
    } satisfies StoredNames
  }).pipe(storeError("StoredNames"), Effect.scoped, Effect.provide(Reactivity.layer))
