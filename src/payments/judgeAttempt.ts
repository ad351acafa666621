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
import type { Intent, IntentState } from "../domain/Intent.ts"
import { rebroadcastBlocks, type SendVerdict } from "./planSend.ts"

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
  /** Milliseconds that a block of the chain takes, as measured (`Observations.blockMillis`). */
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

/** A listing that lacks the attempt. */
interface Absence {
  /** Unix milliseconds. */
  readonly at: number
  readonly height: bigint
}

/** True if two listings are far enough apart, in time and in blocks. */
export const isApart = ({ windowBlocks }: Attempt, first: Absence, second: Absence): boolean =>
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

/**
 * The listings that bore witness against the attempt, the first one first: none from before the end of its window,
 * which may have become larger since.
 */
export const absencesOf = (
  evidence: ReadonlyArray<
    Pick<Absence, "at"> & { readonly k: number; readonly kind: string; readonly height: bigint | null }
  >,
  attempt: Attempt,
): ReadonlyArray<Absence> =>
  evidence.flatMap(({ k, kind, height, at }) =>
    k === attempt.k && kind === "absent" && height !== null && height > deadlineHeight(attempt) ? [{ height, at }] : [],
  )

/** A sighting of an attempt under its own transfer id, and what it is judged by. */
interface SightingContext {
  readonly intent: Intent
  readonly attempt: Attempt
  readonly height: SureHeight
  readonly gateway: string
  readonly found: {
    readonly from: string
    readonly to: string
    readonly asset: string
    readonly amount: bigint
    readonly status: string
    readonly reason?: string | undefined
    /** Block time, Unix nanoseconds. */
    readonly timestamp: bigint
  }
  /** The latest time that a block can have by now, Unix nanoseconds. */
  readonly latest: bigint
  /** Why the gateways of this process prove no payment dead. */
  readonly lacking: string | undefined
  /** Earlier execution of the same bytes, which a later failure hides; undefined where nobody was asked. */
  readonly before: "yes" | "no" | "unknown" | undefined
}

type SightingVerdict =
  /** Another payment is shown under the transfer id. */
  | { readonly _tag: "Other"; readonly shown: string }
  /** It proves nothing yet. */
  | { readonly _tag: "Nothing"; readonly why: string | undefined }
  | { readonly _tag: "Executed" }
  | { readonly _tag: "ExecutedBefore" }
  | { readonly _tag: "Failed"; readonly detail: string }
  /** The ledger must be asked if the bytes executed before they failed. */
  | { readonly _tag: "Ask" }

/** Ends of a transfer that did not pay. */
const refused: ReadonlySet<string> = new Set(["rejected", "stopped", "cancelled"])

/** Judges by a sighting. Until the window ends a third party may bring refused bytes into a block that takes them. */
export const judgeSighting = (context: SightingContext): SightingVerdict => {
  const { intent, attempt, height, gateway, found, before } = context
  const { payment } = intent
  const isSame = found.from === payment.fromKey && found.to === payment.toKey && found.asset === payment.assetId
  if (!isSame || found.amount !== payment.amount) {
    const shown = `another payment (${found.amount} of ${found.asset.slice(0, 8)} to ${found.to.slice(0, 8)})`
    return { _tag: "Other", shown }
  }
  // Taken for true, balances would never be known to hold the payment.
  if (found.timestamp > context.latest) {
    return { _tag: "Nothing", why: `${gateway} shows it at a time that has not come` }
  }
  if (found.status === "done") return { _tag: "Executed" }
  if (!refused.has(found.status) || !isOver(attempt, height) || context.lacking !== undefined) {
    return { _tag: "Nothing", why: undefined }
  }
  switch (before) {
    case undefined:
      return { _tag: "Ask" }
    case "unknown":
      return {
        _tag: "Nothing",
        why: `${gateway} shows it ${found.status}, and nothing tells whether it executed before`,
      }
    case "yes":
      return { _tag: "ExecutedBefore" }
    case "no":
      return { _tag: "Failed", detail: `in a block and ${found.status}: ${found.reason ?? "no reason given"}` }
  }
}
