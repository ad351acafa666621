import type { Payment } from "../domain/Decision.ts"
import type { Intent, IntentCommand } from "../domain/Intent.ts"
import { accountName, type Party, type PinnedAsset, type Receiver, type RuleAccount } from "./Account.ts"
import { feeMax, feeShare, type Policy } from "./policy/Policy.ts"
import {
  type CodeRule,
  isPaying,
  isRehearsed,
  type Level,
  type PayingRule,
  type PayoutRule,
  type RebalanceRule,
  type RequestRule,
  type Rule,
  type SplitRule,
  type SweepRule,
  type TopUpRule,
  type WithdrawRule,
} from "./Rule.ts"

/** Fields of every subject: each has one timer, one episode counter and one state. */
interface Common {
  /** Its name within the rule, such as "hot/USDT". */
  readonly name: string
  readonly asset: PinnedAsset
  /** The balances that decide whether there is a need; none where a schedule does. */
  readonly accounts: ReadonlyArray<RuleAccount>
  /** Parties that may pay for it. */
  readonly payers: ReadonlyArray<Party>
  /** Parties whose pause stops it. */
  readonly parties: ReadonlyArray<Party>
}

/** One account or pair of accounts that a rule decides on by itself. */
export type Subject =
  | (Common & { readonly kind: "topUp"; readonly rule: TopUpRule; readonly level: Level })
  | (Common & { readonly kind: "sweep"; readonly rule: SweepRule; readonly level: Level })
  | (Common & { readonly kind: "rebalance"; readonly rule: RebalanceRule })
  | (Common & { readonly kind: "split"; readonly rule: SplitRule })
  | (Common & { readonly kind: "payout"; readonly rule: PayoutRule })
  | (Common & { readonly kind: "request"; readonly rule: RequestRule })
  | (Common & { readonly kind: "withdraw"; readonly rule: WithdrawRule })
  | (Common & { readonly kind: "code"; readonly rule: CodeRule })

/** A rule's subjects, in the order of the file. */
export const subjectsOf = (rule: PayingRule): ReadonlyArray<Subject> => {
  switch (rule.kind) {
    case "topUp":
      return rule.levels.map((level) => ({
        ...ofLevel(level),
        kind: rule.kind,
        rule,
        level,
        payers: [rule.from],
        parties: [level.party, rule.from],
      }))
    case "sweep":
      return rule.levels.map((level) => ({
        ...ofLevel(level),
        kind: rule.kind,
        rule,
        level,
        payers: [level.party],
        parties: [level.party, rule.to],
      }))
    case "rebalance": {
      const parties = rule.weights.map(({ party }) => party)
      const { asset, balance } = rule
      const accounts = parties.map((party) => ({ party, asset, balance }))
      return [{ name: asset.symbol, asset, accounts, payers: parties, parties, kind: rule.kind, rule }]
    }
    case "split": {
      const { level } = rule
      const parties = [level.party, ...rule.to.map(({ party }) => party)]
      return [{ ...ofLevel(level), payers: [level.party], parties, kind: rule.kind, rule }]
    }
    case "payout": {
      const { from, to, asset } = rule
      const name = accountName({ party: to, asset })
      return [{ name, asset, accounts: [], payers: [from], parties: [from, to], kind: rule.kind, rule }]
    }
    case "request":
      return [{ ...ofLevel(rule.level), payers: [], parties: [rule.level.party], kind: rule.kind, rule }]
    case "withdraw": {
      const own = [rule.level.party]
      return [{ ...ofLevel(rule.level), payers: own, parties: own, kind: rule.kind, rule }]
    }
    case "code": {
      const { accounts, from, to, asset } = rule
      const [only, ...others] = to
      const name = only === undefined || others.length > 0 ? asset.symbol : accountName({ party: only, asset })
      const parties = [...new Set([from, ...to, ...accounts.map(({ party }) => party)])]
      return [{ name, asset, accounts, payers: [from], parties, kind: rule.kind, rule }]
    }
  }
}

/** Subjects of the rules that pay, and of those that only simulate, in the order of the file. */
interface Subjects {
  readonly paying: ReadonlyArray<Subject>
  readonly rehearsing: ReadonlyArray<Subject>
}

const known = new WeakMap<ReadonlyArray<Rule>, Map<string, Subjects>>()

/** Subjects of the rules, cached: a treasury may have a hundred thousand, and the same rules for months. */
export const subjectsIn = (rules: ReadonlyArray<Rule>, mode: string): Subjects => {
  const byMode = known.get(rules) ?? new Map<string, Subjects>()
  known.set(rules, byMode)
  const before = byMode.get(mode)
  if (before !== undefined) return before
  const all = rules.filter(isPaying)
  const found = {
    paying: all.filter((rule) => !isRehearsed(mode, rule)).flatMap(subjectsOf),
    rehearsing: all.filter((rule) => isRehearsed(mode, rule)).flatMap(subjectsOf),
  }
  byMode.set(mode, found)
  return found
}

/** The level of a subject that has one. */
export const levelIn = (subject: Subject): Level | undefined =>
  "level" in subject ? subject.level : "level" in subject.rule ? subject.rule.level : undefined

const ofLevel = (level: Level) => ({ name: accountName(level), asset: level.asset, accounts: [level] })

/** The network command that the subject's payments use. */
export const commandOf = ({ kind }: Pick<Subject, "kind">): IntentCommand => (kind === "withdraw" ? kind : "transfer")

/** A payment's own name where one decision makes several: "VEGA: maker-1 -> maker-2". */
const partName = (subject: string, from: string, to: string): string => `${subject}: ${from} -> ${to}`

/** True if one decision may be several payments. */
const isSeveral = ({ kind, rule }: Subject): boolean =>
  kind === "rebalance" || kind === "split" || (rule.kind === "code" && rule.to.length > 1)

/** The name of a subject's payment: the subject's own where a decision makes one alone. */
export const paymentName = (subject: Subject, { from, to }: Pick<Payment, "from" | "to">): string =>
  isSeveral(subject) ? partName(subject.name, from, to) : subject.name

/** True if an intent came from the rule's subject. */
export const isOfSubject = (intent: { readonly rule: string; readonly subject: string }, subject: Subject): boolean =>
  intent.rule === subject.rule.name &&
  (intent.subject === subject.name || intent.subject.startsWith(`${subject.name}: `))

/** A payer and a receiver between which money may move. */
export interface Way {
  readonly from: Party
  readonly to: Receiver
}

/** Payer and receiver of every transfer that the subject may decide; none for requests, which people pay. */
export const waysOf = (subject: Subject): ReadonlyArray<Way> => {
  const { rule } = subject
  switch (rule.kind) {
    case "topUp":
      return subject.accounts.map(({ party }) => ({ from: rule.from, to: party }))
    case "sweep":
      return subject.accounts.map(({ party }) => ({ from: party, to: rule.to }))
    case "rebalance":
      return rule.weights.flatMap(({ party: from }) =>
        rule.weights.filter(({ party }) => party !== from).map(({ party: to }) => ({ from, to })),
      )
    case "split":
      return rule.to.map(({ party }) => ({ from: rule.level.party, to: party }))
    case "payout":
      return [{ from: rule.from, to: rule.to }]
    case "withdraw":
      return [{ from: rule.level.party, to: rule.to }]
    case "code":
      return rule.to.map((to) => ({ from: rule.from, to }))
    case "request":
      return []
  }
}

/** The intent of a payment that the subject decides now. */
export const intentFor = (
  subject: Subject,
  payment: Payment,
  {
    policy,
    at,
    ...own
  }: Pick<Intent, "id" | "treasury" | "episode" | "detail"> & {
    readonly policy: Pick<Policy, "maxFee">
    /** Unix milliseconds. */
    readonly at: number
  },
): Intent => ({
  ...own,
  rule: subject.rule.name,
  subject: paymentName(subject, payment),
  command: commandOf(subject),
  payment,
  decimals: subject.asset.decimals,
  feeMax: feeMax(feeShare(commandOf(subject), policy.maxFee), payment.amount),
  state: "proposed",
  fee: undefined,
  settledAt: undefined,
  createdAt: at,
  updatedAt: at,
})
