import { Clock, Effect, Option } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { Decision, RuleState } from "../domain/Decision.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { decide } from "../rules/decide.ts"
import { feeMax } from "../rules/Policy.ts"
import { isPaying, type Level, type PayingRule, subjectOf } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { idle, type Timer } from "../rules/Timer.ts"
import { Database } from "../store/Database.ts"
import { Outbox } from "../store/Outbox.ts"
import { type RuleMemory, RuleStates } from "../store/RuleStates.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { say } from "../telemetry/say.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { intentIdOf } from "./intentIdOf.ts"
import { journalDecision } from "./journalDecision.ts"
import { notifyAssets } from "./notifyAssets.ts"
import { takeSnapshot } from "./snapshot.ts"

/** Conditions are looked at again this often even without news: timers run and knowledge grows old. */
const waitMillis = 1_000

/** What one evaluation changed, to be told once it is durable. */
interface Change {
  readonly memory: RuleMemory
  readonly before: RuleMemory | undefined
  readonly intent: Intent | undefined
}

/** Evaluates every paying rule once. Decisions, timers and intents become durable together, or not at all. */
export const decideOnce = Effect.fn("Engine.decide")(function* () {
  const options = yield* EngineOptions
  const database = yield* Database
  const changes = yield* database.atomically(evaluateAll())
  const metrics = yield* Metrics
  for (const change of changes) {
    const decision = change.memory.reason === undefined ? "act" : "hold"
    metrics.ruleEvaluations.inc({ treasury: options.treasury, rule: change.memory.rule, decision })
    yield* tell(change)
  }
  if (changes.some(({ intent }) => intent !== undefined)) {
    const signals = yield* Signals
    yield* signals.wake("submitter")
    yield* signals.wake("balances")
  }
})

const evaluateAll = Effect.fnUntraced(function* () {
  const options = yield* EngineOptions
  const states = yield* RuleStates
  const memories = new Map((yield* states.all).map((m) => [`${m.rule}|${m.subject}`, m]))
  let snapshot: Snapshot = yield* takeSnapshot()
  const rules = options.rules.filter(isPaying).toSorted((a, b) => a.priority - b.priority)
  const changes: Array<Change> = []
  for (const rule of rules) {
    for (const level of rule.levels) {
      const before = memories.get(`${rule.name}|${subjectOf(level)}`)
      const change = yield* evaluate(rule, level, snapshot, before)
      changes.push(change)
      // The next rule sees this payment: both ends are reserved from now on.
      if (change.intent === undefined) continue
      const list = isFinalIntent(change.intent.state) ? "settled" : "open"
      snapshot = { ...snapshot, [list]: [...snapshot[list], change.intent] }
    }
  }
  return changes
})

const evaluate = Effect.fn("Engine.evaluate")(function* (
  rule: PayingRule,
  level: Level,
  snapshot: Snapshot,
  before: RuleMemory | undefined,
) {
  const states = yield* RuleStates
  const timer: Timer = before ?? idle
  const judged = decide(rule, level, snapshot, timer)
  const edge = timer.firingSince === undefined && judged.timer.firingSince !== undefined
  let episode = (before?.episode ?? 0) + (edge ? 1 : 0)
  let intent: Intent | undefined
  if (judged.decision._tag === "Act") {
    const recorded = yield* record(rule, level, judged.decision, episode)
    intent = recorded.intent
    episode = recorded.episode
  }
  const reason = judged.decision._tag === "Hold" ? judged.decision.reason : undefined
  const memory: RuleMemory = {
    rule: rule.name,
    subject: subjectOf(level),
    episode,
    ...judged.timer,
    state: stateOf(judged.decision, judged.timer),
    reason,
    detail: judged.decision.detail,
    reasonSince: before !== undefined && before.reason === reason ? before.reasonSince : snapshot.now,
    decidedAt: snapshot.now,
  }
  if (!sameMemory(memory, before)) yield* states.save(memory, before)
  return { memory, before, intent }
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
  if (decision._tag === "Act") return "acting"
  if (decision.reason === "pending") return "pending"
  return timer.firingSince === undefined ? "inactive" : "holding"
}

/** Stores the intent of this episode; where that one is over already, of the next. An open one is left as it is. */
const record = Effect.fnUntraced(function* (
  rule: PayingRule,
  level: Level,
  decision: Extract<Decision, { _tag: "Act" }>,
  firstEpisode: number,
) {
  const options = yield* EngineOptions
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const subject = subjectOf(level)
  for (let episode = firstEpisode; ; episode++) {
    const intent: Intent = {
      id: intentIdOf({ treasury: options.treasury, rule: rule.name, subject, episode }),
      treasury: options.treasury,
      rule: rule.name,
      subject,
      episode,
      payment: decision.payment,
      decimals: level.asset.decimals,
      feeMax: feeMax(options.policy.maxFee, decision.payment.amount),
      state: "proposed",
      detail: decision.detail,
      fee: undefined,
      settledAt: undefined,
      createdAt: now,
      updatedAt: now,
    }
    if (yield* outbox.record(intent)) {
      yield* journalDecision(intent, options.policy)
      if (options.mode === "live") return { intent, episode }
      const detail = `mode ${options.mode}: would have been paid`
      return { intent: yield* outbox.move(intent, "rehearsed", { detail }), episode }
    }
    const stored = Option.getOrUndefined(yield* outbox.byId(intent.id))
    // A rehearsed payment moves no balance, so its need stays: it is told once, until the condition has cleared. Once
    // the treasury is live, the same need is paid.
    const told = stored?.state === "rehearsed" && options.mode !== "live"
    if (stored === undefined || !isFinalIntent(stored.state) || told) {
      return { intent: undefined, episode }
    }
  }
})

const quiet: ReadonlySet<string> = new Set(["in_flight", "settling", "no_data", "asset_status"])

const tell = Effect.fnUntraced(function* ({ memory, before, intent }: Change) {
  if (intent !== undefined) {
    const { payment } = intent
    const amount = `${formatAmount(payment.amount, intent.decimals)} ${payment.asset}`
    const word = intent.state === "rehearsed" ? "rehearsed" : "proposed"
    const detail = `${memory.rule}: ${amount} ${payment.from} -> ${payment.to}; ${memory.detail}`
    return yield* say(word, { subject: shortId(intent.id).slice(0, 4), detail, intent: intent.id })
  }
  if (memory.reason === undefined || memory.reason === before?.reason) return
  const subject = memory.rule
  if (memory.reason === "pending") return yield* say("pending", { subject, detail: memory.detail })
  const first = before === undefined || quiet.has(memory.reason)
  const calm = memory.reason === "in_band" && (before?.reason === undefined || quiet.has(before.reason))
  if (first || calm)
    return yield* Effect.logDebug("hold", { rule: subject, reason: memory.reason, detail: memory.detail })
  yield* say("hold", { subject, detail: `${memory.reason.replaceAll("_", " ")}: ${memory.detail}` })
})

/** The loop. Alerts are looked at on their own: what stops money does not stop them. */
export const engineLoop = Effect.gen(function* () {
  const cycle = yield* Cycle
  const signals = yield* Signals
  yield* notifyAssets()
  yield* cycle.counted("engine", decideOnce())
  yield* signals.wait("engine", waitMillis)
}).pipe(Effect.forever)
