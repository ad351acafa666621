import { Clock, Effect, Option } from "effect"
import { CycleConfig, type InForce } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import { nameRemedy } from "../config/yaml/decodeAll.ts"
import { isHex64 } from "../domain/Hex.ts"
import { isoOf, millisOf } from "../domain/Time.ts"
import { gatherAnswers, peekRound } from "../engine/loadRound.ts"
import { takeSnapshot } from "../engine/snapshot.ts"
import { sourceKey } from "../poller/BalancePoller.ts"
import type { AlertRule } from "../rules/Condition.ts"
import { decideRound, factsOf } from "../rules/decideRound.ts"
import { explainSubject } from "../rules/explain/explain.ts"
import { explainAlert } from "../rules/explain/explainAlert.ts"
import { alertSubject } from "../rules/kinds/alerting.ts"
import { isPaying, isRehearsed, type NotifyRule, type PayingRule } from "../rules/Rule.ts"
import { isRemoved, memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import { subjectsOf } from "../rules/Subject.ts"
import { lastAlertOf } from "../store/alerts/AlertQueue.ts"
import { Observations } from "../store/balances/Observations.ts"
import { idleAround } from "../store/controls/starts.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { attemptByHash, Outbox } from "../store/payments/Outbox.ts"
import { decisionsAround, RuleStates, type StoredDecision, subjectsDecided } from "../store/rules/RuleStates.ts"
import { storyWithApproval } from "./approvals.ts"
import { type HttpProblem, problem } from "./stories.ts"

/** Every kind of answer. Times are Unix milliseconds; `decided` is null where not evaluated yet. */
export type Explained = Exclude<Effect.Success<ReturnType<typeof explanationOf>>, HttpProblem>
export type AlertAnswer = Extract<Explained, { about: "alert" }>
export type RuleAnswer = Extract<Explained, { about: "rule" }>
/** Answer for a rule that alerts on assets: only its alerts are stored. */
export type NotifyAnswer = Extract<Explained, { about: "notify" }>

/** Explains why an alert rule fires or not, by one evaluation as the engine would make it now. */
const alertAnswer = Effect.fnUntraced(function* (
  { treasury, mode }: InForce,
  rule: AlertRule,
  knowledge: KnownBy | null,
) {
  const database = yield* Database
  return yield* database.write(
    Effect.gen(function* () {
      const { memories } = yield* (yield* RuleStates).byKey
      const facts = factsOf(yield* peekRound(yield* takeSnapshot(memories), memories))
      const memory = memories.get(memoryKey(rule.name, alertSubject))
      return {
        about: "alert" as const,
        rule: rule.name,
        at: facts.now,
        knowledge,
        alert: explainAlert(rule, facts, memory),
        decided: decidedIn(memory),
        last: (yield* lastAlertOf(rule, facts.now)) ?? null,
      }
    }).pipe(Effect.provideService(CycleConfig, { treasury, mode })),
  )
})

/** Query: the name of a rule, an id of a payment or its start, or the hash of a transaction. */
export interface Asking {
  readonly name: string
  /** A subject of the rule, such as "hot/USDT", or its party alone; undefined: all of them. */
  readonly subject?: string | undefined
  /** Unix milliseconds; undefined: now. */
  readonly at?: number | undefined
}

/** Source of the balances. */
type KnownBy = NonNullable<Effect.Success<ReturnType<typeof knownBy>>>

const decidedIn = (memory: RuleMemory | undefined): StoredDecision | null => {
  if (memory === undefined || isRemoved(memory)) return null
  const { reasonSince, reason, detail } = memory
  return { at: reasonSince, reason: reason ?? null, detail }
}

/** Why a rule acts or is silent, now or at a time; or how a payment came about, and where it is. */
export const explanationOf = Effect.fn("Explain.explain")(function* (inForce: InForce, asking: Asking) {
  const { rules } = inForce.treasury
  const rule = rules.find(({ name }) => name === asking.name)
  if (asking.at !== undefined) return yield* pastOf(rule, asking, asking.at)
  if (rule === undefined) return yield* paymentAnswer(inForce, asking.name)
  if (isPaying(rule)) return yield* ruleAnswer(inForce, rule, asking)
  if (rule.kind === "notify") return yield* notifyAnswer(rule, null)
  const named = pick([alertSubject], asking)
  return "problem" in named ? named : yield* alertAnswer(inForce, rule, yield* knownBy(inForce.treasury))
})

/** One round over all rules, as the engine would make it now: rules that come first take scarce funds. */
const decideNow = Effect.fnUntraced(function* (config: InForce) {
  const database = yield* Database
  const answers = yield* Effect.provideService(gatherAnswers(), CycleConfig, config)
  return yield* database.write(
    Effect.gen(function* () {
      const { memories } = yield* (yield* RuleStates).byKey
      const snapshot = { ...(yield* takeSnapshot(memories)), answers }
      return { at: snapshot.now, ...decideRound(yield* peekRound(snapshot, memories)) }
    }).pipe(Effect.provideService(CycleConfig, config)),
  )
})

/** Block, time and gateway of the newest balances. */
export const knownBy = Effect.fnUntraced(function* (treasury: Treasury) {
  const watermark = yield* (yield* Observations).watermark
  if (watermark === undefined) return null
  const now = yield* Clock.currentTimeMillis
  return {
    block: String(watermark.height),
    at: isoOf(watermark.timestamp),
    /** Negative where the block is ahead of this host's clock. */
    ageSeconds: (now - millisOf(watermark.timestamp)) / 1_000,
    source: (yield* (yield* Settings).get(sourceKey)) ?? treasury.network.gateways[0].name,
  }
})

const ruleAnswer = Effect.fnUntraced(function* (inForce: InForce, rule: PayingRule, asking: Asking) {
  const own = subjectsOf(rule).map(({ name }) => name)
  const named = pick(own, asking)
  if ("problem" in named) return named
  const { at, conclusions } = yield* decideNow(inForce)
  const subjects = conclusions
    .filter(({ memory }) => memory.rule === rule.name && named.names.includes(memory.subject))
    .map(({ outcome, before }) => ({
      ...explainSubject(outcome.facts),
      decided: decidedIn(before),
    }))
  return {
    about: "rule" as const,
    rule: rule.name,
    /** True if its payments are only simulated: the treasury is not live, or the rule is on trial. */
    rehearsed: isRehearsed(inForce.mode, rule),
    trial: rule.trial,
    at,
    knowledge: yield* knownBy(inForce.treasury),
    subjects,
  }
})

/** Subjects by name or party; all if none is named. */
const pick = (
  own: ReadonlyArray<string>,
  { name, subject }: Asking,
): HttpProblem | { readonly names: ReadonlyArray<string> } => {
  if (subject === undefined) return { names: own }
  const exact = own.filter((one) => one === subject)
  const names = exact.length > 0 ? exact : own.filter((one) => one.startsWith(`${subject}/`))
  if (names.length > 0) return { names }
  return problem(`rule "${name}" has no subject "${subject}"`, 404, nameRemedy(subject, own, "it has none"))
}

const notifyAnswer = Effect.fnUntraced(function* (rule: NotifyRule, at: number | null) {
  const watches = `alerts when ${rule.asset === "any" ? "any asset" : rule.asset.symbol} becomes ${rule.becomes.join(" or ")}`
  const last = (yield* lastAlertOf(rule, at ?? (yield* Clock.currentTimeMillis))) ?? null
  return { about: "notify" as const, rule: rule.name, watches, at, last }
})

const pastOf = Effect.fnUntraced(function* (rule: Treasury["rules"][number] | undefined, asking: Asking, at: number) {
  const now = yield* Clock.currentTimeMillis
  if (at > now) return problem("that time has not come yet", 400, 'see "plan" for what would be done now')
  if (rule?.kind === "notify") return yield* notifyAnswer(rule, at)
  const tells = rule?.kind === "alert"
  const own = rule === undefined ? [] : tells ? [alertSubject] : subjectsOf(rule).map(({ name }) => name)
  const known = [...new Set([...own, ...(yield* subjectsDecided(asking.name))])]
  if (known.length === 0) return problem(`no rule "${asking.name}" has decided anything`, 404, "name a rule")
  const named = pick(known, asking)
  if ("problem" in named) return named
  const subjects = yield* Effect.forEach(named.names, (subject) =>
    Effect.map(decisionsAround({ rule: asking.name, subject }, at), (around) => ({ subject, ...around })),
  )
  const last = tells ? ((yield* lastAlertOf(rule, at)) ?? null) : null
  return { about: "past" as const, rule: asking.name, at, now, tells, last, idle: yield* idleAround(at), subjects }
})

const paymentAnswer = Effect.fnUntraced(function* ({ treasury }: InForce, name: string) {
  const known = treasury.rules.map((rule) => rule.name)
  const hash = name.toLowerCase()
  const attempt = isHex64(hash) ? yield* attemptByHash(hash) : undefined
  if (attempt !== undefined) {
    const { intentId, ...found } = attempt
    const story = yield* storyWithApproval(treasury, intentId)
    return "problem" in story ? story : paymentOf(story, found)
  }
  if (isHex64(hash) && Option.isNone(yield* (yield* Outbox).byId(hash))) {
    return problem(
      `the journal knows no payment, transaction or transfer ${hash}`,
      404,
      "it was not made by this treasury's store",
    )
  }
  const unknown = problem(
    `no rule, payment or transaction is named "${name.slice(0, 80)}"`,
    404,
    nameRemedy(name, known, 'see "cofferer intents"'),
  )
  if (!/^[0-9a-z]{3,64}$/.test(hash)) return unknown
  const story = yield* storyWithApproval(treasury, hash)
  if (!("problem" in story)) return paymentOf(story, null)
  return story.status === 404 ? unknown : story
})

type Story = Exclude<Effect.Success<ReturnType<typeof storyWithApproval>>, HttpProblem>

/** `attempt`: the one whose transaction or transfer was asked for; null if the payment itself was. */
const paymentOf = (story: Story, attempt: { readonly k: number; readonly isTransfer: boolean } | null) => ({
  about: "payment" as const,
  attempt,
  story,
})
