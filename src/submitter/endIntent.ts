import { Clock, Effect, Option, Schema } from "effect"
import { type Attempt, deadlineHeight, type EvidenceKind, isFinalAttempt } from "../domain/Attempt.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { type FinalIntentState, type Intent, isFinalIntent } from "../domain/Intent.ts"
import { nanosOf } from "../domain/Time.ts"
import { type ChainProgress, doubtfulUntil, isOver, sureHeight } from "../payments/judgeAttempt.ts"
import { raise } from "../store/alerts/raise.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { InFlight } from "./InFlight.ts"

/** How a person ends a payment that does not end by itself. */
export type Verb =
  /** `hash`: of a transaction that the ledger holds, or its transfer id. */
  | { readonly verb: "executed"; readonly hash: string }
  | { readonly verb: "never_executed" }
  | { readonly verb: "reject" }
  | { readonly verb: "cancel" }
  | { readonly verb: "abandon" }

/** Facts about a payment. */
export interface IntentFacts extends Omit<ChainProgress, "reported"> {
  readonly intent: Intent
  readonly attempts: ReadonlyArray<Attempt>
  readonly sends: ReadonlyArray<{ readonly k: number; readonly txHash: string }>
  readonly evidence: ReadonlyArray<{ readonly k: number; readonly kind: EvidenceKind; readonly detail: string }>
  /** Transfer ids that the ledger listed as done. */
  readonly done: ReadonlySet<string>
  /** Newest final block that was read; 0 where the gateway names none. */
  readonly height: bigint
  /** The accepted head; undefined while none is plausible. */
  readonly accepted: bigint | undefined
}

interface Permitted {
  readonly permitted: true
  readonly to: FinalIntentState
  /** The attempt that ends with it. */
  readonly ends: { readonly attempt: Attempt; readonly to: "confirmed" | "expired" } | undefined
  /** The reason of the end, as the beginning of a sentence. */
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

const liveOf = (facts: IntentFacts): Attempt | undefined => facts.attempts.find((a) => !isFinalAttempt(a.state))

/** Judges if a person may end the payment this way: never while an attempt may still execute. */
export const judgeVerb = (verb: Verb, facts: IntentFacts): Judged => {
  const { intent } = facts
  if (isFinalIntent(intent.state)) return refuse(`it is ${intent.state} already`, "there is nothing to do")
  switch (verb.verb) {
    case "executed":
      return judgeExecuted(verb.hash, facts)
    case "never_executed":
      return judgeNeverExecuted(facts)
    case "reject":
      return isUndecided(facts) ? permit("rejected", "rejected") : misplaced("rejected", facts)
    case "cancel":
      return isUnsigned(facts) ? permit("cancelled", "cancelled") : misplaced("cancelled", facts)
    case "abandon":
      return isDead(facts) ? permit("abandoned", "abandoned") : misplaced("abandoned", facts)
  }
}

const isUndecided = ({ intent, attempts }: IntentFacts): boolean =>
  (intent.state === "proposed" || intent.state === "awaiting_approval") && attempts.length === 0

const isUnsigned = (facts: IntentFacts): boolean =>
  isUndecided(facts) || (facts.intent.state === "reserved" && facts.attempts.length === 0)

const isDead = (facts: IntentFacts): boolean =>
  (facts.intent.state === "reserved" || facts.intent.state === "awaiting_approval") &&
  facts.attempts.length > 0 &&
  liveOf(facts) === undefined

const isStuck = ({ intent }: IntentFacts): boolean => intent.state === "manual" || intent.state === "unknown"

/** The refusal of a verb in the wrong state, with the one that fits the state. */
const misplaced = (participle: string, facts: IntentFacts): Judged => {
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
  if (isDead(facts)) return refuse(`it is ${words} after a signature: it cannot be ${participle}`, '"intents abandon"')
  const remedy = isUndecided(facts) ? '"intents cancel" or "intents reject"' : '"intents cancel"'
  return refuse(`it is ${words}: it cannot be ${participle}`, remedy)
}

const unresolvable = ({ intent }: IntentFacts): Judged =>
  refuse(
    `it is ${intent.state.replaceAll("_", " ")}: only what is manual or unknown is resolved by people`,
    "wait: the daemon finds out what became of it",
  )

const judgeExecuted = (given: string, facts: IntentFacts): Judged => {
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
      `a transaction whose work others solved again has another hash; name the transfer id instead: ${known}`,
    )
  }
  const { k } = attempt
  const failed = facts.evidence.find((e) => e.k === k && e.kind === "execution_failed")
  if (failed !== undefined) return refuse(`attempt ${k} failed in its block (${failed.detail})`, 'see "intents show"')
  if (attempt.state === "expired") {
    return refuse(`attempt ${k} is proven never executed`, 'see "intents show"; name the attempt that executed')
  }
  const other = facts.attempts.find((a) => a.k !== k && isSeen(a, facts))
  if (other !== undefined) {
    return refuse(`the ledger was seen to hold attempt ${other.k}, not ${k}`, `name transfer ${other.transferId}`)
  }
  if (attempt.sends === 0 && attempt.state === "signed") {
    return refuse(`attempt ${k} was never sent`, "check that the hash belongs to this payment")
  }
  return permit("confirmed", `resolved as executed (${hash.slice(0, 8)}..)`, { attempt, to: "confirmed" })
}

const isSeen = (attempt: Attempt, { evidence, done }: IntentFacts): boolean =>
  done.has(attempt.transferId) || evidence.some((e) => e.k === attempt.k && e.kind === "executed")

/**
 * True if a chain reset that operators accepted (poller/watchChain.ts) left the attempt behind. False once the chain
 * has the window's heights: it may be the old chain again, and only the window's end proves that the attempt is dead.
 */
const isLeftBehind = ({ k, anchorHeight }: Attempt, { evidence, height, accepted }: IntentFacts): boolean =>
  evidence.some((one) => one.k === k && one.kind === "left_behind") &&
  accepted !== undefined &&
  accepted < anchorHeight &&
  height < anchorHeight

/**
 * True if people may call a manual payment never executed although balances name no height: by the accepted head the
 * window is over, or no head is accepted and no chain reset left the attempt behind.
 */
const isOverWithoutHeight = (live: Attempt, facts: IntentFacts): boolean => {
  if (facts.intent.state !== "manual") return false
  if (facts.accepted !== undefined) return isOver(live, sureHeight(live, { ...facts, reported: facts.accepted }))
  return !facts.evidence.some(({ k, kind }) => k === live.k && kind === "left_behind")
}

const judgeNeverExecuted = (facts: IntentFacts): Judged => {
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
  const height = sureHeight(live, { ...facts, reported: facts.height })
  const over = facts.height === 0n ? isOverWithoutHeight(live, facts) : isOver(live, height)
  if (!over) {
    const end = doubtfulUntil(live)
    const known = facts.height === 0n ? "no block is known" : `block ${height} is the newest that is sure`
    const message = `attempt ${live.k} may still execute: ${known}, its window is over beyond doubt after block ${end}`
    return refuse(message, "let the daemon see a later block, then ask again")
  }
  return permit("abandoned", "resolved as never executed", { attempt: live, to: "expired" })
}

/** A person's command was refused. `isBusy`: only because a loop works on the payment right now. */
class VerbRefused extends Schema.TaggedError<VerbRefused>()("VerbRefused", {
  message: Schema.String,
  remedy: Schema.String,
  isBusy: Schema.Boolean,
}) {}

/** Wait for a loop that works on the payment: longer than a lookup on the ledger usually takes. */
const waitMillisMax = 5_000

interface EndRequest {
  readonly intentId: string
  readonly verb: Verb
  readonly author: string
  readonly reason: string
}

/**
 * Ends a payment as a person decided. One transaction checks the stored evidence, runs `agree`, and writes change,
 * author and reason. Returns the payment as it is afterwards.
 */
export const endIntent = Effect.fn("People.endIntent")(function* <E, R>(request: EndRequest, agree: Agree<E, R>) {
  const inFlight = yield* InFlight
  const database = yield* Database
  const done = yield* inFlight.person(request.intentId, waitMillisMax, database.write(endStored(request, agree)))
  if (Option.isSome(done)) return done.value
  return yield* new VerbRefused({ message: "the network is being asked about it", remedy: "ask again", isBusy: true })
})

/** Runs before the payment ends; fails while somebody's agreement is missing. */
type Agree<E, R> = (intent: Intent) => Effect.Effect<unknown, E, R>

const endStored = Effect.fnUntraced(function* <E, R>(request: EndRequest, agree: Agree<E, R>) {
  const { intentId, verb, author, reason } = request
  const outbox = yield* Outbox
  const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
  if (intent === undefined) return yield* refused(`no payment "${intentId}"`, 'see "cofferer intents"')
  const audit = yield* LedgerAudit
  const attempts = yield* outbox.attempts(intentId)
  const done = yield* Effect.filter(attempts, ({ transferId }) =>
    Effect.map(audit.countExecutions(transferId), (count) => count > 0),
  )
  const chainId = attempts.at(-1)?.chainId
  const watermark = yield* (yield* Observations).watermark
  const judged = judgeVerb(verb, {
    now: yield* Clock.currentTimeMillis,
    blockMillis: yield* (yield* Observations).blockMillis,
    intent,
    attempts,
    sends: yield* outbox.sends(intentId),
    evidence: yield* outbox.evidence(intentId),
    done: new Set(done.map(({ transferId }) => transferId)),
    height: watermark?.height ?? 0n,
    accepted: yield* acceptedHeight(chainId),
  })
  if (!judged.permitted) return yield* refused(judged.message, judged.remedy)
  yield* agree(intent)
  const by = { verb: verb.verb, author, reason }
  const detail = `${judged.words} by ${author}: ${reason}`
  // The time of the execution is not known: rules wait for balances that are newer than now.
  const settledAt = judged.to === "confirmed" ? nanosOf(yield* Clock.currentTimeMillis) : undefined
  const settlement = { detail, settledAt, by }
  if (judged.to !== "confirmed") yield* alertUnpaid(intent, judged.to, detail)
  if (judged.ends !== undefined) {
    const { attempt, to } = judged.ends
    yield* outbox.settle(intent, attempt, to, judged.to, settlement)
    return { ...intent, state: judged.to, detail }
  }
  // The states allow a rejection only of a payment that people were asked about.
  const isUnasked = intent.state === "proposed" && judged.to === "rejected"
  const current = isUnasked ? yield* outbox.move(intent, "awaiting_approval", { detail: `asked ${author}` }) : intent
  return yield* outbox.move(current, judged.to, settlement)
})

/** Height of the accepted head of the chain; undefined while none is plausible. */
const acceptedHeight = Effect.fnUntraced(function* (chainId: string | undefined) {
  if (chainId === undefined) return undefined
  const { accepted, stray } = yield* (yield* ChainState).acceptedHead(chainId)
  return stray === undefined ? accepted?.height : undefined
})

/** Alerts that a person ended a payment unpaid. */
const alertUnpaid = Effect.fnUntraced(function* (intent: Intent, state: string, detail: string) {
  const waited = intent.detail.startsWith("waits: ") ? `; it ${intent.detail.replace("waits: ", "waited: ")}` : ""
  yield* raise("payment_ended_by_hand", { ...paymentFacts(intent), state, detail: `${detail}${waited}` })
})

const refused = (message: string, remedy: string) => new VerbRefused({ message, remedy, isBusy: false })
