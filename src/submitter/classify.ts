import { Effect, Match, Random } from "effect"
import { type Attempt, type EvidenceKind, type LiveAttemptState, sendEnd } from "../domain/Attempt.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { SubmissionAnswer } from "../gateway/schema/Submission.ts"
import type { SubmissionOutcome } from "../telemetry/metricTable.ts"

/** Step after a send. No answer proves the bytes dead: none of these ever leads to a new signature. */
type NextStep =
  /** It is, or may be, in the network: look for it, and send again on the slow schedule while it is unseen. */
  | "observe"
  /** Send the same bytes again soon. */
  | "resend"
  /** Send the same bytes again when the next block has begun. */
  | "nextBlock"
  /** Send the same signed command once in the other wire form. */
  | "otherFraming"
  /** Only the work is at fault: solve it again for the same signature. */
  | "newWork"

/** Conclusion from one send. */
export interface SendVerdict {
  readonly outcome: SubmissionOutcome
  readonly code: number | undefined
  readonly evidence: EvidenceKind
  readonly state: Extract<LiveAttemptState, "accepted" | "refused" | "unknown">
  readonly next: NextStep
  readonly detail: string
}

const acceptedVerdict = (answer: SubmissionAnswer): SendVerdict => ({
  outcome: "accepted",
  code: 0,
  evidence: "accepted",
  state: "accepted",
  next: "observe",
  detail: answer.data,
})

/** Texts of code 89, in the order in which they are looked for. */
const texts89: ReadonlyArray<readonly [RegExp, EvidenceKind, "refused" | "unknown", NextStep]> = [
  [/tid already seen by the node/, "seen", "unknown", "nextBlock"],
  [/transaction hash already used|tid already used|nonce already used/, "known", "unknown", "observe"],
  [/unknown block height|transaction too old/, "out_of_window", "unknown", "nextBlock"],
  [/failed to verify proof of work/, "refused", "refused", "newWork"],
]

/** Codes that refuse this command as it is; the bytes are public all the same and may execute until the window ends. */
const refusing: ReadonlySet<number> = new Set([51, 60, 70, 71, 80, 89])

/**
 * The one table of what an answer to a submission proves. `mayReframe`: the gateway's wire form is not known and the
 * other one was not tried, so a code 60 may be about the form alone.
 */
export const classifyAnswer = (answer: SubmissionAnswer, mayReframe: boolean): SendVerdict => {
  const { success, code, data } = answer
  if (success && code === 0) return acceptedVerdict(answer)
  const base = { code, detail: data }
  if (success || code === 0) {
    return { ...base, outcome: "ambiguous", evidence: "silent", state: "unknown", next: "resend" }
  }
  if (code === 60 && mayReframe) {
    return { ...base, outcome: "framing", evidence: "refused", state: "refused", next: "otherFraming" }
  }
  const known = code === 89 ? texts89.find(([text]) => text.test(data)) : undefined
  if (known !== undefined) {
    const [, evidence, state, next] = known
    return { ...base, outcome: evidence === "known" ? "duplicate" : "refused", evidence, state, next }
  }
  if (refusing.has(code)) return { ...base, outcome: "refused", evidence: "refused", state: "refused", next: "observe" }
  return { ...base, outcome: "refused", evidence: "silent", state: "unknown", next: "observe" }
}

const silent = (outcome: SubmissionOutcome, evidence: EvidenceKind, next: NextStep, detail: string): SendVerdict => ({
  outcome,
  code: undefined,
  evidence,
  state: "unknown",
  next,
  detail,
})

/** The same table for what came instead of an answer. */
export const classifyError = (error: GatewayError): SendVerdict => {
  const { message } = error
  return Match.value(error.reason).pipe(
    Match.tag("AlreadyKnown", () => silent("duplicate", "known", "observe", message)),
    Match.tag("RateLimited", "Banned", () => silent("throttled", "throttled", "resend", message)),
    Match.tag("Unreachable", () => silent("unreachable", "silent", "resend", message)),
    Match.orElse(() => silent("ambiguous", "silent", "resend", message)),
  )
}

/** Quick sends of one attempt; after them the same bytes go out by blocks. */
export const sendsMax = 6
const backoffMillisMin = 500
const backoffMillisMax = 8_000

/** True if a send must wait. A time further ahead than the longest backoff is of a wrong clock and is ignored. */
export const isLater = (nextAt: number, now: number): boolean => nextAt > now && nextAt - now <= backoffMillisMax

/** Blocks between two broadcasts of the same bytes while they are unseen: max(2, window/10). */
export const rebroadcastBlocks = (windowBlocks: number): bigint => BigInt(Math.max(2, Math.ceil(windowBlocks / 10)))

/** True if the bytes may still be sent at this height: never inside the margin before the window's end. */
export const maySend = (attempt: Attempt, height: bigint): boolean => height < sendEnd(attempt)

/** Blocks from this height on in which the bytes may be sent. */
export const blocksLeft = (attempt: Attempt, height: bigint): bigint => sendEnd(attempt) - height

/**
 * When the same bytes may go out again: at a time (Unix milliseconds) and from a height on. Full jitter, 0.5 s doubling
 * to 8 s, for the quick sends; then by blocks. `sends` counts the one just made.
 */
export const nextSend = Effect.fnUntraced(function* (
  step: NextStep,
  attempt: Attempt,
  at: { readonly sends: number; readonly now: number; readonly height: bigint },
) {
  if (step === "otherFraming" || step === "newWork") return { nextAt: at.now, nextHeight: 0n }
  if (step === "nextBlock" && at.sends < sendsMax) return { nextAt: at.now, nextHeight: at.height + 1n }
  if (step === "resend" && at.sends < sendsMax) {
    const ceiling = Math.min(backoffMillisMax, backoffMillisMin * 2 ** (at.sends - 1))
    const wait = Math.round((yield* Random.next) * ceiling)
    return { nextAt: at.now + wait, nextHeight: 0n }
  }
  return { nextAt: at.now, nextHeight: at.height + rebroadcastBlocks(attempt.windowBlocks) }
})
