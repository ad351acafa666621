import { formatAmount } from "./Amount.ts"
import { type Attempt, deadlineHeight, isFinalAttempt } from "./Attempt.ts"
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

/** The rule name under which payments of people stand; no rule of a file may have it. */
export const submittedRule = "submit"

/** Network commands of intents. A withdrawal is debited here, and claimed outside by somebody else. */
export const intentCommands = ["transfer", "withdraw"] as const
export type IntentCommand = (typeof intentCommands)[number]

/** Shown wherever a withdrawal is called confirmed: nobody must take it for money that has arrived. */
export const withdrawnHere = "withdrawn here; the claim outside is not made by Cofferer"

/** Note that the state needs; null if the state is clear by itself. */
export const noteOf = ({ command, state }: Pick<Intent, "command" | "state">): string | null =>
  command === "withdraw" && state === "confirmed" ? withdrawnHere : null

/** One decided payment. It reaches exactly one final state, or waits visibly for a person. */
export interface Intent {
  readonly id: IntentId
  readonly treasury: string
  readonly rule: string
  /** The rule's subject, such as "hot/USDT"; for `submit` the file's idempotency key. */
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
  /** When its approvers were last asked again, Unix milliseconds; undefined: when it was decided. */
  readonly askedAt?: number | undefined
}

/** From when the time of its approvers runs, Unix milliseconds. */
export const askedFrom = ({ askedAt, createdAt }: Pick<Intent, "askedAt" | "createdAt">): number => askedAt ?? createdAt

/** Since when it has waited, Unix milliseconds: where a clock ahead set its time, since its last change after that. */
export const waitsFrom = ({ createdAt, updatedAt }: Pick<Intent, "createdAt" | "updatedAt">): number =>
  Math.min(createdAt, updatedAt)

/** Amount that an unsigned payment reserves while it waits; undefined if it reserves nothing. */
export const setAsideOf = ({ state, payment, feeMax, decimals }: Intent): string | undefined => {
  const isSigned = isFinalIntent(state) || state === "in_flight" || state === "unknown" || state === "manual"
  if (isSigned) return undefined
  const fee = feeMax > 0n ? ` and a fee of at most ${formatAmount(feeMax, decimals)}` : ""
  const sum = `${formatAmount(payment.amount, decimals)} ${payment.asset}${fee}`
  return `reserved for it: ${sum} of the balance of ${payment.from}, and as much of the limits`
}

/** The cause of an open payment's wait, the time of its alert, and the end of the wait, each as text. */
interface IntentWait {
  readonly waitsFor: string
  readonly called: string
  readonly endedBy: string
}

/** Milliseconds after its signature at which a payment without a known end pages people, whatever else fails. */
const unsettledMillisMin = 1_800_000
/** For each block of a long window. */
const blockMillisMax = 10_000

/** Unix milliseconds from which a signed payment without an end pages people, even if no block is known. */
export const unsettledFrom = ({ createdAt, windowBlocks }: Pick<Attempt, "createdAt" | "windowBlocks">): number =>
  createdAt + Math.max(unsettledMillisMin, windowBlocks * blockMillisMax)

/** Milliseconds without a signature after which people are paged, whatever alerts came before. */
const unsignedMillisMax = 86_400_000

const unsettledCalled =
  "page 60 blocks after its window and margin, and 30 min after its signature (in a long window 10 s for each block)"

/**
 * The table of docs/safety.md. Each state of an open payment has a bound after which people are alerted, whatever else
 * fails, and a way out.
 */
export const intentWaits: Readonly<Record<OpenIntentState, IntentWait>> = {
  proposed: {
    waitsFor: "its turn; a halt or a pause stops it",
    called: "page at once during a halt; ticket when its planned time is late, or after 1 h; page after 24 h",
    endedBy: 'the reservation of its money; "intents cancel"',
  },
  awaiting_approval: {
    waitsFor: "signatures of its operators",
    called: "ticket at once, and when a quarter of the time is left; page 24 h after its approval lapses",
    endedBy:
      'enough signatures; "intents reject"; the end of its time: it is rejected, or asked again if another part of its decision is paid',
  },
  reserved: {
    waitsFor: 'its signature; the text after "waits:" has the reason',
    called: "page at once during a halt; ticket when its planned time is late, or after 1 h; page after 24 h",
    endedBy:
      'its signature; a new decision; a refusal by the policy; "intents cancel", or "intents abandon" if it was signed before',
  },
  in_flight: {
    waitsFor: "the ledger: its execution, or the proof that its window passed without it",
    called: unsettledCalled,
    endedBy: "a quorum of gateways that agree how it ended; without it, it becomes manual",
  },
  unknown: {
    waitsFor: "the ledger, since no answer proves that the network has it; the same bytes are sent again",
    called: unsettledCalled,
    endedBy: 'a quorum of gateways that agree how it ended; without it, it becomes manual; "intents resolve"',
  },
  manual: {
    waitsFor: "a person: nothing proves whether it executed, and its money stays reserved",
    called: "page at once, and each 24 h",
    endedBy: '"intents resolve", or evidence of the ledger, which is still looked for',
  },
}

const hour = 3_600_000

interface OpenSince {
  readonly now: number
  /** Unix milliseconds at which it came to its state. */
  readonly since: number
  /** When its approval lapses, where it needs one. */
  readonly expires: number | undefined
}

/**
 * Why people are to be paged now for an open payment; undefined: they are not yet. `name`: of the alert, so that one
 * bound pages once.
 */
export const overdueOf = (
  state: OpenIntentState,
  attempts: ReadonlyArray<Attempt>,
  { now, since, expires }: OpenSince,
): { readonly name: string; readonly words: string } | undefined => {
  const hours = Math.floor((now - since) / hour)
  if (state === "manual") {
    const days = Math.floor(hours / 24)
    return days < 1 ? undefined : { name: `manual/${days}`, words: `waits for a person for ${hours} h` }
  }
  const live = attempts.find((attempt) => !isFinalAttempt(attempt.state))
  if (live !== undefined) {
    if (now < unsettledFrom(live)) return undefined
    const minutes = Math.floor((now - live.createdAt) / 60_000)
    const words = `has no end ${minutes} min after its signature (window until block ${deadlineHeight(live)})`
    return { name: `unsettled/${live.k}`, words }
  }
  const from = Math.max(since, expires ?? 0) + unsignedMillisMax
  return now < from ? undefined : { name: `unsigned/${since}`, words: `is not signed for ${hours} h` }
}
