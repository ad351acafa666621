import { Brand } from "effect"
import {
  type Attempt,
  type AttemptState,
  attemptsMax,
  deadlineHeight,
  isFinalAttempt,
  longestWindow,
  marginBlocks,
} from "../domain/Attempt.ts"
import { quorumTip } from "../domain/chain.ts"
import type { IntentState } from "../domain/Intent.ts"
import { rebroadcastBlocks, type SendVerdict } from "../payments/planSend.ts"

/**
 * Conclusions from evidence on an attempt. Every step that ends one, or lets another begin, is decided here, on values
 * alone: the model explores these very functions.
 */

/** The state after a send: a gateway that once took the bytes has not untaken them by being silent now. */
export const stateAfterSend = (before: AttemptState, verdict: Pick<SendVerdict, "state">): SendVerdict["state"] =>
  before === "accepted" && verdict.state === "unknown" ? "accepted" : verdict.state

/** The state that the intent of a live attempt shows. */
export const intentStateOf = (attempt: AttemptState): "in_flight" | "unknown" =>
  attempt === "unknown" || attempt === "sending" ? "unknown" : "in_flight"

/**
 * A height by which an attempt may be judged as over. `sureHeight` alone makes one, so that none of the decisions below
 * can go by what a gateway just says.
 */
export type SureHeight = bigint & Brand.Brand<"SureHeight">
const SureHeight = Brand.nominal<SureHeight>()

/** Progress of the chain as far as it is known. */
export interface Reached {
  /** The newest reported block, of whatever source. */
  readonly told: bigint
  /** Unix milliseconds. */
  readonly now: number
  /** Milliseconds that a block of the chain takes, as measured (`BlockPace`). */
  readonly blockMillis: number
}

/**
 * The height that the chain has surely reached: no higher than reported, and than its pace allows from the anchor on in
 * the time since the signature. A false head of some seconds ends nothing; a clock that was put back counts as no time.
 */
export const sureHeight = (attempt: Attempt, { told, now, blockMillis }: Reached): SureHeight => {
  const blocks = BigInt(Math.trunc(Math.max(0, now - attempt.createdAt) / blockMillis))
  const reach = attempt.anchorHeight + blocks
  return SureHeight(told < reach ? told : reach)
}

/** The last block with which there is doubt whether the window is over. */
export const doubtfulUntil = (attempt: Attempt): bigint =>
  deadlineHeight(attempt) + marginBlocks(longestWindow(attempt))

/** True if the window is over beyond doubt about the newest height: before that nothing counts as absence. */
export const isOver = (attempt: Attempt, tip: SureHeight): boolean => tip > doubtfulUntil(attempt)

/** A listing of the sender's transfers, as far as it bears witness. */
export interface ListingSeen {
  /** Block begun when it was read; all before it are in it. Undefined: it proves nothing. */
  readonly height: bigint | undefined
  readonly complete: boolean
  readonly holds: boolean
}

/**
 * Merges the listings of several gateways: as complete and as new as those of a quorum. A single one that has the
 * transfer outweighs all that do not. No mark counts above the height that is sure.
 */
export const quorumListing = (
  listings: ReadonlyArray<ListingSeen>,
  { quorum, tip }: { readonly quorum: number; readonly tip: SureHeight },
): ListingSeen => {
  const holds = listings.some((listing) => listing.holds)
  const marked = quorumTip(
    listings.flatMap((listing) => (listing.complete && listing.height !== undefined ? [listing.height] : [])),
    quorum,
  )
  const height = marked !== undefined && marked > tip ? tip : marked
  return { height, complete: height !== undefined, holds }
}

/**
 * Effect of a listing without the transfer. `note`: the first that counts. `proven`: the second, far enough from it. A
 * listing counts if it is complete and was read after the window's last block was committed, by a height beyond doubt.
 */
export const judgeAbsence = (
  attempt: Attempt,
  tip: SureHeight,
  listing: ListingSeen,
  earlier: ReadonlyArray<bigint>,
): "nothing" | "note" | "proven" => {
  if (listing.holds || !listing.complete || listing.height === undefined) return "nothing"
  if (!isOver(attempt, tip) || listing.height < deadlineHeight(attempt) + 1n) return "nothing"
  const first = earlier[0]
  if (first === undefined) return "note"
  return listing.height < first + rebroadcastBlocks(attempt.windowBlocks) ? "nothing" : "proven"
}

/** Milliseconds between two listings before the second proves anything: no momentary answer lasts so long. */
export const apartMillis = 30_000

interface ListedAt {
  /** Unix milliseconds. */
  readonly at: number
  readonly height: bigint
}

/** True if two listings are far enough apart, in time and in blocks. */
export const isApart = ({ windowBlocks }: Attempt, first: ListedAt, second: ListedAt): boolean =>
  second.at - first.at >= apartMillis && second.height >= first.height + rebroadcastBlocks(windowBlocks)

/** Bytes that never left this process are dead once their window is over: no gateway's word is needed. */
export const isDeadUnsent = (attempt: Attempt, sends: number, tip: SureHeight): boolean =>
  !isFinalAttempt(attempt.state) && sends === 0 && attempt.sends === 0 && tip > deadlineHeight(attempt)

/** Blocks within which the proof of a window's end must come: then a person must look. */
const proofBlocksMax = 60n

/**
 * True if an attempt without any proof must alert: at a fixed time after its window or, if that was read later, after
 * the first listing that counted against it. `earlier`: blocks of such listings, the first one first.
 */
export const isGivenUp = (attempt: Attempt, tip: SureHeight, earlier: ReadonlyArray<bigint> = []): boolean => {
  const end = doubtfulUntil(attempt)
  const from = earlier[0] !== undefined && earlier[0] > end ? earlier[0] : end
  return tip > from + proofBlocksMax
}

/** Codes that the same command would meet again, whatever its window. */
const hopeless: ReadonlySet<number> = new Set([51, 60, 80])

/**
 * State after the proof that attempt k never executed: "reserved" if the intent may have another one. `refusal` is the
 * code of the last definite refusal, if there was one. A payment handed to people never restarts by itself.
 */
export const afterExpiry = (k: number, refusal: number | undefined, intent: IntentState): "reserved" | "abandoned" =>
  k >= attemptsMax || intent === "manual" || (refusal !== undefined && hopeless.has(refusal)) ? "abandoned" : "reserved"
