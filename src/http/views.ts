import { Clock, Effect } from "effect"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { formatAmount, formatLevel } from "../domain/Amount.ts"
import { general } from "../domain/Balance.ts"
import { holdText, restText } from "../domain/Decision.ts"
import type { Intent } from "../domain/Intent.ts"
import { dayMillis, instantText, isoOf, millisOf } from "../domain/Time.ts"
import { dayOf, signedUses } from "../engine/snapshot.ts"
import type { GatewayHealth } from "../gateway/Health.ts"
import { assetById, type PinnedAsset, receiverKey } from "../rules/Account.ts"
import { type AlertRule, conditionText } from "../rules/Condition.ts"
import { nextFree, type PeriodUse, type PolicyLine, periodUse } from "../rules/policy/Policy.ts"
import { isAlert, isPaying, isRehearsed, levelsOf, type PayingRule } from "../rules/Rule.ts"
import { isOn, type RuleMemory } from "../rules/RuleMemory.ts"
import type { AlertRecord } from "../store/alerts/alertRecords.ts"
import { Observations } from "../store/balances/Observations.ts"
import type { AccountBalance } from "../store/balances/storeRows.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { type PrintedFlags, withFlags } from "../telemetry/Logging.ts"

/** Source of balances. */
interface Observed {
  /** Newest final block whose rows are known; 0 if the gateway reports no heights. */
  readonly block: string
  readonly at: string
  /** Seconds since then by this host's clock, negative where it is behind; null while that clock may be wrong. */
  readonly ageSeconds: number | null
  /** Name of the gateway. */
  readonly source: string
}

export interface RuleView {
  readonly name: string
  readonly kind: string
  readonly subject: string
  /** On trial: it decides, and pays nothing. */
  readonly trial: boolean
  readonly state: string
  readonly reason: string | null
  /** Severity of an alert rule while it fires; null while it does not, and for other rules. */
  readonly fires: "page" | "ticket" | "info" | null
  /** Result of the last evaluation; empty before it, and of rules without state. */
  readonly detail: string
  readonly sentence: string
  /** The sentence without "holds" or "acting", for use beside the state. */
  readonly reading: string
}

/**
 * Accounts that rules bound, or that pay; those out of band or unknown first. `observed`: the block up to which rows of
 * all accounts are known.
 */
export const accountViews = (
  treasury: Treasury,
  seen: ReadonlyArray<AccountBalance>,
  open: ReadonlyArray<Intent>,
  observed: Observed | undefined,
) =>
  [...treasury.parties.values()]
    .flatMap((party) =>
      [...treasury.assets.values()].flatMap((asset) => {
        const account = seen.find(
          (a) => a.party === party.publicKey && a.asset === asset.id && a.type === general && a.market === "",
        )
        const levels = marksOf(treasury, party.name, asset)
        if (account === undefined && levels.length === 0) return []
        const mine = open.filter((i) => i.payment.assetId === asset.id)
        const reserved = mine
          .filter(({ payment }) => payment.fromKey === party.publicKey)
          .reduce((sum, { payment, feeMax }) => sum + payment.amount + feeMax, 0n)
        const incoming = mine
          .filter(({ payment }) => payment.toKey === party.publicKey)
          .reduce((sum, { payment }) => sum + payment.amount, 0n)
        const balance = account?.balance ?? 0n
        const top = [balance + incoming, ...levels.map((l) => l.units)].reduce((a, b) => (a > b ? a : b), 1n)
        const share = (units: bigint) => Number((units * 1_000n) / ((top * 11n) / 10n + 1n)) / 1_000
        const say = (units: bigint) => formatAmount(units, asset.decimals)
        return [
          {
            party: party.name,
            asset: asset.symbol,
            balance: account === undefined ? "unknown" : say(balance),
            units: String(balance),
            reserved: say(reserved),
            incoming: say(incoming),
            available: say(balance > reserved ? balance - reserved : 0n),
            /** Includes the levels of rules on trial, which do not count for `inBand`. */
            levels: levels.map((l) => ({
              name: l.name,
              value: formatLevel(l.units, asset.decimals),
              share: share(l.units),
              trial: l.trial,
            })),
            /** Position of the balance, without and with money under way, on a bar from 0 to 1; for drawing only. */
            share: share(balance),
            shareSoon: share(balance - (reserved < balance ? reserved : balance) + incoming),
            /** Null if no balance of the account was ever seen, which is not the same as zero. */
            observation: account && observed ? { ...observed, changedAt: isoOf(account.timestamp) } : null,
            /** null if no balance was seen. */
            inBand: account === undefined ? null : levels.every((l) => l.trial || l.holds(balance)),
          },
        ]
      }),
    )
    .toSorted((a, b) => Number(a.inBand) - Number(b.inBand))

/** A level of an account that the file sets. */
interface Mark {
  readonly name: "floor" | "below" | "above" | "target"
  /** Empty for a floor. */
  readonly rule: string
  readonly units: bigint
  readonly trial: boolean
  readonly holds: (balance: bigint) => boolean
}

/** Levels of an account that the file sets: its floor, and those of each rule. */
export const marksOf = (treasury: Treasury, party: string, asset: PinnedAsset): ReadonlyArray<Mark> => {
  const floor = treasury.parties.get(party)?.floor.get(asset.id)
  const bands = treasury.rules.flatMap((rule) => {
    const of = { rule: rule.name, trial: isPaying(rule) && rule.trial }
    const isBelow = rule.kind === "topUp" || rule.kind === "request"
    return levelsOf(rule)
      .filter((level) => level.party.name === party && level.asset.id === asset.id)
      .flatMap(
        ({ trigger, target }): ReadonlyArray<Mark> => [
          isBelow
            ? { ...of, name: "below", units: trigger, holds: (balance) => balance >= trigger }
            : { ...of, name: "above", units: trigger, holds: (balance) => balance <= trigger },
          { ...of, name: "target", units: target, holds: () => true },
        ],
      )
  })
  if (floor === undefined) return bands
  return [{ name: "floor", rule: "", units: floor, trial: false, holds: (balance) => balance >= floor }, ...bands]
}

/** Lines of the policy with their use in the last 24 hours, for people. */
export const limitViews = Effect.fnUntraced(function* (treasury: Treasury) {
  const uses = yield* usesOf(treasury)
  return uses.map((use) => paymentView(treasury, use))
})

/**
 * Use of the policy's limits for metrics, without perTransfer, which is not used up. `share`: from 0; above 1 where the
 * policy was made stricter meanwhile.
 */
export const limitUses = Effect.fnUntraced(function* (treasury: Treasury) {
  return (yield* usesOf(treasury)).flatMap(({ line, use: { amount, count } }) => [
    { line: String(line.line), limit: "per_24h", share: shareOf(amount, line.per24h) },
    { line: String(line.line), limit: "transfers_per_24h", share: countShare(line, count) },
  ])
})

const usesOf = Effect.fnUntraced(function* ({ policy }: Treasury) {
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* (yield* Observations).watermark
  const open = yield* (yield* Outbox).open
  const day = dayOf(open, now, watermark === undefined ? now : millisOf(watermark.timestamp))
  const known = { open, ...(yield* signedUses(policy, day)) }
  return policy.lines.map((line) => ({ line, use: periodUse(known, line, []) }))
})

/** Used share of a limit; a limit of zero counts as used up. */
const shareOf = (used: bigint, limit: bigint): number => (limit === 0n ? 1 : Number((used * 1_000n) / limit) / 1_000)

const countShare = ({ transfersPer24h }: Pick<PolicyLine, "transfersPer24h">, count: number): number =>
  shareOf(BigInt(count), BigInt(transfersPer24h))

const namesOf = (treasury: Treasury, keys: ReadonlySet<string>): string =>
  [...treasury.parties.values(), ...treasury.addresses.values()]
    .filter((one) => keys.has(receiverKey(one)))
    .map(({ name }) => name)
    .join(", ")

export const paymentView = (
  treasury: Treasury,
  { line, use }: { readonly line: PolicyLine; readonly use: PeriodUse },
) => {
  const { amount, count } = use
  const asset = assetById(treasury.assets, line.assetId)
  const say = (units: bigint) => formatLevel(units, asset?.decimals ?? 0)
  const symbol = asset?.symbol ?? line.assetId
  const next = nextFree(line, use)
  const isUsedUp = amount + line.perTransfer > line.per24h || count >= line.transfersPer24h
  return {
    /** Position in the file, from 1. */
    line: line.line,
    text: `${namesOf(treasury, line.from)} -> ${namesOf(treasury, line.to)}, ${symbol}: ${say(line.perTransfer)} each`,
    /** Amounts of the last 24 hours, signed or set aside. */
    used: `${say(amount)} ${symbol}`,
    limit: `${say(line.per24h)} ${symbol}`,
    /** How much of the limit that is nearest to its end is used, from 0; above 1 where the policy became stricter. */
    share: Math.max(shareOf(amount, line.per24h), countShare(line, count)),
    transfers: `${count} of ${line.transfersPer24h}`,
    /** When the oldest payment leaves the period, if less than one full transfer is left; else empty. */
    free:
      isUsedUp && next !== undefined ? `${say(next.amount)} ${symbol} more are free at ${instantText(next.at)}` : "",
  }
}

/** State of each rule with its reason: firing alert rules first, then in the order of the file. */
export const ruleViews = (
  treasury: Treasury,
  memories: ReadonlyArray<RuleMemory>,
  mode: Mode,
): ReadonlyArray<RuleView> => viewsOf(treasury, memories, mode).toSorted((a, b) => urgencyOf(b) - urgencyOf(a))

const urgencyOf = ({ fires }: RuleView): number => (fires === "page" ? 2 : fires === "ticket" ? 1 : 0)

const viewsOf = (treasury: Treasury, memories: ReadonlyArray<RuleMemory>, mode: Mode): ReadonlyArray<RuleView> =>
  treasury.rules.flatMap((rule): ReadonlyArray<RuleView> => {
    if (isAlert(rule)) return alertViews(rule, memories)
    if (!isPaying(rule)) {
      const asset = rule.asset === "any" ? "any asset" : rule.asset.symbol
      const sentence = `alerts when ${asset} becomes ${rule.becomes.join(" or ")}`
      const view = { name: rule.name, kind: rule.kind, subject: asset, trial: false, state: "watching" }
      return [{ ...view, reason: null, fires: null, detail: "", sentence, reading: sentence }]
    }
    const own = memories.filter((m) => m.rule === rule.name)
    const rehearsal = rehearsalText(rule, mode)
    const view = { name: rule.name, kind: rule.kind, trial: rule.trial, fires: null }
    if (own.length === 0) {
      const sentence = `${rehearsal}not yet evaluated`
      return [{ ...view, subject: "", state: "inactive", reason: null, detail: "", sentence, reading: sentence }]
    }
    return own.map(({ subject, state, reason, detail }) => ({
      ...view,
      subject,
      state,
      reason: reason ?? null,
      detail,
      sentence: `${rehearsal}${reason === undefined ? `acting: ${detail}` : holdText(reason, detail)}`,
      reading: `${rehearsal}${reason === undefined ? detail : restText(reason, detail)}`,
    }))
  })

/** Prefix for a rule that only simulates: it decides by other balances than the accounts show. */
const rehearsalText = (rule: PayingRule, mode: Mode): string => {
  if (rule.trial) return "on trial, pays nothing; "
  return isRehearsed(mode, rule) ? "rehearsed, as if its payments had been made; " : ""
}

/** State of an alert rule, and whether its alert was sent. */
const alertViews = (rule: AlertRule, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> => {
  const { name } = rule
  const memory = memories.find((m) => m.rule === name)
  const waits = `alerts when ${conditionText(rule.when)}`
  const view = { name, kind: "notify", subject: "", trial: false }
  if (memory === undefined)
    return [{ ...view, state: "inactive", reason: null, fires: null, detail: "", sentence: waits, reading: waits }]
  const { state, reason, detail } = memory
  const fires = isOn(memory) ? rule.severity : null
  const held = reason === undefined || reason === "in_band" ? undefined : reason.replaceAll("_", " ")
  const words = state === "acting" ? "fires" : held === undefined ? "nothing to report" : `holds: ${held}`
  const rest = `${detail} (${waits})`
  const reading = `${held ?? words}; ${rest}`
  return [{ ...view, state, reason: reason ?? null, fires, detail, sentence: `${words}; ${rest}`, reading }]
}

/** Configured gateways with their health; "unknown" without a daemon. */
export const gatewayViews = (treasury: Treasury, known: ReadonlyArray<GatewayHealth>) =>
  treasury.network.gateways.map(({ name }) => {
    const health = known.find((one) => one.name === name)
    const height = health?.named === undefined ? null : String(health.named)
    return {
      name,
      /** up, lagging, quarantined, banned, down, or unknown where no daemon runs. */
      state: (health?.state ?? "unknown") as string,
      /** True if one of its last 20 requests gave a usable answer. */
      isHeard: health?.isHeard ?? false,
      height,
      /** Why it is not up, or what its last failure was. */
      detail: health?.detail ?? "",
      /** The chain that it is on, where that is not the treasury's. */
      otherChain: health?.otherChain ?? null,
      /** Time of its blocks minus this host's clock; null if unknown. */
      aheadSeconds: health?.aheadMillis === undefined ? null : health.aheadMillis / 1_000,
    }
  })

/** Periods whose balance changes are lost, newest first, and parts of the past that are being read. */
export const pastView = Effect.fnUntraced(function* () {
  const observations = yield* Observations
  const gaps = yield* observations.gaps
  return {
    gaps: gaps.map(({ since, until, cause, seenAt }) => ({
      since: isoOf(since),
      until: isoOf(until),
      cause,
      seenAt: new Date(seenAt).toISOString(),
    })),
    backfills: (yield* observations.backfills).map(({ since, until, next }) => ({
      since: isoOf(since),
      until: isoOf(until),
      next: isoOf(next),
      /** How much of it is read, from 0 to 1. */
      share: Number(((next - since) * 1_000n) / (until - since)) / 1_000,
    })),
  }
})

/** Time for which status shows that terms came into force without the operators' keys. */
const acceptedMillis = 7 * dayMillis

/**
 * Terms that a person accepted without the operators' keys: while their hour runs (`inForceAt` is null), and for a
 * week after they came into force.
 */
export const acceptedView = Effect.fnUntraced(function* (now: number) {
  const last = yield* (yield* Approvals).acceptance
  if (last === undefined || (last.inForceAt !== null && now - last.inForceAt > acceptedMillis)) return null
  const { hash, author, reason, at, inForceAt } = last
  const inForce = inForceAt === null ? null : new Date(inForceAt).toISOString()
  return { hash, author, reason, at: new Date(at).toISOString(), inForceAt: inForce }
})

/** One of the newest alerts. */
export const alertView = ({ at, state, ackedBy, pending, dead, ...alert }: AlertRecord, flags: PrintedFlags) => ({
  /** Number by which `cofferer alerts` names it. */
  seq: alert.seq,
  at: new Date(at).toISOString(),
  severity: alert.severity,
  subject: alert.subject,
  detail: withFlags(alert.detail, flags),
  /** null: an info, which asks nobody to act. */
  state: alert.severity === "info" ? null : state,
  /** Person who acknowledged it; null: nobody. */
  ackedBy,
  /** Number of receivers that have not accepted it. */
  waiting: pending + dead,
})
