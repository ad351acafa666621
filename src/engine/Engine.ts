import { Clock, Effect } from "effect"
import { byOneConfig, ConfigInForce, CycleConfig, type InForce, isCycleInForce } from "../config/ConfigInForce.ts"
import { millisOf } from "../domain/Time.ts"
import type { Answers } from "../rules/Code.ts"
import { decideRound } from "../rules/decideRound.ts"
import { isOn } from "../rules/RuleMemory.ts"
import { subjectsIn } from "../rules/Subject.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { checkDiskSpace } from "../store/database/DiskSpace.ts"
import { Signals } from "../store/database/Signals.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { traceDecision } from "../telemetry/Tracing.ts"
import { DirtySubjects } from "./DirtySubjects.ts"
import { gatherAnswers, loadRound } from "./loadRound.ts"
import { notifyAssets } from "./notifyAssets.ts"
import { keepRound } from "./record.ts"
import { alertOnFailingCode, alertOnUnknownBalances, logDecisions, type RoundChange, reportTrials } from "./report.ts"
import { takeSnapshot } from "./snapshot.ts"

/** Longest pause between rounds: timers run and balances age without changes. */
const restMillis = 1_000

/** Evaluates every paying rule once. Decisions, timers and intents become durable together, or not at all. */
export const decideOnce = Effect.fn("Engine.decide")(function* () {
  const config = yield* CycleConfig
  const startedAt = yield* Clock.currentTimeMillis
  const database = yield* Database
  const states = yield* RuleStates
  const dirty = yield* DirtySubjects
  yield* checkDiskSpace()
  const answers = yield* gatherAnswers()
  // If the transaction fails, cached state is dropped: it must not be newer than the database.
  const forget = Effect.andThen(Effect.sync(dirty.forget), states.forget)
  const { steady } = yield* ConfigInForce
  const { conclusions, changes, alerts } = yield* steady(database.write(evaluateAll(answers), forget))
  dirty.evaluated(conclusions.map(({ outcome }) => outcome))
  const metrics = yield* Metrics
  for (const { memory } of alerts) {
    const decision = isOn(memory) ? "act" : "hold"
    metrics.ruleEvaluations.inc({ treasury: config.treasury.name, rule: memory.rule, decision })
  }
  for (const change of changes) {
    const decision = change.isBroken ? "error" : change.memory.reason === undefined ? "act" : "hold"
    metrics.ruleEvaluations.inc({ treasury: config.treasury.name, rule: change.memory.rule, decision })
  }
  yield* logDecisions(changes, countIn(config))
  const signals = yield* Signals
  if (changes.some(({ intents }) => intents.length > 0)) {
    yield* signals.wake("submitter")
    yield* tracePayments(changes, startedAt)
  }
  // Balances for a rule's next observation are read at the next block, not after the idle pause.
  if (changes.some(isPendingNow)) yield* signals.wake("balances")
})

const evaluateAll = Effect.fnUntraced(function* (answers: Answers) {
  const { treasury, mode } = yield* CycleConfig
  // A reload since this cycle began: a decision of the old configuration would count as one of the new.
  if (!(yield* isCycleInForce)) return { conclusions: [], changes: [], alerts: [] }
  const { memories, generation } = yield* (yield* RuleStates).byKey
  const dirty = yield* DirtySubjects
  const { accounts, stops, ...snapshot } = yield* takeSnapshot(memories)
  const due = dirty.due({ rules: treasury.rules, mode, generation, snapshot, accounts, stops })
  const decided = decideRound(yield* loadRound({ ...snapshot, answers }, memories, due))
  const changes = yield* keepRound(decided)
  yield* alertOnUnknownBalances(memories, snapshot)
  yield* alertOnFailingCode(memories, answers)
  return { ...decided, changes }
})

const tracePayments = Effect.fnUntraced(function* (changes: ReadonlyArray<RoundChange>, startedAt: number) {
  const watermark = yield* (yield* Observations).watermark
  const block = watermark === undefined ? startedAt : millisOf(watermark.timestamp)
  const at = { block, used: startedAt, stored: yield* Clock.currentTimeMillis }
  for (const intent of changes.flatMap(({ intents }) => intents)) yield* traceDecision(intent, at)
})

const isPendingNow = ({ memory, before }: RoundChange): boolean =>
  memory.state === "pending" && before?.state !== "pending"

/** Number of a rule's subjects. */
const countIn =
  ({ treasury, mode }: InForce) =>
  (name: string): number => {
    const { paying, rehearsing } = subjectsIn(treasury.rules, mode)
    return [...paying, ...rehearsing].filter(({ rule }) => rule.name === name).length
  }

/** The engine's loop. */
export const engineLoop = Effect.gen(function* () {
  const { counted } = yield* Metrics
  const signals = yield* Signals
  yield* notifyAssets()
  yield* counted("engine", decideOnce())
  yield* reportTrials()
  yield* signals.wait("engine", restMillis)
}).pipe(byOneConfig, Effect.forever)
