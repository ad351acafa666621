import { Effect } from "effect"
import { pastKey, pastsOf } from "../rules/Condition.ts"
import { mayLock, type RoundContext } from "../rules/decideRound.ts"
import { isAlert, isPaying, isRehearsed, type Rule } from "../rules/Rule.ts"
import type { Memories } from "../rules/RuleMemory.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsIn } from "../rules/Subject.ts"
import { Brake } from "../store/Brake.ts"
import { Observations } from "../store/Observations.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import { Settings } from "../store/Settings.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { balanceOf } from "./snapshot.ts"

/** Since when (Unix milliseconds) balances are watched in this store. */
const watchedKey = "watchedSince"

const none: ReadonlyMap<string, number> = new Map()

/**
 * Reads what a round depends on beside the snapshot, in the transaction that stores what is decided. Rehearsals of
 * rules begin with it, and of others end.
 */
export const loadRound = Effect.fn("Engine.load")(function* (
  snapshot: Snapshot,
  memories: Memories,
  /** Those to be looked at of the rules that pay; undefined: all of them. */
  due?: ReadonlyArray<Subject>,
) {
  const { rules, mode } = yield* EngineOptions
  const rehearsals = yield* (yield* Rehearsals).of(rehearsingIn(rules, mode))
  const since = (yield* Settings).getOrMake(watchedKey, Effect.succeed(String(snapshot.now)))
  const watchedSince = rules.some(isAlert) ? Number(yield* since) : snapshot.now
  return { ...(yield* contextOf(snapshot, memories, due)), rehearsals, watchedSince } satisfies RoundContext
})

/** The same for whoever only asks, by the rules in force or by any others: nothing is stored. */
export const peekRound = Effect.fn("Engine.peek")(function* (snapshot: Snapshot, memories: Memories) {
  const { rules, mode } = yield* EngineOptions
  const rehearsals = yield* (yield* Rehearsals).peek(rehearsingIn(rules, mode))
  const watchedSince = Number((yield* (yield* Settings).get(watchedKey)) ?? snapshot.now)
  return { ...(yield* contextOf(snapshot, memories)), rehearsals, watchedSince } satisfies RoundContext
})

const rehearsingIn = (rules: ReadonlyArray<Rule>, mode: string): ReadonlyArray<string> =>
  rules
    .filter(isPaying)
    .filter((rule) => isRehearsed(mode, rule))
    .map(({ name }) => name)

const contextOf = Effect.fnUntraced(function* (snapshot: Snapshot, memories: Memories, due?: ReadonlyArray<Subject>) {
  const { rules, mode } = yield* EngineOptions
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
    const time = asOf - BigInt(overMillis) * 1_000_000n
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
    ended: mayLock(snapshot.settled) ? yield* (yield* Brake).ended : none,
  }
})
