import { formatAmount } from "./Amount.ts"
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
export const intentStates: ReadonlyArray<IntentState> = [...openIntentStates, ...finalIntentStates]

/** Where an intent may go from each open state; a final state is never left. intent.md draws the same. */
export const intentMoves: Readonly<Record<OpenIntentState, ReadonlyArray<IntentState>>> = {
  proposed: ["awaiting_approval", "reserved", "denied", "cancelled", "rehearsed"],
  awaiting_approval: ["reserved", "confirmed", "denied", "rejected", "cancelled", "abandoned"],
  reserved: ["awaiting_approval", "in_flight", "confirmed", "denied", "cancelled", "abandoned"],
  in_flight: ["unknown", "manual", "reserved", "confirmed", "failed", "abandoned"],
  unknown: ["in_flight", "manual", "reserved", "confirmed", "failed", "abandoned"],
  manual: ["confirmed", "failed", "abandoned"],
}

const finals: ReadonlySet<string> = new Set(finalIntentStates)

export const isFinalIntent = (state: IntentState): state is FinalIntentState => finals.has(state)

/** Whether the move is on the diagram. */
export const mayMoveIntent = (from: IntentState, to: IntentState): boolean =>
  !isFinalIntent(from) && intentMoves[from].includes(to)

/** The rule name under which payments of people stand; no rule of a file may have it. */
export const submittedRule = "submit"

/** What an intent has the network do. A withdrawal is debited here, and claimed outside by somebody else. */
export const intentCommands = ["transfer", "withdraw"] as const
export type IntentCommand = (typeof intentCommands)[number]

/** Shown wherever a withdrawal is called confirmed: nobody must take it for money that has arrived. */
export const withdrawnHere = "withdrawn here; the claim outside is not made by Cofferer"

/** What has to be said beside the state; null where the state says it all. */
export const noteOf = ({ command, state }: Pick<Intent, "command" | "state">): string | null =>
  command === "withdraw" && state === "confirmed" ? withdrawnHere : null

/** One decided payment. It reaches exactly one final state, or waits visibly for a person. */
export interface Intent {
  readonly id: IntentId
  readonly treasury: string
  readonly rule: string
  /** What the rule looked at, such as "hot/USDT"; for `submit` the file's idempotency key. */
  readonly subject: string
  readonly episode: number
  /** The person who handed it in, by the name that was given; undefined where a rule decided it. */
  readonly submittedBy?: string | undefined
  readonly command: IntentCommand
  readonly payment: Payment
  /** Decimals of the asset: for people's eyes only. */
  readonly decimals: number
  /** Largest fee that may be taken on top, in base units; reserved beside the amount. */
  readonly feeMax: bigint
  readonly state: IntentState
  /** Why it is in this state, for people. */
  readonly detail: string
  /** Fee that the network took, once it is known. */
  readonly fee: bigint | undefined
  /** Block time (Unix nanoseconds) at which it executed or was proven dead. */
  readonly settledAt: bigint | undefined
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly updatedAt: number
  /** When its approvers were last asked anew, Unix milliseconds; undefined: when it was decided. */
  readonly askedAt?: number | undefined
}

/** From when the time of its approvers runs, Unix milliseconds. */
export const askedFrom = ({ askedAt, createdAt }: Pick<Intent, "askedAt" | "createdAt">): number => askedAt ?? createdAt

/** What a payment that is not signed keeps from others while it waits; undefined where it keeps nothing. */
export const setAsideOf = ({ state, payment, feeMax, decimals }: Intent): string | undefined => {
  const isSigned = isFinalIntent(state) || state === "in_flight" || state === "unknown" || state === "manual"
  if (isSigned) return undefined
  const fee = feeMax > 0n ? ` and at most ${formatAmount(feeMax, decimals)} of fees` : ""
  const sum = `${formatAmount(payment.amount, decimals)} ${payment.asset}${fee}`
  return `set aside: ${sum} of ${payment.from}'s balance, and as much of its limits`
}
