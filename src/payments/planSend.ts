import { type Attempt, type EvidenceKind, isFinalAttempt, type LiveAttemptState, sendEnd } from "../domain/Attempt.ts"
import type { Framing } from "../tx/Transaction.ts"

export const submissionOutcomes = [
  "accepted",
  "refused",
  "duplicate",
  "throttled",
  "ambiguous",
  "unreachable",
  "framing",
] as const

/** A gateway's answer to a submission. */
interface Answer {
  readonly success: boolean
  readonly code: number
  readonly data: string
}

/** Step after a send. No answer proves that the bytes cannot execute: no step leads to a new signature. */
type NextStep =
  /** It is, or may be, in the network: look for it, and send it again every few blocks while it is unseen. */
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
  readonly outcome: (typeof submissionOutcomes)[number]
  readonly code: number | undefined
  readonly evidence: EvidenceKind
  readonly state: Extract<LiveAttemptState, "accepted" | "refused" | "unknown">
  readonly next: NextStep
  readonly detail: string
}

const acceptedVerdict = (answer: Answer): SendVerdict => ({
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

/** Codes that refuse this command. The bytes are public all the same, and may execute until the window ends. */
const refusing: ReadonlySet<number> = new Set([51, 60, 70, 71, 80, 89])

/**
 * The one table of what an answer to a submission proves. `mayReframe`: the gateway's wire form is not known and the
 * other one was not tried, so a code 60 may be about the form alone.
 */
export const classifyAnswer = (answer: Answer, mayReframe: boolean): SendVerdict => {
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

const silent = (
  outcome: SendVerdict["outcome"],
  evidence: EvidenceKind,
  next: NextStep,
  detail: string,
): SendVerdict => ({
  outcome,
  code: undefined,
  evidence,
  state: "unknown",
  next,
  detail,
})

/** `classifyAnswer` for a submission that failed without an answer of the network. */
export const classifyError = (error: { readonly reason: { readonly _tag: string }; readonly message: string }) => {
  const { message } = error
  switch (error.reason._tag) {
    case "AlreadyKnown":
      return silent("duplicate", "known", "observe", message)
    case "RateLimited":
    case "Banned":
      return silent("throttled", "throttled", "resend", message)
    case "Unreachable":
      return silent("unreachable", "silent", "resend", message)
    default:
      return silent("ambiguous", "silent", "resend", message)
  }
}

/** Quick sends of one attempt; later ones wait for blocks. */
export const sendsMax = 6
const backoffMillisMin = 500
const backoffMillisMax = 8_000

/** True if a send must wait. A time further ahead than the longest backoff comes from a wrong clock and is ignored. */
export const isLater = (nextAt: number, now: number): boolean => nextAt > now && nextAt - now <= backoffMillisMax

/** Blocks between two broadcasts of the same bytes while they are unseen: max(2, window/10). */
export const rebroadcastBlocks = (windowBlocks: number): bigint => BigInt(Math.max(2, Math.ceil(windowBlocks / 10)))

/** True if the bytes may still be sent at this height: never inside the margin before the window's end. */
export const maySend = (attempt: Attempt, height: bigint): boolean => height < sendEnd(attempt)

/** Blocks from this height on in which the bytes may be sent. */
export const blocksLeft = (attempt: Attempt, height: bigint): bigint => sendEnd(attempt) - height

/** True if the attempt is to be sent now, as far as its own row shows. */
export const isSendDue = (
  attempt: Attempt,
  { now, height }: { readonly now: number; readonly height: bigint },
): boolean =>
  !isFinalAttempt(attempt.state) &&
  !isLater(attempt.nextAt, now) &&
  attempt.nextHeight <= height &&
  maySend(attempt, height)

interface SendPlan {
  readonly framing: Framing
  /** True if the other form may still be tried: a code 60 to the second form is about the command itself. */
  readonly mayReframe: boolean
  /** True for the first send, or if every earlier one was refused for its form: metrics count it as a first send. */
  readonly first: boolean
}

interface Sent {
  readonly framing: Framing
  readonly outcome: string | null
}

/** Plans the next send of an attempt. `known`: the wire form of the network; `refused`: the one it refused last. */
export const planSend = (
  sends: ReadonlyArray<Sent>,
  known: Framing | undefined,
  refused: Framing | undefined,
): SendPlan => {
  const framing = known ?? nextForm(sends.at(-1), refused)
  return {
    framing,
    mayReframe: known === undefined && sends.every((send) => send.framing === framing),
    first: sends.every(({ outcome }) => outcome === "framing"),
  }
}

/** Wire form while none is known: first the specification's, "prefixed"; after a code 60 the other; else the last. */
const nextForm = (last: Sent | undefined, refused: Framing | undefined): Framing => {
  if (last !== undefined) return last.outcome === "framing" ? otherForm(last.framing) : last.framing
  return refused === undefined ? "prefixed" : otherForm(refused)
}

/** The wire form that executed, by the attempt's sends; undefined if either may have. */
export const executedForm = (sends: ReadonlyArray<Sent>): Framing | undefined => {
  const taken = sends.find(({ outcome }) => outcome === "accepted")
  const forms = new Set((taken === undefined ? sends : [taken]).map(({ framing }) => framing))
  return forms.size === 1 ? [...forms][0] : undefined
}

const otherForm = (framing: Framing): Framing => (framing === "prefixed" ? "bare" : "prefixed")

/** Longest wait before the next quick send, in milliseconds: 0.5 s, doubling to 8 s. Undefined: it waits for blocks. */
export const backoffMillis = (step: NextStep, sends: number): number | undefined =>
  step === "resend" && sends < sendsMax ? Math.min(backoffMillisMax, backoffMillisMin * 2 ** (sends - 1)) : undefined

/**
 * When the same bytes may go out again: at a time (Unix milliseconds) and from a height on. `sends` counts the one just
 * made; `wait` is drawn below `backoffMillis`.
 */
export const nextSend = (
  step: NextStep,
  attempt: Attempt,
  at: { readonly sends: number; readonly now: number; readonly height: bigint; readonly wait?: number },
): { readonly nextAt: number; readonly nextHeight: bigint } => {
  const { now, height, sends, wait = 0 } = at
  const isQuick = sends < sendsMax
  if (step === "otherFraming" || (step === "newWork" && isQuick)) return { nextAt: now, nextHeight: 0n }
  if (step === "nextBlock" && isQuick) return { nextAt: now, nextHeight: height + 1n }
  if (backoffMillis(step, sends) !== undefined) return { nextAt: now + wait, nextHeight: 0n }
  return { nextAt: now, nextHeight: height + rebroadcastBlocks(attempt.windowBlocks) }
}
