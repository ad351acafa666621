import type { BlockMark } from "../domain/Balance.ts"
import { nanosOf } from "../domain/Time.ts"

/**
 * Decides which heads of a chain are accepted. An impossible head is not used, and nothing is signed while none is
 * accepted. A gateway that lies within these bounds is believed: whoever does not trust one configures a quorum.
 */

/** Blocks by which the nodes behind one address may differ. */
export const nodesApart = 10n
/** Blocks by which a head may be ahead of the block of the row headers: data nodes lag. */
export const rowsApart = 50n
/** Upper bound of the pace; networks of this kind make about one block a second. */
const blocksPerSecond = 20n
/** Shortest time between the first head and the second one that confirms it. */
const firstMillis = 10_000
/** After this time of heads that fit each other but not the accepted one, higher ones are accepted, lower ones halt. */
const lastingMillis = 300_000

/** A block, and when it was reported (Unix milliseconds). */
export interface NamedBlock {
  readonly height: bigint
  readonly at: number
}

/** A head that a gateway reports, with the block of its row headers, if it named one. */
export interface ReportedHead {
  readonly height: bigint
  readonly rows: BlockMark | undefined
  /** True if the head fits its own row headers; for several gateways, a quorum of heads. Default: by `rows`. */
  readonly isOfItsRows?: boolean
}

/** False if the head's own row headers contradict it. */
export const fitsItsRows = ({ height, rows }: Pick<ReportedHead, "height" | "rows">): boolean =>
  rows === undefined || height <= rows.height + rowsApart

interface AcceptedHead extends NamedBlock {
  /** The newest block with its time that row headers named beside an accepted head. */
  readonly block?: BlockMark
}

/** Implausible heads: those reported since the last plausible one. */
export interface Stray {
  /** `first`: none was accepted before. `behind`: a late node. `changed`: another chain, for people to judge. */
  readonly kind: "first" | "higher" | "behind" | "lower" | "changed"
  /** Since when no head is plausible, Unix milliseconds. */
  readonly since: number
  /** Since when this kind is reported, Unix milliseconds. */
  readonly kindSince: number
  /** Height of the last of them; for `first`, of the first; for `higher`, of the highest. */
  readonly height: bigint
  readonly why: string
  /** True once a halt has alerted people. */
  readonly isTold?: boolean
}

/** State of one chain's accepted head. */
export interface HeadKnown {
  readonly accepted?: AcceptedHead
  readonly stray?: Stray
}

/** Milliseconds in which a chain can begin this number of blocks. */
const millisFor = (blocks: bigint): number => Number((blocks * 1_000n) / blocksPerSecond)

/** The time, or now if it is further ahead than `nodesApart` blocks explain: the clock was set back since. */
const sinceOf = (at: number, now: number): number => (at > now + millisFor(nodesApart) ? now : at)

/** Blocks that a chain can have begun since a time; negative for a time ahead of now, as `accept` may set it. */
const blocksSince = (at: number, now: number): bigint =>
  (blocksPerSecond * BigInt(Math.trunc(now - sinceOf(at, now)))) / 1_000n

/** The highest block that a chain can have begun by now, after a known one. */
export const ceilingOf = ({ height, at }: NamedBlock, now: number, apart = nodesApart): bigint =>
  height + apart + blocksSince(at, now)

/** True if a height may be the newest block after an earlier reported one. */
const follows = (height: bigint, before: NamedBlock, now: number): boolean =>
  height + nodesApart >= before.height && height <= ceilingOf(before, now)

/** The block by which answers are judged: the accepted one, or the first reported one. */
const referenceOf = ({ accepted, stray }: HeadKnown): NamedBlock | undefined =>
  accepted ?? (stray?.kind === "first" ? { height: stray.height, at: stray.kindSince } : undefined)

/**
 * True if row headers name a block that does not count: above any block that the chain can have begun since the
 * accepted one, or below it by more than the blocks made during the request. None counts on another chain.
 */
export const isStrayBlock = (height: bigint, known: HeadKnown, now: number, askedAt = now): boolean => {
  const reference = referenceOf(known)
  if (reference === undefined) return false
  if (known.stray?.kind === "changed") return true
  return height + nodesApart + blocksSince(askedAt, now) < reference.height || height > ceilingOf(reference, now)
}

/** True if the height is plausible after the accepted head. False before the first one is accepted. */
export const headFits = ({ accepted }: HeadKnown, height: bigint, now: number): boolean =>
  accepted !== undefined && follows(height, accepted, now)

/** A block's time may be ahead of our clock by as much as clocks differ. */
const aheadNanosMax = 30_000_000_000n

/**
 * True if a gateway's chain is another than the accepted one under the same id: its head is far below, and a block of
 * its row headers is far below a known one but later by its own time. A node that lags shows an older time.
 */
export const isAnotherChain = ({ height, rows }: ReportedHead, { accepted }: HeadKnown): boolean => {
  const block = accepted?.block
  if (block === undefined || rows === undefined) return false
  return rows.timestamp > block.timestamp && [rows.height, height].every((one) => one + nodesApart < block.height)
}

/** State after a head that fits, or that is accepted because higher heads lasted. */
const accept = ({ accepted }: HeadKnown, { height, rows }: ReportedHead, now: number): HeadKnown => {
  const isBlock =
    rows !== undefined &&
    rows.height <= height + nodesApart &&
    rows.timestamp <= nanosOf(Math.trunc(now)) + aheadNanosMax &&
    (accepted?.block === undefined || rows.height > accepted.block.height)
  const block = isBlock ? rows : accepted?.block
  const rise = accepted === undefined || height < accepted.height ? 0n : height - accepted.height
  // A rise above the pace is charged to the time to come: many answers in a row rise no further than one.
  const at = accepted === undefined ? now : Math.max(now, sinceOf(accepted.at, now) + millisFor(rise))
  return { accepted: { height: (accepted?.height ?? height) + rise, at, ...(block === undefined ? {} : { block }) } }
}

/** State after `resume`: the newest head is accepted regardless of the one before. */
export const acceptAfterResume = (height: bigint, now: number): HeadKnown => ({ accepted: { height, at: now } })

/** State after another reported head. The head fits if the result has an accepted head and no stray. */
export const afterHead = (known: HeadKnown, reported: ReportedHead, now: number): HeadKnown => {
  const { accepted, stray } = known
  const { height } = reported
  if (headFits(known, height, now) && !isAnotherChain(reported, known)) return accept(known, reported, now)
  const since = Math.min(stray?.since ?? now, now)
  // A head that its own row headers contradict is never accepted, however long it lasts.
  const isOfItsRows = reported.isOfItsRows ?? fitsItsRows(reported)
  if (accepted === undefined) {
    const first = referenceOf(known)
    const goesOn = first !== undefined && now >= first.at && follows(height, first, now)
    if (goesOn && isOfItsRows && now - first.at >= firstMillis) return accept(known, reported, now)
    if (goesOn) return known
    const why = `block ${height} is the first one seen; it counts once a block that comes ${firstMillis / 1_000} s later or more fits it`
    return { stray: { kind: "first", since, kindSince: now, height, why } }
  }
  const kind = kindOf(reported, known)
  const isLine = (before: Stray) => kind !== "higher" || height + nodesApart >= before.height
  const goesOn = stray?.kind === kind && now >= stray.kindSince && isLine(stray)
  const kindSince = goesOn ? stray.kindSince : now
  const isLasting = now - kindSince >= lastingMillis
  if (kind === "higher" && isLasting && isOfItsRows) return accept({}, reported, now)
  const next = kind === "lower" && isLasting ? "changed" : kind
  // The halt has alerted to the other chain, and is not repeated while heads are of that chain.
  const isTold = next === "changed" && stray?.kind === next && stray.isTold === true
  const why = whyOf(next, reported, accepted)
  const line = goesOn && kind === "higher" && stray.height > height ? stray.height : height
  return { accepted, stray: { kind: next, since, kindSince, height: line, why, ...(isTold ? { isTold } : {}) } }
}

const kindOf = (reported: ReportedHead, known: HeadKnown): Stray["kind"] => {
  const { accepted, stray } = known
  if (accepted !== undefined && reported.height > accepted.height && !isAnotherChain(reported, known)) return "higher"
  // Another chain, once seen, counts until a head fits: a new process has no row headers at first.
  if (stray?.kind === "changed" || isAnotherChain(reported, known)) return "changed"
  return isLate(reported, accepted?.block) ? "behind" : "lower"
}

/**
 * True if a head far below the accepted one is of a node that lags. Row headers beside it that go on far above the last
 * known block are not of such a node: the accepted height was wrong.
 */
const isLate = ({ height, rows }: ReportedHead, block: BlockMark | undefined): boolean =>
  rows !== undefined &&
  block !== undefined &&
  (rows.height <= block.height + rowsApart || rows.height > height + nodesApart)

const whyOf = (kind: Stray["kind"], { height }: ReportedHead, { block, ...accepted }: AcceptedHead): string => {
  const below = block !== undefined && height < block.height ? block.height : accepted.height
  if (kind === "changed") return `begins again below block ${below}, which was known`
  return kind === "higher"
    ? `block ${height} is above what can follow block ${accepted.height}`
    : `block ${height} is far below block ${accepted.height}`
}
