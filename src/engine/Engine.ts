import { Effect } from "effect"
import type { Decision, RuleState } from "../domain/Decision.ts"
import type { Intent } from "../domain/Intent.ts"
import { isOn } from "../rules/alerting.ts"
import type { Answers } from "../rules/code.ts"
import type { LetGo } from "../rules/Need.ts"
import { madeUp } from "../rules/payout.ts"
import { isPaying, type Rule } from "../rules/Rule.ts"
import { subjectsOf } from "../rules/Subject.ts"
import type { Outcome } from "../rules/step.ts"
import type { Timer } from "../rules/Timer.ts"
import type { Ask } from "../store/Asks.ts"
import { Database } from "../store/Database.ts"
import { checkDiskSpace } from "../store/fullDisk.ts"
import { memoryKey, type RuleMemory, RuleStates } from "../store/RuleStates.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { Attention } from "./Attention.ts"
import { askPeople, endAsk } from "./askPeople.ts"
import { decidingInForce, EngineOptions } from "./EngineOptions.ts"
import { gatherAnswers } from "./gatherAnswers.ts"
import { isRehearsed, judgeOn } from "./judgeAll.ts"
import { lockRules } from "./lockRules.ts"
import { notifyAssets } from "./notifyAssets.ts"
import { isMadeUp, tellLate, tellLetGo, tellUnseen } from "./plannedTimes.ts"
import { record } from "./record.ts"
import { reportTrials } from "./reportTrials.ts"
import { takeSnapshot } from "./snapshot.ts"
import { tellCode } from "./tellCode.ts"
import { type Change, tellDecisions } from "./tellDecisions.ts"
import { tellUnknown } from "./tellUnknown.ts"
import { watchConditions } from "./watchConditions.ts"

/** Conditions are looked at again this often even without news: timers run and knowledge grows old. */
const restMillis = 1_000

/** What one evaluation came to. */
interface Evaluated extends Change {
  /** Whether the rule's own code gave no answer that can be relied on. */
  readonly isBroken: boolean
}

/** Evaluates every paying rule once. Decisions, timers and intents become durable together, or not at all. */
export const decideOnce = Effect.fn("Engine.decide")(function* () {
  const options = yield* EngineOptions
  const database = yield* Database
  const states = yield* RuleStates
  const attention = yield* Attention
  yield* checkDiskSpace()
  const answers = yield* gatherAnswers()
  const { outcomes, changes, alerts } = yield* database.atomically(evaluateAll(answers)).pipe(
    // What was not committed did not happen: memory must not know more than the store.
    Effect.onError(() => Effect.andThen(Effect.sync(attention.forget), states.forget)),
  )
  attention.looked(outcomes)
  const metrics = yield* Metrics
  for (const { memory } of alerts) {
    const decision = isOn(memory) ? "act" : "hold"
    metrics.ruleEvaluations.inc({ treasury: options.treasury, rule: memory.rule, decision })
  }
  for (const change of changes) {
    const decision = change.isBroken ? "error" : change.memory.reason === undefined ? "act" : "hold"
    metrics.ruleEvaluations.inc({ treasury: options.treasury, rule: change.memory.rule, decision })
  }
  yield* tellDecisions(changes, subjectsIn(options.rules))
  const signals = yield* Signals
  if (changes.some(({ asked }) => asked !== undefined)) yield* signals.wake("alerts")
  const isPaid = changes.some(({ intents }) => intents.length > 0)
  if (isPaid) yield* signals.wake("submitter")
  // What a rule needs for its next observation is asked for at the next block, not after the idle pause.
  if (isPaid || changes.some(isPendingNow)) yield* signals.wake("balances")
})

const evaluateAll = Effect.fnUntraced(function* (answers: Answers) {
  const { rules, mode } = yield* EngineOptions
  const { memories, reading } = yield* (yield* RuleStates).byKey
  const attention = yield* Attention
  const { accounts, stops, ...snapshot } = yield* takeSnapshot(memories.values())
  const alerts = yield* watchConditions(snapshot, memories)
  const firing = new Set(snapshot.firing)
  for (const { memory } of alerts) {
    if (isOn(memory)) firing.add(memory.rule)
    else firing.delete(memory.rule)
  }
  const pauses = yield* lockRules(rules.filter(isPaying), snapshot)
  const due = attention.due({ rules, mode, reading, snapshot, accounts, stops })
  const outcomes = yield* judgeOn({ ...snapshot, firing, pauses, answers }, memories, due)
  const changes = yield* Effect.forEach(outcomes, (outcome) => {
    const { rule, name } = outcome.look.subject
    return keep(outcome, memories.get(memoryKey(rule.name, name)))
  })
  yield* tellUnknown(memories, snapshot)
  yield* tellCode(memories, answers)
  return { outcomes, changes, alerts }
})

/** Makes one outcome durable: the subject's memory, and what is to be paid or asked for. */
const keep = Effect.fn("Engine.evaluate")(function* (outcome: Outcome, before: RuleMemory | undefined) {
  const states = yield* RuleStates
  const { subject, snapshot } = outcome.look
  const { timer, planned, concluded } = outcome.judgement
  const made = yield* isMadeUp(subject, planned)
  const decision: Decision = made ? madeUp : outcome.judgement.decision
  const edge = before?.firingSince === undefined && timer.firingSince !== undefined
  const counted = (before?.episode ?? 0) + (edge && subject.kind !== "payout" ? 1 : 0)
  const { mode } = yield* EngineOptions
  let episode = (made ? planned : undefined) ?? concluded ?? counted
  let intents: ReadonlyArray<Intent> = []
  let asked: Ask | undefined
  if (decision._tag === "Act") {
    const recorded = yield* record(outcome.look, decision, planned ?? counted, planned !== undefined)
    intents = recorded.intents
    episode = recorded.episode
  }
  // People are not sent for money in a rehearsal.
  if (decision._tag === "Ask" && !isRehearsed(mode, subject.rule)) asked = yield* askPeople(subject, decision, counted)
  if (subject.kind === "request" && decision._tag === "Hold" && decision.reason === "in_band") {
    asked = yield* endAsk(subject, decision.detail)
  }
  const reason = decision._tag === "Hold" ? decision.reason : undefined
  const memory: RuleMemory = {
    rule: subject.rule.name,
    subject: subject.name,
    episode,
    ...pickTimer(timer),
    state: stateOf(decision, timer),
    reason,
    detail: decision.detail,
    reasonSince: before !== undefined && before.reason === reason ? before.reasonSince : snapshot.now,
    decidedAt: snapshot.now,
  }
  if (!sameMemory(memory, before)) yield* states.save(memory, before)
  const letGo = letGoOf(outcome)
  if (before !== undefined && !isRehearsed(mode, subject.rule)) {
    if (letGo !== undefined) yield* tellLetGo(subject, letGo, before)
    yield* tellLate(outcome, decision, { before, isConcluded: episode !== before.episode })
    yield* tellUnseen(outcome, before)
  }
  const isBroken = outcome.look.need?._tag === "Broken"
  return { memory, before, intents, asked, isBroken } satisfies Evaluated
})

/** Planned times that are let go with this look: those that it concludes. */
const letGoOf = ({ look: { need }, judgement: { concluded } }: Outcome): LetGo | undefined =>
  concluded !== undefined && (need?._tag === "NotDue" || need?._tag === "Wanted") ? need.letGo : undefined

const pickTimer = ({ firingSince, observations, lastObservation }: Timer): Timer => ({
  firingSince,
  observations,
  lastObservation,
})

/** A look that changes nothing costs no write: a calm treasury looks once a second for months. */
const sameMemory = (a: RuleMemory, b: RuleMemory | undefined): boolean =>
  b !== undefined &&
  a.episode === b.episode &&
  a.firingSince === b.firingSince &&
  a.observations === b.observations &&
  a.state === b.state &&
  a.reason === b.reason &&
  a.detail === b.detail

const stateOf = (decision: Decision, timer: Timer): RuleState => {
  if (decision._tag !== "Hold") return "acting"
  if (decision.reason === "pending") return "pending"
  return timer.firingSince === undefined ? "inactive" : "holding"
}

const isPendingNow = ({ memory, before }: Change): boolean => memory.state === "pending" && before?.state !== "pending"

/** How many subjects a rule has; read where something is told alone. */
const subjectsIn =
  (rules: ReadonlyArray<Rule>) =>
  (name: string): number =>
    rules
      .filter(isPaying)
      .filter((rule) => rule.name === name)
      .reduce((sum, rule) => sum + subjectsOf(rule).length, 0)

/** The loop. Alerts are looked at on their own: what stops money does not stop them. */
export const engineLoop = Effect.gen(function* () {
  const cycle = yield* Cycle
  const signals = yield* Signals
  yield* notifyAssets()
  yield* cycle.counted("engine", decideOnce())
  yield* reportTrials()
  yield* signals.wait("engine", restMillis)
}).pipe(decidingInForce, Effect.forever)
