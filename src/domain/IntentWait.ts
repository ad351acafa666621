import { type Attempt, deadlineHeight, isFinalAttempt } from "./Attempt.ts"
import type { OpenIntentState } from "./Intent.ts"

/** What an open payment waits for, when people are called to it, and what ends the wait, each as people read it. */
interface IntentWait {
  readonly waitsFor: string
  readonly called: string
  readonly endedBy: string
}

/** Milliseconds after its signature at which people hear of a payment whose end is not known, whatever fails. */
const unsettledMillisMin = 1_800_000
/** For each block of a long window. */
const blockMillisMax = 10_000

/** Unix milliseconds from which people are paged for a signed payment without an end, though no block is told. */
export const unsettledFrom = ({ createdAt, windowBlocks }: Pick<Attempt, "createdAt" | "windowBlocks">): number =>
  createdAt + Math.max(unsettledMillisMin, windowBlocks * blockMillisMax)

/** Milliseconds without a signature after which people are paged, whatever called them before. */
const unsignedMillisMax = 86_400_000

const unsettledCalled =
  "page 60 blocks after its window and margin; page 30 min after its signature, or 10 s a block of its window"

/**
 * The table of src/README.md: no open payment waits for ever in silence. Each state has a bound after which people are
 * called whatever fails meanwhile, and a way out.
 */
export const intentWaits: Readonly<Record<OpenIntentState, IntentWait>> = {
  proposed: {
    waitsFor: "its turn: no halt and no pause in its way",
    called: "page at once with a halt; ticket once its planned time is late or 1 h is over; page after 24 h",
    endedBy: "the reservation of its money; intents cancel",
  },
  awaiting_approval: {
    waitsFor: "signatures of its operators",
    called: "ticket at once, and when a quarter of the time is left; page 24 h after its approval lapses",
    endedBy:
      "enough signatures; the end of its time: rejected, or asked anew where another part is paid; intents reject",
  },
  reserved: {
    waitsFor: 'its signature; the sentence behind "waits:" says what is missing',
    called: "page at once with a halt; ticket once its planned time is late or 1 h is over; page after 24 h",
    endedBy:
      "the signature; a decision anew; a refusal of the policy; intents cancel, after a signature intents abandon",
  },
  in_flight: {
    waitsFor: "the ledger: its execution, or the proof that its window passed without it",
    called: unsettledCalled,
    endedBy: "the word of as many gateways as must agree; else it becomes manual",
  },
  unknown: {
    waitsFor: "the ledger, since no answer tells whether it is in the network; the same bytes are sent again",
    called: unsettledCalled,
    endedBy: "the word of as many gateways as must agree; else it becomes manual; intents resolve",
  },
  manual: {
    waitsFor: "a person: nothing proves whether it executed, and its money stays reserved",
    called: "page at once, and each 24 h",
    endedBy: "intents resolve; late evidence of the ledger, which is looked for all the same",
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

const cells = ({ waitsFor, called, endedBy }: IntentWait): string => `${waitsFor} | ${called} | ${endedBy}`

/** The table as src/README.md shows it, a line for each state. */
export const intentWaitLines: ReadonlyArray<string> = Object.entries(intentWaits).map(
  ([state, wait]) => `| \`${state}\` | ${cells(wait)} |`,
)
