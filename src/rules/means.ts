import { shortId } from "../domain/Hex.ts"
import { floorOf, type Look, sayAmount, sayLevel } from "./Look.ts"
import { isSlot, windowUse } from "./limits.ts"
import { lineFor } from "./Policy.ts"
import { type Account, accountName, type Party, type Receiver, receiverKey } from "./Rule.ts"
import { reservedFrom } from "./Snapshot.ts"
import { isOfSubject, waysOf } from "./Subject.ts"

/** What a decision had to hand: balances, limits and what is under way. Amounts are decimal text. */
export interface Means {
  readonly asset: string
  readonly accounts: ReadonlyArray<SeenAccount>
  /** How long the condition has been true, and in how many observations. */
  readonly firing: { readonly since: number; readonly observations: number } | null
  readonly lines: ReadonlyArray<SeenLine>
  readonly quotas: ReadonlyArray<SeenQuota>
  readonly underWay: ReadonlyArray<SeenPayment>
}

interface SeenAccount {
  readonly account: string
  /** watched: its balance decides. pays: its funds do. */
  readonly role: "watched" | "pays"
  /** null: no balance was ever seen. */
  readonly balance: string | null
  /** What open payments claim, and what is kept whatever happens. */
  readonly reserved: string
  readonly floor: string
}

/** The policy line for one way of the money, and how much of it is used, what is decided included. */
interface SeenLine {
  readonly from: string
  readonly to: string
  /** null: no line allows it. */
  readonly line: number | null
  readonly perTransfer: string
  readonly used: string
  readonly per24h: string
  readonly left: string
  readonly transfers: number
  readonly transfersPer24h: number
}

/** The network's transfers of this epoch; all but the name null where it does not tell. */
interface SeenQuota {
  readonly party: string
  readonly used: number | null
  readonly limit: number | null
  readonly kept: number
  readonly endsAt: number | null
}

interface SeenPayment {
  readonly id: string
  readonly short: string
  readonly state: string
  readonly rule: string
  readonly from: string
  readonly to: string
  readonly amount: string
}

export const meansOf = (look: Look): Means => {
  const { subject, snapshot, timer } = look
  const payers = subject.payers.filter(({ publicKey }) =>
    subject.accounts.every(({ party, balance }) => party.publicKey !== publicKey || balance !== "free"),
  )
  const free = (party: Party): Account => ({ party, asset: subject.asset, balance: "free" })
  return {
    asset: subject.asset.symbol,
    accounts: [
      ...subject.accounts.map((account) => accountOf(look, account, "watched")),
      ...payers.map((party) => accountOf(look, free(party), "pays")),
    ],
    firing: timer.firingSince === undefined ? null : { since: timer.firingSince, observations: timer.observations },
    lines: waysOf(subject).map(({ from, to }) => lineOf(look, from, to)),
    quotas: subject.payers.map((payer) => quotaOf(look, payer)),
    underWay: snapshot.open
      .filter((intent) => isOfSubject(intent, subject) || touchesSubject(look, intent.payment))
      .map(({ id, state, rule, payment }) => ({
        id,
        short: shortId(id).slice(0, 4),
        state,
        rule,
        from: payment.from,
        to: payment.to,
        amount: sayAmount(look, payment.amount),
      })),
  }
}

const touchesSubject = (
  { subject }: Look,
  payment: { readonly assetId: string; readonly fromKey: string; readonly toKey: string },
): boolean => {
  if (payment.assetId !== subject.asset.id) return false
  const keys = [...subject.accounts.map(({ party }) => party.publicKey), ...subject.payers.map((p) => p.publicKey)]
  return keys.some((key) => payment.fromKey === key || payment.toKey === key)
}

const accountOf = (look: Look, account: Account, role: SeenAccount["role"]): SeenAccount => {
  const { subject, snapshot } = look
  const { party, asset, balance } = account
  const units = snapshot.balance(party.publicKey, asset.id, balance)
  return {
    account: balance === "free" ? accountName(account) : `${accountName(account)} (total)`,
    role,
    balance: units === undefined ? null : sayAmount(look, units),
    reserved: sayAmount(look, reservedFrom(snapshot, party.publicKey, asset.id)),
    floor: sayLevel(look, floorOf(subject, party)),
  }
}

const lineOf = (look: Look, from: Party, to: Receiver): SeenLine => {
  const { subject, snapshot } = look
  const way = { from: from.publicKey, to: receiverKey(to), assetId: subject.asset.id }
  const line = lineFor(snapshot.policy, way)
  const use = line === undefined ? { amount: 0n, count: 0 } : windowUse(snapshot, line, [])
  const per24h = line?.per24h ?? 0n
  return {
    from: from.name,
    to: to.name,
    line: line?.line ?? null,
    perTransfer: sayLevel(look, line?.perTransfer ?? 0n),
    used: sayLevel(look, use.amount),
    per24h: sayLevel(look, per24h),
    left: sayLevel(look, per24h > use.amount ? per24h - use.amount : 0n),
    transfers: use.count,
    transfersPer24h: line?.transfersPer24h ?? 0,
  }
}

const quotaOf = ({ snapshot }: Look, payer: Party): SeenQuota => {
  const quota = snapshot.quota(payer.publicKey)
  const unsigned = snapshot.open.filter((i) => isSlot(i) && i.payment.fromKey === payer.publicKey).length
  return {
    party: payer.name,
    used: quota === undefined ? null : quota.used + unsigned,
    limit: quota?.limit ?? null,
    kept: payer.transfersKept,
    endsAt: quota?.endsAt ?? null,
  }
}
