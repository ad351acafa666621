import { instantText } from "../../domain/Time.ts"
import { type Party, receiverKey } from "../Account.ts"
import {
  feeMax,
  freeAt,
  judgePolicy,
  type PolicyLine,
  type PolicyPayment,
  periodUse,
  type RefusedVerdict,
  refusalText,
  usesQuota,
} from "../policy/Policy.ts"
import { networkFee } from "../Snapshot.ts"
import { commandOf } from "../Subject.ts"
import {
  amountText,
  type Check,
  feeShareOf,
  floorOf,
  leastOf,
  levelText,
  type Sized,
  type SubjectFacts,
  takesPart,
} from "../SubjectFacts.ts"
import { contradiction, pinScope } from "./stops.ts"

/** True if the rule pays; a request asks people to. */
const pays = ({ subject }: SubjectFacts): boolean => subject.kind !== "request"
/** Only transfers cost a fee. */
const isTransfer = (facts: SubjectFacts): boolean => pays(facts) && commandOf(facts.subject) === "transfer"
/** True if the payment counts against the network's transfers per epoch. */
const isCounted = (facts: SubjectFacts): boolean => pays(facts) && commandOf(facts.subject) !== "withdraw"

const paymentOf = ({ subject }: SubjectFacts, { transfer, amount }: Sized): PolicyPayment => ({
  from: transfer.from.publicKey,
  to: receiverKey(transfer.to),
  assetId: subject.asset.id,
  amount,
})

interface RefusedPart {
  readonly verdict: RefusedVerdict
  readonly amount: bigint
  readonly before: ReadonlyArray<PolicyPayment>
}

/** The first transfer that the policy refuses, each judged with those before it already made. */
const refusedBy = (facts: SubjectFacts): RefusedPart | undefined => {
  if (!pays(facts)) return undefined
  const before: Array<PolicyPayment> = []
  for (const sized of facts.sized) {
    if (sized.amount <= 0n) continue
    const payment = paymentOf(facts, sized)
    const verdict = judgePolicy(facts.snapshot.policy, payment, (line) => periodUse(facts.snapshot, line, before))
    if (!verdict.permitted) return { verdict, amount: sized.amount, before }
    before.push(payment)
  }
  return undefined
}

const isLimit = ({ refusal }: RefusedVerdict): boolean => refusal === "window_amount" || refusal === "window_count"

/** When the limits have room again for what is refused, Unix milliseconds. */
const freeOf = ({ snapshot }: SubjectFacts, { verdict: { line }, amount, before }: RefusedPart) =>
  line === undefined ? undefined : freeAt(line, periodUse(snapshot, line, before), amount)

const limitText = (facts: SubjectFacts, refused: RefusedPart): string => {
  const used = (line: PolicyLine) => periodUse(facts.snapshot, line, []).amount
  const context = { amount: refused.amount, used, freeAt: freeOf(facts, refused) }
  return refusalText(refused.verdict, context, (units) => levelText(facts, units))
}

/** True if the named rule has a higher priority (a smaller number) than this one. People's payments have none. */
const isBefore = ({ subject, snapshot }: SubjectFacts, rule: string): boolean =>
  (snapshot.priorities.get(rule) ?? subject.rule.priority) < subject.rule.priority

type Slots = NonNullable<ReturnType<typeof slotsOf>>

/** Transfers of a payer in this epoch: those that the network counts, and those that are decided and not signed. */
const slotsOf = (facts: SubjectFacts, payer: Party) => {
  const quota = facts.snapshot.quota(payer.publicKey)
  if (quota === undefined) return undefined
  const unsigned = facts.snapshot.open.filter((i) => usesQuota(i) && i.payment.fromKey === payer.publicKey)
  /** Part of those used: decided by rules of a higher priority. */
  const earlier = unsigned.filter(({ rule }) => isBefore(facts, rule)).length
  return { payer, used: quota.used + unsigned.length, limit: quota.limit, endsAt: quota.endsAt, earlier }
}

const slotsWanted = ({ sized }: SubjectFacts, payer: Party): number =>
  sized.filter(({ transfer }) => transfer.from === payer).length

/** The first payer whose transfers of this epoch do not suffice. */
const usedUp = (facts: SubjectFacts): Slots | undefined => {
  if (!isCounted(facts)) return undefined
  for (const payer of new Set(facts.sized.map(({ transfer }) => transfer.from))) {
    const slots = slotsOf(facts, payer)
    if (slots !== undefined && slots.used + slotsWanted(facts, payer) > slots.limit - payer.transfersKept) return slots
  }
  return undefined
}

const slotsText = ({ payer, used, limit, endsAt }: Slots): string => {
  const kept = payer.transfersKept > 0 ? `, ${payer.transfersKept} are kept for people` : ""
  const end = endsAt === undefined ? "" : `; the next epoch begins about ${instantText(endsAt)}`
  return `${payer.name} used ${used} of ${limit} transfers of this epoch${kept}${end}`
}

/** True if rules of a higher priority, and nothing else, took the slots. */
const slotsYielded = (slots: Slots, facts: SubjectFacts): boolean => {
  return slots.used - slots.earlier + slotsWanted(facts, slots.payer) <= slots.limit - slots.payer.transfersKept
}

/** The first transfer that its payer cannot make above its floor. */
const uncovered = (facts: SubjectFacts): Sized | undefined => {
  if (!pays(facts)) return undefined
  const least = leastOf(facts)
  return facts.sized.find((s) => !s.covered && (!takesPart(facts.subject.rule) || s.amount < least))
}

/** True if money that rules of a higher priority reserved and have not paid yet is all that is missing. */
const fundsYielded = (short: Sized, facts: SubjectFacts): boolean => {
  const { subject, snapshot } = facts
  const { from, amount } = short.transfer
  const earlier = snapshot.open
    .filter(({ rule, payment }) => isBefore(facts, rule) && payment.fromKey === from.publicKey)
    .filter(({ payment }) => payment.assetId === subject.asset.id)
    .reduce((sum, intent) => sum + intent.payment.amount + intent.feeMax, 0n)
  if (earlier === 0n) return false
  const wanted = takesPart(subject.rule) ? leastOf(facts) : amount
  return short.spendable + earlier >= wanted + feeMax(feeShareOf(facts), wanted)
}

const unknown = "no known balance"

/** True if a rule held because its payer's balance is unknown, judged by the text of that hold. */
export const isUnknownPayer = (shortWords: string): boolean => shortWords.includes(` has ${unknown}`)

const shortText = (facts: SubjectFacts, short: Sized): string => {
  const { transfer, observed, spendable } = short
  const { from, amount } = transfer
  const floor = floorOf(facts.subject, from)
  const has = observed === undefined ? unknown : amountText(facts, observed)
  const kept = floor > 0n ? ` and keeps ${levelText(facts, floor)}` : ""
  const claimed = (observed ?? 0n) - floor - spendable
  const others = claimed > 0n ? `, ${amountText(facts, claimed)} of it for other payments` : ""
  const fee = feeMax(feeShareOf(facts), amount)
  const needed = fee === 0n ? "is needed" : `and a fee of at most ${amountText(facts, fee)} are needed`
  return `${from.name} has ${has}${kept}${others}; ${amountText(facts, amount)} ${needed}`
}

const tooSmall = (facts: SubjectFacts): string | undefined => {
  const least = leastOf(facts)
  const sizes = facts.sized.map(({ transfer, amount, covered }) => (covered ? amount : transfer.amount))
  const small = sizes.find((amount) => amount < least)
  if (small === undefined) return undefined
  return `${amountText(facts, small)} is below the minimum of ${amountText(facts, least)}`
}

const feeOver = (facts: SubjectFacts): string | undefined => {
  if (!isTransfer(facts)) return undefined
  for (const { amount } of facts.sized) {
    const fee = networkFee(facts.snapshot, facts.subject.asset, amount)
    if (fee === undefined || fee <= feeMax(facts.snapshot.policy.maxFee, amount)) continue
    return `the network takes ${amountText(facts, fee)}, more than maxFee allows for ${amountText(facts, amount)}`
  }
  return undefined
}

const totalText = (facts: SubjectFacts): string =>
  facts.sized
    .map(({ transfer, amount }) => `${amountText(facts, amount)} ${transfer.from.name} -> ${transfer.to.name}`)
    .join(", ")

const refusal = (reason: "policy" | "limit"): Check => ({
  reason,
  held: (facts) => {
    const refused = refusedBy(facts)
    return refused === undefined || isLimit(refused.verdict) !== (reason === "limit")
      ? undefined
      : limitText(facts, refused)
  },
  passed: (facts) => {
    if (reason === "limit" && refusedBy(facts) !== undefined) return "not judged: no policy line permits it"
    return `${totalText(facts)}: ${reason === "limit" ? "within the limits of 24 h" : "a policy line permits it"}`
  },
  ends: (facts) => {
    const refused = reason === "limit" ? refusedBy(facts) : undefined
    return refused === undefined ? undefined : freeOf(facts, refused)
  },
})

/** Checks that the payment is possible, in the order of `holdReasons`. */
export const funds: ReadonlyArray<Check> = [
  {
    reason: "too_small",
    held: tooSmall,
    passed: (facts) => `${totalText(facts)}; the minimum is ${amountText(facts, leastOf(facts))}`,
  },
  {
    reason: "asset_status",
    held: ({ subject: { asset }, snapshot }) => {
      if (snapshot.listed === undefined) return "no asset listing was read yet"
      const wrong = contradiction(asset, snapshot.listed.get(asset.id))
      if (wrong !== undefined) return wrong
      return snapshot.pauses.find(({ scope }) => scope === pinScope(asset.symbol))?.reason
    },
    passed: ({ subject: { asset } }) => `${asset.symbol} is enabled, as pinned`,
  },
  refusal("policy"),
  refusal("limit"),
  {
    reason: "quota",
    held: (facts) => {
      const slots = usedUp(facts)
      return slots === undefined || slotsYielded(slots, facts) ? undefined : slotsText(slots)
    },
    passed: (facts) => {
      const payer = facts.sized[0]?.transfer.from
      const slots = payer && slotsOf(facts, payer)
      return slots === undefined ? "the network's transfers per epoch are not known" : slotsText(slots)
    },
    ends: (facts) => usedUp(facts)?.endsAt,
  },
  {
    reason: "fee",
    held: feeOver,
    passed: (facts) => (isTransfer(facts) ? "the network's fee is within maxFee" : "it costs no fee"),
  },
  {
    reason: "short",
    held: (facts) => {
      const short = uncovered(facts)
      return short === undefined || fundsYielded(short, facts) ? undefined : shortText(facts, short)
    },
    passed: (facts) =>
      facts.sized
        .map(({ transfer, spendable }) => `${transfer.from.name} can spend ${amountText(facts, spendable)}`)
        .join(", "),
  },
  {
    reason: "yielded",
    held: (facts) => {
      const slots = usedUp(facts)
      if (slots !== undefined && slotsYielded(slots, facts))
        return `rules of a higher priority took the transfers: ${slotsText(slots)}`
      const short = uncovered(facts)
      if (short === undefined || !fundsYielded(short, facts)) return undefined
      return `rules of a higher priority took the funds: ${shortText(facts, short)}`
    },
    passed: () => "no rule of a higher priority took what it needs",
  },
]
