import { Clock, Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { lateFrom, signAgainText, waitText } from "../domain/Approval.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { shortId } from "../domain/Hex.ts"
import { askedFrom, type Intent } from "../domain/Intent.ts"
import { endText } from "../domain/Time.ts"
import { approvalOf, type NeededApproval } from "../payments/approvalOf.ts"
import { raise } from "../store/alerts/raise.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Database } from "../store/database/Database.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import type { LogFieldsOf } from "../telemetry/logEvents.ts"
import { approversOf, type GivenApproval, isAskedAhead } from "../tx/Approval.ts"
import { currentBacking } from "./SigningFacts.ts"
import { settleAndAlert } from "./settleAndAlert.ts"
import { clockAgrees } from "./waiting.ts"

/** A signature, and the text that it signs. */
interface SignedText extends GivenApproval {
  readonly text: string
}

interface Progress {
  readonly by: ReadonlyArray<string>
  /** Operators who may still approve. */
  readonly others: ReadonlyArray<string>
  /** Those of `others` whose signature is of other terms, and counts no longer. */
  readonly again: ReadonlyArray<string>
  /** How many signatures count no longer. */
  readonly voided: number
  readonly isEnough: boolean
  readonly hasLapsed: boolean
  /** True if only the last quarter of the time is left. */
  readonly isLate: boolean
  /** All of it as a sentence. */
  readonly words: string
}

/** How far the approval has come, on the signatures that hold. */
export const progressOf = (needed: NeededApproval, given: ReadonlyArray<SignedText>, now: number): Progress => {
  const { group, terms, text } = needed
  const by = approversOf(group.of, [text], given, terms.proposer)
  const others = [...group.of.keys()].filter((name) => name !== terms.proposer && !by.includes(name))
  const other = given.filter((one) => one.text !== text)
  const again = others.filter((name) => other.some(({ key }) => key === group.of.get(name)))
  const words = waitText(group, by, others, terms.expires)
  return {
    by,
    others,
    again,
    voided: other.length,
    isEnough: by.length >= group.need,
    hasLapsed: now >= terms.expires,
    isLate: now >= lateFrom(group, terms.expires),
    words: `${words}${signAgainText(again)}`,
  }
}

/**
 * Moves a decided payment through its approval: to reserved once enough operators have signed, to rejected when the
 * time is over; a payment that is still owed is asked for again. So is a reserved one whose signatures count no longer,
 * for example after a reload that changes the signed text, unless an attempt of it is under way. Returns the payment as
 * it is then. The signer verifies the signatures again.
 */
export const awaitApproval = Effect.fnUntraced(function* (intent: Intent, needed: NeededApproval) {
  const { state } = intent
  if (state !== "proposed" && state !== "awaiting_approval" && state !== "reserved") return intent
  const given = yield* (yield* Approvals).about(intent.id)
  const now = yield* Clock.currentTimeMillis
  const progress = progressOf(needed, given, now)
  // The signer takes no signature for a time that a clock ahead set.
  if (isAskedAhead(askedFrom(intent), now)) return (yield* clockAgrees) ? yield* askAnew(intent, needed, "") : intent
  if (progress.hasLapsed) {
    if (!(yield* clockAgrees)) return intent
    // No alert named this end if a reload first requires the approval, or shortens its time.
    const isKnown = state === "reserved" ? progress.isEnough : intent.detail.includes(endText(needed.terms.expires))
    return yield* isKnown ? lapse(intent, needed, progress) : askAnew(intent, needed, "")
  }
  if (state === "reserved") return progress.isEnough ? intent : yield* askAnew(intent, needed, "")
  if (progress.isEnough && state === "awaiting_approval") return yield* approve(intent, progress)
  return yield* wait(intent, needed, progress)
})

/** Asks the people, and again when time grows short or their signatures no longer count. */
const wait = Effect.fnUntraced(function* (intent: Intent, needed: NeededApproval, progress: Progress) {
  const isNew = intent.state === "proposed"
  const detail = progress.isLate ? `${progress.words}: the time ends soon` : progress.words
  if (!isNew && intent.detail === detail) return intent
  const moved = (yield* Outbox).move(intent, "awaiting_approval", { detail })
  const words = [
    ...(isNew ? ["approval"] : []),
    ...(progress.again.length > 0 ? [`approval-again-${progress.voided}`] : []),
    ...(progress.isLate && !isNew ? ["approval-late"] : []),
  ]
  if (words.length === 0) return yield* moved
  const asked = { ...missingOf(needed, progress), detail: progress.isLate ? "the time ends soon" : undefined }
  return yield* moveAndAlert(intent, words, sentenceOf(intent, progress), moved, asked)
})

const sentenceOf = (intent: Intent, { words }: Progress): string =>
  `${words}; "cofferer approve ${shortId(intent.id)} --key FILE"`

/** Signatures that are missing, and who may give them. */
const missingOf = ({ group }: NeededApproval, { by, others }: Progress) => ({
  need: group.need - by.length,
  approvers: others,
})

/** Asks the operators again, with a new end: signatures for the former one no longer count. */
const askAnew = Effect.fnUntraced(function* (intent: Intent, needed: NeededApproval, why: string) {
  const now = yield* Clock.currentTimeMillis
  const anew = approvalOf((yield* CycleConfig).treasury, { ...intent, askedAt: now }) ?? needed
  const progress = progressOf(anew, yield* (yield* Approvals).about(intent.id), now)
  const moved = (yield* Outbox).move(intent, "awaiting_approval", { detail: progress.words, askedAt: now })
  const sentence = `${why}${sentenceOf(intent, progress)}`
  return yield* moveAndAlert(intent, [`approval-back-${now}`], sentence, moved, missingOf(anew, progress))
})

const approve = Effect.fnUntraced(function* (intent: Intent, { by }: Progress) {
  const detail = `approved by ${by.join(" and ")}; money and limits are reserved`
  const moved = (yield* Outbox).move(intent, "reserved", { detail })
  const now = yield* (yield* Database).write(moved)
  yield* logEvent("payment approved", { intent: intent.id, detail })
  return now
})

/** The end of a payment whose time is over, in the state that says how far it had come. */
const lapse = Effect.fnUntraced(function* (intent: Intent, needed: NeededApproval, progress: Progress) {
  if ((yield* currentBacking(intent))._tag === "Part") {
    return yield* askAnew(intent, needed, "was not approved in time and stays owed, since another part is paid: ")
  }
  const { group } = needed
  const outbox = yield* Outbox
  const wasSigned = (yield* outbox.attempts(intent.id)).length > 0
  const isApproved = intent.state === "reserved" && progress.isEnough
  const detail = isApproved
    ? "the approval lapsed before it was signed"
    : `the approval lapsed: ${progress.by.length} of ${group.need} had signed`
  const unsignedEnd = intent.state === "reserved" ? ("denied" as const) : ("rejected" as const)
  const state = wasSigned ? ("abandoned" as const) : unsignedEnd
  const ending = { state, sentence: `is ${state}: ${detail}`, detail, severity: "ticket" } as const
  yield* settleAndAlert(intent, ending, outbox.move(intent, state, { detail }))
  return { ...intent, state, detail }
})

/** The move and its alerts, one for each word, in one transaction. */
const moveAndAlert = (
  intent: Intent,
  words: ReadonlyArray<string>,
  sentence: string,
  moved: ReturnType<Outbox["Service"]["move"]>,
  asked: Omit<LogFieldsOf<"approval needed">, "intent">,
) =>
  Effect.gen(function* () {
    const facts = { ...paymentFacts(intent), sentence }
    const raised = Effect.forEach(words, (word) => raise("approval_asked", { ...facts, word }))
    const now = yield* (yield* Database).write(Effect.tap(moved, () => raised))
    yield* logEvent("approval needed", { intent: intent.id, ...asked })
    return now
  })
