import { type Effect, Result } from "effect"
import { formatAmount, formatLevel } from "../../domain/Amount.ts"
import { isFinalIntent } from "../../domain/Intent.ts"
import { secondText } from "../../domain/Time.ts"
import { plural } from "../../domain/text.ts"
import type { ApprovalView, storyWithApproval } from "../../http/approvals.ts"
import type { HttpProblem } from "../../http/stories.ts"
import { readPaymentTerms } from "../../tx/Approval.ts"
import type { AsJson } from "./client.ts"
import { table } from "./output.ts"

const timeLeft = (millis: number): string => {
  const minutes = Math.floor(millis / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** "1 more signature needed of: ana, ben". */
export const neededText = ({ missing, others }: { readonly missing: number; readonly others: ReadonlyArray<string> }) =>
  `${plural(missing, "more signature")} needed of: ${others.join(", ")}`

export const approvalLines = (view: ApprovalView): ReadonlyArray<string> => [
  `${view.need} of group ${view.group} must approve${view.proposer === null ? "" : `; proposed by ${view.proposer}`}`,
  ...view.approved.map(({ operator, at }) => `approved by ${operator} at ${secondText(at)}`),
  ...(view.again.length === 0
    ? []
    : [`must sign again: ${view.again.join(", ")}; what they signed was another text, and counts no longer`]),
  ...(view.missing > 0 && view.state === "awaiting_approval"
    ? [`${neededText(view)}; ${timeLeft(view.millisLeft)} left`]
    : []),
]

/** The daemon's answer. Its version equals this command line's, so it is not decoded. */
export type Story = AsJson<Exclude<Effect.Success<ReturnType<typeof storyWithApproval>>, HttpProblem>>

type Body = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string => (value === undefined || value === null ? "" : String(value))
const short = (hash: unknown): string => `${textOf(hash).slice(0, 12)}..`
const prefixed = (word: string, value: unknown): string => (textOf(value) === "" ? "" : `${word}${textOf(value)}`)

/** A journal's number of base units, in units of the asset; "?" if it is none. */
const units = (value: unknown, decimals: number, format: (units: bigint, decimals: number) => string): string =>
  /^[0-9]{1,78}$/.test(textOf(value)) ? format(BigInt(textOf(value)), decimals) : "?"

const permitOf = (body: Body, decimals: number): string => {
  if (body["line"] === undefined) return `policy ${textOf(body["policy"])} has no line that permits it`
  const level = (name: string) => units(body[name], decimals, formatLevel)
  const limits = `${level("perTransfer")} each, ${level("per24h")} and ${textOf(body["transfersPer24h"])} ${textOf(body["transfersPer24h"]) === "1" ? "transfer" : "transfers"} in 24 h`
  return `policy ${textOf(body["policy"])} line ${textOf(body["line"])} permits ${limits}`
}

const outcomes: Readonly<Record<string, string>> = { framing: "in the wrong wire form", ambiguous: "no usable answer" }
const evidences: Readonly<Record<string, string>> = { silent: "no usable answer", moved: "money moved" }

/** Outcome of a send, in words that name the fault. */
const outcomeOf = ({ outcome }: Body): Body[string] => outcomes[textOf(outcome)] ?? outcome

const ofAttempt = (body: Body): string => {
  const name = `attempt ${textOf(body["k"])}`
  switch (body["state"]) {
    case "signed": {
      const end = BigInt(textOf(body["anchorHeight"])) + BigInt(textOf(body["windowBlocks"]))
      return `${name} on block ${textOf(body["anchorHeight"])}, valid to block ${end}; transfer ${short(body["transferId"])}`
    }
    case "sending": {
      const where = `${textOf(body["gateway"])} in the ${textOf(body["framing"])} wire form`
      return `${name}: send ${textOf(body["n"])} to ${where}, tx ${short(body["txHash"])}`
    }
    default:
      return `${name}${prefixed(": ", body["detail"] ?? outcomeOf(body))}`
  }
}

/** One journal entry as a word and a sentence. */
const entryText = (kind: string, body: Body, story: Story): readonly [word: string, sentence: string] => {
  const { decimals } = story
  const k = `attempt ${textOf(body["k"])}`
  switch (kind) {
    case "intent": {
      const charged = body["fee"] === undefined ? "" : `fee ${units(body["fee"], decimals, formatAmount)}`
      const fee = textOf(body["detail"]).includes(charged) ? "" : `; ${charged}`
      const by = body["author"] === undefined ? "" : ` (${textOf(body["verb"])} by ${textOf(body["author"])})`
      return [textOf(body["state"]), `${textOf(body["detail"])}${fee}${by}`]
    }
    case "decision":
      return [
        "decision",
        `${textOf(body["rule"])}: ${textOf(body["sentence"])}; ${permitOf(body, decimals)}${codeIn(body["code"])}`,
      ]
    case "permit":
      return ["permitted", `${k} by policy ${textOf(body["policy"])} line ${textOf(body["line"])}`]
    case "signature":
      return [
        "signature",
        `${k} by policy ${textOf(body["policy"])} line ${textOf(body["line"])}; digest ${short(body["digest"])}`,
      ]
    case "config": {
      const names = `${textOf(body["symbol"])} (${textOf(body["decimals"])} decimals) ${textOf(body["fromName"])}`
      return ["names", `in the configuration in force: ${names} -> ${textOf(body["toName"])}`]
    }
    case "attempt":
      return [textOf(body["state"]), ofAttempt(body)]
    case "work":
      return ["work", `${k}: nonce ${textOf(body["nonce"])}, tid ${short(body["tid"])}`]
    case "send": {
      const answer = `${textOf(outcomeOf(body))}${prefixed(", code ", body["code"])}${prefixed(": ", body["data"])}`
      return ["answer", `${k}, send ${textOf(body["n"])}: ${answer}`]
    }
    case "evidence":
      return [
        "evidence",
        `${k}: ${evidences[textOf(body["kind"])] ?? textOf(body["kind"])}${prefixed(" at block ", body["height"])}${prefixed(": ", body["detail"])}`,
      ]
    case "approval":
      return [
        "approval",
        `${textOf(body["operator"])}${prefixed(" of ", readPaymentTerms(textOf(body["text"]))?.group)}; key ${short(body["key"])}`,
      ]
    case "refusal":
      return ["refusal", `the signer refused ${k} (${textOf(body["refusal"])}): ${textOf(body["detail"])}`]
    default:
      return [kind, textOf(body["detail"]) || JSON.stringify(body)]
  }
}

/** "; by code 1a2b3c4d": the beginning of the hash that `reload` and approvals name. */
const codeIn = (code: unknown): string => {
  const hash = typeof code === "object" && code !== null && "hash" in code ? code.hash : undefined
  return typeof hash === "string" ? `; by code ${hash.slice(0, 8)}` : ""
}

const bodyOf = (text: string): Body =>
  Result.getOrElse(
    Result.try(() => JSON.parse(text) as Body),
    () => ({ detail: `cannot be read: ${text.slice(0, 60)}` }),
  )

/** The rule's reason, and the policy line that permits the payment; its detail if a person submitted it. */
export const decisionText = (story: Story): string => {
  const entry = story.journal.find(({ kind }) => kind === "decision")
  return entry === undefined ? `${story.rule}: ${story.detail}` : entryText("decision", bodyOf(entry.body), story)[1]
}

const time = (millis: number): string => new Date(millis).toISOString().slice(0, 23).replace("T", " ")

const waitLines = ({ waitsFor, called, endedBy }: NonNullable<Story["wait"]>): ReadonlyArray<string> => [
  `  waits for ${waitsFor}`,
  `  alerts: ${called}`,
  `  ended by: ${endedBy}`,
]

/** One payment on one screen: its state, its attempts, and all its journal entries. */
export const storyText = (story: Story): string => {
  const amount = (text: string) => units(text, story.decimals, formatAmount)
  const attempts = story.attempts.map((a) => [
    `  ${a.k}`,
    a.state,
    plural(a.sends, "send"),
    `window ends at block ${a.deadline}`,
    `transfer ${a.transferId}`,
    a.txHash === null ? "" : `tx ${a.txHash}`,
  ])
  const journal = story.journal.map(({ seq, at, kind, body }) => [
    `  ${seq}`,
    time(at),
    ...entryText(kind, bodyOf(body), story),
  ])
  const most = `at most ${amount(story.feeMax)}`
  const isUnpaid = story.state !== "confirmed" && isFinalIntent(story.state)
  const pending = isUnpaid ? "no fee" : `fee pending, ${most}`
  const fee = story.fee === null ? pending : `fee ${amount(story.fee)} of ${most}`
  return [
    `${story.short}  ${story.state}  ${story.amount}  ${story.from} -> ${story.to}   (${story.rule})`,
    `  ${story.detail}`,
    ...(story.note === null ? [] : [`  ${story.note}`]),
    ...(story.setAside === null ? [] : [`  ${story.setAside}`]),
    ...story.held.map((hold) => `  ${hold}`),
    ...(story.wait ? waitLines(story.wait) : []),
    `  id ${story.id}, decided ${story.createdAt}, ${fee}`,
    ...(story.approval ? ["approval", ...approvalLines(story.approval).map((line) => `  ${line}`)] : []),
    "attempts",
    attempts.length === 0 ? "  none signed" : table(attempts),
    "journal (UTC)",
    journal.length === 0 ? "  nothing" : table(journal),
  ].join("\n")
}
