import { Option, Schema, SchemaGetter } from "effect"
import { BaseUnitsFromString } from "../../domain/Amount.ts"
import type { BlockMark } from "../../domain/Balance.ts"
import { chainBounds } from "../../domain/chain.ts"

/** Digits are looked at before BigInt sees them: BigInt("") is 0, BigInt("0x10") is 16, BigInt(" 12 ") is 12. */
const uint = /^(0|[1-9][0-9]{0,19})$/
const int = /^(0|-?[1-9][0-9]{0,18})$/

/** A number counts only where a double holds it exactly; -0 has no digits of its own. */
const exact = (n: number): boolean => Number.isSafeInteger(n) && !Object.is(n, -0)

const integer = (name: string, digits: RegExp, min: bigint, max: bigint) => {
  const isText = (text: string): boolean => {
    if (!digits.test(text)) return false
    const n = BigInt(text)
    return n >= min && n <= max
  }
  const isNumber = (n: number): boolean => exact(n) && BigInt(n) >= min && BigInt(n) <= max
  return Schema.Union([
    Schema.String.check(Schema.makeFilter(isText, { expected: `${name} as digits` })),
    Schema.Finite.check(Schema.makeFilter(isNumber, { expected: `${name} as an exact number` })),
  ])
}

const toBigInt = {
  decode: SchemaGetter.transform((value: string | number) => BigInt(value)),
  encode: SchemaGetter.transform((n: bigint): string | number => n.toString()),
}
const toNumber = {
  decode: SchemaGetter.transform((value: string | number) => Number(value)),
  encode: SchemaGetter.transform((n: number): string | number => n),
}

/** Protobuf JSON: a 64-bit integer is a string of digits; a number is taken where it is exact. */
export const Int64 = integer("an int64", int, -(2n ** 63n), 2n ** 63n - 1n).pipe(
  Schema.decodeTo(Schema.BigInt, toBigInt),
)

/** A block's height, and its time in Unix nanoseconds. Larger values are of no chain, and fit no column. */
export const Height = integer(`a height up to ${chainBounds.heightMax}`, uint, 0n, chainBounds.heightMax).pipe(
  Schema.decodeTo(Schema.BigInt, toBigInt),
)
export const BlockTime = integer(`a time up to ${chainBounds.timeMax}`, uint, 0n, chainBounds.timeMax).pipe(
  Schema.decodeTo(Schema.BigInt, toBigInt),
)

/** A hash of 32 bytes, exactly as it came: either case is in use. */
export const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/, { expected: "64 hex characters" }))

/** A 32-bit field, or a 64-bit one with small valid values, as a number. */
export const Uint32 = integer("a uint32", uint, 0n, 2n ** 32n - 1n).pipe(Schema.decodeTo(Schema.Finite, toNumber))
export const SafeInt = integer(
  "an exact int64",
  int,
  BigInt(Number.MIN_SAFE_INTEGER),
  BigInt(Number.MAX_SAFE_INTEGER),
).pipe(Schema.decodeTo(Schema.Finite, toNumber))
export const SafeUint = integer("an exact uint64", uint, 0n, BigInt(Number.MAX_SAFE_INTEGER)).pipe(
  Schema.decodeTo(Schema.Finite, toNumber),
)

/** Amounts are strings of digits on the wire, never numbers: a balance can exceed 2^64. */
export const Amount = BaseUnitsFromString

/**
 * Protobuf JSON: a field that is absent or null has its default value, given here in its encoded form. The default
 * passes the same checks as a value that was sent.
 */
export const orDefault = <S extends Schema.Constraint>(schema: S, fallback: S["Encoded"]) =>
  Schema.optional(Schema.NullOr(Schema.toEncoded(schema))).pipe(
    Schema.decodeTo(schema, {
      decode: SchemaGetter.transformOptional((sent: Option.Option<S["Encoded"] | null | undefined>) =>
        Option.some(Option.isSome(sent) && sent.value !== null && sent.value !== undefined ? sent.value : fallback),
      ),
      encode: SchemaGetter.transformOptional((value: Option.Option<S["Encoded"]>) => value),
    }),
  )

export const Text = orDefault(Schema.String, "")

/** Longest id, key or name of an enum: real ones are half as long, and PostgreSQL indexes none of thousands. */
export const idLengthMax = 128
const ShortText = Schema.String.check(Schema.isMaxLength(idLengthMax))
/** An id that may be absent, and one that may not. */
export const Id = orDefault(ShortText, "")
export const OwnId = ShortText.check(Schema.isMinLength(1))

export const Flag = orDefault(Schema.Boolean, false)

/** An enum: its name, or its number where the sender prints numbers. What is not known here is kept as it came. */
export const enumText = (nameOf: (number: number) => string) =>
  orDefault(
    Schema.Union([ShortText, Schema.Int]).pipe(
      Schema.decodeTo(Schema.String, {
        decode: SchemaGetter.transform((value: string | number) => (typeof value === "string" ? value : nameOf(value))),
        encode: SchemaGetter.transform((name: string): string | number => name),
      }),
    ),
    0,
  )

/** Where a page stands among all rows. `hasPreviousPage` is unreliable on real networks, `hasNextPage` is not. */
export const PageInfo = Schema.Struct({
  startCursor: Text,
  endCursor: Text,
  hasNextPage: Flag,
  hasPreviousPage: Flag,
})
export type PageInfo = typeof PageInfo.Type

/** One page of rows as a gateway gave it, with the block that it claims to stand behind. */
export interface Page<A> {
  readonly rows: ReadonlyArray<{ readonly cursor: string; readonly node: A }>
  readonly pageInfo: PageInfo
  /** Undefined where the gateway sends no block headers. */
  readonly mark: BlockMark | undefined
  /** The gateway's own time, Unix nanoseconds, as far as it is known. */
  readonly date?: bigint | undefined
}

/**
 * The envelope of all listings. Rows may be left out where there are none; `pageInfo` may not, since its absence would
 * read as "no further page".
 */
export const Connection = <S extends Schema.Constraint>(node: S) =>
  Schema.Struct({
    edges: orDefault(Schema.Array(Schema.Struct({ cursor: Text, node })), []),
    pageInfo: PageInfo,
  })

/** The page of a listing as a walk or a reader takes it. */
export const pageOf = <A>(
  { edges, pageInfo }: { readonly edges: Page<A>["rows"]; readonly pageInfo: PageInfo },
  mark: Page<A>["mark"],
): Page<A> => ({ rows: edges, pageInfo, mark })
