import { baseUnits, formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Decision, HoldReason } from "../domain/Decision.ts"
import type { Intent } from "../domain/Intent.ts"
import { contradiction, pinScope } from "./contradiction.ts"
import type { Need } from "./Need.ts"
import { feeMax, judge, type PolicyLine, type Verdict, type WindowUse } from "./Policy.ts"
import type { Level, PayingRule } from "./Rule.ts"
import { subjectOf } from "./Rule.ts"
import { ageMillis, networkFee, networkMinimum, reservedFrom, type Snapshot } from "./Snapshot.ts"
import { sweepNeed } from "./sweep.ts"
import { advance, observationsMin, type Timer } from "./Timer.ts"
import { topUpNeed } from "./topUp.ts"

/** After a payment that failed or was denied nothing is tried again for this long, whatever the cooldown. */
export const failureCooldownMillis = 60_000

/** What was decided about one subject, and how long its condition has been true. */
export interface Judgement {
  readonly decision: Decision
  readonly timer: Timer
}

type Held = Extract<Decision, { _tag: "Hold" }>
type Refused = Extract<Verdict, { permitted: false }>
type Wanted = Extract<Need, { inBand: false }>

const hold = (reason: HoldReason, detail: string): Held => ({ _tag: "Hold", reason, detail })

/**
 * Decides one subject of a paying rule. The first reason that applies, in the order of `holdReasons`, is the reason;
 * a payment is decided only where none does.
 */
export const decide = (rule: PayingRule, level: Level, snapshot: Snapshot, timer: Timer): Judgement => {
  const balance = snapshot.balance(level.party.publicKey, level.asset.id, level.balance)
  const stopped = stops(rule, level, snapshot)
  const blind = knowledge(rule, level, snapshot, balance)
  if (balance === undefined || snapshot.asOf === undefined || blind !== undefined) {
    return { decision: stopped ?? blind ?? hold("no_data", "no balance was ever seen"), timer }
  }
  const need: Need =
    rule.kind === "topUp"
      ? topUpNeed({ rule, level, balance, snapshot })
      : sweepNeed({ rule, level, balance, snapshot })
  const next = advance(timer, { firing: !need.inBand, now: snapshot.now, observation: snapshot.asOf })
  if (stopped !== undefined) return { decision: stopped, timer: next }
  if (need.inBand) return { decision: hold("in_band", need.detail), timer: next }
  const waiting = pending(rule, need, next, snapshot) ?? history(rule, level, need, snapshot)
  return { decision: waiting ?? pay(rule, level, need, snapshot), timer: next }
}

const stops = (rule: PayingRule, level: Level, snapshot: Snapshot): Held | undefined => {
  if (snapshot.halts.length > 0) return hold("halted", `halted: ${snapshot.halts.join(", ")}`)
  const other = rule.kind === "topUp" ? rule.from : rule.to
  const { symbol } = level.asset
  const scopes = ["all", `rule:${rule.name}`, `party:${level.party.name}`, `party:${other.name}`, `asset:${symbol}`]
  const pause = snapshot.pauses.find((p) => scopes.includes(p.scope))
  return pause === undefined ? undefined : hold("paused", `paused (${pause.scope}): ${pause.reason}`)
}

const knowledge = (
  rule: PayingRule,
  level: Level,
  snapshot: Snapshot,
  balance: bigint | undefined,
): Held | undefined => {
  if (snapshot.asOf === undefined) return hold("no_data", "no balance was read yet")
  if (balance === undefined) return hold("no_data", `no balance of ${subjectOf(level)} was ever seen`)
  const age = ageMillis(snapshot, snapshot.asOf)
  const seconds = (millis: number) => (millis / 1_000).toFixed(1)
  // A block from the future never grows old, so it would be believed for ever.
  if (-age > snapshot.maxAgeMillis) {
    const most = seconds(snapshot.maxAgeMillis)
    return hold("stale", `the newest final block is ${seconds(-age)} s ahead of our clock; the limit is ${most} s`)
  }
  const limit = rule.maxAgeMillis ?? snapshot.maxAgeMillis
  if (age > limit) {
    return hold("stale", `the newest final block is ${seconds(age)} s old; the limit is ${seconds(limit)} s`)
  }
  if (snapshot.catchingUp !== undefined) return hold("catching_up", snapshot.catchingUp)
  if (snapshot.disagreement !== undefined) return hold("disagreement", snapshot.disagreement)
  const payer = rule.kind === "topUp" ? rule.from : level.party
  const drift =
    snapshot.drift(level.party.publicKey, level.asset.id, level.balance) ??
    snapshot.drift(payer.publicKey, level.asset.id, "free")
  return drift === undefined ? undefined : hold("drift", drift)
}

const pending = (rule: PayingRule, need: Wanted, timer: Timer, snapshot: Snapshot): Held | undefined => {
  const left = rule.forMillis - (snapshot.now - (timer.firingSince ?? snapshot.now))
  if (left <= 0 && timer.observations >= observationsMin) return undefined
  const wait =
    left > 0 ? `must stay so for ${(left / 1_000).toFixed(left % 1_000 === 0 ? 0 : 1)} s` : "must be seen twice"
  return hold("pending", `${need.detail}; ${wait}`)
}

/** Open payments that do not move by themselves. */
const waits: ReadonlySet<string> = new Set(["unknown", "manual", "awaiting_approval"])

/** What earlier payments forbid: open ones, ones not yet seen in the balances, and recent ones. */
const history = (rule: PayingRule, level: Level, need: Wanted, snapshot: Snapshot): Held | undefined => {
  const touches = ({ payment }: Intent, key: string) =>
    payment.assetId === level.asset.id && (payment.toKey === key || payment.fromKey === key)
  const own = snapshot.open.filter((i) => touches(i, level.party.publicKey))
  const amountOf = ({ payment }: Intent) =>
    `${formatAmount(payment.amount, level.asset.decimals)} ${level.asset.symbol}`
  const stuck = own.find((i) => i.state === "unknown" || i.state === "manual")
  const asked = own.find((i) => i.state === "awaiting_approval")
  const moving = own.find((i) => !waits.has(i.state))
  if (moving !== undefined) return hold("in_flight", `${amountOf(moving)} is under way (${moving.state})`)
  const unseen = snapshot.settled.find(
    (i) =>
      i.settledAt !== undefined &&
      i.settledAt >= (snapshot.asOf ?? 0n) &&
      (touches(i, need.from.publicKey) || touches(i, need.to.publicKey)),
  )
  if (unseen !== undefined) return hold("settling", "the last payment is newer than the balances")
  const left = cooldownLeft(rule, level, snapshot)
  if (left > 0) return hold("cooldown", `${Math.ceil(left / 1_000)} s left`)
  if (stuck !== undefined) return hold("unresolved", `an earlier payment is ${stuck.state}: ${stuck.detail}`)
  if (asked !== undefined) return hold("awaiting_approval", `${amountOf(asked)} waits for people`)
  return undefined
}

const executed: ReadonlySet<string> = new Set(["confirmed", "rehearsed"])
const calledOff: ReadonlySet<string> = new Set(["cancelled", "rejected"])

const cooldownLeft = (rule: PayingRule, level: Level, snapshot: Snapshot): number => {
  const subject = subjectOf(level)
  let left = 0
  for (const intent of snapshot.settled) {
    if (intent.rule !== rule.name || intent.subject !== subject || calledOff.has(intent.state)) continue
    const wait = executed.has(intent.state) ? rule.cooldownMillis : Math.max(rule.cooldownMillis, failureCooldownMillis)
    left = Math.max(left, intent.updatedAt + wait - snapshot.now)
  }
  return left
}

const listing = ({ asset }: Level, snapshot: Snapshot): Held | undefined => {
  if (snapshot.listed === undefined) return hold("asset_status", "no asset listing was read yet")
  const wrong = contradiction(asset, snapshot.listed.get(asset.id))
  if (wrong !== undefined) return hold("asset_status", wrong)
  const halt = snapshot.pauses.find((p) => p.scope === pinScope(asset.symbol))
  return halt === undefined ? undefined : hold("asset_status", halt.reason)
}

/** The payment itself: its size by the funds, then the minimum, the listing, the policy, and the fee. */
const pay = (rule: PayingRule, level: Level, need: Wanted, snapshot: Snapshot): Decision => {
  const { asset } = level
  const say = (units: bigint) => formatAmount(units, asset.decimals)
  const share = snapshot.policy.maxFee
  const observed = snapshot.balance(need.from.publicKey, asset.id, "free")
  const floor = need.from.floor.get(asset.id) ?? 0n
  const spendable = (observed ?? 0n) - reservedFrom(snapshot, need.from.publicKey, asset.id) - floor
  const covered = spendable >= need.amount + feeMax(share, need.amount)
  const affordable = spendable > 0n ? (spendable * share.denominator) / (share.denominator + share.numerator) : 0n
  const partial = !covered && (rule.onShort === "partial" || rule.kind === "sweep")
  const amount = partial ? affordable : need.amount
  const min = [rule.min.get(asset.id) ?? 0n, networkMinimum(snapshot, asset), 1n].reduce((a, b) => (a > b ? a : b))
  const short = `${need.from.name} has ${observed === undefined ? "no known balance" : say(observed)}`
  if (need.amount < min) return hold("too_small", `${say(need.amount)} is under the least of ${say(min)}`)
  const unlisted = listing(level, snapshot)
  if (unlisted !== undefined) return unlisted
  const payment = { from: need.from.publicKey, to: need.to.publicKey, assetId: asset.id, amount }
  const verdict = judge(snapshot.policy, payment, (line) => windowUse(snapshot, line))
  if (!verdict.permitted && amount > 0n) {
    const limit = verdict.refusal === "window_amount" || verdict.refusal === "window_count"
    return hold(limit ? "limit" : "policy", limitText(verdict, amount, snapshot, level))
  }
  const fee = networkFee(snapshot, asset, amount)
  if (fee !== undefined && fee > feeMax(share, amount)) {
    return hold("fee", `the network takes ${say(fee)}, more than maxFee allows for ${say(amount)}`)
  }
  if (!covered && (!partial || amount < min)) {
    const kept = floor > 0n ? ` and keeps ${formatLevel(floor, asset.decimals)}` : ""
    return hold("short", `${short}${kept}; ${say(need.amount)} and its fee are needed`)
  }
  return {
    _tag: "Act",
    detail: need.detail,
    payment: {
      from: need.from.name,
      fromKey: need.from.publicKey,
      to: need.to.name,
      toKey: need.to.publicKey,
      asset: asset.symbol,
      assetId: asset.id,
      amount: baseUnits(amount),
    },
  }
}

/** The verdict in units of the asset, with the numbers that decided. */
const limitText = (verdict: Refused, amount: bigint, snapshot: Snapshot, { asset }: Level): string => {
  const say = (units: bigint) => formatLevel(units, asset.decimals)
  const { line } = verdict
  if (line === undefined) return verdict.detail
  const at = `policy line ${line.line}`
  if (verdict.refusal === "amount") return `${say(amount)} is above ${say(line.perTransfer)} per transfer (${at})`
  if (verdict.refusal !== "window_amount") return verdict.detail
  const used = say(windowUse(snapshot, line).amount)
  return `${used} of ${say(line.per24h)} in 24 h are used; ${say(amount)} more is too much (${at})`
}

/** A line's window: what was signed, and what open intents will sign. */
export const windowUse = (snapshot: Snapshot, line: PolicyLine): WindowUse =>
  snapshot.open
    .filter(
      ({ state, payment }) =>
        (state === "proposed" || state === "awaiting_approval" || state === "reserved") &&
        line.from.has(payment.fromKey) &&
        line.to.has(payment.toKey) &&
        line.assetId === payment.assetId,
    )
    .reduce(
      (sum, { payment }) => ({ amount: sum.amount + payment.amount, count: sum.count + 1 }),
      snapshot.signed(line),
    )
