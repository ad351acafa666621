import { Schema, SchemaGetter } from "effect"
import { SafeUint, Uint64 } from "./Numbers.ts"

/** The epoch that the network is in: its limits on what a key may send begin anew with the next. */
export const Epoch = Schema.Struct({
  seq: Schema.Finite,
  /** Unix nanoseconds of the block that began it. */
  startAt: Schema.BigInt,
  /** Unix milliseconds; it ends with the first block after that. */
  endsAtMillis: Schema.Finite,
})
export type Epoch = typeof Epoch.Type

/** Times of a core are RFC 3339 with up to nine places; only whole milliseconds are used of them. */
const Instant = Schema.String.check(
  Schema.makeFilter((value: string) => Date.parse(value) > 0, { expected: "a time" }),
).pipe(
  Schema.decodeTo(Schema.Finite, {
    decode: SchemaGetter.transform((value: string) => Date.parse(value)),
    encode: SchemaGetter.transform((millis: number) => new Date(millis).toISOString()),
  }),
)

/** Answer of GET /statistics, as far as it tells of the epoch. */
export const StatisticsAnswer = Schema.Struct({
  statistics: Schema.Struct({ epochSeq: SafeUint, epochStartTime: Instant, epochExpiryTime: Instant }),
})

/** What a key has sent of what it may send. */
export const SpamAnswer = Schema.Struct({
  statistics: Schema.Struct({
    epochSeq: SafeUint,
    transfers: Schema.Struct({ countForEpoch: SafeUint, maxForEpoch: SafeUint }),
  }),
})

/** Answer of GET /api/v2/epoch. */
export const EpochAnswer = Schema.Struct({
  epoch: Schema.Struct({
    seq: SafeUint,
    timestamps: Schema.Struct({ startTime: Uint64, expiryTime: Uint64 }),
  }),
})
