import type { BlockMark } from "../domain/Balance.ts"
import { quorumTip } from "../domain/quorum.ts"
import { type LowHeads, lowAfter, lowKept } from "./lowHeads.ts"
import { type Stood, stoodAfter } from "./stoodHead.ts"

/**
 * Which heights of a chain are believed. A gateway's word alone moves the newest block only as far as a chain can
 * have come; whatever lies outside is doubted until it persists.
 */

/** Blocks below the newest believed one that nodes may differ: several stand behind most gateways. */
export const stepBackMax = 10n
/** What is doubted is believed after so many answers over so long. */
const answersMin = 3
const persistMillis = 30_000

/** How far a head may be ahead of the last trusted one. */
export interface HeadBounds {
  readonly jumpBlocks: bigint
  readonly blocksPerSecond: bigint
}

/** Faster than any network of this kind: blocks come about once a second. */
export const headBounds: HeadBounds = { jumpBlocks: 1_000n, blocksPerSecond: 20n }

/** A block that somebody named, and when (Unix milliseconds). */
export interface NamedBlock {
  readonly height: bigint
  readonly at: number
}

export interface Trusted {
  /** The highest that was believed in this epoch. */
  readonly height: bigint
  /** When a head was last believed, Unix milliseconds. */
  readonly at: number
  /** Counts how often the chain was believed to have gone back: what is highest begins anew with each. */
  readonly epoch: number
  /** Believed since it was the first, with no row header that said the same yet. */
  readonly isFirst: boolean
}

/** Answers that say alike what is doubted, each above the one before. */
export interface Run {
  readonly firstAt: number
  readonly answers: number
  /** The last of them that counted. */
  readonly last: NamedBlock
  /** In memory alone: a new process begins it anew. Absent where no row headers are known. */
  readonly still?: Still | undefined
}

/** Answers that say alike that the chain stands still: the rows' block is the same, and the heads differ by little. */
export interface Still {
  readonly firstAt: number
  readonly answers: number
  /** What the first of them told. */
  readonly height: bigint
  /** Height of the rows' block. */
  readonly rows: bigint
}

export interface Doubt {
  /** Unix milliseconds. */
  readonly since: number
  /** What was told last. */
  readonly height: bigint
  readonly why: string
  readonly run: Run | undefined
  /** What people may take for the newest block, by the latest answers; undefined where these show none. */
  readonly trustable?: bigint | undefined
  /** The known block below which the chain begins again, where row headers said so: only people believe that. */
  readonly begunBelow?: bigint | undefined
}

/** What is believed of one chain. */
export interface Belief {
  readonly trusted: Trusted | undefined
  readonly doubt: Doubt | undefined
  /** Absent before the first answer that counts. */
  readonly stood?: Stood | undefined
  /** Answers far below that come between those that are believed. */
  readonly low?: LowHeads | undefined
  /** The newest block with its time that has stood, by row headers of a gateway whose head was believed. */
  readonly block?: BlockMark | undefined
  /** The next one, once it has stood: a lie of some seconds is no anchor. In memory alone. */
  readonly nextBlock?: BlockMark | undefined
}

export const nothingBelieved: Belief = { trusted: undefined, doubt: undefined }

/** The highest block that the chain can have begun by now. A clock that was put back counts as no time at all. */
export const ceilingOf = ({ height, at }: NamedBlock, now: number, bounds: HeadBounds): bigint =>
  height + bounds.jumpBlocks + (bounds.blocksPerSecond * BigInt(Math.max(0, Math.trunc(now - at)))) / 1_000n

/** Whether a height may be the chain's newest, after one that was named before. */
export const isPlausible = (height: bigint, after: NamedBlock, now: number, bounds: HeadBounds): boolean =>
  height + stepBackMax >= after.height && height <= ceilingOf(after, now, bounds)

/** A block of row headers. */
export interface RowsBlock extends NamedBlock {
  /** The block's own time, Unix nanoseconds. */
  readonly timestamp?: bigint | undefined
}

/** A head as one gateway tells it, with the block that its row headers named last, where it has any. */
export interface ToldHead {
  readonly height: bigint
  readonly rows: RowsBlock | undefined
}

/**
 * Whether a block is later than a known one by its time and yet far below it. No chain that goes on has both: it began
 * again. A node that is behind names an older time with its lower block.
 */
export const beginsAgain = ({ height, timestamp }: BlockMark, known: BlockMark | undefined): boolean =>
  known !== undefined && timestamp > known.timestamp && height + stepBackMax < known.height

/** The known block below which a gateway's head and row headers begin again; undefined where they do not. */
const begunBelowOf = ({ block }: Belief, { height, rows }: ToldHead): bigint | undefined =>
  block !== undefined &&
  rows?.timestamp !== undefined &&
  beginsAgain({ height: rows.height, timestamp: rows.timestamp }, block) &&
  height + stepBackMax < block.height
    ? block.height
    : undefined

/** Whether a gateway's own row headers name a block that its head cannot follow. */
export const isContradicted = ({ height, rows }: ToldHead, now: number, bounds: HeadBounds): boolean =>
  rows !== undefined && !isPlausible(height, rows, now, bounds)

/**
 * What is known before an answer is judged by it. A first head that row headers of as many as must agree contradict
 * later was a lie from the beginning: nothing is known then.
 */
export const reviewed = (
  belief: Belief,
  told: ReadonlyArray<ToldHead>,
  { quorum, bounds }: { readonly quorum: number; readonly bounds: HeadBounds },
): Belief => {
  const { trusted } = belief
  if (trusted?.isFirst !== true) return belief
  const isApart = (a: NamedBlock, b: NamedBlock) => a.height > ceilingOf(b, a.at, bounds)
  const against = told.filter(({ rows }) => rows !== undefined && (isApart(trusted, rows) || isApart(rows, trusted)))
  return against.length >= quorum ? { ...belief, trusted: undefined } : belief
}

/**
 * Whether an answer fits what is believed. The first of a chain does where its gateway's row headers let it; one of a
 * chain that began again does not, whatever head was believed since.
 */
export const fits = (belief: Belief, told: ToldHead, now: number, bounds: HeadBounds): boolean =>
  begunBelowOf(belief, told) === undefined &&
  (belief.trusted === undefined
    ? !isContradicted(told, now, bounds)
    : isPlausible(told.height, belief.trusted, now, bounds))

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b)

/** Whether two gateways tell the same newest block, but for what nodes differ by. */
export const isNearBlock = (a: bigint, b: bigint): boolean => distance(a, b) <= stepBackMax

/** Who must agree, and by which bounds row headers contradict a head. */
export interface Judging {
  readonly quorum: number
  readonly now: number
  readonly bounds: HeadBounds
}

/**
 * The newest block that people may take where it is doubted: a quorum tells it, more than tell another, and none of
 * these is contradicted by its own row headers. Undefined where the answers show none.
 */
export const trustableOf = (told: ReadonlyArray<ToldHead>, { quorum, now, bounds }: Judging): bigint | undefined => {
  const heights = told.flatMap((one) => (isContradicted(one, now, bounds) ? [] : [one.height]))
  const groups = heights.map((height) => heights.filter((other) => isNearBlock(other, height)))
  const group = groups.find(({ length }) => length >= quorum && 2 * length > told.length)
  return group && quorumTip(group, quorum)
}

/** A block's time may be ahead of our clock by as much as clocks differ. */
const aheadMillisMax = 30_000n

/** The block of row headers; undefined where they are above a head that is believed: then they are a lie. */
const markOf = ({ height, rows }: ToldHead, now: number): BlockMark | undefined =>
  rows?.timestamp === undefined ||
  rows.height > height + stepBackMax ||
  rows.timestamp > (BigInt(Math.trunc(now)) + aheadMillisMax) * 1_000_000n
    ? undefined
    : { height: rows.height, timestamp: rows.timestamp }

const isAfter = (mark: BlockMark, known: BlockMark | undefined): boolean =>
  known === undefined || (mark.height >= known.height && mark.timestamp > known.timestamp)

/** The known blocks after a head that is believed, and after which this height has stood. */
const blocksAfter = ({ block, nextBlock }: Belief, mark: BlockMark | undefined, stood: bigint) => {
  const hasStood = nextBlock !== undefined && nextBlock.height <= stood
  const known = hasStood && isAfter(nextBlock, block) ? nextBlock : block
  const waiting = hasStood ? undefined : nextBlock
  const isNext = mark !== undefined && (waiting === undefined || mark.height < waiting.height)
  return blocksOf({ block: known, nextBlock: isNext ? mark : waiting })
}

/** Those of them that there are. */
const blocksOf = ({ block, nextBlock }: Pick<Belief, "block" | "nextBlock">) => ({
  ...(block === undefined ? {} : { block }),
  ...(nextBlock === undefined ? {} : { nextBlock }),
})

/** After an answer that fits: the highest is kept, and a doubt is over. */
export const believed = (belief: Belief, told: ToldHead, now: number): Belief => {
  const { trusted } = belief
  const isFirst = trusted === undefined ? told.rows === undefined : trusted.isFirst && told.rows === undefined
  const height = trusted === undefined || told.height > trusted.height ? told.height : trusted.height
  const stood = stoodAfter(belief.stood, told.height, now)
  const low = lowKept(belief.low, now)
  return {
    trusted: { height, at: now, epoch: trusted?.epoch ?? 0, isFirst },
    doubt: undefined,
    stood,
    ...(low === undefined ? {} : { low }),
    ...blocksAfter(belief, markOf(told, now), stood.height),
  }
}

/**
 * What is believed where people say so, or where it persisted: below what was, a new epoch of the node begins. The
 * known block stays, so that row headers which come later still show whether the chain began again.
 */
export const taken = ({ trusted, stood, block, nextBlock }: Belief, height: bigint, now: number): Belief => {
  const isBack = trusted !== undefined && height < trusted.height
  return {
    trusted: { height, at: now, epoch: (trusted?.epoch ?? 0) + (isBack ? 1 : 0), isFirst: false },
    doubt: undefined,
    stood: stoodAfter(stood, height, now),
    ...blocksOf({ block, nextBlock }),
  }
}

/** After people said that the chain did begin again: what was known of the one before says nothing of this one. */
export const begunAnew = ({ trusted }: Belief, height: bigint, now: number): Belief =>
  taken({ trusted, doubt: undefined }, height, now)

export interface StrayHead extends ToldHead {
  readonly now: number
  readonly bounds: HeadBounds
  readonly trustable?: bigint | undefined
}

/**
 * After an answer that does not fit. It is believed where it grew from answer to answer for long enough, or stood still
 * while the rows' block did, and never contradicted the row headers. A clock that was put back begins the time anew.
 * A chain that began again is never believed so: that is for people.
 */
export const doubted = (before: Belief, stray: StrayHead): Belief => {
  const { height, rows, now, bounds, trustable } = stray
  const { trusted, stood } = before
  // What lies below the believed one contradicts it, if it is that which was false; what lies above raises nothing.
  const belief =
    trusted === undefined || height > trusted.height
      ? before
      : {
          ...before,
          stood: stoodAfter(stood, height, now),
          low: lowAfter(before.low, { height, believedAt: trusted.at, now }),
        }
  const since = Math.min(belief.doubt?.since ?? now, now)
  const words = whyOf(belief, stray)
  if (isContradicted(stray, now, bounds)) {
    const why = `${words}, and its row headers name block ${rows?.height}`
    return { ...belief, doubt: { since, height, why, run: undefined, trustable } }
  }
  const run = runAfter(belief.doubt?.run, stray)
  // What was seen of it once holds as long as the doubt: a new process has no row headers at first.
  const begunBelow = begunBelowOf(belief, stray) ?? belief.doubt?.begunBelow
  if (begunBelow !== undefined) return { ...belief, doubt: { since, height, why: words, run, trustable, begunBelow } }
  if (hasPersisted(run, now)) return taken(belief, height, now)
  return { ...belief, doubt: { since, height, why: words, run, trustable } }
}

const isLong = ({ answers, firstAt }: Run | Still, now: number): boolean =>
  answers >= answersMin && now - firstAt >= persistMillis

const hasPersisted = (run: Run, now: number): boolean =>
  isLong(run, now) || (run.still !== undefined && isLong(run.still, now))

/** The doubt of a chain that began again, once that has persisted; undefined otherwise. */
export const begunAgain = ({ doubt }: Belief, now: number): (Doubt & { readonly begunBelow: bigint }) | undefined =>
  doubt?.begunBelow !== undefined && doubt.run !== undefined && hasPersisted(doubt.run, now)
    ? { ...doubt, begunBelow: doubt.begunBelow }
    : undefined

/** Where answers do not even say the same: no run of them can begin. */
export const atOdds = (
  belief: Belief,
  { height, why, now, trustable }: Pick<Doubt, "height" | "why" | "trustable"> & { readonly now: number },
): Belief => ({
  ...belief,
  doubt: { since: Math.min(belief.doubt?.since ?? now, now), height, why, run: undefined, trustable },
})

const runAfter = (run: Run | undefined, stray: StrayHead): Run => {
  const { height, now, bounds } = stray
  const last = { height, at: now }
  const still = stillAfter(run?.still, stray)
  if (run === undefined || now < run.firstAt || !isPlausible(height, run.last, now, bounds))
    return { firstAt: now, answers: 1, last, still }
  if (height <= run.last.height) return { ...run, still }
  return { firstAt: run.firstAt, answers: Math.min(run.answers + 1, answersMin), last, still }
}

/**
 * Row headers may come later than the head whose block they name, or after a start not at all at first: each other
 * block of theirs begins the time anew, so that a head which stands above rows that go on is never believed.
 */
const stillAfter = (still: Still | undefined, { height, rows, now }: StrayHead): Still | undefined => {
  if (rows === undefined) return undefined
  const isSame =
    still !== undefined &&
    now >= still.firstAt &&
    rows.height === still.rows &&
    height + stepBackMax >= still.height &&
    height <= still.height + stepBackMax
  if (!isSame) return { firstAt: now, answers: 1, height, rows: rows.height }
  return { ...still, answers: Math.min(still.answers + 1, answersMin) }
}

const whyOf = (belief: Belief, stray: StrayHead): string => {
  const { trusted } = belief
  const { height, rows, now, bounds } = stray
  const begunBelow = begunBelowOf(belief, stray)
  if (begunBelow !== undefined)
    return `its chain begins again: block ${rows?.height} came later than block ${begunBelow}`
  if (trusted === undefined) return `block ${height} is the first that was told`
  if (height < trusted.height) return `block ${height} is far below block ${trusted.height}, which was believed`
  return `block ${height} is above block ${ceilingOf(trusted, now, bounds)}, the highest that can be begun by now`
}
