import { Match } from "effect"
import type { EvidenceKind, LiveAttemptState } from "../domain/Attempt.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { SubmissionAnswer } from "../gateway/schema/Submission.ts"
import type { SubmissionOutcome } from "../telemetry/Metrics.ts"

/** What to do after a send. No answer makes the bytes dead: none of these ever leads to a new signature. */
export type NextStep =
  /** It is, or may be, in the network: look for it, and send again on the slow schedule while it is unseen. */
  | "observe"
  /** Send the same bytes again soon. */
  | "resend"
  /** Send the same bytes again when the next block has begun. */
  | "nextBlock"
  /** Send the same signed command once in the other wire form. */
  | "otherFraming"
  /** The work alone is at fault: solve it anew for the same signature. */
  | "newWork"

/** What one send proved. */
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
