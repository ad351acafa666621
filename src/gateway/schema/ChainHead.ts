import { Schema, SchemaGetter } from "effect"
import { chainBounds, isChainId } from "../../domain/chainBounds.ts"
import { Flag, Hash, Height, orDefault, Uint32 } from "./Numbers.ts"

/** The newest block that a node has begun, and what work it asks for. */
export const ChainHead = Schema.Struct({
  chainId: Schema.String,
  height: Schema.BigInt,
  /** Of the block at `height`, exactly as the node gives it: it goes into the proof of work as text. */
  hash: Schema.String,
  pow: Schema.Struct({
    hashFunction: Schema.String,
    /** Zero bits at the front of a solution. */
    difficulty: Schema.Finite,
    /** Blocks for which a height may be used: the window N. */
    pastBlocks: Schema.Finite,
    /** Transactions of one key on one height at base difficulty. */
    txPerBlock: Schema.Finite,
    /** Whether more are possible at a higher difficulty. */
    increasing: Schema.Boolean,
  }),
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
    encode: SchemaGetter.transform((head) => ({
      height: head.height,
      hash: head.hash,
      spamPowHashFunction: head.pow.hashFunction,
      spamPowDifficulty: head.pow.difficulty,
      spamPowNumberOfPastBlocks: head.pow.pastBlocks,
      spamPowNumberOfTxPerBlock: head.pow.txPerBlock,
      spamPowIncreasingDifficulty: head.pow.increasing,
      chainId: head.chainId,
    })),
  }),
)
