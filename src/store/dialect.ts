import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Words that differ by database: the same tables on SQLite and PostgreSQL. */
export const dialect = Effect.map(SqlClient.SqlClient, (sql) => {
  const word = (sqlite: string, pg: string) => sql.literal(sql.onDialectOrElse({ pg: () => pg, orElse: () => sqlite }))
  return {
    sql,
    int: word("INTEGER", "BIGINT"),
    bytes: word("BLOB", "BYTEA"),
    serial: word("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    strict: word("STRICT", ""),
    keyed: word("STRICT, WITHOUT ROWID", ""),
    digits: (column: string) =>
      sql.literal(
        sql.onDialectOrElse({
          pg: () => `CHECK (${column} ~ '^[0-9]{1,78}$')`,
          orElse: () => `CHECK (${column} <> '' AND length(${column}) <= 78 AND ${column} NOT GLOB '*[^0-9]*')`,
        }),
      ),
  }
})
