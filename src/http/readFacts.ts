import { Effect, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { ConditionName } from "../domain/alerts/healthConditions.ts"
import { dayMillis } from "../domain/Time.ts"
import { clockGap, type WrongClock } from "../rules/checks/wrongClock.ts"
import { isPaying, levelsOf, type PayingRule } from "../rules/Rule.ts"
import { AlertQueue, type Pending } from "../store/alerts/AlertQueue.ts"
import { disagreement, makeTrouble } from "../store/alerts/makeTrouble.ts"
import { Observations } from "../store/balances/Observations.ts"
import { crashes } from "../store/controls/starts.ts"
import { DiskSpace, enoughSpace } from "../store/database/DiskSpace.ts"
import { recordOf, Settings } from "../store/database/Settings.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { passedMillis, quarantinedUntil } from "../submitter/audit/quarantine.ts"
import { framings } from "../tx/Transaction.ts"
import { refusedReload } from "./putInForce.ts"
import type { View } from "./View.ts"

/** Name of the setting with the start of a condition that is alerted. */
export const troubleKey = (name: ConditionName): string => `health/${name}`

/** Time from a decision to a balance that shows the payment, without the rule's own waits. */
const paymentMillis = 60_000
/** Hold reasons during which a rule does not bring an account back. */
const resting: ReadonlySet<string | null> = new Set(["outside_hours", "maintenance"])

const timesIn = recordOf(Schema.Finite)

/** Setting: since when each account is out of its band, by the mode and its name. */
const times = Effect.map(Settings, (settings) => timesIn(settings, "outOfBand"))

type Accounts = Pick<View, "mode" | "accounts" | "rules">

const nameOf = ({ party, asset }: View["accounts"][number]): string => `${party}/${asset}`

/** True if no rule may bring the account back now. A payout or a rule on trial never does. */
const isAtRest = (rules: View["rules"], account: string): boolean => {
  const own = rules.filter(({ subject, kind, trial }) => subject === account && kind !== "payout" && !trial)
  const wanting = own.filter(({ reason }) => reason !== "in_band")
  return wanting.length > 0 && wanting.every(({ reason }) => resting.has(reason))
}

/**
 * Accounts out of band now, each with its start. The start is reset while its rules may not pay, and in another mode.
 */
const sinceOf = ({ mode, accounts, rules }: Accounts, before: ReadonlyMap<string, number>, now: number) =>
  accounts
    .filter(({ inBand }) => inBand === false)
    .map((account) => {
      const name = nameOf(account)
      const key = `${mode} ${name}`
      return { key, name, account, since: isAtRest(rules, name) ? now : Math.min(before.get(key) ?? now, now) }
    })

/** Milliseconds in which rules bring an account back: the slowest of those that bound it. A floor has no rule. */
const cycleMillis = (rules: ReadonlyArray<PayingRule>, name: string): number => {
  const own = rules.filter((rule) =>
    levelsOf(rule).some(({ party, asset }) => `${party.name}/${asset.symbol}` === name),
  )
  const cycles = own.map(({ forMillis, cooldownMillis, settleMillis }) => forMillis + cooldownMillis + settleMillis)
  return Math.max(0, ...cycles) + paymentMillis
}

/** Accounts out of band: for how long, and how long their rules take. */
export const readOutOfBand = Effect.fnUntraced(function* ({ rules }: Treasury, view: Accounts, now: number) {
  const before = yield* (yield* times).now
  const paying = rules.filter(isPaying)
  return sinceOf(view, before, now).map(({ name, account, since }) => ({
    account: name,
    balance: account.balance,
    seconds: (now - since) / 1_000,
    cycleSeconds: cycleMillis(paying, name) / 1_000,
  }))
})

/** Stores since when accounts are out of band. */
export const noteOutOfBand = Effect.fnUntraced(function* (view: Accounts, now: number) {
  const { now: known, keep } = yield* times
  yield* keep(new Map(sinceOf(view, yield* known, now).map(({ key, since }) => [key, since])))
})

/** Setting: since when alerts, and pages, wait for each receiver. */
const waits = Effect.map(Settings, (settings) => timesIn(settings, "undelivered"))

const pageKey = (receiver: string): string => `page ${receiver}`

/**
 * Start of each wait. The times of the alerts do not show it: no process may have run then, repeated and escalated
 * alerts are older, and a clock may have been wrong.
 */
const waitingSince = (pending: ReadonlyArray<Pending>, before: ReadonlyMap<string, number>, now: number) =>
  new Map(
    pending
      .flatMap(({ receiver, due, pages }) => [
        ...(due === 0 ? [] : [receiver]),
        ...(pages === 0 ? [] : [pageKey(receiver)]),
      ])
      .map((key) => [key, Math.min(before.get(key) ?? now, now)] as const),
  )

const readUndelivered = Effect.fnUntraced(function* (pending: ReadonlyArray<Pending>, now: number) {
  const since = waitingSince(pending, yield* (yield* waits).now, now)
  const secondsOf = (key: string) => (now - (since.get(key) ?? now)) / 1_000
  return pending.map(({ receiver, n, error }) => ({
    receiver,
    n,
    error,
    seconds: secondsOf(receiver),
    pageSeconds: secondsOf(pageKey(receiver)),
  }))
})

/** Stores since when alerts wait. */
export const noteUndelivered = Effect.fnUntraced(function* (now: number) {
  const { now: known, keep } = yield* waits
  yield* keep(waitingSince(yield* (yield* AlertQueue).pending, yield* known, now))
})

/** Begins each wait again, as at the start of a process. */
export const forgetUndelivered = Effect.flatMap(waits, ({ keep }) => keep(new Map()))

/** Factor of the bound at which low space ends, so that it does not alternate. */
const endShare = 1.25

/** Facts that the view does not show. */
interface More {
  /** Seconds between our clock and the newest known block; negative: the block is ahead. Null before the first. */
  readonly blockAgeSeconds: number | null
  readonly wrongClock: WrongClock | undefined
  readonly pending: ReadonlyArray<Pending>
}

/** Inputs of all health conditions. */
export type HealthFacts = Effect.Success<ReturnType<typeof readFacts>>

/** Reads what decides whether the treasury is healthy, beside what its view shows. */
export const readFacts = Effect.fnUntraced(function* (
  treasury: Treasury,
  view: Omit<View, "sentence" | "conditions">,
  { pending, ...more }: More,
) {
  const { maxAgeMillis } = treasury.network
  const now = Date.parse(view.at)
  const { dir, room } = yield* DiskSpace
  const space = yield* room
  const isLow = (yield* makeTrouble(yield* Settings, troubleKey("low_disk")).now) !== undefined
  const muted = [...treasury.alerting.conditions].flatMap(([name, millis]) => (millis === undefined ? [name] : []))
  const refused = yield* (yield* refusedReload).now
  const { blockAgeSeconds } = more
  return {
    ...view,
    ...more,
    maxAgeSeconds: maxAgeMillis / 1_000,
    /** Clock and newest known block are further apart than allowed, or no block is known. */
    gap: clockGap(now, blockAgeSeconds === null ? undefined : now - blockAgeSeconds * 1_000, maxAgeMillis),
    /** Why fewer gateways than must agree show the same balances. */
    disagreement: (yield* (yield* disagreement).now)?.detail,
    disk: { dir, free: space.free, low: enoughSpace(space) * (isLow ? endShare : 1) },
    /** Last refusal of changed files, if none came into force since. */
    refusedReload: refused?.detail,
    quarantine: yield* readQuarantine(view.mode, treasury.network.chainId),
    undelivered: yield* readUndelivered(pending, now),
    /** Conditions whose alerts the configuration switches off. */
    muted: new Set<string>(muted) as ReadonlySet<string>,
    outOfBand: yield* readOutOfBand(treasury, view, now),
    /** True if in the last 24 hours mempools decoded no wire form that was tried. */
    isUndecoded: isNeeded(view) && (yield* readUndecoded(treasury, now)),
    /** Ends of processes in the last 15 minutes that nobody requested. */
    crashes: yield* crashes,
  }
})

/** True while a payment is open or a rule needs one: otherwise nothing shows that a wire form is decoded again. */
const isNeeded = ({ intents, rules }: Pick<View, "intents" | "rules">): boolean =>
  intents.some(({ open }) => open) ||
  rules.some(({ kind, trial, state }) => kind !== "alert" && kind !== "notify" && !trial && state !== "inactive")

const readUndecoded = Effect.fnUntraced(function* ({ network: { framing } }: Treasury, now: number) {
  const undecoded = yield* (yield* Outbox).undecoded(now - dayMillis)
  return framing === "auto" ? undecoded.size === framings.length : undecoded.has(framing)
})

/** End of the wait for another copy of the database; without a daemon by the usual time of a block. */
const readQuarantine = Effect.fnUntraced(function* (mode: View["mode"], chainId: string) {
  const until = mode === "live" ? yield* quarantinedUntil : undefined
  if (until === undefined) return undefined
  const millis = yield* (yield* Observations).blockMillis
  const { accepted } = yield* (yield* ChainState).acceptedHead(chainId)
  const blocks = until === null || accepted === undefined ? undefined : until - accepted.height
  const seconds = blocks === undefined ? null : (Math.max(0, Number(blocks) * millis) + passedMillis) / 1_000
  return { until: until === null ? null : String(until), seconds }
})
