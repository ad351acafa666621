import { Effect, Schema, SchemaGetter } from "effect"
import { StoreError } from "./StoreError.ts"

/** A 64-bit column: the driver gives number or bigint, the program takes bigint. */
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

/** A bytes column; SQLite's driver gives a plain Uint8Array. */
export const Bytes = Schema.Uint8Array

/** Rows as the driver gave them, to rows of the schema. A row that does not fit is a StoreError, never a guess. */
export const rowsOf = <A>(schema: Schema.ConstraintDecoder<A>, operation: string) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>): Effect.Effect<ReadonlyArray<A>, StoreError> =>
    rows.pipe(
      Effect.flatMap((all) => decode(all)),
      Effect.mapError((cause) => new StoreError({ operation, cause })),
    )
}
