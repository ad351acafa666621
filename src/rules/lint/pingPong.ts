import { baseUnits } from "../../domain/Amount.ts"
import { type Look, leastOf, lookAt, takesPart } from "../Look.ts"
import { accountKey } from "../overlay.ts"
import type { Policy } from "../Policy.ts"
import type { Account } from "../Rule.ts"
import type { Snapshot } from "../Snapshot.ts"
import type { Subject } from "../Subject.ts"

/** One payment of rules that are left alone with their accounts. */
export interface Played {
  readonly subject: Subject
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

/** Base units by account (see `accountKey`). */
type Balances = ReadonlyMap<string, bigint>

/** Payments after which rules that still pay are taken to go on forever. */
const paymentsMax = 300

/**
 * Lets the rules pay each other with nobody else on the accounts, no fees and no time between. The payments that come
 * round again, where they do not end; undefined where all come to rest.
 */
export const endless = (
  subjects: ReadonlyArray<Subject>,
  policy: Policy,
  start: Balances,
): ReadonlyArray<Played> | undefined => {
  const balances = new Map(start)
  const states = new Map<string, number>()
  const played: Array<Played> = []
  while (played.length < paymentsMax) {
    const state = [...balances.values()].join("|")
    const seen = states.get(state)
    if (seen !== undefined) return played.slice(seen)
    states.set(state, played.length)
    const payments = nextPayments(subjects, policy, balances)
    if (payments.length === 0) return undefined
    for (const payment of payments) {
      const { from, to, amount, subject } = payment
      const assetId = subject.asset.id
      const [payer, payee] = [keyOf(subject, from, assetId), keyOf(subject, to, assetId)]
      balances.set(payer, (balances.get(payer) ?? 0n) - amount)
      balances.set(payee, (balances.get(payee) ?? 0n) + amount)
      played.push(payment)
    }
  }
  return played.slice(-subjects.length * 2)
}

const keyOf = (subject: Subject, name: string, assetId: string): string =>
  accountKey(subject.parties.find((party) => party.name === name)?.publicKey ?? name, assetId)

/** What the first rule in need pays; those that it forbids wait. */
const nextPayments = (subjects: ReadonlyArray<Subject>, policy: Policy, balances: Balances): ReadonlyArray<Played> => {
  const snapshot = snapshotOf(policy, balances)
  const looks = subjects.map((subject) => lookAt(subject, snapshot, undefined))
  const firing = new Set(looks.flatMap(({ need, subject }) => (need?._tag === "Wanted" ? [subject.rule.name] : [])))
  for (const look of looks) {
    if (look.subject.rule.inhibitedBy.some((name) => firing.has(name))) continue
    if (!isPaid(look)) continue
    return look.sized.map(({ transfer, amount }) => ({
      subject: look.subject,
      from: transfer.from.name,
      to: transfer.to.name,
      amount,
    }))
  }
  return []
}

const isPaid = (look: Look): boolean =>
  look.sized.length > 0 &&
  look.sized.every(({ amount, covered }) => amount >= leastOf(look) && (covered || takesPart(look.subject.rule)))

const nothing = { amount: 0n, count: 0 }

const snapshotOf = (policy: Policy, balances: Balances): Snapshot => ({
  now: 0,
  asOf: 0n,
  maxAgeMillis: 0,
  catchingUp: undefined,
  drift: () => undefined,
  disagreement: undefined,
  balance: (party, assetId) => balances.get(accountKey(party, assetId)),
  listed: undefined,
  terms: undefined,
  open: [],
  settled: [],
  asked: [],
  halts: [],
  chainUnsettled: undefined,
  firing: new Set(),
  priorities: new Map(),
  quota: () => undefined,
  pauses: [],
  policy: { ...policy, maxFee: { numerator: 0n, denominator: 1n } },
  signed: () => nothing,
})

/** An account's levels: where the rules on it begin to act. */
export interface Edges {
  readonly account: Account
  /** Ascending; none where no rule watches the account. */
  readonly marks: ReadonlyArray<bigint>
}

/** Balances from which rules may start to pay each other: around every mark, poor and rich. */
export const startsOf = (edges: ReadonlyArray<Edges>): ReadonlyArray<Balances> => {
  const all = edges.flatMap(({ marks }) => marks)
  const rich = all.reduce((sum, mark) => sum + mark, 1n) * 4n
  const poor = edges.map(({ marks }) => marks[0] ?? 0n)
  const wealthy = edges.map(({ marks }) => marks.at(-1) ?? rich)
  const middle = edges.map(({ marks }) => ((marks[0] ?? 0n) + (marks.at(-1) ?? rich)) / 2n)
  const funded = edges.map(({ marks }) => (marks.length === 0 ? rich : (marks[0] ?? 0n)))
  const around = (i: number): ReadonlyArray<bigint> => [
    ...(edges[i]?.marks ?? []).flatMap((mark) => [mark - 1n, mark + 1n, mark + rich / 8n]),
    0n,
    rich,
  ]
  return [poor, wealthy, middle, funded].flatMap((base) =>
    edges.flatMap((_, i) =>
      around(i).map(
        (value) =>
          new Map(
            edges.map(({ account }, j) => [
              accountKey(account.party.publicKey, account.asset.id),
              baseUnits(j === i ? (value < 0n ? 0n : value) : base[j]!),
            ]),
          ),
      ),
    ),
  )
}
