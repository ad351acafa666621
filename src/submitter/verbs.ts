import { type Attempt, deadlineHeight, type EvidenceKind, isFinalAttempt } from "../domain/Attempt.ts"
import { type FinalIntentState, type Intent, isFinalIntent } from "../domain/Intent.ts"
import { doubtfulUntil, isOver, type Reached, sureHeight } from "./evidence.ts"

/** How a person ends a payment that does not end by itself. */
export type Verb =
  /** `hash`: of a transaction that the ledger holds, or its transfer id. */
  | { readonly verb: "executed"; readonly hash: string }
  | { readonly verb: "never_executed" }
  | { readonly verb: "reject" }
  | { readonly verb: "cancel" }
  | { readonly verb: "abandon" }

/** All that is known of a payment. */
export interface Facts extends Omit<Reached, "told"> {
  readonly intent: Intent
  readonly attempts: ReadonlyArray<Attempt>
  readonly sends: ReadonlyArray<{ readonly k: number; readonly txHash: string }>
  readonly evidence: ReadonlyArray<{ readonly k: number; readonly kind: EvidenceKind; readonly detail: string }>
  /** Transfer ids that the ledger was seen to hold as done. */
  readonly done: ReadonlySet<string>
  /** Newest final block that was read; 0 where the gateway names none. */
  readonly height: bigint
  /** The accepted head; undefined while none fits. */
  readonly accepted: bigint | undefined
}

interface Permitted {
  readonly permitted: true
  readonly to: FinalIntentState
  /** The attempt that ends with it. */
  readonly ends: { readonly attempt: Attempt; readonly to: "confirmed" | "expired" } | undefined
  /** What ended it, as a beginning of a sentence. */
  readonly words: string
}

type Judged = Permitted | { readonly permitted: false; readonly message: string; readonly remedy: string }

const permit = (to: FinalIntentState, words: string, ends?: Permitted["ends"]): Permitted => ({
  permitted: true,
  to,
  ends,
  words,
})
const refuse = (message: string, remedy: string): Judged => ({ permitted: false, message, remedy })

const liveOf = (facts: Facts): Attempt | undefined => facts.attempts.find((a) => !isFinalAttempt(a.state))

/** Whether a person may end the payment so, on what is known of it: never while an attempt may still execute. */
export const judgeVerb = (verb: Verb, facts: Facts): Judged => {
  const { intent } = facts
  if (isFinalIntent(intent.state)) return refuse(`it is ${intent.state} already`, "nothing is left to do")
  switch (verb.verb) {
    case "executed":
      return judgeExecuted(verb.hash, facts)
    case "never_executed":
      return judgeNever(facts)
    case "reject":
      return isUndecided(facts) ? permit("rejected", "rejected") : misplaced("rejected", facts)
    case "cancel":
      return isUnsigned(facts) ? permit("cancelled", "cancelled") : misplaced("cancelled", facts)
    case "abandon":
      return isDead(facts) ? permit("abandoned", "abandoned") : misplaced("abandoned", facts)
  }
}

const isUndecided = ({ intent, attempts }: Facts): boolean =>
  (intent.state === "proposed" || intent.state === "awaiting_approval") && attempts.length === 0

const isUnsigned = (facts: Facts): boolean =>
  isUndecided(facts) || (facts.intent.state === "reserved" && facts.attempts.length === 0)

const isDead = (facts: Facts): boolean =>
  (facts.intent.state === "reserved" || facts.intent.state === "awaiting_approval") &&
  facts.attempts.length > 0 &&
  liveOf(facts) === undefined

const isStuck = ({ intent }: Facts): boolean => intent.state === "manual" || intent.state === "unknown"

/** The refusal of a verb in the wrong state, with the one that fits the state. */
const misplaced = (participle: string, facts: Facts): Judged => {
  const { state } = facts.intent
  const words = state.replaceAll("_", " ")
  const live = liveOf(facts)
  if (isStuck(facts)) {
    const remedy = 'look at the ledger, then "intents resolve" with --executed TXHASH or --never-executed'
    return refuse(`it is ${words} and may have executed: it cannot be ${participle}`, remedy)
  }
  if (live !== undefined) {
    const message = `it is ${words}: attempt ${live.k} may execute until block ${deadlineHeight(live)}`
    return refuse(`${message}, so it cannot be ${participle}`, "wait: the daemon finds out what became of it")
  }
  const fitting = isUndecided(facts) ? '"intents cancel" or "intents reject"' : isDead(facts) ? "abandon" : "cancel"
  const remedy = fitting.startsWith('"') ? fitting : `"intents ${fitting}"`
  return refuse(`it is ${words}${isDead(facts) ? " after a signature" : ""}: it cannot be ${participle}`, remedy)
}

const unresolvable = ({ intent }: Facts): Judged =>
  refuse(
    `it is ${intent.state.replaceAll("_", " ")}: only what is manual or unknown is resolved by people`,
    "wait: the daemon finds out what became of it",
  )

const judgeExecuted = (given: string, facts: Facts): Judged => {
  if (!isStuck(facts)) return unresolvable(facts)
  const hash = given.toLowerCase()
  const attempt = facts.attempts.find(
    (a) =>
      [a.transferId, a.hashBare, a.hashPrefixed].includes(hash) ||
      facts.sends.some((s) => s.k === a.k && s.txHash.toLowerCase() === hash),
  )
  if (attempt === undefined) {
    const known = facts.attempts.map((a) => `attempt ${a.k} is transfer ${a.transferId}`).join(", ")
    return refuse(
      `none of its attempts has the hash ${hash.slice(0, 16)}..`,
      `a transaction whose work others solved anew has another hash; name the transfer id instead: ${known}`,
    )
  }
  const { k } = attempt
  const failed = facts.evidence.find((e) => e.k === k && e.kind === "execution_failed")
  if (failed !== undefined) return refuse(`attempt ${k} failed in its block (${failed.detail})`, "look at it again")
  if (attempt.state === "expired") {
    return refuse(`attempt ${k} is proven never executed`, 'see "intents show"; name the attempt that executed')
  }
  const other = facts.attempts.find((a) => a.k !== k && isSeen(a, facts))
  if (other !== undefined) {
    return refuse(`the ledger was seen to hold attempt ${other.k}, not ${k}`, `name transfer ${other.transferId}`)
  }
  if (attempt.sends === 0 && attempt.state === "signed") {
    return refuse(`attempt ${k} was never sent`, "look whether the hash is one of this payment")
  }
  return permit("confirmed", `resolved as executed (${hash.slice(0, 8)}..)`, { attempt, to: "confirmed" })
}

const isSeen = (attempt: Attempt, { evidence, done }: Facts): boolean =>
  done.has(attempt.transferId) || evidence.some((e) => e.k === attempt.k && e.kind === "executed")

/**
 * Signed on a block of the chain before a reset that operators have accepted (poller/leaveBehind.ts). Where the chain
 * is in the window's heights the old one may be back after all: then only the window's end proves it dead.
 */
const isLeftBehind = ({ k, anchorHeight }: Attempt, { evidence, height, accepted }: Facts): boolean =>
  evidence.some((one) => one.k === k && one.kind === "left_behind") &&
  accepted !== undefined &&
  accepted < anchorHeight &&
  height < anchorHeight

/** Where balances name no height: the newest block, where one fits, must say that the window is over. */
const isCalledAfter = (live: Attempt, facts: Facts): boolean => {
  if (facts.intent.state !== "manual") return false
  if (facts.accepted !== undefined) return isOver(live, sureHeight(live, { ...facts, told: facts.accepted }))
  return !facts.evidence.some(({ k, kind }) => k === live.k && kind === "left_behind")
}

const judgeNever = (facts: Facts): Judged => {
  const live = liveOf(facts)
  if (!isStuck(facts)) return unresolvable(facts)
  const seen = facts.attempts.find((attempt) => isSeen(attempt, facts))
  if (seen !== undefined) {
    return refuse(
      `the ledger was seen to hold attempt ${seen.k} as executed`,
      `"intents resolve" with --executed ${seen.transferId}`,
    )
  }
  if (live === undefined) return permit("abandoned", "resolved as never executed")
  if (isLeftBehind(live, facts)) {
    const words = `resolved as never executed (signed on block ${live.anchorHeight} of the chain before the reset)`
    return permit("abandoned", words, { attempt: live, to: "expired" })
  }
  // People are called when the window is over, or earlier after a reset; where heights are named they must say so too.
  const height = sureHeight(live, { ...facts, told: facts.height })
  const over = facts.height === 0n ? isCalledAfter(live, facts) : isOver(live, height)
  if (!over) {
    const end = doubtfulUntil(live)
    const known = facts.height === 0n ? "no block is known" : `block ${height} is the newest that is sure`
    const message = `attempt ${live.k} may still execute: ${known}, its window is over beyond doubt after block ${end}`
    return refuse(message, "let the daemon see a later block, then ask again")
  }
  return permit("abandoned", "resolved as never executed", { attempt: live, to: "expired" })
}
