/**
 * Blocks far below the trusted one that are told again and again between others that follow it: mostly a node behind
 * the gateway's address that stands still. While they come, no later block is sure (rules/stoodHead.ts).
 *
 * No rule leaves them out. Where the chain itself stands still and one node behind the address makes up later blocks,
 * answers and row headers are the very same as where the chain grows and one node stands still, for hours as well, and
 * nothing in them is signed by the network. What counted the later blocks in one case would end payments by a lie in
 * the other, and they would be paid twice once the chain goes on. So people hear of it, and give another address.
 */
export interface LowHeads {
  /** Since when they come, with pauses of less than an hour; Unix milliseconds. */
  readonly first: number
  /** Since when they come without a minute of later blocks alone in between. */
  readonly since: number
  readonly last: { readonly height: bigint; readonly at: number }
  /** The first answer after the last of them that follows the trusted block; absent before one came. */
  readonly followedFrom?: number | undefined
}

/**
 * They are over after later blocks alone for so long, from answer to answer: between two answers of a gateway that is
 * asked once in half a minute nothing says that a node which stands still is gone.
 */
const followedMillis = 60_000
/** No gateway is asked more seldom: after so long a silence nothing is known of what came before. */
const silenceMillisMax = 300_000
/** Nodes behind one address may be apart for so long, as while one starts. */
const tellAfterMillis = 300_000
/** They are told of once, though they pause: they are over after an hour without them. */
const keepMillis = 3_600_000

/** Whether only later blocks came since the last of them, for so long that they are over. */
const isOver = ({ followedFrom }: LowHeads, believedAt: number): boolean =>
  followedFrom !== undefined && believedAt - followedFrom >= followedMillis

/** A block that is far below the trusted one, and when that was believed last. Unix milliseconds. */
export interface LowAnswer {
  readonly height: bigint
  readonly believedAt: number
  readonly now: number
}

/** After an answer far below the trusted block. A clock that was put back begins the time anew. */
export const lowAfter = (before: LowHeads | undefined, { height, believedAt, now }: LowAnswer): LowHeads => {
  const goesOn =
    before !== undefined &&
    now >= before.last.at &&
    now - Math.max(before.last.at, believedAt) <= silenceMillisMax &&
    !isOver(before, believedAt)
  return {
    first: lowKept(before, now)?.first ?? now,
    since: goesOn ? before.since : now,
    last: { height, at: now },
  }
}

/** What is kept of them after an answer that follows the trusted block. */
export const lowKept = (before: LowHeads | undefined, now: number): LowHeads | undefined =>
  before !== undefined && now >= before.last.at && now - before.last.at <= keepMillis
    ? { ...before, followedFrom: before.followedFrom ?? now }
    : undefined

/**
 * The block below which they keep all that is sure, while answers that follow the trusted block come as well; those
 * below alone are a doubt, which has a call of its own. `believedAt`: when one was believed last, Unix milliseconds.
 */
export const lowNow = (low: LowHeads | undefined, believedAt: number | undefined, now: number): bigint | undefined =>
  low !== undefined &&
  believedAt !== undefined &&
  believedAt > low.since &&
  now - believedAt <= silenceMillisMax &&
  now - low.last.at <= silenceMillisMax &&
  !isOver(low, believedAt)
    ? low.last.height
    : undefined

/** The same, once people are to hear of it: by answers so far apart, since in silence nothing flaps. */
export const lowForLong = (
  low: LowHeads | undefined,
  believedAt: number | undefined,
  now: number,
): bigint | undefined =>
  low !== undefined && low.last.at - low.since >= tellAfterMillis ? lowNow(low, believedAt, now) : undefined
