import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { DurationText, durationMillis, isDay, isInstant } from "../config/schema/Fields.ts"
import { type HoldReason, restText } from "../domain/Decision.ts"
import { secondText, timeText } from "../domain/Time.ts"
import { ageText, plural } from "../domain/text.ts"
import {
  type AlertAnswer,
  type Asking,
  type Explained,
  explanationOf,
  type NotifyAnswer,
  type RuleAnswer,
} from "../http/explanationOf.ts"
import { explainPath } from "../http/respond.ts"
import type { Answer, Explanation, Sign } from "../rules/explain/explain.ts"
import type { AlertTimers, SeenCondition } from "../rules/explain/explainAlert.ts"
import type { StoredDecision } from "../store/rules/RuleStates.ts"
import { type AsJson, throughDaemon } from "./common/client.ts"
import { labelled, printResult, table } from "./common/output.ts"
import { commonFlags, optionalOf, textArgument } from "./common/setup.ts"
import { decisionText, storyText } from "./common/storyText.ts"

/** "2026-12-24 12:00:05Z", of Unix milliseconds. */
const stampText = (millis: number): string => secondText(new Date(millis).toISOString())

/** An alert rule: each comparison, its timers, and its last alert. */
const alertText = ({ alert, at, last }: AlertAnswer, known: string, decided: ReadonlyArray<string>): string => {
  const { when, clear, firingSince } = alert
  const since =
    firingSince === null ? [] : [`  true      since ${stampText(firingSince)}, for ${timeText(at - firingSince)}`]
  return [
    alert.sentence,
    ...decided,
    table([...rowsOf(when, "  "), ...(clear === null ? [] : [["  over when", "", ""], ...rowsOf(clear, "    ")])]),
    `  known     ${known}`,
    ...since,
    `  timers    ${timersText(alert.timers, at).join("; ")}`,
    `  alerted   ${lastAlertText(last)}`,
  ].join("\n")
}

/** "at 2026-12-24 12:00:05Z: keep-low 9,500.00 is below 10,000" */
const lastAlertText = (last: AlertAnswer["last"]): string =>
  last === null ? "never" : `at ${stampText(last.at)}: ${last.subject} ${last.detail}`

const signOf = (holds: boolean | null): string => (holds === null ? "not known" : holds ? "TRUE" : "false")

const joinTexts = { all: "all of", any: "any of", not: "not" } as const

const rowsOf = (seen: SeenCondition, indent: string): ReadonlyArray<ReadonlyArray<string>> => {
  const { join, text, holds, of } = seen
  const own = [`${indent}${join === null ? text : joinTexts[join]}`, signOf(holds), observedText(seen)]
  return [own, ...of.flatMap((part) => rowsOf(part, `${indent}  `))]
}

const observedText = ({ join, observed, holds, ageSeconds, detail }: SeenCondition): string => {
  if (join !== null) return ""
  const age = ageSeconds === null ? "" : `, ${ageSeconds.toFixed(1)} s old`
  const seen = observed === null ? "" : `${observed}${age}`
  return holds === null ? [seen, detail].filter((part) => part !== "").join("; ") : seen
}

const timersText = (timers: AlertTimers, now: number): ReadonlyArray<string> => {
  const { forMillis, cooldownMillis, firesAt, overAt, cooldownEndsAt, opensAt } = timers
  const left = (at: number) => (at > now ? `${timeText(at - now)} left` : "done")
  const state = firesAt !== null ? `, ${left(firesAt)}` : overAt !== null ? `, ${left(overAt)} until it is over` : ""
  return [
    `for ${timeText(forMillis)}${state}`,
    `cooldown ${timeText(cooldownMillis)}${cooldownEndsAt === null ? "" : `, ${left(cooldownEndsAt)}`}`,
    ...(opensAt === null ? [] : [`alerts are sent from ${stampText(opensAt)}, in ${timeText(opensAt - now)}`]),
  ]
}

type PastAnswer = Extract<Explained, { about: "past" }>

const signs: Readonly<Record<Sign, string>> = {
  passed: "passed",
  holds: "HOLDS",
  also_holds: "also holds",
  not_reached: "not reached",
}

const words = (reason: string): string => reason.replaceAll("_", " ")

/** The whole answer, one subject after the other. */
export const explainText = (answer: AsJson<Explained>, isRunning: boolean): string => {
  switch (answer.about) {
    case "rule":
      return ruleText(answer, isRunning)
    case "alert":
      return [
        ...stoppedText(isRunning),
        alertText(answer, knownText(answer.knowledge), decidedText(answer.decided, answer.alert.reason, answer.at)),
      ].join("\n\n")
    case "notify":
      return notifyText(answer)
    case "past":
      return [...stoppedText(isRunning), pastText(answer)].join("\n\n")
    case "payment":
      return paymentText(answer)
  }
}

const ruleText = (answer: RuleAnswer, isRunning: boolean): string =>
  [...stoppedText(isRunning), ...answer.subjects.map((subject) => subjectText(subject, answer))].join("\n\n")

const stoppedText = (isRunning: boolean): ReadonlyArray<string> =>
  isRunning ? [] : ["no daemon runs: computed from what its database holds"]

const knownText = (knowledge: RuleAnswer["knowledge"]): string =>
  knowledge === null
    ? "no balance was read yet"
    : `block ${knowledge.block} of ${knowledge.at.slice(11, 19)}Z, ${ageText(knowledge.ageSeconds)}, from ${knowledge.source}`

const subjectText = (subject: RuleAnswer["subjects"][number], answer: RuleAnswer): string => {
  const rehearsed = answer.trial
    ? ["  on trial (mode: shadow): it decides, but nothing is paid or requested"]
    : answer.rehearsed && subject.verdict !== "holds"
      ? ["  decisions only: nothing is paid or requested"]
      : []
  return [
    subject.sentence,
    ...rehearsed,
    ...decidedText(subject.decided, subject.reason, answer.at),
    table(subject.checks.map(checkRow)),
    `  known     ${knownText(answer.knowledge)}`,
    ...factsText(subject, answer.at),
    `  next      ${nextText(subject, answer.at)}${answer.trial ? "; it would be rehearsed then, not paid" : ""}`,
  ].join("\n")
}

/** The engine's last stored decision, and since when it is in force. */
const decidedText = (decided: StoredDecision | null, reason: HoldReason | null, now: number): ReadonlyArray<string> => {
  if (decided === null) return ["  not evaluated yet"]
  const since = `since ${stampText(decided.at)}, for ${timeText(now - decided.at)}`
  if (decided.reason === reason) return [`  ${since}`]
  const was = decided.reason === "in_band" ? "it had nothing to do" : heldText(decided.reason)
  return [`  at the last evaluation ${was}, ${since}`]
}

const heldText = (reason: HoldReason | null): string => (reason === null ? "it acted" : `it held: ${words(reason)}`)

const checkRow = ({ reason, sign, detail }: Answer): ReadonlyArray<string> => [
  `  ${words(reason)}`,
  reason === "in_band" && sign === "holds" ? "idle" : signs[sign],
  detail,
]

const factsText = (
  { accounts, asset, firing, lines, quotas, underWay }: Explanation,
  now: number,
): ReadonlyArray<string> => {
  const balances = accounts.map(({ account, balance, rehearsed, role, reserved, floor }) => {
    const simulated = rehearsed === null ? "" : `, ${rehearsed} rehearsed`
    const has = balance === null ? "no balance seen" : `${balance} ${asset}${simulated}`
    return role === "pays"
      ? `${account} (payer) has ${has}, ${reserved} reserved, floor ${floor}`
      : `${account} has ${has}`
  })
  const limits = lines.map(({ from, to, ...limit }) =>
    limit.line === null
      ? `${from} -> ${to}: no policy line allows it`
      : `${from} -> ${to}: line ${limit.line}, ${limit.perTransfer} each, ${limit.used} of ${limit.per24h} and ${limit.transfers} of ${limit.transfersPer24h} transfers used in 24 h, ${limit.left} left${limit.nextFree === null ? "" : `, ${limit.nextFree.amount} more are free at ${stampText(limit.nextFree.at)}`}`,
  )
  const transfers = quotas.map(({ party, limit, used, kept, endsAt }) => {
    if (limit === null) return `${party}: the network's transfers per epoch are not known`
    const end = endsAt === null ? "" : `, the epoch ends in about ${timeText(endsAt - now)}`
    return `${party}: ${used} of ${limit} transfers of this epoch used, ${kept} kept for people${end}`
  })
  const moving = underWay.map(
    (p) => `${p.short} ${words(p.state)}: ${p.amount} ${asset} ${p.from} -> ${p.to} (${p.rule})`,
  )
  const timer =
    firing === null ? [] : [`true for ${timeText(now - firing.since)}, seen ${plural(firing.observations, "time")}`]
  return [
    ...labelled("observed", [...balances, ...timer]),
    ...labelled("policy", limits),
    ...labelled("quota", transfers),
    ...labelled("under way", moving.length === 0 ? ["nothing"] : moving),
  ].map((line) => `  ${line}`)
}

const nextText = ({ next, verdict }: Explanation, now: number): string => {
  if (verdict !== "holds") return "at the next evaluation"
  const time =
    next.notBefore === null ? [] : [`not before ${stampText(next.notBefore)}, in ${timeText(next.notBefore - now)}`]
  const after = next.after.map((what) => `once ${what}`)
  return [...time, ...after].join("; ")
}

const notifyText = ({ rule, watches, at, last }: NotifyAnswer): string => {
  const then = at === null ? [] : [`  at ${stampText(at)}: only alerts are stored for that time`]
  const alerted = last === null ? "no alert of it is stored" : `last alert: ${lastAlertText(last)}`
  return [`${rule} ${watches}`, ...then, `  ${alerted}`].join("\n")
}

const pastText = (answer: PastAnswer): string =>
  answer.subjects.map((subject) => pastSubjectText(answer, subject)).join("\n\n")

const pastSubjectText = (
  { rule, at, now, tells, last, idle }: PastAnswer,
  { subject, inForce, before, after }: PastAnswer["subjects"][number],
): string => {
  const name = tells ? rule : `${rule} ${subject}`
  const alerted = tells ? [`  alerted   ${lastAlertText(last)}`] : []
  if (inForce === null) {
    const first = after === null ? "it has no decision yet" : `the oldest stored decision is of ${stampText(after.at)}`
    return [
      `${name}: nothing is known of ${stampText(at)}; ${first}`,
      ...(after === null ? [] : [`  after     ${decisionLine(after)}`]),
      ...alerted,
    ].join("\n")
  }
  const next = `  after     ${after === null ? "nothing else yet" : decisionLine(after)}`
  if (idle !== null) {
    const span = idle.until === null ? "since" : "from"
    const until = idle.until === null ? "" : ` to ${stampText(idle.until)}`
    return [
      `${name} held at ${stampText(at)}: no daemon read balances ${span} ${stampText(idle.from)}${until}`,
      `  before    ${decisionLine(inForce)}`,
      next,
      ...alerted,
    ].join("\n")
  }
  const lasted =
    after === null ? `still in force for ${timeText(now - inForce.at)}` : `for ${timeText(after.at - inForce.at)}`
  return [
    pastHeadline({ name, at, tells }, inForce),
    `  since     ${stampText(inForce.at)}, ${lasted}; numbers as of its beginning`,
    `  before    ${before === null ? "nothing is kept" : decisionLine(before)}`,
    next,
    ...alerted,
  ].join("\n")
}

const pastHeadline = (
  { name, at, tells }: { readonly name: string; readonly at: number; readonly tells: boolean },
  inForce: StoredDecision,
): string => {
  const { reason, detail } = inForce
  if (reason === "in_band") return `${name} had nothing to do at ${stampText(at)}: ${detail}`
  return `${name} ${reason !== null ? "held" : tells ? "fired" : "acted"} at ${stampText(at)}: ${storedText(inForce)}`
}

const storedText = ({ reason, detail }: StoredDecision): string => (reason === null ? detail : restText(reason, detail))

const decisionLine = (decision: StoredDecision): string =>
  `${stampText(decision.at)}  ${decision.reason === null ? "acted: " : ""}${storedText(decision)}`

const paymentText = ({ attempt, story }: Extract<AsJson<Explained>, { about: "payment" }>): string => {
  const what =
    attempt === null
      ? ""
      : `this is ${attempt.isTransfer ? "the transfer" : "a transaction"} of attempt ${attempt.k} of payment ${story.short}\n`
  return [`${what}${story.short} was decided by ${decisionText(story)}`, storyText(story)].join("\n")
}

const isDuration = Schema.is(DurationText)

export const MomentText = Schema.String.check(
  Schema.makeFilter((text: string) => isDuration(text) || isDay(text) || isInstant(text), {
    expected: "a duration back from now, such as 5m, or a time with its zone, such as 2026-11-21T10:00:00Z",
  }),
)

export const explainCommand = Command.make(
  "explain",
  {
    name: textArgument("name", "A rule, a payment's id or the start of one, or the hash of a transaction"),
    subject: Argument.String("subject").pipe(
      Argument.withDescription("Account of the rule, such as hot/USDT or hot; default all"),
      Argument.optional,
    ),
    at: optionalOf(
      "at",
      MomentText,
      "Show the decision at this time: a duration before now, such as 5m, or a time such as 2026-11-21T10:00:00Z; default now",
    ),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const now = yield* Clock.currentTimeMillis
    const asking = {
      name: chosen.name,
      subject: Option.getOrUndefined(chosen.subject),
      at: Option.getOrUndefined(Option.map(chosen.at, (text) => parseMoment(text, now))),
    }
    const path = `${explainPath}?${queryOf(asking)}`
    const { running, body: explained } = yield* throughDaemon(chosen, path, (found) => explanationOf(found, asking))
    return yield* printResult(chosen.output, { running, ...explained }, () => explainText(explained, running))
  }),
).pipe(Command.withDescription("Show why a rule acts, alerts or holds, or how a payment was decided"))

/** Unix milliseconds of a time, or of a duration before now. */
export const parseMoment = (text: string, now: number): number =>
  isDuration(text) ? now - durationMillis(text) : Date.parse(text)

const queryOf = (asking: Asking): string =>
  String(new URLSearchParams(Object.entries(asking).flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]]))))
