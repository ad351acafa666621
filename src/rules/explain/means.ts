import { shortId } from "../../domain/Hex.ts"
import { accountName, type Party, type Receiver, type RuleAccount, receiverKey } from "../Account.ts"
import { lineFor, nextFree, type PeriodUse, periodUse, usesQuota } from "../policy/Policy.ts"
import { reservedFrom } from "../Snapshot.ts"
import { isOfSubject, waysOf } from "../Subject.ts"
import { amountText, floorOf, levelText, type SubjectFacts } from "../SubjectFacts.ts"

/** How amounts and times (Unix milliseconds) are written. */
interface Form<T> {
  readonly amount: typeof amountText
  readonly level: typeof levelText
  readonly time: (at: number) => T
}
/** Amounts with separators, times as they are: its readers count from them. */
export const peopleForm: Form<number> = { amount: amountText, level: levelText, time: (at) => at }
/** For logs: amounts without separators, times in ISO 8601. */
export const machineForm: Form<string> = {
  amount: (facts, units) => amountText(facts, units).replaceAll(",", ""),
  level: (facts, units) => levelText(facts, units).replaceAll(",", ""),
  time: (at) => new Date(at).toISOString(),
}

/** Inputs of a decision: balances, limits and open payments. Amounts are decimal text; `T` is a point in time. */
export const meansOf = <T>(facts: SubjectFacts, form: Form<T>) => {
  const { subject, snapshot, timer } = facts
  const payers = subject.payers.filter(({ publicKey }) =>
    subject.accounts.every(({ party, balance }) => party.publicKey !== publicKey || balance !== "free"),
  )
  const free = (party: Party): RuleAccount => ({ party, asset: subject.asset, balance: "free" })
  return {
    asset: subject.asset.symbol,
    accounts: [
      ...subject.accounts.map((account) => accountOf(facts, form, account, "watched")),
      ...payers.map((party) => accountOf(facts, form, free(party), "pays")),
    ],
    /** How long the condition has been true, and in how many observations. */
    firing:
      timer.firingSince === undefined
        ? null
        : { since: form.time(timer.firingSince), observations: timer.observations },
    lines: waysOf(subject).map(({ from, to }) => lineOf(facts, form, from, to)),
    quotas: subject.payers.map((payer) => quotaOf(facts, form, payer)),
    underWay: snapshot.open
      .filter((intent) => isOfSubject(intent, subject) || touchesSubject(facts, intent.payment))
      .map(({ id, state, rule, payment }) => ({
        id,
        short: shortId(id).slice(0, 4),
        state,
        rule,
        from: payment.from,
        to: payment.to,
        amount: form.amount(facts, payment.amount),
      })),
  }
}

const touchesSubject = (
  { subject }: SubjectFacts,
  payment: { readonly assetId: string; readonly fromKey: string; readonly toKey: string },
): boolean => {
  if (payment.assetId !== subject.asset.id) return false
  const keys = [...subject.accounts.map(({ party }) => party.publicKey), ...subject.payers.map((p) => p.publicKey)]
  return keys.some((key) => payment.fromKey === key || payment.toKey === key)
}

/** watched: its balance decides. pays: its funds do. */
type Role = "watched" | "pays"

const accountOf = <T>(facts: SubjectFacts, form: Form<T>, account: RuleAccount, role: Role) => {
  const { subject, snapshot } = facts
  const { party, asset, balance } = account
  const units = snapshot.balance(party.publicKey, asset.id, balance)
  const observed = (snapshot.observed ?? snapshot.balance)(party.publicKey, asset.id, balance)
  return {
    account: balance === "free" ? accountName(account) : `${accountName(account)} (total)`,
    role,
    /** As observed; null: no balance was ever seen. */
    balance: observed === undefined ? null : form.amount(facts, observed),
    /** As if rehearsed payments had been made, by which the rule decides; null where that is the observed one. */
    rehearsed: units === undefined || units === observed ? null : form.amount(facts, units),
    /** Amount reserved by open payments, and the floor. */
    reserved: form.amount(facts, reservedFrom(snapshot, party.publicKey, asset.id)),
    floor: form.level(facts, floorOf(subject, party)),
  }
}

/** The policy line for one way of the money, and how much of it is used, what is decided included. */
const lineOf = <T>(facts: SubjectFacts, form: Form<T>, from: Party, to: Receiver) => {
  const { subject, snapshot } = facts
  const way = { from: from.publicKey, to: receiverKey(to), assetId: subject.asset.id }
  const line = lineFor(snapshot.policy, way)
  const use: PeriodUse = line === undefined ? { amount: 0n, count: 0 } : periodUse(snapshot, line, [])
  const next = line === undefined ? undefined : nextFree(line, use)
  const per24h = line?.per24h ?? 0n
  return {
    from: from.name,
    to: to.name,
    /** null: no line allows it. */
    line: line?.line ?? null,
    perTransfer: form.level(facts, line?.perTransfer ?? 0n),
    used: form.level(facts, use.amount),
    per24h: form.level(facts, per24h),
    left: form.level(facts, per24h > use.amount ? per24h - use.amount : 0n),
    /** When more is left next, and how much more; null where time alone frees nothing. */
    nextFree: next === undefined ? null : { amount: form.level(facts, next.amount), at: form.time(next.at) },
    transfers: use.count,
    transfersPer24h: line?.transfersPer24h ?? 0,
  }
}

/** The network's transfers of this epoch; all but the name null if it does not report them. */
const quotaOf = <T>({ snapshot }: SubjectFacts, form: Form<T>, payer: Party) => {
  const quota = snapshot.quota(payer.publicKey)
  const unsigned = snapshot.open.filter((i) => usesQuota(i) && i.payment.fromKey === payer.publicKey).length
  return {
    party: payer.name,
    used: quota === undefined ? null : quota.used + unsigned,
    limit: quota?.limit ?? null,
    kept: payer.transfersKept,
    endsAt: quota?.endsAt === undefined ? null : form.time(quota.endsAt),
  }
}
