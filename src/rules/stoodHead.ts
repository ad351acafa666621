/**
 * The block that a lie of some seconds cannot move. A plausible head is believed at once, for signing. What is dead is
 * judged by a block that no answer was below for a while, so that the chain itself has time to contradict a false one.
 */

/** So long no answer may have been below a block that counts here. */
export const stoodMillis = 10_000

export interface Stood {
  /** No answer was below it for at least stoodMillis; 0 before any answer is that old. Mostly 10 to 20 s behind. */
  readonly height: bigint
  /** The lowest answer since then (Unix milliseconds): it counts once it is old enough. */
  readonly next: { readonly height: bigint; readonly at: number }
}

const lower = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * After another answer. What lies below counts at once, what lies above once it has stood; a clock that was put back
 * begins the time anew. A node that lags behind others at one address delays what counts; one that stands still stops
 * it for as long as it answers, on purpose, and people are told (rules/lowHeads.ts says why).
 */
export const stoodAfter = (before: Stood | undefined, told: bigint, now: number): Stood => {
  const next = { height: told, at: now }
  if (before === undefined) return { height: 0n, next }
  const lowest = lower(before.next.height, told)
  const height = lower(before.height, told)
  if (now < before.next.at) return { height, next }
  if (now - before.next.at < stoodMillis) return { height, next: { height: lowest, at: before.next.at } }
  return { height: lowest, next }
}
