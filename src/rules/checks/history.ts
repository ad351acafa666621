import { sumText } from "../../domain/Decision.ts"
import { type Intent, isFinalIntent } from "../../domain/Intent.ts"
import { dayMillis, millisOf, nanosOf, timeText } from "../../domain/Time.ts"
import { plural } from "../../domain/text.ts"
import { type RuleAccount, receiverKey } from "../Account.ts"
import type { PayingRule } from "../Rule.ts"
import type { FundingRequest } from "../Snapshot.ts"
import { isOfSubject, type Subject } from "../Subject.ts"
import { amountText, type Check, observationsMin, type SubjectFacts } from "../SubjectFacts.ts"

/** Shortest cooldown after a failed or denied payment. */
const failureCooldownMillis = 60_000

/** Upper bound of the difference between block time and our clock. */
const clocksMillis = 60_000

/** How far back (milliseconds) ended payments and funding requests are read. */
export const reachOf = (rules: ReadonlyArray<PayingRule>): { readonly settled: number; readonly asked: number } => {
  const asked = rules.reduce((most, rule) => Math.max(most, rule.cooldownMillis), 0)
  const settling = rules.reduce((most, rule) => Math.max(most, rule.settleMillis), 0)
  return { settled: Math.max(dayMillis, asked, settling + clocksMillis), asked }
}

/** States of open payments that wait for a person or an answer. */
export const waits: ReadonlySet<string> = new Set(["unknown", "manual", "awaiting_approval"])
const executed: ReadonlySet<string> = new Set(["confirmed", "rehearsed"])
const calledOff: ReadonlySet<string> = new Set(["cancelled", "rejected"])

type Held = Pick<RuleAccount, "party" | "asset">

/** Accounts on which any open payment keeps the subject from deciding another. */
const busyAccounts = (subject: Subject): ReadonlyArray<Held> => {
  const { asset } = subject
  switch (subject.kind) {
    case "payout":
      return []
    case "rebalance":
      return subject.parties.map((party) => ({ party, asset }))
    case "code":
      return [...subject.accounts, ...subject.rule.to.map((party) => ({ party, asset }))]
    default:
      return subject.accounts.map(({ party }) => ({ party, asset }))
  }
}

const touches = ({ payment }: Intent, assetId: string, key: string): boolean =>
  payment.assetId === assetId && (payment.toKey === key || payment.fromKey === key)

/** Open payments that keep the subject from deciding another. */
export const openOf = ({ subject, snapshot }: SubjectFacts): ReadonlyArray<Intent> => {
  if (snapshot.open.length === 0) return []
  const busy = busyAccounts(subject)
  return snapshot.open.filter(
    (intent) =>
      isOfSubject(intent, subject) || busy.some(({ party, asset }) => touches(intent, asset.id, party.publicKey)),
  )
}

const askedOf = ({ subject, snapshot }: SubjectFacts): FundingRequest | undefined =>
  snapshot.requests.findLast(({ rule, subject: name }) => rule === subject.rule.name && name === subject.name)

const wordsOf = ({ payment, decimals }: Intent): string => sumText(payment, decimals)

const forLeft = ({ subject, snapshot, timer }: SubjectFacts): number =>
  subject.rule.forMillis - (snapshot.now - (timer.firingSince ?? snapshot.now))

const needText = ({ need }: SubjectFacts): string => need?.detail ?? ""

/** When a payment ended. If that time is in the future, a clock was ahead: then its block time or its decision. */
const endedAt = ({ updatedAt, settledAt, createdAt }: Intent, now: number): number => {
  if (updatedAt <= now) return updatedAt
  return Math.min(settledAt === undefined ? createdAt : millisOf(settledAt), now)
}

/** Unix milliseconds at which the subject's cooldown is over; 0 where none runs. */
const cooldownEnd = (facts: SubjectFacts): number => {
  const { subject, snapshot } = facts
  const { rule } = subject
  let end = 0
  for (const intent of snapshot.settled) {
    if (!isOfSubject(intent, subject) || calledOff.has(intent.state)) continue
    const wait = executed.has(intent.state) ? rule.cooldownMillis : Math.max(rule.cooldownMillis, failureCooldownMillis)
    end = Math.max(end, endedAt(intent, snapshot.now) + wait)
  }
  const asked = askedOf(facts)?.endedAt
  return asked === undefined || asked > snapshot.now ? end : Math.max(end, asked + rule.cooldownMillis)
}

/** A payment of one of the need's accounts that is newer than the balances. */
const unseenBy = ({ subject, snapshot, need }: SubjectFacts): Intent | undefined => {
  if (need?._tag !== "Wanted") return undefined
  const seen = (snapshot.asOf ?? 0n) - nanosOf(subject.rule.settleMillis)
  const watched = subject.kind === "code" || subject.kind === "rebalance" ? subject.accounts : []
  const touched = (intent: Intent) =>
    watched.some(({ party, asset }) => touches(intent, asset.id, party.publicKey)) ||
    need.transfers.some(
      ({ from, to }) =>
        touches(intent, subject.asset.id, from.publicKey) || touches(intent, subject.asset.id, receiverKey(to)),
    )
  return snapshot.settled.find(
    (intent) => intent.settledAt !== undefined && intent.settledAt >= seen && touched(intent),
  )
}

/** "14:02:11Z" of a block's time. */
const clockText = (nanos: bigint): string => `${new Date(millisOf(nanos)).toISOString().slice(11, 19)}Z`

const settlingText = (facts: SubjectFacts, unseen: Intent | undefined): string | undefined => {
  if (unseen === undefined) return undefined
  const { rule } = facts.subject
  const { asOf } = facts.snapshot
  const wait = rule.settleMillis === 0 ? "" : ` and ${timeText(rule.settleMillis)} more are waited for`
  const known = asOf === undefined ? "" : `; they end at ${clockText(asOf)}${wait}`
  return `the payment of ${clockText(unseen.settledAt ?? 0n)} is newer than the balances${known}`
}

/** Checks the need, its timing and earlier payments, in the order of `holdReasons`. */
export const history: ReadonlyArray<Check> = [
  {
    reason: "in_band",
    held: ({ need }) => (need?._tag === "InBand" ? need.detail : undefined),
    passed: needText,
  },
  {
    reason: "pending",
    held: (facts) => {
      const left = forLeft(facts)
      if (left <= 0 && facts.timer.observations >= observationsMin) return undefined
      const wait =
        left > 0 ? `must stay so for ${(left / 1_000).toFixed(left % 1_000 === 0 ? 0 : 1)} s` : "must be seen twice"
      return `${needText(facts)}; ${wait}`
    },
    passed: ({ snapshot, timer }) =>
      `so for ${timeText(snapshot.now - (timer.firingSince ?? snapshot.now))}, seen ${plural(timer.observations, "time")}`,
    ends: (facts) => (forLeft(facts) > 0 ? facts.snapshot.now + forLeft(facts) : undefined),
  },
  {
    reason: "in_flight",
    held: (facts) => {
      const moving = openOf(facts).find(({ state }) => !waits.has(state))
      if (moving !== undefined) {
        const isOver = isFinalIntent(moving.state)
        if (isOver) return `${wordsOf(moving)} is ${moving.state}, and no movement of it was seen yet`
        return `${wordsOf(moving)} is under way${moving.state === "in_flight" ? "" : ` (${moving.state})`}`
      }
      const asked = askedOf(facts)
      if (asked === undefined || asked.endedAt !== undefined) return undefined
      return `people were asked for ${amountText(facts, asked.amount)} ${timeText(facts.snapshot.now - asked.at)} ago`
    },
    passed: () => "no payment of this account is under way",
  },
  {
    reason: "settling",
    held: (facts) => settlingText(facts, unseenBy(facts)),
    passed: () => "the balances are newer than the last payment",
  },
  {
    reason: "cooldown",
    held: (facts) => {
      const left = cooldownEnd(facts) - facts.snapshot.now
      return left > 0 ? `${Math.ceil(left / 1_000)} s left` : undefined
    },
    passed: ({ subject }) =>
      subject.rule.cooldownMillis === 0
        ? "none is set"
        : `nothing was paid or asked for in the last ${timeText(subject.rule.cooldownMillis)}`,
    ends: cooldownEnd,
  },
  {
    reason: "unresolved",
    held: (facts) => {
      const stuck = openOf(facts).find(({ state }) => state === "unknown" || state === "manual")
      return stuck === undefined ? undefined : `an earlier payment is ${stuck.state}: ${stuck.detail}`
    },
    passed: () => "no earlier payment is unknown or waits for a person",
  },
  {
    reason: "awaiting_approval",
    held: (facts) => {
      const asked = openOf(facts).find(({ state }) => state === "awaiting_approval")
      return asked === undefined ? undefined : `${wordsOf(asked)} waits for approval`
    },
    passed: () => "nothing waits for approval",
  },
]
