import { powHashFunction } from "../domain/powHashFunction.ts"

/** What the network asks of each transaction. */
export interface WorkTerms {
  /** The network's word. */
  readonly hashFunction: string
  /** Leading zero bits. */
  readonly difficulty: number
  /** The window: blocks for which an anchor counts. */
  readonly pastBlocks: number
  /** Transactions of one key on one anchor at that difficulty. */
  readonly txPerBlock: number
  readonly increasing: boolean
}

/** What terms may be without people. The window's default is how many block hashes the reference node keeps. */
export interface WorkBounds {
  readonly maxDifficulty: number
  readonly maxWindow: number
}

export const workBounds: WorkBounds = { maxDifficulty: 24, maxWindow: 500 }

/** Terms that are replaced, since which block, and up to which a node may still judge by them. */
export interface WorkChange {
  readonly before: WorkTerms
  readonly at: bigint
  readonly until: bigint
}

/** What is known of a chain's terms. */
export interface WorkKnown {
  readonly chainId: string
  /** What the last head asked for. */
  readonly work: WorkTerms
  /**
   * They are the first that were seen, and not believed yet: since which block and time (Unix milliseconds) they are
   * the same, and since when the newest block stands still.
   */
  readonly first?: { readonly height: bigint; readonly at: number; readonly still: bigint; readonly stillAt: number }
  readonly changed?: WorkChange & {
    /** When the new terms were seen first (Unix milliseconds); absent in what earlier releases stored. */
    readonly seenAt?: number
    /** The new terms were seen for as many blocks as a passing lie is not believed for. */
    readonly persisted?: boolean
    /** People ended the wait. */
    readonly trusted?: boolean
    /** An earlier change, whose wait goes on where this one is taken back. */
    readonly prior?: WorkChange
  }
}

/** A head, as far as it tells of terms. */
export interface WorkSeen {
  readonly chainId: string
  readonly height: bigint
  readonly work: WorkTerms
  /** Unix milliseconds. */
  readonly now: number
  /** Something beside the head says the same: the network's parameters, or the file. */
  readonly isVouched: boolean
  readonly bounds: WorkBounds
}

/** Blocks for which terms must be the same before they are believed, and a wait that they began is not taken back. */
const persistBlocks = 10n
/** So long as well: a head that runs ahead tells ten blocks in two answers. */
const persistMillis = 10_000
/** The same, in milliseconds, where no block comes. */
const stillMillis = 30_000

export const isSameWork = (a: WorkTerms, b: WorkTerms): boolean =>
  a.hashFunction === b.hashFunction &&
  a.difficulty === b.difficulty &&
  a.pastBlocks === b.pastBlocks &&
  a.txPerBlock === b.txPerBlock &&
  a.increasing === b.increasing

/** Why nothing may be signed or solved by these terms, and what people do about it; undefined where they are plain. */
export const oddWork = (
  { hashFunction, difficulty, pastBlocks, txPerBlock }: WorkTerms,
  { maxDifficulty, maxWindow }: WorkBounds,
): { readonly detail: string; readonly remedy: string } | undefined => {
  const ask = "compare it with another node or gateway of the network"
  if (pastBlocks === 0 || txPerBlock === 0) {
    return { detail: "the network does not tell for how long work counts, or how many transactions", remedy: ask }
  }
  if (hashFunction !== powHashFunction) {
    return { detail: "the network asks for an unknown proof of work", remedy: ask }
  }
  const raise = (key: string) => `${ask}; if it is true, set "network.work.${key}" and reload`
  if (difficulty > maxDifficulty) {
    const detail = `the network asks for work of difficulty ${difficulty}, and at most ${maxDifficulty} is permitted`
    return { detail, remedy: raise("maxDifficulty") }
  }
  if (pastBlocks > maxWindow) {
    const detail = `the network names a window of ${pastBlocks} blocks, and at most ${maxWindow} are permitted`
    return { detail, remedy: raise("maxWindow") }
  }
  return undefined
}

/** A window in bounds: no node of the network keeps an anchor for longer. */
export const windowIn = ({ pastBlocks }: Pick<WorkTerms, "pastBlocks">, { maxWindow }: WorkBounds): number =>
  Math.min(pastBlocks, maxWindow)

const isPending = (changed: WorkChange | undefined, height: bigint): changed is WorkChange =>
  changed !== undefined && height < changed.until

/** What is known after a head. Returns the same value where it adds nothing. */
export const seeWork = (known: WorkKnown | undefined, seen: WorkSeen): WorkKnown => {
  if (known === undefined || known.chainId !== seen.chainId) return firstSeen(seen)
  if (known.first !== undefined) return firstAgain(known, known.first, seen)
  return isSameWork(known.work, seen.work) ? seenAgain(known, seen) : seenOther(known, seen)
}

const firstSeen = ({ chainId, height, work, now, isVouched, bounds }: WorkSeen): WorkKnown =>
  isVouched && oddWork(work, bounds) === undefined
    ? { chainId, work }
    : { chainId, work, first: { height, at: now, still: height, stillAt: now } }

const firstAgain = (known: WorkKnown, first: NonNullable<WorkKnown["first"]>, seen: WorkSeen): WorkKnown => {
  const { chainId, height, work, now, isVouched, bounds } = seen
  // A beginning later than now is of a clock that was wrong, one above the newest block of a height that was.
  if (!isSameWork(known.work, work) || first.height > height || first.at > now) return firstSeen(seen)
  if (oddWork(work, bounds) === undefined) {
    const persists = height >= first.height + persistBlocks && now - first.at >= persistMillis
    const stands = first.still === height && now - first.stillAt >= stillMillis
    if (isVouched || persists || stands) return { chainId, work }
  }
  if (first.still === height && first.stillAt <= now) return known
  return { ...known, first: { ...first, still: height, stillAt: now } }
}

const seenAgain = (known: WorkKnown, { height, now }: WorkSeen): WorkKnown => {
  const { changed } = known
  if (changed === undefined || changed.persisted === true) return known
  const { prior, seenAt = 0, ...own } = changed
  if (now < seenAt) return { ...known, changed: { ...changed, seenAt: now } }
  if (height < changed.at + persistBlocks || now - seenAt < persistMillis) return known
  const until = prior !== undefined && prior.until > own.until ? prior.until : own.until
  return { ...known, changed: { ...own, until, persisted: true } }
}

const seenOther = (known: WorkKnown, { chainId, height, work, now, bounds }: WorkSeen): WorkKnown => {
  const { changed } = known
  const isBack = changed !== undefined && isSameWork(changed.before, work)
  // A node that lags a little tells of terms that are over.
  if (isBack && height < changed.at && changed.at - height <= persistBlocks) return known
  const isPassing = changed !== undefined && changed.persisted !== true
  if (isBack && isPassing) {
    const { prior } = changed
    return isPending(prior, height) ? { chainId, work, changed: { ...prior, persisted: true } } : { chainId, work }
  }
  const before = isPassing ? changed.before : known.work
  const prior = isPassing ? changed.prior : isPending(changed, height) && !changed.trusted ? plain(changed) : undefined
  const windows = [before, known.work, work].map((one) => windowIn(one, bounds))
  const until = height + BigInt(Math.max(...windows))
  return {
    chainId,
    work,
    changed: { before, at: height, until, seenAt: now, ...(prior === undefined ? {} : { prior }) },
  }
}

const plain = ({ before, at, until }: WorkChange): WorkChange => ({ before, at, until })

/** Why nothing may be signed. */
export interface WorkDoubt {
  /** `changed` ends by itself; the others once a head tells otherwise, or people act. */
  readonly kind: "unknown" | "odd" | "first" | "changed"
  readonly detail: string
  readonly remedy: string
  /** Blocks that the wait after a change has. */
  readonly blocks: number
}

/** Why the terms are not to be relied on where the chain has come to this height; undefined where they are. */
export const doubtOf = (known: WorkKnown | undefined, height: bigint, bounds: WorkBounds): WorkDoubt | undefined => {
  if (known === undefined) {
    const detail = "what work the network asks for is not known yet"
    return { kind: "unknown", detail, remedy: "look whether the gateways tell their newest block", blocks: 0 }
  }
  const { work, first, changed } = known
  const odd = oddWork(work, bounds)
  if (odd !== undefined) return { kind: "odd", ...odd, blocks: 0 }
  const trust = 'compare them with another node or gateway; if they are true, "cofferer trust work"'
  if (first !== undefined) {
    const detail =
      `the work that the network asks for (${termsText(work)}) was seen at block ${first.height} for the first time; ` +
      `it is believed once it is seen for 10 s and at block ${first.height + persistBlocks}, or for 30 s without one`
    return { kind: "first", detail, remedy: trust, blocks: 0 }
  }
  if (!isPending(changed, height) || changed.trusted === true) return undefined
  const detail =
    `the work for transactions (${changeText(changed.before, work)}) changed at block ${changed.at}; ` +
    `payments go on after block ${changed.until}`
  return { kind: "changed", detail, remedy: trust, blocks: Number(changed.until - changed.at) }
}

/** Whether the next head may say at once what to believe. */
export const isAskingWork = (known: WorkKnown | undefined, bounds: WorkBounds): boolean =>
  known === undefined ||
  known.first !== undefined ||
  oddWork(known.work, bounds) !== undefined ||
  (known.changed !== undefined && known.changed.persisted !== true)

/** The largest window by which a node may judge what is signed now. */
export const windowNow = (known: WorkKnown, height: bigint, bounds: WorkBounds): number => {
  const { work, changed } = known
  const own = windowIn(work, bounds)
  return isPending(changed, height) ? Math.max(own, windowIn(changed.before, bounds)) : own
}

/** The terms seen now as in force, on people's word. A window that is over for nobody else stays the one of proofs. */
export const trustWork = ({ chainId, work, changed }: WorkKnown): WorkKnown =>
  changed === undefined
    ? { chainId, work }
    : { chainId, work, changed: { ...plain(changed), persisted: true, trusted: true } }

/**
 * What a store of a release that knew no bounds told: a change from odd terms was a lie, since nothing told the two
 * apart then, and no wait is longer than a window.
 */
export const boundedWork = (known: WorkKnown, bounds: WorkBounds): WorkKnown | undefined => {
  const { chainId, work, changed } = known
  if (changed === undefined) return oddWork(work, bounds) === undefined ? known : undefined
  if (oddWork(changed.before, bounds) !== undefined) return boundedWork({ chainId, work }, bounds)
  const latest = changed.at + BigInt(bounds.maxWindow)
  return { chainId, work, changed: { ...changed, until: changed.until > latest ? latest : changed.until } }
}

export const termsText = ({ difficulty, pastBlocks, txPerBlock, increasing }: WorkTerms): string =>
  `difficulty ${difficulty}, window ${pastBlocks}, ${txPerBlock} per block${increasing ? ", increasing" : ""}`

const changeText = (before: WorkTerms, after: WorkTerms): string =>
  (
    [
      ["known hash", before.hashFunction === powHashFunction, after.hashFunction === powHashFunction],
      ["difficulty", before.difficulty, after.difficulty],
      ["window", before.pastBlocks, after.pastBlocks],
      ["per block", before.txPerBlock, after.txPerBlock],
      ["increasing", before.increasing, after.increasing],
    ] as const
  )
    .filter(([, a, b]) => a !== b)
    .map(([name, a, b]) => `${name} ${a} -> ${b}`)
    .join(", ")
