import { statusText } from "../../domain/Asset.ts"
import type { Payment } from "../../domain/Decision.ts"
import { instantText, timeText } from "../../domain/Time.ts"
import type { PinnedAsset } from "../Account.ts"
import { hoursAt, openWindow } from "../Schedule.ts"
import type { Listed } from "../Snapshot.ts"
import type { Check, SubjectFacts } from "../SubjectFacts.ts"

/** How the listing contradicts what the configuration says of an asset, in words; undefined where it agrees. */
export const contradiction = (
  asset: PinnedAsset,
  listed: Pick<Listed, "status" | "decimals"> | undefined,
): string | undefined => {
  if (listed === undefined) return `${asset.symbol} (${asset.id}) is not listed`
  if (listed.status !== "enabled") return `${asset.symbol} is ${statusText(listed.status)}`
  if (listed.decimals === asset.decimals) return undefined
  return `${asset.symbol} is listed with ${listed.decimals} decimals, pinned with ${asset.decimals}`
}

/** Remedy where the listing contradicts the configuration, as text. */
export const pinRemedy = (asset: PinnedAsset, listed: Pick<Listed, "status" | "decimals"> | undefined): string => {
  // Amounts mean something else under another pin: its terms count as weaker.
  const mended = (what: string): string =>
    `${what}, then "cofferer reload --allow-weaker --reason TEXT"; if not, the gateway is wrong: ask who runs it`
  if (listed === undefined) return mended("if its id in the treasury file is wrong, correct it")
  if (listed.status !== "enabled") return "it goes on once the listing says enabled"
  const right = `write "decimals: ${listed.decimals}" for ${asset.symbol} in the treasury file`
  return mended(`if the listing is right, ${right}`)
}

/** Scope of the pause that stops an asset whose listing contradicts its pin. A person's pause is "asset:SYMBOL". */
export const pinScope = (symbol: string): string => `pin:${symbol}`

/** Author of those pauses, which end with their contradiction. */
export const pinAuthor = "asset listing"

/** Scopes that stop payments of an asset. */
export const assetScopes = (symbol: string): ReadonlyArray<string> => [`asset:${symbol}`, pinScope(symbol)]

/** Scope of the pause that stops a rule whose payments failed too often. */
export const lockScope = (rule: string): string => `lock:${rule}`

/** Every scope that a pause of this treasury may have. */
export const knownScopes = ({
  rules,
  parties,
  assets,
}: {
  readonly rules: ReadonlyArray<{ readonly name: string }>
  readonly parties: ReadonlyMap<string, unknown>
  readonly assets: ReadonlyMap<string, unknown>
}): ReadonlyArray<string> => [
  "all",
  ...rules.flatMap(({ name }) => [`rule:${name}`, lockScope(name)]),
  ...[...parties.keys()].map((name) => `party:${name}`),
  ...[...assets.keys()].flatMap(assetScopes),
]

/** Scopes whose pause stops a decided payment: by the names that it was decided with, and by keys and ids. */
export const scopesOfPayment = (
  rule: string,
  { from, fromKey, to, toKey, asset, assetId }: Payment,
): ReadonlyArray<string> => [
  "all",
  `rule:${rule}`,
  lockScope(rule),
  ...[from, to, fromKey, toKey].map((party) => `party:${party}`),
  ...[asset, assetId].filter((one) => one !== "").flatMap(assetScopes),
]

/** True if a pause blocks a decided payment, by its names now or by those at the time of its decision. */
export const stopsPayment = (rule: string, payment: Payment) => {
  const scopes = scopesOfPayment(rule, payment)
  return (pause: { readonly scope: string; readonly kept: string }): boolean =>
    scopes.includes(pause.scope) || scopes.includes(pause.kept)
}

/** Scopes whose pause stops the subject. */
const scopesOf = ({ subject: { rule, parties, asset } }: SubjectFacts): ReadonlyArray<string> => [
  "all",
  `rule:${rule.name}`,
  ...parties.map(({ name }) => `party:${name}`),
  ...(asset.symbol === "" ? [] : [`asset:${asset.symbol}`]),
]

/** The pauses that stop the subject. */
export const pausesOf = (facts: SubjectFacts): SubjectFacts["snapshot"]["pauses"] => {
  const { pauses } = facts.snapshot
  if (pauses.length === 0) return pauses
  const scopes = scopesOf(facts)
  return pauses.filter(({ scope }) => scopes.includes(scope))
}

/** Each pause after the word "paused": "(all) by ana: audit"; undefined where there is none. */
export const pausesText = (pauses: SubjectFacts["snapshot"]["pauses"]) =>
  pauses.length === 0
    ? undefined
    : pauses
        .map(({ scope, author, reason }) => `(${scope})${author === undefined ? "" : ` by ${author}`}: ${reason}`)
        .join("; ")

const lockOf = ({ subject, snapshot }: SubjectFacts) =>
  snapshot.pauses.length === 0 ? undefined : snapshot.pauses.find(({ scope }) => scope === lockScope(subject.rule.name))

/** Checks that block a rule whatever the balances are, in the order of `holdReasons`. */
export const stops: ReadonlyArray<Check> = [
  {
    reason: "halted",
    held: ({ snapshot: { halts } }) => (halts.length > 0 ? halts.map(({ text }) => text).join("; ") : undefined),
    passed: () => "nothing is halted",
  },
  {
    reason: "paused",
    held: (facts) => pausesText(pausesOf(facts)),
    passed: (facts) => `no pause with scope ${scopesOf(facts).join(", ")}`,
    ends: (facts) => {
      const end = Math.max(...pausesOf(facts).map(({ until }) => until ?? Infinity))
      return Number.isFinite(end) ? end : undefined
    },
  },
  {
    reason: "maintenance",
    held: ({ subject, snapshot }) => {
      if (subject.rule.maintenance.length === 0) return undefined
      const window = openWindow(subject.rule.maintenance, snapshot.now)
      return window === undefined ? undefined : `maintenance ${window.name} until ${instantText(window.until)}`
    },
    passed: ({ subject, snapshot }) => {
      const next = subject.rule.maintenance
        .filter(({ from }) => from > snapshot.now)
        .toSorted((a, b) => a.from - b.from)[0]
      return next === undefined ? "no maintenance is planned" : `${next.name} begins ${instantText(next.from)}`
    },
    ends: ({ subject, snapshot }) => openWindow(subject.rule.maintenance, snapshot.now)?.until,
  },
  {
    reason: "outside_hours",
    held: ({ subject: { rule }, snapshot: { now } }) => {
      if (rule.during === undefined) return undefined
      const { open, until } = hoursAt(rule.during, now)
      return open
        ? undefined
        : `outside ${rule.during.name}; it opens ${instantText(until)}, in ${timeText(until - now)}`
    },
    passed: ({ subject: { rule }, snapshot: { now } }) =>
      rule.during === undefined
        ? "acts at all hours"
        : `within ${rule.during.name} until ${instantText(hoursAt(rule.during, now).until)}`,
    ends: ({ subject: { rule }, snapshot: { now } }) =>
      rule.during === undefined ? undefined : hoursAt(rule.during, now).until,
  },
  {
    reason: "not_due",
    held: ({ need }) => (need?._tag === "NotDue" ? need.detail : undefined),
    passed: ({ need, subject }) =>
      subject.kind === "payout" && need?._tag === "Wanted" ? `due: ${need.detail}` : "has no schedule",
    ends: ({ need }) => (need?._tag === "NotDue" ? need.next : undefined),
  },
  {
    reason: "locked",
    held: (facts) => {
      const lock = lockOf(facts)
      return lock === undefined
        ? undefined
        : `${lock.reason}; unlock: "cofferer resume --scope ${lock.scope} --reason TEXT"`
    },
    passed: () => "not locked",
  },
  {
    reason: "code",
    held: ({ need }) => (need?._tag === "Broken" || need?._tag === "Unanswered" ? need.detail : undefined),
    passed: ({ subject: { kind } }) => (kind === "code" ? "its code has answered" : "has no code of its own"),
  },
  {
    reason: "inhibited",
    held: ({ subject, snapshot }) => {
      if (subject.rule.inhibitedBy.length === 0) return undefined
      const by = subject.rule.inhibitedBy.filter((name) => snapshot.firing.has(name))
      return by.length === 0 ? undefined : `while ${by.join(" and ")} ${by.length === 1 ? "fires" : "fire"}`
    },
    passed: ({ subject: { rule } }) =>
      rule.inhibitedBy.length === 0 ? "no other rule forbids it" : `none of ${rule.inhibitedBy.join(", ")} fires`,
  },
]
