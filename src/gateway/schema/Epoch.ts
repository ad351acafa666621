import { Schema, SchemaGetter } from "effect"
import { chainBounds } from "../../domain/chainBounds.ts"
import { BlockTime, SafeUint } from "./Numbers.ts"

/** The epoch that the network is in: its limits on what a key may send begin anew with the next. */
export const Epoch = Schema.Struct({
  seq: Schema.Finite,
  /** Unix nanoseconds of the block that began it. */
  startAt: Schema.BigInt,
  /** Unix milliseconds; it ends with the first block after that. */
  endsAtMillis: Schema.Finite,
})
export type Epoch = typeof Epoch.Type

const millisMax = Number(chainBounds.timeMax / 1_000_000n)
const rfc3339 = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/

const isInstant = (text: string): boolean => {
  const millis = rfc3339.test(text) ? Date.parse(text) : Number.NaN
  return millis > 0 && millis <= millisMax
}

/** Times of a core are RFC 3339 with up to nine places; only whole milliseconds are used of them. */
const Instant = Schema.String.check(Schema.makeFilter(isInstant, { expected: "a time as RFC 3339" })).pipe(
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
    timestamps: Schema.Struct({ startTime: BlockTime, expiryTime: BlockTime }),
  }),
})
