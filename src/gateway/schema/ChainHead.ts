import { Schema, SchemaGetter } from "effect"
import { chainBounds, isChainId } from "../../domain/chain.ts"
import { millisOf } from "../../domain/Time.ts"
import { WorkParameters } from "../../rules/workParameters.ts"
import {
  BlockTime,
  Connection,
  Flag,
  Hash,
  Height,
  OwnId,
  orDefault,
  SafeInt,
  SafeUint,
  Text,
  Uint32,
} from "./Numbers.ts"

/** The newest block that a node has begun, and the work that it asks for. */
export const ChainHead = Schema.Struct({
  chainId: Schema.String,
  height: Schema.BigInt,
  /** Hash of the block at `height`, exactly as the node gives it: it enters the proof of work as text. */
  hash: Schema.String,
  pow: WorkParameters,
})
export type ChainHead = typeof ChainHead.Type

const ChainId = Schema.String.check(
  Schema.makeFilter(isChainId, { expected: `a chain id of 1 to ${chainBounds.chainIdLengthMax} printable characters` }),
)

/** Answer of GET /blockchain/height. Chain, block and hash must be there: nothing could be built on their defaults. */
export const ChainHeadAnswer = Schema.Struct({
  height: Height,
  hash: Hash,
  spamPowHashFunction: orDefault(Schema.String, ""),
  spamPowDifficulty: orDefault(Uint32, 0),
  spamPowNumberOfPastBlocks: orDefault(Uint32, 0),
  spamPowNumberOfTxPerBlock: orDefault(Uint32, 0),
  spamPowIncreasingDifficulty: Flag,
  chainId: ChainId,
}).pipe(
  Schema.decodeTo(ChainHead, {
    decode: SchemaGetter.transform((wire) => ({
      chainId: wire.chainId,
      height: wire.height,
      hash: wire.hash,
      pow: {
        hashFunction: wire.spamPowHashFunction,
        difficulty: wire.spamPowDifficulty,
        pastBlocks: wire.spamPowNumberOfPastBlocks,
        txPerBlock: wire.spamPowNumberOfTxPerBlock,
        increasing: wire.spamPowIncreasingDifficulty,
      },
    })),
    encode: SchemaGetter.forbidden(() => "heads are only read"),
  }),
)

/** The network's present epoch: limits on a key's transfers start again with the next. */
export const Epoch = Schema.Struct({
  seq: Schema.Finite,
  /** Unix nanoseconds of the block that began it. */
  startAt: Schema.BigInt,
  /** Unix milliseconds; it ends with the first block after that. */
  endsAtMillis: Schema.Finite,
})
export type Epoch = typeof Epoch.Type

const millisMax = millisOf(chainBounds.timeMax)
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

/** Answer of GET /statistics, limited to the epoch. */
export const StatisticsAnswer = Schema.Struct({
  statistics: Schema.Struct({ epochSeq: SafeUint, epochStartTime: Instant, epochExpiryTime: Instant }),
})

/** A key's use of its transfer limit. */
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

/** Answer of GET /api/v2/network/parameters. All values are text, whatever they mean. */
export const ParametersAnswer = Schema.Struct({
  networkParameters: Connection(Schema.Struct({ key: OwnId, value: Text })),
})

/**
 * The body of an error. `message` of a real network is only the class ("Internal error"); the useful words stand in
 * the first detail. Bodies that begin like one but carry something else inside still count as one.
 */
export const StatusBody = Schema.Struct({
  /** Not defaulted: an object without it is no status. */
  code: SafeInt,
  message: Text,
  details: orDefault(Schema.Array(Schema.Struct({ code: orDefault(SafeInt, 0), message: Text, inner: Text })), []),
})
export type StatusBody = typeof StatusBody.Type
