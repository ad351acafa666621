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

/** State after a send: bytes that a gateway accepted stay "accepted" when a later send gets no clear answer. */
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

/** Progress of the chain, as far as it is known. */
export interface ChainProgress {
  /** The newest block that any source reported. */
  readonly reported: bigint
  /** Unix milliseconds. */
  readonly now: number
  /** Milliseconds that a block of the chain takes, as measured (`Observations.blockMillis`). */
  readonly blockMillis: number
}

/**
 * The height that the chain has surely reached: at most the reported one, and at most what its pace allows from the
 * anchor on in the time since the signature. So a false head of some seconds ends nothing. A clock that was put back
 * counts as no time.
 */
export const sureHeight = (attempt: Attempt, { reported, now, blockMillis }: ChainProgress): SureHeight => {
  const blocks = BigInt(Math.trunc(Math.max(0, now - attempt.createdAt) / blockMillis))
  const reach = attempt.anchorHeight + blocks
  return SureHeight(reported < reach ? reported : reach)
}

/** The last block at which the window may still be open: its end and the margin. */
export const doubtfulUntil = (attempt: Attempt): bigint =>
  deadlineHeight(attempt) + marginBlocks(longestWindow(attempt))

/** True if the window is surely over. Before that, no listing counts as absence. */
export const isOver = (attempt: Attempt, tip: SureHeight): boolean => tip > doubtfulUntil(attempt)

/** A listing of the sender's transfers, as evidence on one attempt. */
export interface ListingSeen {
  /** The block that had begun when it was read: all earlier blocks are in the listing. Undefined: it proves nothing. */
  readonly height: bigint | undefined
  readonly complete: boolean
  /** True if it shows the attempt's transfer. */
  readonly holds: boolean
}

/**
 * Merges the listings of several gateways: as complete and as new as those of a quorum. A single one that shows the
 * transfer outweighs all that do not. Its height is at most `tip`.
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
 * Judges a listing without the transfer. `note`: the first one that counts. `proven`: a second one, far enough behind
 * it (`rebroadcastBlocks`). A listing counts if it is complete and was read after the window's last block, at a sure
 * height. `earlier`: blocks of the listings noted before, the first one first.
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

/** Least milliseconds between two listings that prove absence: no momentary answer lasts so long. */
export const apartMillis = 30_000

/** A listing without the attempt. */
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

/** Blocks after a window's end within which the proof must come; after them people are paged. */
const proofBlocksMax = 60n

/**
 * True if people must be paged for an attempt without a proof: a fixed number of blocks after its window or, if it is
 * later, after the first listing that counted. `earlier`: blocks of such listings, the first one first.
 */
export const isProofOverdue = (attempt: Attempt, tip: SureHeight, earlier: ReadonlyArray<bigint> = []): boolean => {
  const end = doubtfulUntil(attempt)
  const from = earlier[0] !== undefined && earlier[0] > end ? earlier[0] : end
  return tip > from + proofBlocksMax
}

/** Codes with which the network would refuse the same command again, whatever its window. */
const lastingCodes: ReadonlySet<number> = new Set([51, 60, 80])

/**
 * State of the intent once its attempt number `k` is proven never to execute: "reserved" if it may be signed again.
 * `refusal`: code of the last definite refusal; undefined without one. A manual payment never restarts by itself.
 */
export const afterExpiry = (k: number, refusal: number | undefined, intent: IntentState): "reserved" | "abandoned" =>
  k >= attemptsMax || intent === "manual" || (refusal !== undefined && lastingCodes.has(refusal))
    ? "abandoned"
    : "reserved"

/**
 * The stored listings that count against the attempt, the first one first. None from before the end of its window,
 * which may have become longer since.
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
  /** Why this process must not declare a payment failed; undefined if it may. */
  readonly lacking: string | undefined
  /** The ledger's answer if the same bytes executed before they failed; undefined before it is asked. */
  readonly before: "yes" | "no" | "unknown" | undefined
}

type SightingVerdict =
  /** Another payment is shown under the transfer id. */
  | { readonly _tag: "Other"; readonly shown: string }
  /** It proves nothing yet. `why`: what prevents the proof, if that is known. */
  | { readonly _tag: "Nothing"; readonly why: string | undefined }
  | { readonly _tag: "Executed" }
  | { readonly _tag: "ExecutedBefore" }
  | { readonly _tag: "Failed"; readonly detail: string }
  /** Ask the ledger if the bytes executed before they failed, and judge again with `before`. */
  | { readonly _tag: "Ask" }

/** Ends of a transfer that did not pay. */
const refused: ReadonlySet<string> = new Set(["rejected", "stopped", "cancelled"])

/** Judges a sighting. Until the window ends, a third party may bring refused bytes into a block that executes them. */
export const judgeSighting = (context: SightingContext): SightingVerdict => {
  const { intent, attempt, height, gateway, found, before } = context
  const { payment } = intent
  const isSame = found.from === payment.fromKey && found.to === payment.toKey && found.asset === payment.assetId
  if (!isSame || found.amount !== payment.amount) {
    const shown = `another payment (${found.amount} of ${found.asset.slice(0, 8)} to ${found.to.slice(0, 8)})`
    return { _tag: "Other", shown }
  }
  // With a time in the future, balances would never count as including the payment.
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
