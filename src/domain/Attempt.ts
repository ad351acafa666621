import type { IntentId, TransferId } from "./Hex.ts"

export const liveAttemptStates = ["signed", "sending", "accepted", "refused", "unknown"] as const
const finalAttemptStates = ["confirmed", "failed", "expired"] as const
export type LiveAttemptState = (typeof liveAttemptStates)[number]
export type AttemptState = LiveAttemptState | (typeof finalAttemptStates)[number]
export const attemptStates: ReadonlyArray<AttemptState> = [...liveAttemptStates, ...finalAttemptStates]

/**
 * Where an attempt may go. `signed`: bytes durable, never sent. `sending`: a POST has begun, and after a crash may have
 * arrived. `expired`: proven never executed; only then may a new attempt be signed. attempt.md draws the same.
 */
export const attemptMoves: Readonly<Record<LiveAttemptState, ReadonlyArray<AttemptState>>> = {
  signed: ["sending", "expired"],
  sending: ["accepted", "refused", "unknown", "confirmed", "failed", "expired"],
  accepted: ["sending", "unknown", "confirmed", "failed", "expired"],
  refused: ["sending", "unknown", "confirmed", "failed", "expired"],
  unknown: ["sending", "accepted", "refused", "confirmed", "failed", "expired"],
}

const finals: ReadonlySet<string> = new Set(finalAttemptStates)

export const isFinalAttempt = (state: AttemptState): state is (typeof finalAttemptStates)[number] => finals.has(state)

/** Kinds of evidence about an attempt. They are facts that were seen, not states. */
export const evidenceKinds = [
  "accepted",
  "refused",
  "known",
  "seen",
  "out_of_window",
  "throttled",
  "silent",
  "executed",
  "execution_failed",
  "absent",
  // Its anchor is above the newest block of a chain that began again, when people accepted that.
  "left_behind",
  // Its movement was seen, in the balances or among the ledger's movements.
  "moved",
] as const
export type EvidenceKind = (typeof evidenceKinds)[number]

/** Attempts that one intent may have, one after the other. */
export const attemptsMax = 3

/** One signed command of an intent. Its signed columns never change; resending sends the stored bytes. */
export interface Attempt {
  readonly intentId: IntentId
  /** From 1. */
  readonly k: number
  readonly chainId: string
  /** Public key of the sender. */
  readonly party: string
  readonly nonce: bigint
  /** Block whose hash the work uses; the command can be included in the windowBlocks blocks after it. */
  readonly anchorHeight: bigint
  readonly anchorHash: string
  /** The window that it was signed by. */
  readonly windowBlocks: number
  /** The smallest and the largest window that was seen since; undefined: the one that it was signed by. */
  readonly windowMin?: number | undefined
  readonly windowMax?: number | undefined
  /** Bare InputData, without a chain prefix. */
  readonly inputData: Uint8Array
  readonly signature: string
  readonly transferId: TransferId
  readonly difficulty: number
  /** Counts the solutions of this signature: a refusal of the work alone is answered by a new one. */
  readonly workIndex: number
  readonly work: { readonly tid: string; readonly nonce: bigint } | undefined
  /** Transaction hashes of both wire forms, once the work is solved. */
  readonly hashBare: string | undefined
  readonly hashPrefixed: string | undefined
  readonly state: AttemptState
  /** Form in which it was last sent. */
  readonly framing: "prefixed" | "bare" | undefined
  readonly sends: number
  /** Not to be sent or looked up before this time (Unix milliseconds) and this height. */
  readonly nextAt: number
  readonly nextHeight: bigint
  readonly createdAt: number
  readonly updatedAt: number
  /** Block time (Unix nanoseconds) of the newest block known when it was signed: no earlier one can hold it. */
  readonly signedAfter?: bigint | undefined
}

/** Blocks in which it may be included, by the largest window reported since it was signed. */
export const longestWindow = ({ windowBlocks, windowMax = windowBlocks }: Windows): number =>
  Math.max(windowBlocks, windowMax)

type Windows = Pick<Attempt, "windowBlocks" | "windowMin" | "windowMax">

/** The last block that can include the attempt: anchor + window. Once the block after it is begun, it is dead. */
export const deadlineHeight = (attempt: Attempt): bigint => attempt.anchorHeight + BigInt(longestWindow(attempt))

/** From this block on nothing is sent: a margin before the end of the smallest window reported since it was signed. */
export const sendEnd = ({ anchorHeight, windowBlocks, windowMin = windowBlocks }: Attempt): bigint => {
  const shortest = Math.min(windowBlocks, windowMin)
  return anchorHeight + BigInt(shortest) - marginBlocks(shortest)
}

/** Blocks before the window's end in which nothing is sent any more: min(10, max(3, window/10)). */
export const marginBlocks = (windowBlocks: number): bigint =>
  BigInt(Math.min(10, Math.max(3, Math.ceil(windowBlocks / 10))))
