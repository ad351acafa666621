import type { Payment } from "./Decision.ts"
import type { IntentId } from "./Hex.ts"

export const openIntentStates = ["proposed", "awaiting_approval", "reserved", "in_flight", "unknown", "manual"] as const
export const finalIntentStates = [
  "confirmed",
  "failed",
  "denied",
  "rejected",
  "cancelled",
  "abandoned",
  "rehearsed",
] as const
export type OpenIntentState = (typeof openIntentStates)[number]
export type FinalIntentState = (typeof finalIntentStates)[number]
/** Written snake_case wherever a person sees it. */
export type IntentState = OpenIntentState | FinalIntentState

export const attemptStates = [
  "signed",
  "sending",
  "accepted",
  "refused",
  "unknown",
  "confirmed",
  "failed",
  "expired",
] as const
export type AttemptState = (typeof attemptStates)[number]

const finalIntents: ReadonlySet<string> = new Set(finalIntentStates)
const finalAttempts: ReadonlySet<string> = new Set(["confirmed", "failed", "expired"])

export const isFinalIntent = (state: IntentState): state is FinalIntentState => finalIntents.has(state)
export const isFinalAttempt = (state: AttemptState): boolean => finalAttempts.has(state)

/** One decided payment. It reaches exactly one final state, or waits visibly for a person. */
export interface Intent {
  readonly id: IntentId
  readonly treasury: string
  readonly rule: string
  /** What the rule looked at, such as "hot/USDT"; for `submit` the file's idempotency key. */
  readonly subject: string
  readonly episode: number
  readonly payment: Payment
  /** Largest fee that may be taken on top, in base units of the asset; reserved beside the amount. */
  readonly feeMax: bigint
  readonly state: IntentState
  readonly detail: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** Kinds of evidence about an attempt; the column `kind` of the evidence table. */
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
] as const
export type EvidenceKind = (typeof evidenceKinds)[number]
