import { createHash } from "node:crypto"
import { Clock, Effect, Option } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import type { Decision, Payment } from "../domain/Decision.ts"
import type { IntentId } from "../domain/Hex.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { isTogether } from "../payments/backing.ts"
import type { Answers } from "../rules/Code.ts"
import type { Conclusion } from "../rules/conclude.ts"
import type { Decided } from "../rules/decideRound.ts"
import type { Notice } from "../rules/Need.ts"
import { approvalFor, lineFor, type Policy } from "../rules/policy/Policy.ts"
import { isRehearsed } from "../rules/Rule.ts"
import { isSameMemory, type RuleMemory } from "../rules/RuleMemory.ts"
import { type MissedTimes, timesAfter } from "../rules/Schedule.ts"
import { networkFee } from "../rules/Snapshot.ts"
import { commandOf, intentFor, isOfSubject, paymentName, type Subject } from "../rules/Subject.ts"
import type { SubjectFacts } from "../rules/SubjectFacts.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Signals } from "../store/database/Signals.ts"
import type { JournalEntry } from "../store/journal/Journal.ts"
import { Clearance } from "../store/payments/Clearance.ts"
import { listedBefore } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import type { RoundChange } from "./report.ts"

/** Identity of an intent. The rule's wording is no part of it, so a reload never pays an episode twice. */
interface IntentIdentity {
  readonly treasury: string
  readonly rule: string
  readonly subject: string
  readonly episode: number | string
}

/** SHA-256 over the four parts as JSON. */
export const intentIdOf = ({ treasury, rule, subject, episode }: IntentIdentity): IntentId =>
  createHash("sha256")
    .update(JSON.stringify([treasury, rule, subject, String(episode)]))
    .digest("hex") as IntentId

type AnsweredCode = Answers extends ReadonlyMap<string, infer One> ? One : never

/** Hash of the code, its input and its answer: enough to call it again. */
const codeFacts = ({ hash, seen, answer }: AnsweredCode) => ({
  hash,
  told: {
    balances: seen.balances,
    assets: Object.fromEntries(Object.entries(seen.assets).map(([symbol, { status }]) => [symbol, status])),
    time: answer.timed ? seen.time : undefined,
  },
  payments: answer._tag === "Pays" ? answer.payments : [],
  because: answer._tag === "Pays" ? answer.because : undefined,
})

/** Journal entry of why a payment was decided, and of the policy line that permits it. */
export const decisionEntry = (intent: Intent, policy: Policy, answered?: AnsweredCode): JournalEntry => {
  const { fromKey, toKey, assetId } = intent.payment
  const line = lineFor(policy, { from: fromKey, to: toKey, assetId })
  return {
    kind: "decision",
    subject: intent.id,
    body: {
      rule: intent.rule,
      sentence: intent.detail,
      policy: policy.hash,
      line: line?.line,
      perTransfer: line?.perTransfer,
      per24h: line?.per24h,
      transfersPer24h: line?.transfersPer24h,
      approval: approvalFor(line, intent.payment.amount)?.name,
      code: answered === undefined ? undefined : codeFacts(answered),
    },
  }
}

/** Upper bound of skipped times that are looked up on the ledger. */
const skippedTimesMax = 100

/** Warning for an alert of skipped times, which people may pay by hand: another copy of the database may have paid. */
const otherCopyText = Effect.fnUntraced(function* (subject: Subject, { first, last }: MissedTimes) {
  if (subject.kind !== "payout") return ""
  const { rule, name } = subject
  const { name: treasury } = (yield* CycleConfig).treasury
  const payment = { fromKey: rule.from.publicKey }
  let times = 0
  for (const at of timesAfter(rule.schedule, first - 1)) {
    if (at > last || times++ >= skippedTimesMax) break
    const id = intentIdOf({ treasury, rule: rule.name, subject: name, episode: at / 1_000 })
    const [listed] = yield* listedBefore({ id, command: "transfer", payment })
    if (listed === undefined) continue
    return `; first look at transfer ${listed.id} (${listed.status}), which another copy of this database made of it`
  }
  const lacking = yield* (yield* Clearance).lacking(rule.from.publicKey)
  return lacking === undefined ? "" : `; first look at the ledger: ${lacking}`
})

type Act = Extract<Decision, { _tag: "Act" }>

/**
 * Stores the payments of this episode; of the next one, if this one is over or another copy of the database has paid a
 * part of it. Open payments stay as they are. A planned time has one payment, however it ended.
 */
const record = Effect.fnUntraced(function* (
  facts: SubjectFacts,
  decision: Act,
  firstEpisode: number,
  isPlanned: boolean,
) {
  const { treasury, mode } = yield* CycleConfig
  const outbox = yield* Outbox
  const { subject } = facts
  const none: ReadonlyArray<Intent> = []
  for (let episode = firstEpisode; ; episode++) {
    const ids = decision.payments.map((payment) =>
      intentIdOf({ treasury: treasury.name, rule: subject.rule.name, subject: paymentName(subject, payment), episode }),
    )
    const stored = (yield* Effect.forEach(ids, outbox.byId)).flatMap(Option.toArray)
    if (stored.length === 0) {
      if (yield* isTaken(subject, episode)) continue
      if (!isPlanned && (yield* isListed(commandOf(subject), decision.payments, ids))) continue
      const intents = yield* Effect.forEach(decision.payments, (payment, i) =>
        propose({ facts, decision, payment, episode, id: ids[i]! }),
      )
      return { intents, episode }
    }
    // A simulated payment is logged once until its condition clears. Once the rule pays, the same need is paid.
    const isLogged = stored.some(({ state }) => state === "rehearsed") && isRehearsed(mode, subject.rule)
    if (isPlanned || isLogged || stored.some(({ state }) => !isFinalIntent(state))) return { intents: none, episode }
  }
})

/**
 * True if another decision that pays its receivers all or not at all has the number: its payments and these would count
 * as parts of one, owed to the last.
 */
const isTaken = Effect.fnUntraced(function* (subject: Subject, episode: number) {
  const { treasury, mode } = yield* CycleConfig
  const { rule } = subject
  if (!isTogether(subject) || isRehearsed(mode, rule)) return false
  const known = yield* (yield* Outbox).siblings({
    id: "" as IntentId,
    treasury: treasury.name,
    rule: rule.name,
    episode,
  })
  return known.some((intent) => isOfSubject(intent, subject))
})

/**
 * True if the ledger lists one of the payments, made by another copy of this store. A new store counts episodes from 1
 * again, so that payment was for another need.
 */
const isListed = Effect.fnUntraced(function* (
  command: Intent["command"],
  payments: ReadonlyArray<Payment>,
  ids: ReadonlyArray<Intent["id"]>,
) {
  for (const [i, payment] of payments.entries()) {
    if ((yield* listedBefore({ id: ids[i]!, command, payment })).length > 0) return true
  }
  return false
})

/** The code rule's answer, and its input. */
const answerIn = ({ subject, snapshot }: SubjectFacts) =>
  subject.kind === "code" ? snapshot.answers?.get(subject.rule.name) : undefined

const propose = Effect.fnUntraced(function* (planned: {
  readonly facts: SubjectFacts
  readonly decision: Act
  readonly payment: Payment
  readonly episode: number
  readonly id: Intent["id"]
}) {
  const { facts, decision, payment, episode, id } = planned
  const { subject, snapshot } = facts
  const { treasury, mode } = yield* CycleConfig
  const { name, policy } = treasury
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const intent = intentFor(subject, payment, { id, treasury: name, episode, detail: decision.detail, policy, at: now })
  yield* outbox.record(intent, decisionEntry(intent, policy, answerIn(facts)))
  if (!isRehearsed(mode, subject.rule)) return intent
  const taken = intent.command === "transfer" ? networkFee(snapshot, subject.asset, payment.amount) : 0n
  const fee = taken ?? intent.feeMax
  yield* (yield* RuleStates).addTrial(subject.rule.name, payment, fee)
  const why = mode === "live" ? "on trial" : `mode ${mode}`
  return yield* outbox.move(intent, "rehearsed", { detail: `${why}: would have been paid` })
})

/** Makes a round durable: pauses, memories, payments, requests and alerts. Call it in its transaction. */
export const keepRound = Effect.fn("Engine.keep")(function* ({ locks, alerts, conclusions }: Decided) {
  const controls = yield* Controls
  for (const { scope, reason, notice } of locks) {
    yield* controls.pause({ scope, reason, author: "cofferer", until: undefined })
    yield* raiseOrEnd(notice)
  }
  for (const { memory, before, notice } of alerts) {
    yield* remember(memory, before)
    if (notice !== undefined) yield* raiseOrEnd(notice)
  }
  return yield* Effect.forEach(conclusions, keep)
})

const keep = Effect.fn("Engine.evaluate")(function* ({ outcome, before, notices, memory: concluded }: Conclusion) {
  const { facts, judgement } = outcome
  const { decision, planned } = judgement
  const { intents, episode } =
    decision._tag === "Act"
      ? yield* record(facts, decision, concluded.episode, planned !== undefined)
      : { intents: [], episode: concluded.episode }
  const memory = { ...concluded, episode }
  yield* remember(memory, before)
  const states = yield* RuleStates
  for (const { topic, rule, subject, brief: detail, request } of notices) {
    if (topic === "request" && request !== undefined) yield* states.recordRequest({ rule, subject, detail, ...request })
    if (topic === "received") yield* states.endRequest(rule, subject, detail)
  }
  for (const notice of notices) {
    const { alert, missedTimes } = notice
    const more = missedTimes === undefined ? "" : yield* otherCopyText(facts.subject, missedTimes)
    yield* raiseOrEnd({ ...notice, alert: { ...alert, detail: `${alert.detail}${more}` } })
  }
  return { facts, memory, before, intents, notices, isBroken: facts.need?._tag === "Broken" } satisfies RoundChange
})

const remember = Effect.fnUntraced(function* (memory: RuleMemory, before: RuleMemory | undefined) {
  if (!isSameMemory(memory, before)) yield* (yield* RuleStates).save(memory, before)
})

const raiseOrEnd = Effect.fnUntraced(function* ({ isOver, alert }: Notice) {
  const queue = yield* AlertQueue
  const isNew = isOver === true ? yield* queue.allClear(alert) : yield* queue.raise(alert)
  if (isNew) yield* (yield* Signals).wake("alerts")
})
