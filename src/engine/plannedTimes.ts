import { Clock, Effect } from "effect"
import type { Decision, HoldReason } from "../domain/Decision.ts"
import { clockGap } from "../rules/clockGap.ts"
import type { LetGo } from "../rules/Need.ts"
import { lateOf, lateOverText, lateText, letGoText, lostText, unseenOf, unseenText } from "../rules/payout.ts"
import { timesAfter } from "../rules/Schedule.ts"
import type { Subject } from "../rules/Subject.ts"
import type { Outcome } from "../rules/step.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Clearance } from "../store/Clearance.ts"
import { Outbox } from "../store/Outbox.ts"
import { type RuleMemory, RuleStates } from "../store/RuleStates.ts"
import { listedBefore } from "../store/Tags.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { intentIdOf } from "./intentIdOf.ts"
import { isRehearsed } from "./judgeAll.ts"

type Payout = Extract<Subject, { readonly kind: "payout" }>

/**
 * Whether a payment stands for the planned time (Unix seconds) though it is of an earlier one: where a rule makes up
 * for what was missed with one payment, that is what was first signed after it.
 */
export const isMadeUp = Effect.fnUntraced(function* (subject: Subject, planned: number | undefined) {
  if (planned === undefined || subject.kind !== "payout" || subject.rule.schedule.missed === "skip") return false
  const { treasury } = yield* EngineOptions
  const signed = yield* (yield* Outbox).lastSigned({ treasury, rule: subject.rule.name, subject: subject.name })
  return signed !== undefined && signed >= planned * 1_000
})

/** Tells people of planned times that nobody paid in time: what, to whom, why, and what they can do. */
export const tellLetGo = Effect.fnUntraced(function* (subject: Subject, letGo: LetGo, before: RuleMemory) {
  if (subject.kind !== "payout") return
  const { rule, name } = subject
  yield* (yield* AlertQueue).raise({
    dedup: `let-go/${rule.name}/${name}/${letGo.last}`,
    severity: "ticket",
    kind: "payout",
    subject: rule.name,
    detail: `${rule.name}: ${letGoText(rule, letGo, before)}${yield* otherLifeText(subject, letGo)}`,
    fields: { rule: rule.name, from: rule.from.name, to: rule.to.name, last: new Date(letGo.last).toISOString() },
  })
})

/** Planned times that are looked up, at most. */
const timesMax = 100

/** What people must look at before they hand in what is let go: another life of the store may have paid it. */
const otherLifeText = Effect.fnUntraced(function* ({ rule, name }: Payout, { first, last }: LetGo) {
  const { treasury } = yield* EngineOptions
  const payment = { fromKey: rule.from.publicKey }
  let times = 0
  for (const at of timesAfter(rule.schedule, first - 1)) {
    if (at > last || times++ >= timesMax) break
    const id = intentIdOf({ treasury, rule: rule.name, subject: name, episode: at / 1_000 })
    const [listed] = yield* listedBefore({ id, command: "transfer", payment })
    if (listed === undefined) continue
    return `; first look at transfer ${listed.id} (${listed.status}), which another life of this store made of it`
  }
  const lacking = yield* (yield* Clearance).lacking(rule.from.publicKey)
  return lacking === undefined ? "" : `; first look at the ledger: ${lacking}`
})

/** An open payment of the rule itself is in the way, which calls people by its own bounds. */
export const byOpen: ReadonlySet<HoldReason> = new Set(["in_flight", "unresolved", "awaiting_approval"])
/** After an outage most holds pass within this time of the first look that sees again. */
const freshMillis = 60_000
/** People hear again of what is still held, once in this time. */
const toldAgainMillis = 86_400_000

/**
 * Calls people to a planned payment that is late, stays owed, and is held before anything of it is decided, and says
 * that it is over with the look that concludes it.
 */
export const tellLate = Effect.fnUntraced(function* (
  { look: { subject, snapshot }, judgement: { planned, timer } }: Outcome,
  decision: Decision,
  { before, isConcluded }: { readonly before: RuleMemory; readonly isConcluded: boolean },
) {
  if (subject.kind !== "payout" || planned === undefined) return
  if (isConcluded)
    return yield* tellLateOver(subject, lateOf(subject.rule, { planned, episode: before.episode }, snapshot.now))
  if (decision._tag !== "Hold" || byOpen.has(decision.reason)) return
  const { now, asOf, maxAgeMillis } = snapshot
  if (now - (timer.firingSince ?? now) < freshMillis) return
  // A clock that no block agrees with makes nothing late, and people hear of that instead.
  if (clockGap(now, asOf === undefined ? undefined : Number(asOf / 1_000_000n), maxAgeMillis) !== undefined) return
  const { rule, name } = subject
  const late = lateOf(rule, { planned, episode: before.episode }, now)
  if (late === undefined) return
  const times = Math.floor((now - late.first - rule.schedule.lateMillis) / toldAgainMillis)
  yield* (yield* AlertQueue).raise({
    dedup: `late/${rule.name}/${name}/${late.first}/${times}`,
    severity: "ticket",
    kind: "payout",
    subject: rule.name,
    detail: `${rule.name}: ${lateText(rule, late, decision)}`,
    fields: { rule: rule.name, from: rule.from.name, to: rule.to.name, first: new Date(late.first).toISOString() },
  })
})

const tellLateOver = Effect.fnUntraced(function* ({ rule, name }: Payout, late: LetGo | undefined) {
  if (late === undefined) return
  yield* (yield* AlertQueue).allClear(`late/${rule.name}/${name}/${late.first}`, {
    kind: "payout",
    subject: rule.name,
    detail: `${rule.name}: ${lateOverText(rule, late)}`,
    fields: { rule: rule.name, from: rule.from.name, to: rule.to.name, first: new Date(late.first).toISOString() },
  })
})

/**
 * Lets go what was planned until now by the rules of these keys, and tells people of it: a store that was lost may have
 * paid it, and no gateway lists what was paid.
 */
export const letGoPlanned = Effect.fn("Engine.letGoPlanned")(function* (payers: ReadonlySet<string>) {
  const { rules, mode } = yield* EngineOptions
  const states = yield* RuleStates
  const now = yield* Clock.currentTimeMillis
  for (const before of yield* states.all) {
    const rule = rules.find(({ name }) => name === before.rule)
    // A rule that has concluded nothing begins with its next look.
    if (rule?.kind !== "payout" || before.episode === 0 || !payers.has(rule.from.publicKey)) continue
    const lost = unseenOf(rule, Math.min(before.episode * 1_000, now), now)
    if (lost === undefined) continue
    yield* states.save({ ...before, episode: Math.floor(lost.last / 1_000) }, before)
    if (isRehearsed(mode, rule)) continue
    yield* (yield* AlertQueue).raise({
      dedup: `lost/${rule.name}/${before.subject}/${lost.last}`,
      severity: "ticket",
      kind: "payout",
      subject: rule.name,
      detail: `${rule.name}: ${lostText(rule, lost)}`,
      fields: { rule: rule.name, from: rule.from.name, to: rule.to.name, last: new Date(lost.last).toISOString() },
    })
  }
})

/** Tells people of what was planned while no look at the rule had seen a block yet, with the first that does. */
export const tellUnseen = Effect.fnUntraced(function* (
  { look: { subject, snapshot }, judgement: { concluded } }: Outcome,
  before: RuleMemory,
) {
  if (subject.kind !== "payout" || concluded === undefined || before.episode !== 0) return
  const { rule, name } = subject
  const unseen = unseenOf(rule, before.reasonSince, snapshot.now)
  if (unseen === undefined) return
  yield* (yield* AlertQueue).raise({
    dedup: `unseen/${rule.name}/${name}/${unseen.last}`,
    severity: "ticket",
    kind: "payout",
    subject: rule.name,
    detail: `${rule.name}: ${unseenText(rule, unseen)}`,
    fields: { rule: rule.name, from: rule.from.name, to: rule.to.name, last: new Date(unseen.last).toISOString() },
  })
})
