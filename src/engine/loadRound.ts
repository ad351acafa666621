import { Clock, Effect } from "effect"
import { CycleConfig, type InForce } from "../config/ConfigInForce.ts"
import { nanosOf } from "../domain/Time.ts"
import type { Answers } from "../rules/Code.ts"
import { pastKey, pastsOf } from "../rules/Condition.ts"
import { mayLock, type RoundContext } from "../rules/decideRound.ts"
import { askAll, questionsOf } from "../rules/kinds/code.ts"
import { isAlert, isPaying, isRehearsed, type Rule } from "../rules/Rule.ts"
import type { Memories } from "../rules/RuleMemory.ts"
import type { Knowledge, Snapshot } from "../rules/Snapshot.ts"
import { overlaidBalance, type TrialMovement } from "../rules/Snapshot.ts"
import { type Subject, subjectsIn, subjectsOf } from "../rules/Subject.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Settings } from "../store/database/Settings.ts"
import { Listings } from "../store/network/Listings.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { balanceOf, listedOf } from "./snapshot.ts"

type Moment = Knowledge & Pick<Snapshot, "now" | "listed">

/** A round waits this long for all code together. A rule whose answer is later holds, and uses it in the next round. */
const waitMillis = 2_000

const noAnswers: Answers = new Map()

/** Calls of all code rules at a moment. Rules that only simulate get balances with their simulated payments. */
const questionsFor = (
  { treasury: { rules }, mode }: InForce,
  moment: Moment,
  rehearsals: ReadonlyArray<TrialMovement>,
) => {
  const subjects = rules.filter((rule) => rule.kind === "code").flatMap(subjectsOf)
  const paying = subjects.filter(({ rule }) => !isRehearsed(mode, rule))
  const rehearsing = subjects.filter(({ rule }) => isRehearsed(mode, rule))
  const balance = overlaidBalance(moment.balance, rehearsals)
  return [...questionsOf(paying, moment), ...questionsOf(rehearsing, { ...moment, balance })]
}

/**
 * Asks the code of all rules about what is known now, in one batch and outside of any transaction: code
 * that is slow or endless delays only the answers behind it. `rule`: ask this one alone.
 */
export const gatherAnswers = Effect.fnUntraced(function* (rule?: string) {
  const config = yield* CycleConfig
  const { treasury, mode } = config
  const { rules } = treasury
  if (!rules.some(({ kind }) => kind === "code")) return noAnswers
  const observations = yield* Observations
  const watermark = yield* observations.watermark
  const moment = {
    now: yield* Clock.currentTimeMillis,
    asOf: watermark?.timestamp,
    balance: balanceOf(yield* observations.accounts),
    listed: listedOf(yield* (yield* Listings).assets),
  }
  const rehearsals = yield* (yield* RuleStates).peekTrials(rehearsingIn(rules, mode))
  const questions = questionsFor(config, moment, rehearsals)
  const { answers, waited } = askAll(rule === undefined ? questions : questions.filter((one) => one.rule === rule))
  if (waited.length > 0) yield* Effect.promise(() => Promise.all(waited)).pipe(Effect.timeoutOption(waitMillis))
  // A later answer does not change this round.
  return new Map(answers) as Answers
})

/** Since when (Unix milliseconds) balances are watched in this store. */
const watchedKey = "watchedSince"

const none: ReadonlyMap<string, number> = new Map()

/**
 * Reads the inputs of a round beside the snapshot, in the transaction that stores its decisions. Also begins the trials
 * of rules that simulate, and ends those of all others.
 */
export const loadRound = Effect.fn("Engine.load")(function* (
  snapshot: Snapshot,
  memories: Memories,
  /** Subjects to evaluate, of the rules that pay; undefined: all of them. */
  due?: ReadonlyArray<Subject>,
) {
  const { treasury, mode } = yield* CycleConfig
  const { rules } = treasury
  const rehearsals = yield* (yield* RuleStates).trials(rehearsingIn(rules, mode))
  const since = (yield* Settings).getOrMake(watchedKey, Effect.succeed(String(snapshot.now)))
  const watchedSince = rules.some(isAlert) ? Number(yield* since) : snapshot.now
  return { ...(yield* contextOf(snapshot, memories, due)), rehearsals, watchedSince } satisfies RoundContext
})

/** The same without storing anything: for a plan or an explanation. */
export const peekRound = Effect.fn("Engine.peek")(function* (snapshot: Snapshot, memories: Memories) {
  const { treasury, mode } = yield* CycleConfig
  const { rules } = treasury
  const rehearsals = yield* (yield* RuleStates).peekTrials(rehearsingIn(rules, mode))
  const watchedSince = Number((yield* (yield* Settings).get(watchedKey)) ?? snapshot.now)
  return { ...(yield* contextOf(snapshot, memories)), rehearsals, watchedSince } satisfies RoundContext
})

const rehearsingIn = (rules: ReadonlyArray<Rule>, mode: string): ReadonlyArray<string> =>
  rules
    .filter(isPaying)
    .filter((rule) => isRehearsed(mode, rule))
    .map(({ name }) => name)

const contextOf = Effect.fnUntraced(function* (snapshot: Snapshot, memories: Memories, due?: ReadonlyArray<Subject>) {
  const { treasury, mode } = yield* CycleConfig
  const { rules } = treasury
  const subjects = subjectsIn(rules, mode)
  const alerts = rules.filter(isAlert)
  const observations = yield* Observations
  const { asOf } = snapshot
  const pasts = new Map<string, bigint | undefined>()
  for (const past of alerts.flatMap(pastsOf)) {
    const { overMillis, account } = past
    const { party, asset, balance } = account
    const key = pastKey(past)
    if (asOf === undefined || pasts.has(key)) continue
    const time = asOf - nanosOf(overMillis)
    const rows = yield* observations.at(party.publicKey, asset.id, time, overMillis)
    pasts.set(key, rows === undefined ? undefined : balanceOf(rows)(party.publicKey, asset.id, balance))
  }
  return {
    snapshot,
    memories,
    ...subjects,
    due: due ?? subjects.paying,
    alerts,
    past: ((past) => pasts.get(pastKey(past))) satisfies RoundContext["past"],
    ended: mayLock(snapshot.settled) ? yield* (yield* Controls).ended : none,
  }
})
