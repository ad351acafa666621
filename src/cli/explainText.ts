import { timeText } from "../rules/Check.ts"
import type { Answer, Explanation, Sign } from "../rules/explain.ts"
import type { NotifyAnswer, PastAnswer, PaymentAnswer, RuleAnswer } from "../status/explanationOf.ts"
import type { StoredDecision } from "../store/decisionsAround.ts"
import { table } from "./output.ts"
import { decisionText, type Story, storyText } from "./storyText.ts"

/** The daemon's answer to a question why. */
export type Explained =
  | RuleAnswer
  | NotifyAnswer
  | PastAnswer
  | (Omit<PaymentAnswer, "story"> & { readonly story: Story })

const signs: Readonly<Record<Sign, string>> = {
  passed: "passed",
  holds: "HOLDS",
  also_holds: "also holds",
  not_reached: "not reached",
}

const words = (reason: string): string => reason.replaceAll("_", " ")

/** The whole answer, one subject after the other. */
export const explainText = (answer: Explained, isRunning: boolean): string => {
  switch (answer.about) {
    case "rule":
      return ruleText(answer, isRunning)
    case "notify":
      return notifyText(answer)
    case "past":
      return pastText(answer)
    case "payment":
      return paymentText(answer)
  }
}

const ruleText = (answer: RuleAnswer, isRunning: boolean): string => {
  const stopped = isRunning ? [] : ["no daemon runs; this is what its database says, so its knowledge grows old"]
  return [...stopped, ...answer.subjects.map((subject) => subjectText(subject, answer))].join("\n\n")
}

const subjectText = (subject: RuleAnswer["subjects"][number], answer: RuleAnswer): string => {
  const { knowledge } = answer
  const seen =
    knowledge === null
      ? "no balance was read yet"
      : `block ${knowledge.block} of ${knowledge.at.slice(11, 19)}Z, ${knowledge.ageSeconds.toFixed(1)} s old, from ${knowledge.source}`
  const rehearsed =
    answer.rehearsed && subject.verdict !== "holds" ? ["  only rehearsed: nothing is paid or asked for"] : []
  return [
    subject.sentence,
    ...rehearsed,
    ...decidedText(subject, answer.at),
    table(subject.checks.map(checkRow)),
    `  known     ${seen}`,
    ...meansText(subject, answer.at),
    `  next      ${nextText(subject, answer.at)}`,
  ].join("\n")
}

/** Where the engine's last decision stands, and since when. */
const decidedText = ({ decided, reason }: RuleAnswer["subjects"][number], now: number): ReadonlyArray<string> => {
  if (decided === null) return ["  the engine has not looked at it yet"]
  const since = `since ${stampText(decided.at)}, ${timeText(now - decided.at)}`
  if (decided.reason === reason) return [`  so ${since}`]
  const was = decided.reason === null ? "it acted" : `it was silent: ${words(decided.reason)}`
  return [`  at the engine's last look ${was}, ${since}`]
}

const checkRow = ({ reason, sign, detail }: Answer): ReadonlyArray<string> => [
  `  ${words(reason)}`,
  signs[sign],
  detail,
]

const meansText = (e: Explanation, now: number): ReadonlyArray<string> => {
  const accounts = e.accounts.map((a) => {
    const has = a.balance === null ? "never seen" : `${a.balance} ${e.asset}`
    const kept = a.role === "pays" ? `, ${a.reserved} reserved, keeps ${a.floor}` : ""
    return `${a.account} ${a.role === "pays" ? "pays, has" : "has"} ${has}${kept}`
  })
  const lines = e.lines.map(({ from, to, ...l }) =>
    l.line === null
      ? `${from} -> ${to}: no policy line allows it`
      : `${from} -> ${to}: line ${l.line}, ${l.perTransfer} each, ${l.used} of ${l.per24h} and ${l.transfers} of ${l.transfersPer24h} transfers used in 24 h, ${l.left} left`,
  )
  const quotas = e.quotas.map((q) => {
    if (q.limit === null) return `${q.party}: the network's transfers per epoch are not known`
    const end = q.endsAt === null ? "" : `, the epoch ends in about ${timeText(q.endsAt - now)}`
    return `${q.party}: ${q.used} of ${q.limit} transfers of this epoch used, ${q.kept} kept for people${end}`
  })
  const moving = e.underWay.map(
    (p) => `${p.short} ${words(p.state)}: ${p.amount} ${e.asset} ${p.from} -> ${p.to} (${p.rule})`,
  )
  const firing =
    e.firing === null ? [] : [`true for ${timeText(now - e.firing.since)}, seen ${e.firing.observations} times`]
  return [
    ...labelled("observed", [...accounts, ...firing]),
    ...labelled("policy", lines),
    ...labelled("quota", quotas),
    ...labelled("under way", moving.length === 0 ? ["nothing"] : moving),
  ]
}

const labelled = (label: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line, i) => `  ${(i === 0 ? label : "").padEnd(9)} ${line}`)

const nextText = ({ next, verdict }: Explanation, now: number): string => {
  if (verdict !== "holds") return "now: the engine's next look decides it"
  const time =
    next.notBefore === null ? [] : [`not before ${stampText(next.notBefore)}, in ${timeText(next.notBefore - now)}`]
  const after = next.after.map((what) => `once ${what}`)
  return [...time, ...after].join("; ")
}

/** "2026-12-24 12:00:05Z" */
const stampText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19).replace("T", " ")}Z`

const notifyText = ({ rule, watches, last }: NotifyAnswer): string =>
  [
    `${rule} ${watches}`,
    last === null
      ? "  it never told anything"
      : `  it told last at ${stampText(last.at)}: ${last.subject} ${last.detail}`,
  ].join("\n")

const pastText = (answer: PastAnswer): string =>
  answer.subjects.map((subject) => pastSubjectText(answer, subject)).join("\n\n")

const pastSubjectText = (
  { rule, at, now }: PastAnswer,
  { subject, inForce, before, after }: PastAnswer["subjects"][number],
): string => {
  const name = `${rule} ${subject}`
  if (inForce === null) {
    const first =
      after === null ? "nothing was ever decided of it" : `the first decision kept is of ${stampText(after.at)}`
    return [
      `${name}: nothing is known of ${stampText(at)}; ${first}`,
      ...(after === null ? [] : [`  after     ${decisionLine(after)}`]),
    ].join("\n")
  }
  const lasted =
    after === null ? `in force to this day, ${timeText(now - inForce.at)}` : `for ${timeText(after.at - inForce.at)}`
  return [
    `${name} ${inForce.reason === null ? "acted" : "was silent"} at ${stampText(at)}: ${reasonText(inForce)}`,
    `  since     ${stampText(inForce.at)}, ${lasted}; numbers as of its beginning`,
    `  before    ${before === null ? "nothing is kept" : decisionLine(before)}`,
    `  after     ${after === null ? "nothing else yet" : decisionLine(after)}`,
  ].join("\n")
}

const reasonText = ({ reason, detail }: StoredDecision): string =>
  reason === null ? detail : `${words(reason)}, ${detail}`

const decisionLine = (decision: StoredDecision): string =>
  `${stampText(decision.at)}  ${decision.reason === null ? "acted: " : ""}${reasonText(decision)}`

const paymentText = ({ attempt, story }: Extract<Explained, { about: "payment" }>): string => {
  const what =
    attempt === null
      ? ""
      : `this is ${attempt.isTransfer ? "the transfer" : "a transaction"} of attempt ${attempt.k} of payment ${story.short}\n`
  return [`${what}${story.short} was decided by ${decisionText(story)}`, storyText(story)].join("\n")
}
