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

/** Answers that say alike what is doubted. */
export interface Run {
  readonly firstAt: number
  readonly answers: number
  /** The last of them that counted, and the rows' block then. */
  readonly last: NamedBlock
  readonly rows: bigint | undefined
}

export interface Doubt {
  /** Unix milliseconds. */
  readonly since: number
  /** What was told last. */
  readonly height: bigint
  readonly why: string
  readonly run: Run | undefined
}

/** What is believed of one chain. */
export interface Belief {
  readonly trusted: Trusted | undefined
  readonly doubt: Doubt | undefined
  /** Absent before the first answer that counts. */
  readonly stood?: Stood | undefined
}

export const nothingBelieved: Belief = { trusted: undefined, doubt: undefined }

/** The highest block that the chain can have begun by now. A clock that was put back counts as no time at all. */
export const ceilingOf = ({ height, at }: NamedBlock, now: number, bounds: HeadBounds): bigint =>
  height + bounds.jumpBlocks + (bounds.blocksPerSecond * BigInt(Math.max(0, Math.trunc(now - at)))) / 1_000n

/** Whether a height may be the chain's newest, after one that was named before. */
export const isPlausible = (height: bigint, after: NamedBlock, now: number, bounds: HeadBounds): boolean =>
  height + stepBackMax >= after.height && height <= ceilingOf(after, now, bounds)

/** A head as one gateway tells it, with the block that its row headers named last, where it has any. */
export interface ToldHead {
  readonly height: bigint
  readonly rows: NamedBlock | undefined
}

const isContradicted = ({ height, rows }: ToldHead, now: number, bounds: HeadBounds): boolean =>
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

/** Whether an answer fits what is believed. The first of a chain does where its gateway's row headers let it. */
export const fits = (belief: Belief, told: ToldHead, now: number, bounds: HeadBounds): boolean =>
  belief.trusted === undefined
    ? !isContradicted(told, now, bounds)
    : isPlausible(told.height, belief.trusted, now, bounds)

/** After an answer that fits: the highest is kept, and a doubt is over. */
export const believed = ({ trusted, stood }: Belief, told: ToldHead, now: number): Belief => {
  const isFirst = trusted === undefined ? told.rows === undefined : trusted.isFirst && told.rows === undefined
  const height = trusted === undefined || told.height > trusted.height ? told.height : trusted.height
  return {
    trusted: { height, at: now, epoch: trusted?.epoch ?? 0, isFirst },
    doubt: undefined,
    stood: stoodAfter(stood, told.height, now),
  }
}

/** What is believed where people say so, or where it persisted: below what was, a new epoch of the node begins. */
export const taken = ({ trusted, stood }: Belief, height: bigint, now: number): Belief => {
  const isBack = trusted !== undefined && height < trusted.height
  return {
    trusted: { height, at: now, epoch: (trusted?.epoch ?? 0) + (isBack ? 1 : 0), isFirst: false },
    doubt: undefined,
    stood: stoodAfter(stood, height, now),
  }
}

export interface StrayHead extends ToldHead {
  readonly now: number
  readonly bounds: HeadBounds
}

/**
 * After an answer that does not fit. It is believed where it grew from answer to answer for long enough, or stood still
 * while the rows' block did, and never contradicted the row headers. A clock that was put back begins the time anew.
 */
export const doubted = (before: Belief, stray: StrayHead): Belief => {
  const { height, rows, now, bounds } = stray
  const { trusted, stood } = before
  // What lies below the believed one contradicts it, if it is that which was false; what lies above raises nothing.
  const belief =
    trusted === undefined || height > trusted.height ? before : { ...before, stood: stoodAfter(stood, height, now) }
  const since = Math.min(belief.doubt?.since ?? now, now)
  const words = whyOf(belief.trusted, stray)
  if (isContradicted(stray, now, bounds)) {
    const why = `${words}, and its row headers name block ${rows?.height}`
    return { ...belief, doubt: { since, height, why, run: undefined } }
  }
  const run = runAfter(belief.doubt?.run, stray)
  if (run.answers >= answersMin && now - run.firstAt >= persistMillis) return taken(belief, height, now)
  return { ...belief, doubt: { since, height, why: words, run } }
}

/** Where answers do not even say the same: no run of them can begin. */
export const atOdds = (belief: Belief, height: bigint, why: string, now: number): Belief => ({
  ...belief,
  doubt: { since: Math.min(belief.doubt?.since ?? now, now), height, why, run: undefined },
})

const runAfter = (run: Run | undefined, { height, rows, now, bounds }: StrayHead): Run => {
  const begun: Run = { firstAt: now, answers: 1, last: { height, at: now }, rows: rows?.height }
  if (run === undefined || now < run.firstAt || !isPlausible(height, run.last, now, bounds)) return begun
  const stands = height === run.last.height && rows !== undefined && rows.height === run.rows
  if (height <= run.last.height && !stands) return run
  const answers = Math.min(run.answers + 1, answersMin)
  return { firstAt: run.firstAt, answers, last: { height, at: now }, rows: rows?.height }
}

const whyOf = (trusted: Trusted | undefined, { height, now, bounds }: StrayHead): string => {
  if (trusted === undefined) return `block ${height} is the first that was told`
  if (height < trusted.height) return `block ${height} is far below block ${trusted.height}, which was believed`
  return `block ${height} is above block ${ceilingOf(trusted, now, bounds)}, the highest that can be begun by now`
}
