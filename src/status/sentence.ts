import { signAgainIn } from "../domain/Approval.ts"
import { remedyOf } from "../domain/Halt.ts"
import { bansText } from "../gateway/Health.ts"
import { resumeCommand } from "../store/holdsOf.ts"
import type { IntentView, RuleView, View } from "./View.ts"

/** How long a part of the past that was just found lost is the news. */
const gapMillis = 86_400_000

/** The sentence across the top: the worst thing that is true, else that all is in band. */
export const sentenceOf = (
  view: Omit<View, "sentence">,
  more: { readonly today: number; readonly maxAgeSeconds: number },
): View["sentence"] => {
  const bad = (text: string) => ({ severity: "bad" as const, text })
  const warn = (text: string) => ({ severity: "warn" as const, text })
  const halt = view.halts[0]
  if (halt !== undefined) {
    return bad(
      `Halted since ${halt.at.slice(11, 16)} UTC: ${halt.reason.replaceAll("_", " ")}. ${halt.detail}. Nothing is signed; ${remedyOf(halt.reason)}.`,
    )
  }
  const manual = view.intents.filter((i) => i.state === "manual")
  if (manual.length > 0) return bad(manualText(manual))
  if (view.work !== null) return bad(`Nothing is signed since ${minute(view.work.since)}: ${view.work.detail}.`)
  const { doubted } = view
  if (doubted?.isLong === true) return bad(doubtedText(doubted))
  const page = view.rules.find(({ fires }) => fires === "page")
  const troubles = troublesOf(view)
  if (page !== undefined) return bad([firing(page), ...troubles].join(" "))
  if (view.pauses.length > 0) {
    return warn(view.pauses.map(pausedText).join(" "))
  }
  if (doubted !== null) return warn(doubtedText(doubted))
  const bans = bansText(view.network.gateways)
  const banned = bans === "" ? "" : `; ${bans}`
  if (view.ageSeconds === null) return warn(`No balance was read yet: no money moves${banned}.`)
  const age = `${view.ageSeconds.toFixed(1)} s`
  if (view.ageSeconds > more.maxAgeSeconds) return warn(`Knowledge is ${age} old: no money moves${banned}.`)
  if (view.uncompared !== null)
    return warn(
      `Not compared with the gateway's own balances since ${minute(view.uncompared.since)}: ${view.uncompared.detail}.`,
    )
  const unknown = view.intents.filter((i) => i.state === "unknown").length
  if (unknown > 0)
    return warn(`${count(unknown, "payment")} may or may not be in the network; the same bytes are sent again.`)
  const gap = view.gaps.find((g) => Date.parse(view.at) - Date.parse(g.seenAt) < gapMillis)
  if (gap !== undefined)
    return warn(`Balance changes from ${minute(gap.since)} to ${minute(gap.until)} are lost: ${gap.cause}.`)
  const ticket = view.rules.find(({ fires }) => fires === "ticket")
  if (ticket !== undefined) return warn([firing(ticket), ...troubles].join(" "))
  const open = view.intents.filter((i) => i.open).length
  const planned = view.maintenance.map(
    ({ name, until }) => `Maintenance ${name} until ${minute(until)}: rules pay nothing.`,
  )
  const activity = `${count(more.today, "payment")} in 24 h, ${open} open. Knowledge ${age} old.`
  if (troubles.length > 0) return warn([...troubles, ...planned, activity].join(" "))
  return { severity: "ok", text: ["All in band.", ...planned, activity].join(" ") }
}

const doubtedText = ({ since, detail, remedy }: NonNullable<View["doubted"]>): string =>
  `The newest block is doubted since ${minute(since)}: ${detail}. Nothing is signed or sent; ${remedy}.`

/** Until when, why, and what ends it. */
const pausedText = ({ scope, author, reason, until }: View["pauses"][number]): string => {
  const end = until === null ? "until someone resumes it" : `until ${minute(until)}`
  return `Paused (${scope}) by ${author} ${end}: ${reason}; ${resumeCommand(scope)}.`
}

const manualText = (manual: ReadonlyArray<IntentView>): string => {
  const command = `"cofferer intents resolve ${manual[0]?.short} --reason TEXT", with --executed TXHASH or --never-executed`
  return `A person must resolve ${count(manual.length, "payment")}: nothing proves what became of it; ${command}.`
}

/** Reasons by which a rule stays silent though something is needed, or might be, until somebody looks after it. */
const stuck: ReadonlySet<string | null> = new Set([
  "disagreement",
  "drift",
  "unresolved",
  "asset_status",
  "policy",
  "limit",
  "quota",
  "fee",
  "short",
])
const namesMax = 3

/** What people should look at, beside what moves by itself. What a rule on trial would need costs nothing. */
const troublesOf = ({ rules, intents, accounts, terms }: Omit<View, "sentence">): ReadonlyArray<string> => {
  const live = rules.filter(({ trial }) => !trial)
  const locked = live.filter(({ reason }) => reason === "locked")
  const waiting = intents.filter(({ state }) => state === "awaiting_approval")
  const held = live.filter(({ reason }) => stuck.has(reason))
  const out = accounts.filter((a) => !a.inBand)
  const [first] = waiting
  return [
    ...(terms === null ? [] : [`${terms.text}.`]),
    ...locked.map(({ name, detail }) => `${name} is locked: ${detail}.`),
    ...(first === undefined ? [] : [`${waitingText(first, waiting.length)}.`]),
    ...waiting.flatMap(({ detail, short }) => {
      const again = signAgainIn(detail)
      return again === undefined ? [] : [`${again} (${short}).`]
    }),
    ...(held.length === 0 ? [] : [`Held: ${several(held.map(heldText))}.`]),
    ...(out.length === 0 ? [] : [`Out of band: ${out.map((a) => `${a.party} ${a.balance} ${a.asset}`).join(", ")}.`]),
  ]
}

const waitingText = ({ amount, from, to, short }: IntentView, n: number): string =>
  n === 1
    ? `1 payment waits for approval: ${amount} ${from} -> ${to} (${short}); "cofferer approve ${short} --key FILE"`
    : `${n} payments wait for approval; "cofferer approve ${short} --key FILE" for the first`

const heldText = ({ name, subject, reason }: RuleView): string =>
  `${name} ${subject} (${String(reason).replaceAll("_", " ")})`

const several = (words: ReadonlyArray<string>): string =>
  words.length <= namesMax
    ? words.join(", ")
    : `${words.slice(0, namesMax).join(", ")} and ${words.length - namesMax} more`

const firing = ({ name, fires, detail }: RuleView): string => `${name} fires (${fires}): ${detail}.`

const minute = (iso: string): string => `${iso.slice(0, 16).replace("T", " ")} UTC`

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`
