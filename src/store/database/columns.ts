import { Clock, Effect, Schema, SchemaGetter } from "effect"
import { memoize } from "effect/Function"
import type { SqlError } from "effect/sql"
import { millisOf } from "../../domain/Time.ts"
import type { Sql } from "./Sql.ts"
import { StoreError } from "./StoreError.ts"

/** A 64-bit column: number or bigint from the driver, bigint in the program. */
export const Big = Schema.Union([Schema.BigInt, Schema.Int]).pipe(
  Schema.decodeTo(Schema.BigInt, {
    decode: SchemaGetter.transform((n: bigint | number) => BigInt(n)),
    encode: SchemaGetter.transform((n: bigint) => n as bigint | number),
  }),
)

/** Money or another number beyond 64 bits: digits in the table, bigint in the program. */
export const Digits = Schema.String.pipe(
  Schema.decodeTo(Schema.BigInt, {
    decode: SchemaGetter.transform((text: string) => BigInt(text)),
    encode: SchemaGetter.transform((n: bigint) => n.toString()),
  }),
)

/** A column of bytes. */
export const Bytes = Schema.Uint8Array

// Preparing a decoder costs more than decoding the rows of most statements.
const arrayDecoder = memoize((schema: Schema.ConstraintDecoder<unknown>) =>
  Schema.decodeUnknownEffect(Schema.Array(schema)),
)

/** Decodes the driver's rows. A row that does not fit the schema is a StoreError, never a guess. */
export const rowsOf = <A>(schema: Schema.ConstraintDecoder<A>, operation: string) => {
  const decode = arrayDecoder(schema) as (rows: unknown) => Effect.Effect<ReadonlyArray<A>, Schema.SchemaError>
  return <E, R>(rows: Effect.Effect<ReadonlyArray<unknown>, E, R>): Effect.Effect<ReadonlyArray<A>, StoreError, R> =>
    rows.pipe(
      Effect.flatMap((all) => decode(all)),
      Effect.mapError((cause) => new StoreError({ operation, cause })),
    )
}

/**
 * Largest number of tuples in one statement. The rest of a list is sent in halves, quarters and so on of it, so that
 * few statements are prepared for lists of any length.
 */
const tuplesMax = 128

/** A statement over a list of tuples of any length, `run` in parts. Returns the rows of all parts. */
export const overTuples = <R>(
  sql: Sql,
  run: (
    text: string,
    params: ReadonlyArray<unknown>,
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError, R>,
  width: number,
  write: (tuples: string) => string,
) => {
  const mark = sql.onDialectOrElse({ pg: () => (n: number) => `$${n}`, orElse: () => () => "?" })
  const texts = new Map<number, string>()
  const textOf = (count: number): string => {
    const known = texts.get(count)
    if (known !== undefined) return known
    const tuple = (i: number) => `(${Array.from({ length: width }, (_, j) => mark(i * width + j + 1)).join(",")})`
    const text = write(Array.from({ length: count }, (_, i) => tuple(i)).join(","))
    texts.set(count, text)
    return text
  }
  return Effect.fnUntraced(function* (
    parameters: ReadonlyArray<unknown>,
  ): Effect.fn.Return<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError, R> {
    const answers: Array<ReadonlyArray<unknown>> = []
    let size = tuplesMax
    for (let i = 0; i < parameters.length; i += size * width) {
      while (i + size * width > parameters.length) size /= 2
      for (const row of yield* run(textOf(size), parameters.slice(i, i + size * width))) answers.push(row)
    }
    return answers
  })
}

const NewestRow = Schema.Struct({ newest: Schema.NullOr(Big) })

/** Time of the newest trusted block, in Unix milliseconds; undefined before the first. */
export const newestBlock = (sql: Sql) =>
  sql`SELECT max(timestamp) AS newest FROM watermarks WHERE name = 'balances'`.pipe(
    rowsOf(NewestRow, "newestBlock"),
    Effect.map(([row]) => (row?.newest == null ? undefined : millisOf(row.newest))),
  )

/** The later of the newest trusted block's time and our clock, Unix milliseconds: nothing observed is later. */
export const latestTime = Effect.fnUntraced(function* (sql: Sql) {
  return Math.max(yield* Clock.currentTimeMillis, ((yield* newestBlock(sql)) ?? 0) + 1)
})
