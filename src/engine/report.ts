import { Clock, Effect, Schema } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { formatAmount, plainAmount } from "../domain/Amount.ts"
import { overOf } from "../domain/alerts/Alert.ts"
import { type HoldReason, reasonText } from "../domain/Decision.ts"
import type { Intent } from "../domain/Intent.ts"
import { dayMillis, hasElapsed } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import type { PinnedAsset } from "../rules/Account.ts"
import type { Answers } from "../rules/Code.ts"
import { isUnknownPayer } from "../rules/checks/funds.ts"
import { isUnseen, maxAgeOf } from "../rules/checks/knowledge.ts"
import { numbersOf } from "../rules/explain/explain.ts"
import type { Notice } from "../rules/Need.ts"
import { isPaying, isRehearsed, type PayingRule } from "../rules/Rule.ts"
import { type Memories, memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import type { Snapshot, TrialMovement } from "../rules/Snapshot.ts"
import { type Subject, subjectsIn, subjectsOf } from "../rules/Subject.ts"
import type { SubjectFacts } from "../rules/SubjectFacts.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { makeTrouble } from "../store/alerts/makeTrouble.ts"
import { raise, raiseOver } from "../store/alerts/raise.ts"
import { Database } from "../store/database/Database.ts"
import { recordOf, Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { logEvent, logPayment } from "../telemetry/Logging.ts"

/** Time without usable answers after which code alerts, and time of answers after which the alert ends. */
const codePatienceMillis = 60_000

const codeTroubles = (settings: Settings["Service"], rule: string) => ({
  failing: makeTrouble(settings, `code/${rule}`, codePatienceMillis),
  sound: makeTrouble(settings, `code/${rule}/sound`, codePatienceMillis),
})

/** Forgets the failures of a removed rule's code. */
export const forgetCode = Effect.fnUntraced(function* (rule: string) {
  const { failing, sound } = codeTroubles(yield* Settings, rule)
  yield* failing.end
  yield* sound.end
})

/** Alerts once a rule's own code gave no usable answer for a minute, and ends the alert after a minute of answers. */
export const alertOnFailingCode = Effect.fnUntraced(function* (memories: Memories, answers: Answers) {
  const { rules } = (yield* CycleConfig).treasury
  const settings = yield* Settings
  for (const { name, kind } of rules.filter(isPaying)) {
    if (kind !== "code") continue
    const { failing, sound } = codeTroubles(settings, name)
    const held = [...memories.values()].find(({ rule, reason }) => rule === name && reason === "code")
    if (held !== undefined) {
      yield* sound.end
      // Code that was ended is called again after a minute, just when people are alerted: a round without an answer
      // keeps the reason of the rounds before it.
      const before = answers.has(name) ? undefined : (yield* failing.now)?.detail
      const noted = yield* failing.note(before ?? held.detail)
      if (noted?.isTold !== true) continue
      const words = `pays nothing: ${noted.detail}`.slice(0, 500)
      yield* raise("rule_code", { rule: name, since: noted.since, words, over: false })
    } else if (answers.get(name)?.answer._tag === "Pays" && (yield* failing.now) !== undefined) {
      if ((yield* sound.note(""))?.isTold !== true) continue
      yield* sound.end
      const ended = yield* failing.end
      if (ended?.isTold === true) yield* raiseOver("rule_code", { rule: name, since: ended.since })
    }
  }
})

/** Change by one evaluation, reported once it is durable. */
export interface RoundChange {
  readonly facts: SubjectFacts
  readonly memory: RuleMemory
  readonly before: RuleMemory | undefined
  readonly intents: ReadonlyArray<Intent>
  readonly notices: ReadonlyArray<Notice>
  /** True if the rule's own code gave no reliable answer. */
  readonly isBroken: boolean
}

/** A hold that one or more subjects of a rule begin in this round, all with the same text. */
interface Held {
  readonly rule: string
  readonly hold: HoldReason
  readonly detail: string
  readonly subjects: Array<string>
  /** The numbers in `detail`, one record per subject that has any. */
  readonly inputs: Array<Readonly<Record<string, unknown>>>
  readonly until: string | undefined
  readonly seconds: number | undefined
}

/** Reasons that come with each payment: logged at debug, as is the return to the band after one of them. */
const quiet: ReadonlySet<HoldReason> = new Set(["in_flight", "settling", "no_data", "asset_status", "not_due"])

/**
 * Logs one line for each payment, each request, and each reason by which a rule holds from now on, for all of its
 * subjects together. `subjects`: the number of a rule's subjects.
 */
export const logDecisions = Effect.fnUntraced(function* (
  changes: ReadonlyArray<RoundChange>,
  subjects: (rule: string) => number,
) {
  const held = new Map<string, Held>()
  for (const change of changes) {
    yield* logProposals(change)
    const found = yield* heldOf(change)
    if (found === undefined) continue
    const key = JSON.stringify([found.rule, found.hold, found.detail])
    const known = held.get(key)
    if (known === undefined) held.set(key, found)
    else {
      known.subjects.push(...found.subjects)
      known.inputs.push(...found.inputs)
    }
  }
  for (const one of held.values()) {
    const { hold, inputs, ...rest } = one
    const fields = {
      ...rest,
      subjects: one.subjects.length >= subjects(one.rule) ? undefined : one.subjects,
      inputs: inputs.length === 0 ? undefined : inputs,
    }
    if (hold === "pending") yield* logEvent("rule pending", fields)
    else if (hold === "in_band") yield* logEvent("rule idle", fields)
    else yield* logEvent("rule holding", { ...fields, hold })
  }
})

const logProposals = Effect.fnUntraced(function* ({ memory, intents, notices }: RoundChange) {
  for (const intent of intents) {
    const event = intent.state === "rehearsed" ? "payment rehearsed" : "payment proposed"
    yield* logEvent(event, { ...logPayment(intent), rule: memory.rule, reason: memory.detail })
  }
  for (const { topic, request } of notices) {
    if (request === undefined) continue
    yield* logEvent(topic === "request" ? "funding requested" : "funding received", {
      rule: memory.rule,
      amount: plainAmount(request.amount, request.decimals),
      asset: request.asset,
      from: request.from,
      to: request.to,
      reason: memory.detail,
    })
  }
})

const heldOf = Effect.fnUntraced(function* ({ facts, memory, before, intents }: RoundChange) {
  const { rule, subject, reason, detail } = memory
  if (intents.length > 0 || reason === undefined || reason === before?.reason) return undefined
  const { endsAt, inputs } = numbersOf(facts, reason)
  const held: Held = {
    rule,
    hold: reason,
    detail: reason === "pending" || reason === "in_band" ? detail : reasonText(reason, detail),
    subjects: [subject],
    inputs: inputs === undefined ? [] : [inputs],
    until: endsAt === undefined ? undefined : new Date(endsAt).toISOString(),
    seconds: reason === "stale" ? maxAgeOf(facts) / 1_000 : undefined,
  }
  if (reason === "pending") return held
  const isRoutine = before === undefined || quiet.has(reason)
  const isCalm = reason === "in_band" && (before?.reason === undefined || quiet.has(before.reason))
  if (!isRoutine && !isCalm) return held
  yield* logEvent("rule evaluated", held)
  return undefined
})

/** Time that a first deposit or a first reading may take. */
const unknownPatienceMillis = 300_000

/** Setting: since when (Unix milliseconds) a balance that a subject needs is not known, by `memoryKey`. */
const unknownSince = recordOf(Schema.Finite)

/**
 * Alerts that a rule cannot pay because a balance that it needs is unknown: an account that never had money, or whose
 * history a gateway withheld when it was read. Other shortages are visible on the page; this one is not. The time
 * counts until the balance is known or the rule is removed, across restarts; other hold reasons do not restart it.
 */
export const alertOnUnknownBalances = Effect.fnUntraced(function* (
  memories: Memories,
  snapshot: Pick<Snapshot, "now" | "balance">,
) {
  const { now } = snapshot
  const { now: known, keep } = unknownSince(yield* Settings, "unknownBalances")
  const before = yield* known
  const silent = [...memories].filter(([, memory]) => isUnknown(memory))
  if (silent.length === 0 && before.size === 0) return
  const inForce = yield* subjectsInForce
  // A beginning later than now comes from a clock that was ahead: it counts from now.
  const lasting = [...before].flatMap(([name, since]) => {
    const subject = inForce.get(name)
    return subject !== undefined && isMissing(subject, snapshot) ? [[name, Math.min(since, now)] as const] : []
  })
  const begun = silent
    .filter(([name]) => inForce.has(name))
    .map(([name, { reasonSince }]) => [name, reasonSince] as const)
  const after = new Map([...begun, ...lasting])
  yield* keep(after)
  for (const [name, since] of before) {
    const memory = after.has(name) ? undefined : memories.get(name)
    if (memory === undefined) continue
    const { rule, subject } = memory
    const facts = { rule, account: subject, since, from: new Date(since).toISOString() }
    const isNew = yield* (yield* AlertQueue).allClear(overOf("balance_unknown", facts))
    if (isNew) yield* (yield* Signals).wake("alerts")
  }
  for (const [name, { rule, subject, detail }] of silent) {
    const since = after.get(name)
    if (since === undefined || now - since < unknownPatienceMillis) continue
    const from = new Date(since).toISOString()
    yield* raise("balance_unknown", { rule, account: subject, since, from, detail })
  }
})

const subjectsInForce = Effect.map(CycleConfig, ({ treasury, mode }) => {
  const { paying } = subjectsIn(treasury.rules, mode)
  return new Map(paying.map((one): [string, Subject] => [memoryKey(one.rule.name, one.name), one]))
})

const isUnknown = ({ reason, detail }: RuleMemory): boolean =>
  (reason === "no_data" && isUnseen(detail)) || (reason === "short" && isUnknownPayer(detail))

/** True if a balance that the subject reads, or would pay from, has no data at all. */
const isMissing = ({ accounts, payers, asset }: Subject, { balance }: Pick<Snapshot, "balance">): boolean =>
  accounts.some((one) => balance(one.party.publicKey, one.asset.id, one.balance) === undefined) ||
  payers.some(({ publicKey }) => balance(publicKey, asset.id, "free") === undefined)

const weekMillis = 7 * dayMillis
const reportedKey = "trialsToldAt"

/** Reports once a week what rules on trial would have done since the trial began. */
export const reportTrials = Effect.fnUntraced(function* () {
  const { treasury, mode } = yield* CycleConfig
  const rehearsing = treasury.rules.filter(isPaying).filter((rule) => isRehearsed(mode, rule))
  if (rehearsing.length === 0) return
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const reportedAt = yield* settings.get(reportedKey)
  if (reportedAt !== undefined && !hasElapsed(Number(reportedAt), now, weekMillis)) return
  const rehearsals = yield* (yield* RuleStates).trials(rehearsing.map(({ name }) => name))
  const report = Effect.gen(function* () {
    yield* settings.set(reportedKey, String(now))
    // The first week begins now.
    if (reportedAt === undefined) return
    for (const [i, rule] of rehearsing.entries()) {
      const rehearsal = rehearsals[i]
      if (rehearsal === undefined) continue
      const words = trialText(rule, rehearsal, [...treasury.assets.values()])
      const since = new Date(rehearsal.since).toISOString()
      yield* raise("trial", { rule: rule.name, at: now, words, since, payments: rehearsal.payments })
    }
  })
  yield* (yield* Database).write(report)
})

/** "would have made 3 payments since 2026-11-01: maker-1 -120.00 VEGA, maker-2 +119.88 VEGA". */
const trialText = (rule: PayingRule, rehearsal: TrialMovement, pins: ReadonlyArray<PinnedAsset>): string => {
  const since = new Date(rehearsal.since).toISOString().slice(0, 10)
  if (rehearsal.payments === 0) return `would have paid nothing since ${since}`
  const parties = subjectsOf(rule).flatMap((subject) => subject.parties)
  const moved = [...rehearsal.moved].map(([account, units]) => {
    const [party = "", assetId = ""] = account.split("|")
    const asset = pins.find(({ id }) => id === assetId)
    const name = parties.find(({ publicKey }) => publicKey === party)?.name ?? party
    return `${name} ${units > 0n ? "+" : ""}${formatAmount(units, asset?.decimals ?? 0)} ${asset?.symbol ?? assetId}`
  })
  return `would have made ${plural(rehearsal.payments, "payment")} since ${since}: ${moved.join(", ")}`
}
