import { Effect } from "effect"
import type { BlockMark } from "../../domain/Balance.ts"
import type { StoreError } from "../database/StoreError.ts"

/** Milliseconds of a block before any were measured. */
export const blockMillis = 1_000
/** Bounds of what is believed: a time that a gateway makes up neither refuses ordinary work nor keeps hopeless work. */
const blockMillisMin = 100
const blockMillisMax = 10_000
/** Blocks over which it is measured: at least, and before the older half is forgotten. */
const blocksMin = 5n
const blocksMax = 100n

/**
 * Milliseconds that a block of the chain takes, by the times of the blocks up to which balances are known. Ask in each
 * round: it is measured from one asking to the next.
 */
export const makeBlockPace = (
  watermark: Effect.Effect<BlockMark | undefined, StoreError>,
): Effect.Effect<number, StoreError> => {
  let first: BlockMark | undefined
  let middle: BlockMark | undefined
  return Effect.map(watermark, (now) => {
    if (now === undefined || now.height === 0n) return blockMillis
    if (first === undefined || middle === undefined || now.height < middle.height) {
      first = now
      middle = now
    }
    const blocks = now.height - first.height
    if (blocks > blocksMax) {
      first = middle
      middle = now
    } else if (2n * (middle.height - first.height) < blocks) middle = now
    return paceOf(first, now)
  })
}

const paceOf = (from: BlockMark, to: BlockMark): number => {
  const blocks = to.height - from.height
  if (blocks < blocksMin) return blockMillis
  const millis = Number(to.timestamp - from.timestamp) / 1e6 / Number(blocks)
  return Math.min(blockMillisMax, Math.max(blockMillisMin, millis))
}
