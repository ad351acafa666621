import { Clock, Effect } from "effect"
import { CycleConfig, type InForce, treasuryTermsOf } from "../config/ConfigInForce.ts"
import { needsRestart } from "../config/needsRestart.ts"
import type { Mode } from "../config/Treasury.ts"
import { nanosOf } from "../domain/Time.ts"
import { gatherAnswers, peekRound } from "../engine/loadRound.ts"
import { takeSnapshot } from "../engine/snapshot.ts"
import type { Answers } from "../rules/Code.ts"
import type { Conclusion } from "../rules/conclude.ts"
import { decideRound, type RoundContext } from "../rules/decideRound.ts"
import { type ExplainedPayment, explainSubject } from "../rules/explain/explain.ts"
import { weakens } from "../rules/policy/weakens.ts"
import { isRehearsed } from "../rules/Rule.ts"
import { type Memories, memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import type { Outcome } from "../rules/round.ts"
import { observationsMin } from "../rules/SubjectFacts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { knownBy } from "./explanationOf.ts"
import { haltAtRestart } from "./termsApproval.ts"

/** Difference between two files for one rule, as text. */
interface RuleChange {
  readonly rule: string
  readonly change: "added" | "removed" | "changed"
  /** "topUp.levels.1.below: 10_000 -> 12_000" */
  readonly words: ReadonlyArray<string>
}

interface RuleText {
  readonly name: string
}

const isRule = (value: unknown): value is RuleText =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"

const rulesOf = (file: unknown): ReadonlyArray<RuleText> => {
  const rules = typeof file === "object" && file !== null && "rules" in file ? file.rules : undefined
  return Array.isArray(rules) ? rules.filter(isRule) : []
}

/** All values of a rule as written, by path. */
const leaves = (value: unknown, path: string, into: Map<string, string>): ReadonlyMap<string, string> => {
  if (typeof value !== "object" || value === null) return into.set(path, String(value))
  for (const [key, inner] of Object.entries(value)) leaves(inner, path === "" ? key : `${path}.${key}`, into)
  return into
}

/** Differences between the rules of two files, as written, overlays applied. */
const ruleChanges = (before: unknown, after: unknown): ReadonlyArray<RuleChange> => {
  const [old, next] = [rulesOf(before), rulesOf(after)]
  const removed = old
    .filter(({ name }) => next.every((rule) => rule.name !== name))
    .map(({ name }): RuleChange => ({ rule: name, change: "removed", words: [] }))
  const others = next.flatMap((rule): ReadonlyArray<RuleChange> => {
    const was = old.find(({ name }) => name === rule.name)
    if (was === undefined) return [{ rule: rule.name, change: "added", words: [] }]
    const words = differences(leaves(was, "", new Map()), leaves(rule, "", new Map()))
    return words.length === 0 ? [] : [{ rule: rule.name, change: "changed", words }]
  })
  return [...removed, ...others]
}

const differences = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...new Set([...a.keys(), ...b.keys()])]
    .filter((path) => a.get(path) !== b.get(path))
    .map((path) => `${path}: ${a.get(path) ?? "none"} -> ${b.get(path) ?? "none"}`)

/** Expected decision for one subject, and its reason. */
export type PlannedSubject = ReturnType<typeof plannedOf>

/** Expected decisions of one configuration on the present data. */
type Plan = Effect.Success<ReturnType<typeof judge>>

export interface PlannedPayment extends ExplainedPayment {
  readonly rule: string
  readonly subject: string
}

/** How a changed configuration differs from the one in force. */
export type PlanDifference = ReturnType<typeof differenceOf>
export type PlanAnswer = Effect.Success<ReturnType<typeof planOf>>

interface PlanAsked {
  readonly plan: InForce
  /** The configuration to compare with; undefined: none. */
  readonly inForce: InForce | undefined
  /** Judges the last evaluated moment as if it were now: for a store without a running daemon. */
  readonly asLastSeen: boolean
}

/** Payments due under one configuration, or under two with the same data. Stores nothing. */
export const planOf = Effect.fn("Plan.plan")(function* ({ plan, inForce, asLastSeen }: PlanAsked) {
  const database = yield* Database
  const watermark = yield* (yield* Observations).watermark
  const now = yield* Clock.currentTimeMillis
  const at = asLastSeen && watermark !== undefined ? Math.min(now, watermark.updatedAt) : now
  const clock = clockAt(yield* Clock.Clock, at)
  const asked = (one: InForce) =>
    gatherAnswers().pipe(Effect.provideService(CycleConfig, one), Effect.provideService(Clock.Clock, clock))
  const answers = new Map<InForce, Answers>([[plan, yield* asked(plan)]])
  if (inForce !== undefined) answers.set(inForce, yield* asked(inForce))
  const planned = (one: InForce) => judge(one, asLastSeen, answers.get(one))
  return yield* database
    .write(
      Effect.gen(function* () {
        const own = yield* planned(plan)
        const difference = inForce === undefined ? null : differenceOf(inForce, yield* planned(inForce), plan, own)
        const knowledge = yield* knownBy(plan.treasury)
        const halt = yield* haltAtRestart(inForce ?? plan, plan, !asLastSeen)
        return { at, knowledge, plan: own, difference, halt }
      }),
    )
    .pipe(Effect.provideService(Clock.Clock, clock))
})

/** A stopped clock: both configurations are judged at the same moment. */
const clockAt = (clock: Clock.Clock, at: number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => at,
  currentTimeMillis: Effect.succeed(at),
  currentTimeNanosUnsafe: () => nanosOf(at),
  currentTimeNanos: Effect.succeed(nanosOf(at)),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration),
})

const judge = Effect.fnUntraced(function* (config: InForce, asLastSeen: boolean, answers: Answers = new Map()) {
  const { memories } = yield* (yield* RuleStates).byKey
  const { treasury, mode } = config
  return yield* Effect.gen(function* () {
    const seen = yield* takeSnapshot(memories)
    // The comparison with the gateway is the daemon's: this process has made none.
    const snapshot = { ...seen, answers, ...(asLastSeen ? { catchingUp: undefined } : {}) }
    const context = yield* peekRound(snapshot, memories)
    const { conclusions } = decideRound(context)
    const waiting = conclusions.filter(({ memory }) => memory.reason === "pending")
    const ripe =
      waiting.length === 0 ? [] : decideRound({ ...context, memories: ripened(context, waiting) }).conclusions
    const subjects = conclusions.map(({ outcome, memory }) => {
      const later =
        memory.reason === "pending"
          ? ripe.find((r) => r.memory.subject === memory.subject && r.memory.rule === memory.rule)
          : undefined
      return plannedOf(outcome, later?.outcome, mode)
    })
    // Payments and requests that would be made, now or once their condition has held for its time.
    const fires = subjects.reduce((sum, s) => sum + s.payments.length + (s.soon?.payments.length ?? 0), 0)
    return { file: treasury.file, mode, policy: treasury.policy.hash, subjects, fires }
  }).pipe(Effect.provideService(CycleConfig, config))
})

/** Memories as they will be once the conditions that hold now have held for their time. */
const ripened = ({ memories }: RoundContext, waiting: ReadonlyArray<Conclusion>): Memories =>
  new Map([
    ...memories,
    ...waiting.map(({ memory, outcome: { facts } }): [string, RuleMemory] => {
      const key = memoryKey(memory.rule, memory.subject)
      const firingSince = facts.snapshot.now - facts.subject.rule.forMillis
      const timer = { firingSince, observations: observationsMin, lastObservation: facts.snapshot.asOf ?? 0n }
      return [key, { ...memory, episode: memories.get(key)?.episode ?? 0, ...timer }]
    }),
  ])

const plannedOf = ({ facts }: Outcome, later: Outcome | undefined, mode: Mode) => {
  const { rule, subject, verdict, sentence, payments, next } = explainSubject(facts)
  const then = later === undefined ? [] : explainSubject(later.facts).payments
  return {
    rule,
    subject,
    verdict,
    /** Nothing is really paid: the treasury is not live, or the rule is on trial. */
    rehearsed: isRehearsed(mode, facts.subject.rule),
    trial: facts.subject.rule.trial,
    sentence,
    payments,
    /** Payments once its condition has applied for its time; null if it waits for something else. */
    soon: then.length === 0 ? null : { notBefore: next.notBefore, payments: then },
  }
}

const paymentsOf = ({ subjects }: Plan): ReadonlyArray<PlannedPayment> =>
  subjects.flatMap(({ rule, subject, payments, soon }) =>
    [...payments, ...(soon?.payments ?? [])].map((payment) => ({ rule, subject, ...payment })),
  )

/** Payments of `a` that are not in `b`. Compared by base units: under other decimals it is another payment. */
const without = (a: ReadonlyArray<PlannedPayment>, b: ReadonlyArray<PlannedPayment>) => {
  const known = new Set(b.map((payment) => JSON.stringify(payment)))
  return a.filter((payment) => !known.has(JSON.stringify(payment)))
}

const decimalsText = (inForce: InForce, changed: InForce): ReadonlyArray<string> =>
  [...inForce.treasury.assets.values()].flatMap(({ symbol, decimals }) => {
    const next = changed.treasury.assets.get(symbol)?.decimals ?? decimals
    if (next === decimals) return []
    const units = (places: number) => (10n ** BigInt(places)).toString()
    const then = `1 ${symbol} is ${units(decimals)} base units in force and would be ${units(next)}`
    return [`${symbol} has ${decimals} decimals in force and ${next} in the changed file: ${then}`]
  })

const differenceOf = (inForce: InForce, now: Plan, changed: InForce, then: Plan) => {
  const [old, next] = [inForce, changed].map(treasuryTermsOf)
  const [before, after] = [paymentsOf(now), paymentsOf(then)]
  return {
    rules: ruleChanges(inForce.treasury.document.value, changed.treasury.document.value),
    onlyInForce: without(before, after),
    onlyChanged: without(after, before),
    nowPermitted: weakens(old!, next!),
    noLongerPermitted: weakens(next!, old!).map((words) =>
      words.replaceAll(", before ", ", now ").replace(/: no line allowed it before$/, ": no line allows it now"),
    ),
    /** Assets whose decimals differ: equal texts are different amounts. */
    decimals: decimalsText(inForce, changed),
    restart: needsRestart(inForce.treasury, changed.treasury).map(({ message }) => message),
  }
}
