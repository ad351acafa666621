import { restartRemedy } from "../config/needsRestart.ts"
import { signAgainIn } from "../domain/Approval.ts"
import { alertAfterMillis, type ConditionName, conditionNames } from "../domain/alerts/healthConditions.ts"
import { haltText, remedyOf } from "../domain/Halt.ts"
import { dayMillis, timeText } from "../domain/Time.ts"
import { ageText, plural, several } from "../domain/text.ts"
import { pinAuthor } from "../rules/checks/stops.ts"
import { pauseEnd, resumeCommand } from "../store/controls/Controls.ts"
import { bytesText } from "../store/database/DiskSpace.ts"
import { signedAfter } from "../submitter/audit/quarantine.ts"
import { clock, gatewayDown, isQuorumLost, wrongChain } from "./gatewayConditions.ts"
import type { HealthFacts } from "./readFacts.ts"
import type { Found, IntentView, View } from "./View.ts"
import type { RuleView } from "./views.ts"

/** A wrong answer of the network passes: it is bad once it lasts. */
const lasting = (at: string, { since, remedy }: { readonly since: string; readonly remedy: string }, text: string) => ({
  severity: Date.parse(at) - Date.parse(since) >= minute ? ("bad" as const) : ("warn" as const),
  text,
  remedy,
})

const minute = 60_000
/** A lost period is reported as a condition for this time. */
const gapMillis = dayMillis
/** Hold reasons that a person must usually end while something is, or may be, needed. */
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

const bad = (text: string, remedy: string): Found => ({ severity: "bad", text, remedy })
const warn = (text: string, remedy: string): Found => ({ severity: "warn", text, remedy })

const spaced = (word: string): string => word.replaceAll("_", " ")
const time = (iso: string): string => `${iso.slice(0, 16).replace("T", " ")} UTC`

const why = (rule: string): string => `"cofferer explain ${rule}" shows every check`

/** True if nothing is signed, or no balances are known: another condition alerts to the cause. */
const isStopped = (facts: HealthFacts): boolean =>
  facts.halts.length > 0 || facts.gap !== undefined || facts.isUndecoded || isQuorumLost(facts)

/** Rules that pay. What one on trial would need costs nothing. */
const live = ({ rules }: HealthFacts) => rules.filter(({ trial }) => !trial)

const crashesMin = 3

const refusedMin = 5
const acceptedShareMin = 0.9

/** Hold reasons with an alert of their own. Late payouts have one for all reasons. */
const alertedElsewhere: ReadonlySet<string | null> = new Set(["drift", "unresolved", "asset_status"])
/** Delay of the alert "rule held". An account with a quicker rule is alerted as out of band first. */
const heldMillis = alertAfterMillis("rule_held") ?? 0

/** Check of each condition. */
export const conditionTable = {
  halted: ({ halts }) => {
    const [first, ...more] = halts
    if (first === undefined) return undefined
    const also = more.length === 0 ? "" : ` (also ${more.map((one) => spaced(one.reason)).join(", ")})`
    const text = `Halted since ${time(first.at)} ${haltText(first)}${also}; nothing is signed`
    return bad(text, remedyOf(first.reason, first.detail))
  },
  terms_waiting: ({ halts: [first, ...more] }) => {
    if (first?.reason === "terms") return bad("The file's terms wait for agreement", "the halt's text has the commands")
    const halt = more.find(({ reason }) => reason === "terms")
    return halt && bad(`The file's terms wait for agreement: ${halt.detail}`, remedyOf("terms", halt.detail))
  },
  wrong_chain: wrongChain,
  clock,
  gateway_down: gatewayDown,
  payment_overdue: ({ intents }) => {
    const manual = intents.filter(({ state }) => state === "manual")
    const [first] = manual
    if (first !== undefined) {
      const command = `"cofferer intents resolve ${first.short} --reason TEXT", with --executed TXHASH or --never-executed`
      const text = `A person must resolve ${plural(manual.length, "payment")}: nothing proves how it ended`
      return bad(text, command)
    }
    const overdue = intents.filter((intent) => intent.overdue !== null)
    const [late] = overdue
    if (late === undefined) return undefined
    const text = `${plural(overdue.length, "payment")} past the bound of its state: ${late.short} ${late.overdue}`
    return bad(text, `"cofferer intents show ${late.short}" says what it waits for, and what ends that`)
  },
  newest_block: ({ doubted, halts, at }) => {
    if (doubted === null) return undefined
    const text = `No plausible newest block since ${time(doubted.since)}: ${doubted.detail}; nothing is signed or sent`
    // That halt pages, and names what ends it.
    return { ...lasting(at, doubted, text), isAlerted: halts.some(({ reason }) => reason === "chain_changed") }
  },
  work: ({ work: doubt, at }) =>
    doubt === null ? undefined : lasting(at, doubt, `Nothing is signed since ${time(doubt.since)}: ${doubt.detail}`),
  wire_form: ({ isUndecoded, network: { chainId } }) => {
    if (!isUndecoded) return undefined
    const remedy = `check that network.chainId is ${chainId} there too, and that the network's version is supported; leave network.framing out`
    return bad("No payment goes out: the network decodes no wire form of our transactions (code 60)", remedy)
  },
  stale: (facts) => {
    const { gap, blockAgeSeconds, maxAgeSeconds, height, network } = facts
    if (gap === undefined) return undefined
    // The cause has its own alert, and its end ends this.
    const causes = { wrong_chain: wrongChain(facts), clock: clock(facts), gateway_down: gatewayDown(facts) }
    const isAlerted = Object.entries(causes).some(([name, one]) => one?.severity === "bad" && !facts.muted.has(name))
    const names = network.gateways.map(({ name, detail }) => (detail === "" ? name : `${name} (${detail})`))
    const ofGateways = `check gateway ${names.join(", ")}, its node, and the network to it`
    // Those that do not answer have a condition of their own.
    const apart = isQuorumLost(facts) ? undefined : facts.disagreement
    const ofNetwork = apart === undefined ? ofGateways : "compare these gateways with another source: one is wrong"
    const remedy = (facts.ageSeconds === null ? causes.clock : undefined)?.remedy ?? ofNetwork
    if (blockAgeSeconds === null) {
      return { severity: "warn", text: "No balance was read yet; nothing is signed", remedy, isAlerted }
    }
    const text =
      facts.ageSeconds === null
        ? `Balances are of block ${height}, and a wrong clock hides their age; nothing is signed`
        : blockAgeSeconds < 0
          ? `Balances are of a block ${timeText(-blockAgeSeconds * 1_000)} ahead of this host's clock; nothing is signed`
          : `Balances are ${timeText(blockAgeSeconds * 1_000)} old, more than ${maxAgeSeconds} s${apart === undefined ? ", and no newer block was read" : `: ${apart}`}; nothing is signed`
    return { severity: "bad", text, remedy, isAlerted }
  },
  rule_fires: ({ rules }) => {
    const rule = rules.find(({ fires }) => fires === "page") ?? rules.find(({ fires }) => fires === "ticket")
    if (rule === undefined) return undefined
    const { name, fires, detail } = rule
    return {
      severity: fires === "page" ? "bad" : "warn",
      text: `${name} fires (${fires}): ${detail}`,
      remedy: why(name),
    }
  },
  alerts_undelivered: (facts) => {
    const late = facts.undelivered.filter(({ seconds }) => seconds * 1_000 >= minute)
    if (late.length === 0) return undefined
    const words = late.map(({ receiver, n, seconds, error }) => {
      const why = error === null ? "" : ` (${error})`
      return `${receiver} has not taken ${plural(n, "alert")} for ${Math.floor(seconds / 60)} min${why}`
    })
    const remedy =
      "check that receiver and its address in alerts.receivers; waiting alerts are sent again automatically"
    const parts = late.map(({ receiver }) => receiver)
    const pages = late.flatMap((one) => (one.pageSeconds * 1_000 >= minute ? [`a page to ${one.receiver}`] : []))
    const found = pages.length > 0 ? bad(several(words), remedy) : warn(several(words), remedy)
    return { ...found, unreachable: parts, parts, pages }
  },
  low_disk: ({ disk, halts }: Pick<HealthFacts, "disk" | "halts">) => {
    const isFull = halts.some(({ reason }) => reason === "disk_full")
    const isLow = disk.free !== undefined && disk.free < disk.low
    if (!isFull && !isLow) return undefined
    const room = disk.free === undefined ? "no write succeeds" : `${bytesText(disk.free)} free`
    const text = `The disk of ${disk.dir} is ${isFull ? "full" : "low"}: ${room}, ${bytesText(disk.low)} needed`
    const remedy = `free space under ${disk.dir}`
    return isFull ? { ...bad(text, remedy), isAlerted: true } : warn(text, remedy)
  },
  config_refused: ({ refusedReload }) => {
    if (refusedReload === undefined) return undefined
    const text = `The changed files were refused, and the former ones are in force: ${refusedReload}`
    const reload = '"cofferer reload --reason TEXT"'
    // No reload takes these: the text ends with the remedy.
    if (refusedReload.includes(restartRemedy)) return warn(text, `or put the former files back, then ${reload}`)
    const otherwise = refusedReload.includes("; if it is meant, ") ? "if not, " : ""
    const remedy = `${otherwise}correct them, "cofferer check", then ${reload}; or put the former files back and reload`
    return warn(text, remedy)
  },
  restarts: ({ crashes }) => {
    if (crashes.length < crashesMin) return undefined
    const ends = [...new Set(crashes)].map((end) => `${end} (${crashes.filter((one) => one === end).length})`)
    const text = `The process ended ${crashes.length} times in 15 min without being stopped: ${several(ends)}`
    return warn(text, "the log has the lines before each end; what restarts it goes on")
  },
  acceptance: ({ acceptance: { accepted, refused }, isUndecoded }) => {
    const all = accepted + refused
    if (refused < refusedMin || accepted / all >= acceptedShareMin) return undefined
    const text = `Mempools accepted ${accepted} of ${all} submissions in 24 h`
    const remedy = '"cofferer intents" lists the payments, "intents show ID" the code of each refusal'
    return { ...warn(text, remedy), isAlerted: isUndecoded }
  },
  signing_waits: ({ quarantine }) => {
    if (quarantine === undefined) return undefined
    const { until, seconds } = quarantine
    const soon =
      seconds === null ? "" : `, in ${seconds < 60 ? "less than 1" : `about ${Math.round(seconds / 60)}`} min`
    return warn(`Nothing ${signedAfter(until, soon)}`, "it ends by itself")
  },
  approval_waiting: ({ intents }) => {
    const waiting = intents.filter(({ state }) => state === "awaiting_approval")
    const [first] = waiting
    if (first === undefined) return undefined
    const again = waiting.flatMap(({ detail, short }) => {
      const words = signAgainIn(detail)
      return words === undefined ? [] : [`; ${words} (${short})`]
    })
    const what = ({ amount, from, to, short }: IntentView) => `${amount} ${from} -> ${to} (${short})`
    const text =
      waiting.length === 1
        ? `1 payment waits for approval: ${what(first)}`
        : `${waiting.length} payments wait for approval`
    return warn(`${text}${again.join("")}`, `"cofferer approve ${first.short} --key FILE"`)
  },
  out_of_band: (facts) => {
    const long = facts.outOfBand.filter(({ seconds, cycleSeconds }) => seconds > cycleSeconds)
    if (long.length === 0) return undefined
    const heldBy = (account: string) =>
      live(facts).find(({ subject, reason }) => subject === account && stuck.has(reason))
    const paidTo = (account: string) =>
      facts.intents.find(({ open, to, amount }) => open && account === `${to}/${amount.split(" ").at(-1)}`)
    const words = long.map(({ account, balance, seconds }) => {
      const rule = heldBy(account)
      const payment = paidTo(account)
      const held = rule === undefined ? "" : ` (${rule.name}: ${spaced(String(rule.reason))})`
      const why = payment === undefined ? held : ` (payment ${payment.short} is ${spaced(payment.state)})`
      return `${account} ${balance} for ${timeText(Math.floor(seconds) * 1_000)}${why}`
    })
    // A slower rule that is held was alerted before, with its reason.
    const isToldByRule = ({ account, cycleSeconds }: HealthFacts["outOfBand"][number]) =>
      !facts.muted.has("rule_held") && cycleSeconds * 1_000 >= heldMillis && heldBy(account) !== undefined
    const parts = long.filter((one) => !isToldByRule(one)).map(({ account }) => account)
    const isAlerted = parts.length === 0 || isStopped(facts)
    const text = `Out of band for longer than its rule's cycle: ${several(words)}`
    return { ...warn(text, '"cofferer plan" says what holds it'), isAlerted, parts }
  },
  rule_locked: (facts) => {
    const locked = live(facts).filter(({ reason }) => reason === "locked" || reason === "code")
    const [first] = locked
    if (first === undefined) return undefined
    const text = several(
      locked.map(
        ({ name, reason, detail }) => `${name} ${reason === "code" ? "pays nothing" : "is locked"}: ${detail}`,
      ),
    )
    return first.reason === "code"
      ? {
          ...warn(text, 'correct its file, then "cofferer reload --reason TEXT"; changed code is weaker terms'),
          name: "code fails",
        }
      : warn(text, `once the cause is gone: "cofferer resume --scope lock:${first.name} --reason TEXT"`)
  },
  paused: ({ pauses }) => {
    const people = pauses.filter(({ scope }) => !scope.startsWith("lock:"))
    if (people.length === 0) return undefined
    const words = people.map(
      ({ scope, author, reason, until }) =>
        `Paused (${scope}) by ${author} ${pauseEnd(author, until === null ? null : Date.parse(until))}: ${reason}`,
    )
    const byPerson = people.find(({ author }) => author !== pinAuthor)
    const remedy =
      byPerson === undefined ? "compare the listing with the asset's issuer" : resumeCommand(byPerson.scope)
    return warn(words.join("; "), remedy)
  },
  not_compared: ({ uncompared }) =>
    uncompared === null
      ? undefined
      : warn(
          `Balances are not compared with the gateway's own since ${time(uncompared.since)}: ${uncompared.detail}`,
          "no rule pays after a start before they are; it ends with the next whole comparison; look at the gateway's listing of accounts",
        ),
  rule_held: (facts) => {
    const held = live(facts).filter(({ reason }) => stuck.has(reason))
    const [first] = held
    if (first === undefined) return undefined
    const nameOf = ({ name, subject }: RuleView) => `${name} ${subject}`.trim()
    const words = held.map((rule) => `${nameOf(rule)} (${spaced(String(rule.reason))})`)
    const isQuick = (account: string) =>
      !facts.muted.has("out_of_band") &&
      facts.outOfBand.some((one) => one.account === account && one.cycleSeconds * 1_000 < heldMillis)
    const isElsewhere = ({ reason, kind, subject }: RuleView) =>
      alertedElsewhere.has(reason) ||
      (reason === "disagreement" && isQuorumLost(facts)) ||
      kind === "payout" ||
      isQuick(subject)
    const parts = held.filter((rule) => !isElsewhere(rule)).map(nameOf)
    return { ...warn(`Held: ${several(words)}`, why(nameOf(first))), isAlerted: parts.length === 0, parts }
  },
  payment_unknown: ({ intents }) => {
    const { length } = intents.filter(({ state }) => state === "unknown")
    return length === 0
      ? undefined
      : warn(
          `${plural(length, "payment")} may or may not be in the network`,
          "the same bytes are sent until their window is over, and then the ledger shows the end",
        )
  },
  history_lost: ({ gaps, at }) => {
    const gap = gaps.find(({ seenAt }) => Date.parse(at) - Date.parse(seenAt) < gapMillis)
    return (
      gap &&
      warn(
        `Balance changes from ${time(gap.since)} to ${time(gap.until)} are lost: ${gap.cause}`,
        "balances are right; exports and backtests miss that time",
      )
    )
  },
} satisfies Readonly<Record<ConditionName, (facts: HealthFacts) => Found | undefined>>

/** A condition that holds. */
export interface HealthCondition extends Found {
  readonly condition: ConditionName
  readonly name: string
}

/**
 * The conditions that apply, the worst first: headline, colour, exit code, metrics and alerts all come from this list.
 * A treasury without any is healthy.
 */
export const conditionsOf = (facts: HealthFacts): ReadonlyArray<HealthCondition> => {
  const found = conditionNames.flatMap((condition): ReadonlyArray<HealthCondition> => {
    const one = conditionTable[condition](facts)
    return one === undefined ? [] : [{ condition, name: spaced(condition), ...one }]
  })
  return found.toSorted((a, b) => Number(a.severity === "warn") - Number(b.severity === "warn"))
}

/** The line across the top: the worst condition with its remedy and the names of the others, or that all is well. */
export const headline = (
  conditions: ReadonlyArray<HealthCondition>,
  {
    mode,
    accounts,
    intents,
    maintenance,
    ageSeconds,
  }: Pick<View, "mode" | "accounts" | "intents" | "maintenance" | "ageSeconds">,
  confirmedToday: number,
): View["sentence"] => {
  const [worst, ...others] = conditions
  if (worst !== undefined) {
    const text = `${worst.text}; ${worst.remedy}.`
    return { severity: worst.severity, text: others.length === 0 ? text : `${text} Also: ${namesOf(others)}.` }
  }
  const open = intents.filter((intent) => intent.open).length
  const windows = maintenance.map(({ name, until }) => `Maintenance ${name} until ${time(until)}: rules pay nothing.`)
  const activity = `${plural(confirmedToday, "payment")} in 24 h, ${open} open. Balances ${ageText(ageSeconds)}.`
  const named = (wanted: boolean | null) =>
    accounts.filter(({ inBand }) => inBand === wanted).map(({ party, asset }) => `${party}/${asset}`)
  const out = named(false)
  const unseen = named(null)
  // Its rule has not had the time that it takes.
  const odd = [
    ...(out.length === 0 ? [] : [`out of band for now: ${out.join(", ")}`]),
    ...(unseen.length === 0 ? [] : [`no balance seen of ${unseen.join(", ")}`]),
  ]
  const band = odd.length === 0 ? "All in band." : `Healthy; ${odd.join("; ")}.`
  const idle = mode === "live" ? [] : [`Mode ${mode}: nothing is paid.`]
  return { severity: "ok", text: [band, ...idle, ...windows, activity].join(" ") }
}

const namesOf = (others: ReadonlyArray<HealthCondition>): string => several(others.map(({ name }) => name))
