import { instantText } from "../../domain/Time.ts"
import { type Party, receiverKey } from "../Account.ts"
import {
  type Check,
  feeShareOf,
  floorOf,
  type Look,
  leastOf,
  type Sized,
  sayAmount,
  sayLevel,
  takesPart,
} from "../Look.ts"
import {
  feeMax,
  freeAt,
  freeText,
  isSlot,
  judgePolicy,
  type PolicyPayment,
  periodUse,
  type Verdict,
} from "../policy/Policy.ts"
import { networkFee } from "../Snapshot.ts"
import { commandOf } from "../Subject.ts"
import { contradiction, pinScope } from "./stops.ts"

type Refused = Extract<Verdict, { permitted: false }>

const payout = ({ subject }: Look): boolean => subject.kind !== "request"
/** Only transfers cost a fee. */
const isTransfer = (look: Look): boolean => payout(look) && commandOf(look.subject) === "transfer"
/** True if the payment counts against the network's transfers per epoch. */
const isCounted = (look: Look): boolean => payout(look) && commandOf(look.subject) !== "withdraw"

const paymentOf = ({ subject }: Look, { transfer, amount }: Sized): PolicyPayment => ({
  from: transfer.from.publicKey,
  to: receiverKey(transfer.to),
  assetId: subject.asset.id,
  amount,
})

interface RefusedPart {
  readonly verdict: Refused
  readonly amount: bigint
  readonly before: ReadonlyArray<PolicyPayment>
}

/** The first transfer that the policy refuses, each judged with those before it already made. */
const refusedBy = (look: Look): RefusedPart | undefined => {
  if (!payout(look)) return undefined
  const before: Array<PolicyPayment> = []
  for (const sized of look.sized) {
    if (sized.amount <= 0n) continue
    const payment = paymentOf(look, sized)
    const verdict = judgePolicy(look.snapshot.policy, payment, (line) => periodUse(look.snapshot, line, before))
    if (!verdict.permitted) return { verdict, amount: sized.amount, before }
    before.push(payment)
  }
  return undefined
}

const isLimit = ({ refusal }: Refused): boolean => refusal === "window_amount" || refusal === "window_count"

/** When the limits have room again for what is refused, Unix milliseconds. */
const freeOf = ({ snapshot }: Look, { verdict: { line }, amount, before }: RefusedPart) =>
  line === undefined ? undefined : freeAt(line, periodUse(snapshot, line, before), amount)

/** The verdict in units of the asset, with the numbers that decided. */
const limitText = (look: Look, refused: RefusedPart): string => {
  const { verdict, amount } = refused
  const { line } = verdict
  if (line === undefined) return verdict.detail
  const at = `policy line ${line.line}`
  const free = freeText(freeOf(look, refused))
  if (verdict.refusal === "amount") {
    return `${sayLevel(look, amount)} is above ${sayLevel(look, line.perTransfer)} per transfer (${at})`
  }
  if (verdict.refusal !== "window_amount") return `${verdict.detail}${free}`
  const used = sayLevel(look, periodUse(look.snapshot, line, []).amount)
  return `${used} of ${sayLevel(look, line.per24h)} in 24 h are used; ${sayLevel(look, amount)} more is too much (${at})${free}`
}

/** Names of rules that come before this one. */
const isBefore = ({ subject, snapshot }: Look, rule: string): boolean =>
  (snapshot.priorities.get(rule) ?? subject.rule.priority) < subject.rule.priority

interface Slots {
  readonly payer: Party
  readonly used: number
  readonly limit: number
  readonly endsAt: number | undefined
  /** Part of `used`: transfers not signed yet, decided by rules of a higher priority. */
  readonly earlier: number
}

/** Payers whose transfers of this epoch do not suffice. */
const usedUp = (look: Look): Slots | undefined => {
  if (!isCounted(look)) return undefined
  for (const payer of new Set(look.sized.map(({ transfer }) => transfer.from))) {
    const quota = look.snapshot.quota(payer.publicKey)
    if (quota === undefined) continue
    const wanted = look.sized.filter(({ transfer }) => transfer.from === payer).length
    const unsigned = look.snapshot.open.filter((i) => isSlot(i) && i.payment.fromKey === payer.publicKey)
    const used = quota.used + unsigned.length
    if (used + wanted <= quota.limit - payer.transfersKept) continue
    const earlier = unsigned.filter(({ rule }) => isBefore(look, rule)).length
    return { payer, used, limit: quota.limit, endsAt: quota.endsAt, earlier }
  }
  return undefined
}

const slotsText = ({ payer, used, limit, endsAt }: Slots): string => {
  const kept = payer.transfersKept > 0 ? `, ${payer.transfersKept} are kept for people` : ""
  const end = endsAt === undefined ? "" : `; the next epoch begins about ${instantText(endsAt)}`
  return `${payer.name} used ${used} of ${limit} transfers of this epoch${kept}${end}`
}

/** True if rules of a higher priority, and nothing else, took the slots. */
const slotsYielded = (slots: Slots, look: Look): boolean => {
  const wanted = look.sized.filter(({ transfer }) => transfer.from === slots.payer).length
  return slots.used - slots.earlier + wanted <= slots.limit - slots.payer.transfersKept
}

/** The first transfer that its payer cannot make above its floor. */
const uncovered = (look: Look): Sized | undefined => {
  if (!payout(look)) return undefined
  const least = leastOf(look)
  return look.sized.find((s) => !s.covered && (!takesPart(look.subject.rule) || s.amount < least))
}

/** True if money that rules of a higher priority reserved and have not paid yet is all that is missing. */
const fundsYielded = (short: Sized, look: Look): boolean => {
  const { subject, snapshot } = look
  const { from, amount } = short.transfer
  const earlier = snapshot.open
    .filter(({ rule, payment }) => isBefore(look, rule) && payment.fromKey === from.publicKey)
    .filter(({ payment }) => payment.assetId === subject.asset.id)
    .reduce((sum, intent) => sum + intent.payment.amount + intent.feeMax, 0n)
  if (earlier === 0n) return false
  const wanted = takesPart(subject.rule) ? leastOf(look) : amount
  return short.spendable + earlier >= wanted + feeMax(feeShareOf(look), wanted)
}

const unknown = "no known balance"

/** True if a rule held because its payer's balance is unknown, judged by the text of that hold. */
export const isUnknownPayer = (shortWords: string): boolean => shortWords.includes(` has ${unknown}`)

const shortText = (look: Look, short: Sized): string => {
  const { from, amount } = short.transfer
  const floor = floorOf(look.subject, from)
  const has = short.observed === undefined ? unknown : sayAmount(look, short.observed)
  const kept = floor > 0n ? ` and keeps ${sayLevel(look, floor)}` : ""
  return `${from.name} has ${has}${kept}; ${sayAmount(look, amount)} and its fee are needed`
}

const tooSmall = (look: Look): string | undefined => {
  const least = leastOf(look)
  const sizes = look.sized.map(({ transfer, amount, covered }) => (covered ? amount : transfer.amount))
  const small = sizes.find((amount) => amount < least)
  if (small === undefined) return undefined
  return `${sayAmount(look, small)} is below the minimum of ${sayAmount(look, least)}`
}

const feeOver = (look: Look): string | undefined => {
  if (!isTransfer(look)) return undefined
  for (const { amount } of look.sized) {
    const fee = networkFee(look.snapshot, look.subject.asset, amount)
    if (fee === undefined || fee <= feeMax(look.snapshot.policy.maxFee, amount)) continue
    return `the network takes ${sayAmount(look, fee)}, more than maxFee allows for ${sayAmount(look, amount)}`
  }
  return undefined
}

const totalText = (look: Look): string =>
  look.sized
    .map(({ transfer, amount }) => `${sayAmount(look, amount)} ${transfer.from.name} -> ${transfer.to.name}`)
    .join(", ")

const refusal = (reason: "policy" | "limit"): Check => ({
  reason,
  held: (look) => {
    const refused = refusedBy(look)
    return refused === undefined || isLimit(refused.verdict) !== (reason === "limit")
      ? undefined
      : limitText(look, refused)
  },
  passed: (look) =>
    `${totalText(look)}: ${reason === "limit" ? "within the limits of 24 h" : "a policy line permits it"}`,
  ends: (look) => {
    const refused = reason === "limit" ? refusedBy(look) : undefined
    return refused === undefined ? undefined : freeOf(look, refused)
  },
})

/** Checks that the payment is possible, in the order of `holdReasons`. */
export const funds: ReadonlyArray<Check> = [
  {
    reason: "too_small",
    held: tooSmall,
    passed: (look) => `${totalText(look)}; the minimum is ${sayAmount(look, leastOf(look))}`,
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
    held: (look) => {
      const slots = usedUp(look)
      return slots === undefined || slotsYielded(slots, look) ? undefined : slotsText(slots)
    },
    passed: ({ sized, snapshot }) => {
      const payer = sized[0]?.transfer.from
      const quota = payer === undefined ? undefined : snapshot.quota(payer.publicKey)
      return quota === undefined
        ? "the network's transfers per epoch are not known"
        : `${payer?.name} used ${quota.used} of ${quota.limit} transfers of this epoch`
    },
    ends: (look) => usedUp(look)?.endsAt,
  },
  {
    reason: "fee",
    held: feeOver,
    passed: (look) => (isTransfer(look) ? "the network's fee is within maxFee" : "it costs no fee"),
  },
  {
    reason: "short",
    held: (look) => {
      const short = uncovered(look)
      return short === undefined || fundsYielded(short, look) ? undefined : shortText(look, short)
    },
    passed: (look) =>
      look.sized
        .map(({ transfer, spendable }) => `${transfer.from.name} can spend ${sayAmount(look, spendable)}`)
        .join(", "),
  },
  {
    reason: "yielded",
    held: (look) => {
      const slots = usedUp(look)
      if (slots !== undefined) return `rules of a higher priority took the transfers: ${slotsText(slots)}`
      const short = uncovered(look)
      return short === undefined ? undefined : `rules of a higher priority took the funds: ${shortText(look, short)}`
    },
    passed: () => "no rule of a higher priority took what it needs",
  },
]
