import { Graph } from "effect"
import { baseUnits } from "../../domain/Amount.ts"
import { isLarger, percent, type RuleAccount } from "../Account.ts"
import type { Policy } from "../policy/Policy.ts"
import { accountKey, type Snapshot } from "../Snapshot.ts"
import { levelIn, type Subject, type Way, waysOf } from "../Subject.ts"
import { floorOf, leastOf, type SubjectFacts, subjectFacts, takesPart } from "../SubjectFacts.ts"
import {
  assetAmount,
  type Finding,
  type RuleSet,
  type Spot,
  severityOf,
  spotsOf,
  targetPath,
  triggerPath,
} from "./Finding.ts"

/** Bounds the search for endless payments, which takes a second or two in a treasury of hundreds of subjects. */
const evaluationsMax = 100_000

/** Kinds whose payments cannot be predicted: people make them, or a calendar or an operator's code decides them. */
const unforeseen: ReadonlySet<string> = new Set(["request", "payout", "code"])

/**
 * Rules whose payments trigger each other forever with nobody else on the accounts. Bands show which payment can bring
 * which other account out of its band; rules on a circle of such payments are then simulated together.
 */
export const cycle = (set: RuleSet): ReadonlyArray<Finding> => {
  const spots = spotsOf(set).filter(({ rule }) => !unforeseen.has(rule.kind) && !rule.trial)
  const byAsset = [...Map.groupBy(spots, ({ subject }) => subject.asset.id).values()]
  const circles = byAsset.flatMap((own) => groupsOf(own).flatMap((group) => judgeGroup(set, group)))
  return [...spotsOf(set).flatMap((spot) => ofTolerance(set, spot)), ...circles]
}

/** Finds groups whose tolerance is no larger than a fee: their own payments unbalance them. */
const ofTolerance = ({ policy: { maxFee } }: RuleSet, spot: Spot): ReadonlyArray<Finding> => {
  const { rule } = spot
  if (rule.kind !== "rebalance") return []
  const { tolerance } = rule
  if (isLarger(tolerance, maxFee)) return []
  return [
    {
      lint: "cycle",
      severity: severityOf(rule),
      path: triggerPath(spot),
      message: `${rule.name} tolerates ${percent(tolerance)}, no more than a fee may take (maxFee ${percent(maxFee)}): its own payments unbalance it`,
      remedy: `set tolerance above ${percent(maxFee)}`,
    },
  ]
}

/** Spots that can trigger each other, directly or by others; each in one group. */
const groupsOf = (spots: ReadonlyArray<Spot>): ReadonlyArray<ReadonlyArray<Spot>> => {
  const graph = Graph.directed<Spot, undefined>((mutable) => {
    for (const spot of spots) Graph.addNode(mutable, spot)
    for (const [i, { subject }] of spots.entries()) {
      const ways = waysOf(subject)
      for (const [j, other] of spots.entries()) {
        if (i !== j && triggers(subject, ways, other.subject)) Graph.addEdge(mutable, i, j, undefined)
      }
    }
  })
  return Graph.stronglyConnectedComponents(graph)
    .filter((group) => group.length > 1)
    .map((group) => group.toSorted((a, b) => a - b).map((i) => spots[i]!))
}

/** True if a payment of one rule may bring an account of the other out of its band; never false where it may. */
const triggers = (one: Subject, ways: ReadonlyArray<Way>, other: Subject): boolean =>
  ways.some(({ from, to }) => {
    if (other.kind === "rebalance") return other.parties.some((party) => party === from || party === to)
    if (other.kind === "topUp") return other.level.party === from && leftWith(one, from.name) < other.level.trigger
    const level = levelIn(other)
    if (level === undefined || level.party !== to) return false
    if (one.kind !== "topUp") return true
    return level.balance !== one.level.balance || one.level.target > level.trigger
  })

/** The least that the subject's payment leaves with its payer. */
const leftWith = (subject: Subject, payer: string): bigint => {
  const party = subject.payers.find(({ name }) => name === payer)
  const floor = party === undefined ? 0n : floorOf(subject, party)
  const level = levelIn(subject)
  return level?.party.name === payer && level.balance === "free" && level.target > floor ? level.target : floor
}

/** Accounts of the group with the levels at which something begins or ends. */
const edgesOf = (group: ReadonlyArray<Spot>): ReadonlyArray<Edges> => {
  const marks = new Map<string, { readonly edges: Edges["account"]; readonly marks: Set<bigint> }>()
  for (const { subject } of group) {
    const { asset } = subject
    for (const party of subject.parties) {
      const key = accountKey(party.publicKey, asset.id)
      const known = marks.get(key) ?? { edges: { party, asset, balance: "free" }, marks: new Set<bigint>() }
      const level = levelIn(subject)
      if (level?.party === party) known.marks.add(level.trigger).add(level.target)
      const floor = floorOf(subject, party)
      if (floor > 0n && subject.payers.includes(party)) known.marks.add(floor)
      marks.set(key, known)
    }
  }
  return [...marks.values()].map(({ edges, marks: found }) => ({
    account: edges,
    marks: [...found].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
  }))
}

const judgeGroup = (set: RuleSet, group: ReadonlyArray<Spot>): ReadonlyArray<Finding> => {
  const subjects = group.map(({ subject }) => subject)
  const starts = startsOf(edgesOf(group))
  const tries = Math.min(starts.length, Math.ceil(evaluationsMax / (subjects.length * 8)))
  for (const start of starts.slice(0, tries)) {
    for (const order of [subjects, subjects.toReversed()]) {
      const played = endless(order, set.policy, start)
      if (played !== undefined) return [foundIn(group, played)]
    }
  }
  return []
}

const foundIn = (group: ReadonlyArray<Spot>, played: ReadonlyArray<Played>): Finding => {
  const round = played.filter(({ subject }, i) => played.findIndex((p) => p.subject === subject) === i)
  const words = round.map(({ subject, from, to, amount }) => {
    return `${subject.rule.name} pays ${assetAmount(subject.asset, amount)} ${from} -> ${to}`
  })
  const names = [...new Set(round.map(({ subject }) => subject.rule.name))]
  const last = group.findLast(({ subject }) => round.some((payment) => payment.subject === subject)) ?? group[0]!
  return {
    lint: "cycle",
    severity: "error",
    path: last.rule.kind === "rebalance" ? triggerPath(last) : targetPath(last),
    message: `rules trigger each other forever: ${words.join(", ")}, and so on`,
    remedy: `set the targets of ${names.join(" and ")} so that each payment leaves the accounts of the others in their bands`,
  }
}

/** One payment of rules that are left alone with their accounts. */
interface Played {
  readonly subject: Subject
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

/** Base units by account (see `accountKey`). */
type Balances = ReadonlyMap<string, bigint>

/** Rules that still pay after this many payments count as endless. */
const paymentsMax = 300

/**
 * Simulates payments with nobody else on the accounts, no fees and no time between them. Returns the payments that
 * repeat forever; undefined if the rules come to rest.
 */
const endless = (
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

/** Payments of the first subject that can pay and that no firing rule inhibits. */
const nextPayments = (subjects: ReadonlyArray<Subject>, policy: Policy, balances: Balances): ReadonlyArray<Played> => {
  const snapshot = snapshotOf(policy, balances)
  const evaluations = subjects.map((subject) => subjectFacts(subject, snapshot, undefined))
  const firing = new Set(
    evaluations.flatMap(({ need, subject }) => (need?._tag === "Wanted" ? [subject.rule.name] : [])),
  )
  for (const facts of evaluations) {
    if (facts.subject.rule.inhibitedBy.some((name) => firing.has(name))) continue
    if (!isPaid(facts)) continue
    return facts.sized.map(({ transfer, amount }) => ({
      subject: facts.subject,
      from: transfer.from.name,
      to: transfer.to.name,
      amount,
    }))
  }
  return []
}

const isPaid = (facts: SubjectFacts): boolean =>
  facts.sized.length > 0 &&
  facts.sized.every(({ amount, covered }) => amount >= leastOf(facts) && (covered || takesPart(facts.subject.rule)))

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
  parameters: undefined,
  open: [],
  settled: [],
  requests: [],
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
interface Edges {
  readonly account: RuleAccount
  /** Ascending; none where no rule watches the account. */
  readonly marks: ReadonlyArray<bigint>
}

/** Balances to start simulations from: each account around its marks, the others poor, wealthy, between or funded. */
const startsOf = (edges: ReadonlyArray<Edges>): ReadonlyArray<Balances> => {
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
