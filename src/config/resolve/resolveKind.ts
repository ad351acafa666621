import { balanceName } from "../../rules/kinds/code.ts"
import type { Level, PayingRule, RuleBase, Weight } from "../../rules/Rule.ts"
import type { Hours, Window } from "../../rules/Schedule.ts"
import { codeOf } from "../code/askCode.ts"
import { isLoadedFunction } from "../code/loadRules.ts"
import { hashIn } from "../code/withCode.ts"
import { asArray } from "../schema/Fields.ts"
import type { RuleText } from "../schema/RuleText.ts"
import { isAmount, type Reporter } from "../yaml/Reporter.ts"
import { resolveSchedule } from "./resolveHours.ts"
import {
  type Addresses,
  type Assets,
  accountOf,
  assetOf,
  externalOf,
  type Parties,
  type Path,
  partyOf,
  payerOf,
  refuseSelf,
} from "./resolveNames.ts"
import { shareOf } from "./resolvePolicy.ts"

/** Definitions from the rest of the file. */
export interface KnownNames {
  readonly parties: Parties
  readonly addresses: Addresses
  readonly assets: Assets
  readonly hours: ReadonlyMap<string, Hours>
  readonly maintenance: ReadonlyArray<Window>
  /** All rules by name; one that "reports" changes of listings has no condition, and is never held. */
  readonly rules: ReadonlyMap<string, "pays" | "alerts" | "reports">
  readonly report: Reporter
}

type Kind<K extends keyof RuleText> = NonNullable<RuleText[K]>

/** The rule of the one kind that is given; undefined where a name in it is not known. */
export const resolveKind = (raw: RuleText, base: RuleBase, path: Path, known: KnownNames): PayingRule | undefined => {
  if (raw.topUp !== undefined) return resolveTopUp(raw.topUp, base, [...path, "topUp"], known)
  if (raw.sweep !== undefined) return resolveSweep(raw.sweep, base, [...path, "sweep"], known)
  if (raw.rebalance !== undefined) return resolveRebalance(raw.rebalance, base, [...path, "rebalance"], known)
  if (raw.split !== undefined) return resolveSplit(raw.split, base, [...path, "split"], known)
  if (raw.payout !== undefined) return resolvePayout(raw, raw.payout, base, path, known)
  if (raw.withdraw !== undefined) return resolveWithdraw(raw.withdraw, base, [...path, "withdraw"], known)
  if (raw.code !== undefined) return resolveCode(raw.code, base, [...path, "code"], known)
  return raw.request === undefined ? undefined : resolveRequest(raw.request, base, [...path, "request"], known)
}

const resolveTopUp = (raw: Kind<"topUp">, base: RuleBase, at: Path, known: KnownNames): PayingRule | undefined => {
  const { parties, report } = known
  const from = payerOf(raw.from, [...at, "from"], parties, report)
  const levels = raw.levels.flatMap((l, i, all) => {
    const place = [...at, "levels", i]
    if (l.party === raw.from) refuseSelf(l.party, [...place, "party"], report)
    const twin = all.findIndex((other) => other.party === l.party && other.asset === l.asset)
    if (twin < i) report.add(place, `a second level for ${l.party}/${l.asset}`, "keep one of them")
    return resolveLevel({ ...l, trigger: l.below, word: "below" }, place, known)
  })
  return from === undefined ? undefined : { ...base, kind: "topUp", from, levels }
}

const resolveSweep = (raw: Kind<"sweep">, base: RuleBase, at: Path, known: KnownNames): PayingRule | undefined => {
  const { parties, addresses, report } = known
  const to = partyOf(raw.to, [...at, "to"], parties, report, addresses)
  const levels = asArray(raw.from).flatMap((party, i, names) => {
    payerOf(party, [...at, "from"], parties, report)
    if (names.indexOf(party) < i) report.add([...at, "from", i], `${party} is named twice`, "keep one of the two")
    if (party === raw.to) refuseSelf(party, [...at, "to"], report)
    return resolveLevel({ ...raw, party, trigger: raw.above, word: "above" }, at, known)
  })
  return to === undefined ? undefined : { ...base, kind: "sweep", to, levels }
}

const resolveRebalance = (
  raw: Kind<"rebalance">,
  base: RuleBase,
  at: Path,
  known: KnownNames,
): PayingRule | undefined => {
  const { assets, report } = known
  const asset = assetOf(raw.asset, [...at, "asset"], assets, report)
  const weights = resolveWeights(raw.weights, [...at, "weights"], known, payerOf)
  if (Object.keys(raw.weights).length < 2) {
    report.add([...at, "weights"], "one party cannot be balanced", "name at least two parties")
  }
  const tolerance = shareOf(raw.tolerance)
  if (tolerance.numerator === 0n) {
    report.add([...at, "tolerance"], "without a tolerance every change is a payment", 'write one such as "5%"')
  }
  if (asset === undefined || weights.length < 2) return undefined
  return { ...base, kind: "rebalance", asset, balance: raw.balance ?? "free", weights, tolerance }
}

const resolveSplit = (raw: Kind<"split">, base: RuleBase, at: Path, known: KnownNames): PayingRule | undefined => {
  const { parties, report } = known
  payerOf(raw.from, [...at, "from"], parties, report)
  const to = resolveWeights(raw.to, [...at, "to"], known, partyOf)
  if (to.length === 0) report.add([...at, "to"], "no receiver is named", "name at least one party with its share")
  if (to.some(({ party }) => party.name === raw.from)) refuseSelf(raw.from, [...at, "to", raw.from], report)
  const written = { ...raw, party: raw.from, trigger: raw.above, target: raw.target ?? "0", word: "above" as const }
  const [level] = resolveLevel(written, at, known)
  return level === undefined || to.length === 0 ? undefined : { ...base, kind: "split", level, to }
}

const resolvePayout = (
  { schedule: plan }: RuleText,
  raw: Kind<"payout">,
  base: RuleBase,
  path: Path,
  known: KnownNames,
): PayingRule | undefined => {
  const { parties, addresses, assets, report } = known
  const at = [...path, "payout"]
  const from = payerOf(raw.from, [...at, "from"], parties, report)
  const to = partyOf(raw.to, [...at, "to"], parties, report, addresses)
  const asset = assetOf(raw.asset, [...at, "asset"], assets, report)
  const amount = report.amount([...at, "amount"], raw.amount, asset)
  if (asset !== undefined && amount === 0n && isAmount(raw.amount, asset))
    report.add([...at, "amount"], "a payment of nothing", "write an amount")
  if (raw.from === raw.to) refuseSelf(raw.from, [...at, "to"], report)
  if (plan === undefined) {
    report.add(at, "a payout needs its times", 'add schedule: { cron: "0 9 1 * *", location: Europe/Zurich }')
    return undefined
  }
  const schedule = resolveSchedule(plan, [...path, "schedule"], report)
  if (from === undefined || to === undefined || asset === undefined || schedule === undefined) return undefined
  return { ...base, kind: "payout", from, to, asset, amount, schedule }
}

const resolveRequest = (raw: Kind<"request">, base: RuleBase, at: Path, known: KnownNames): PayingRule | undefined => {
  const { parties, report } = known
  const from = partyOf(raw.from, [...at, "from"], parties, report)
  if (raw.from === raw.to) refuseSelf(raw.from, [...at, "to"], report)
  if (from?.signer !== undefined) {
    report.add([...at, "from"], `${raw.from} has a signer: it can pay itself`, "use topUp, or remove its signer")
  }
  const [level] = resolveLevel({ ...raw, party: raw.to, trigger: raw.below, word: "below", key: "to" }, at, known)
  return from === undefined || level === undefined ? undefined : { ...base, kind: "request", from, level }
}

const resolveWithdraw = (
  raw: Kind<"withdraw">,
  base: RuleBase,
  at: Path,
  known: KnownNames,
): PayingRule | undefined => {
  const { parties, report } = known
  payerOf(raw.from, [...at, "from"], parties, report)
  const to = externalOf(raw.to, [...at, "to"], known, report)
  const [level] = resolveLevel({ ...raw, party: raw.from, trigger: raw.above, word: "above" }, at, known)
  return to === undefined || level === undefined ? undefined : { ...base, kind: "withdraw", level, to }
}

const resolveWeights = (
  raw: Readonly<Record<string, string>>,
  path: Path,
  { parties, report }: KnownNames,
  find: typeof partyOf,
): ReadonlyArray<Weight> =>
  Object.entries(raw).flatMap(([name, weight]) => {
    const party = find(name, [...path, name], parties, report)
    if (Number(weight) === 0) report.add([...path, name], "a part of nothing", "write a whole number above 0")
    return party === undefined || Number(weight) === 0 ? [] : [{ party, weight: BigInt(weight) }]
  })

const resolveLevel = (
  raw: {
    readonly party: string
    readonly asset: string
    readonly balance?: "free" | "total" | undefined
    readonly trigger: string
    readonly target: string
    readonly word: "below" | "above"
    readonly key?: string
  },
  path: Path,
  { parties, assets, report }: KnownNames,
): ReadonlyArray<Level> => {
  const key = raw.key ?? (raw.word === "below" ? "party" : "from")
  const party = partyOf(raw.party, [...path, key], parties, report)
  const asset = assetOf(raw.asset, [...path, "asset"], assets, report)
  const trigger = report.amount([...path, raw.word], raw.trigger, asset)
  const target = report.amount([...path, "target"], raw.target, asset)
  if (raw.word === "below" && trigger === 0n && isAmount(raw.trigger, asset))
    report.add([...path, "below"], "no balance falls below 0: the rule would never act", "write an amount above 0")
  const sound = raw.word === "below" ? target >= trigger : target <= trigger
  if (!sound && isAmount(raw.trigger, asset) && isAmount(raw.target, asset)) {
    const [problem, bound] = raw.word === "below" ? ["less", "at least"] : ["more", "at most"]
    const message = `target ${raw.target} is ${problem} than the trigger ${raw.trigger} (${raw.word})`
    report.add([...path, "target"], message, `set target to ${bound} ${raw.trigger}`)
  }
  if (party === undefined || asset === undefined) return []
  return [{ party, asset, balance: raw.balance ?? "free", trigger, target }]
}

/** The rule of a function, with what it may see and whom it may pay. */
const resolveCode = (raw: Kind<"code">, base: RuleBase, at: Path, known: KnownNames): PayingRule | undefined => {
  const { parties, assets, report } = known
  const from = payerOf(raw.from, [...at, "from"], parties, report)
  const asset = assetOf(raw.asset, [...at, "asset"], assets, report)
  const names = asArray(raw.to)
  const to = names.flatMap((name, i) => {
    const path = typeof raw.to === "string" ? [...at, "to"] : [...at, "to", i]
    if (name === raw.from) refuseSelf(name, path, report)
    if (names.indexOf(name) < i) report.add(path, `${name} is named twice`, "keep one of the two")
    return partyOf(name, path, parties, report) ?? []
  })
  const seen = new Set<string>()
  const accounts = raw.accounts.flatMap((written, i) => {
    const place = [...at, "accounts", i]
    const account = accountOf(written, place, known)
    if (account === undefined) return []
    const name = balanceName(account)
    if (seen.has(name)) report.add(place, `${name} is given twice`, "keep one of the two")
    seen.add(name)
    return [account]
  })
  const need = report.document.code?.get(raw.need)
  if (!isLoadedFunction(need)) {
    report.add([...at, "need"], "need is not a function", "write the rule in a file of rules in TypeScript: rules.ts")
  }
  if (from === undefined || asset === undefined || to.length === 0 || accounts.length === 0) return undefined
  if (!isLoadedFunction(need)) return undefined
  return { ...base, kind: "code", accounts, from, to, asset, code: codeOf(need, { to, asset }, hashIn(raw.need)) }
}
