import { formatLevel } from "../domain/Amount.ts"
import { lineFor, type Policy, type PolicyLine } from "./Policy.ts"
import { isPaying, type Rule } from "./Rule.ts"
import { type Subject, subjectsOf } from "./Subject.ts"

/** What was paid, and what was needed and held by a limit, in the past that is looked at. */
export interface PastNeeds {
  readonly payments: ReadonlyArray<{
    /** Unix milliseconds of the decision. */
    readonly at: number
    readonly rule: string
    readonly subject: string
    readonly from: string
    readonly to: string
    readonly assetId: string
    readonly amount: bigint
  }>
  /** When a limit began to hold a subject. */
  readonly held: ReadonlyArray<{ readonly at: number; readonly rule: string; readonly subject: string }>
}

/** A limit of the policy that the past went beyond. */
interface Outgrown {
  /** From the root of the treasury file. */
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

interface Needed {
  readonly at: number
  readonly amount: bigint
  readonly count: number
}

type TopUp = Extract<Subject, { kind: "topUp" }>

const dayMillis = 86_400_000

/**
 * Limits that are less than what some 24 hours of the past needed: what was paid in them, and what a limit of that
 * time held. Each that was held counts as a full top-up: an account that is filled from nothing.
 */
export const outgrown = (
  { rules, policy }: { readonly rules: ReadonlyArray<Rule>; readonly policy: Policy },
  past: PastNeeds,
): ReadonlyArray<Outgrown> => {
  const topUps = rules
    .filter(isPaying)
    .flatMap(subjectsOf)
    .filter((subject) => subject.kind === "topUp")
  return policy.lines.flatMap((line) => {
    const own = topUps.filter((subject) => lineFor(policy, endsOf(subject)) === line)
    const payments = past.payments.filter((payment) => lineFor(policy, payment) === line)
    const held = past.held.filter((one) => own.some((subject) => isOf(one, subject)))
    return ofLine(line, own, { payments, held })
  })
}

const endsOf = ({ rule, level, asset }: TopUp) => ({
  from: rule.from.publicKey,
  to: level.party.publicKey,
  assetId: asset.id,
})

const isOf = (one: { readonly rule: string; readonly subject: string }, { rule, name }: TopUp): boolean =>
  one.rule === rule.name && one.subject === name

const ofLine = (line: PolicyLine, own: ReadonlyArray<TopUp>, past: PastNeeds): ReadonlyArray<Outgrown> => {
  const path = ["policy", "allow", line.line - 1]
  const full = own.reduce((most, { level }) => (level.target > most ? level.target : most), 0n)
  const needs = neededOf(past, full)
  const found: Array<Outgrown> = []
  const most = largest(needs, (a, b) => a.amount > b.amount)
  const [first] = own
  if (first !== undefined && most !== undefined && most.amount > line.per24h) {
    const limit = `${formatLevel(line.per24h, first.asset.decimals)} per 24 h is ${topUpsText(line.per24h / full)}`
    const times = (most.amount + full - 1n) / full
    found.push({
      path: [...path, "per24h"],
      message: `${limit}; last month needed ${times} on one day (${dayOf(most)})`,
    })
  }
  const often = largest(needs, (a, b) => a.count > b.count)
  if (often !== undefined && often.count > line.transfersPer24h) {
    const limit = `${line.transfersPer24h} transfers per 24 h`
    const message = `${limit}; last month needed ${often.count} on one day (${dayOf(often)})`
    found.push({ path: [...path, "transfersPer24h"], message })
  }
  return found
}

/** What each 24 hours needed that end with a payment, or with what was held; what was held and paid counts once. */
const neededOf = ({ payments, held }: PastNeeds, full: bigint): ReadonlyArray<Needed> => {
  const paid = payments.toSorted((a, b) => a.at - b.at)
  const bySubject = Map.groupBy(paid, subjectKey)
  const unmet = held.map((one) => {
    const metAt = bySubject.get(subjectKey(one))?.find(({ at }) => at >= one.at)?.at ?? Number.POSITIVE_INFINITY
    return { at: one.at, metAt, key: subjectKey(one) }
  })
  const ends = [...paid, ...held].map(({ at }) => at).toSorted((a, b) => a - b)
  let [amount, first, next] = [0n, 0, 0]
  return ends.map((at) => {
    for (; next < paid.length && paid[next]!.at <= at; next++) amount += paid[next]!.amount
    for (; first < next && paid[first]!.at <= at - dayMillis; first++) amount -= paid[first]!.amount
    const waiting = unmet.filter((one) => one.at > at - dayMillis && one.at <= at && one.metAt > at)
    const subjects = new Set(waiting.map(({ key }) => key)).size
    return { at, amount: amount + BigInt(subjects) * full, count: next - first + subjects }
  })
}

const subjectKey = ({ rule, subject }: { readonly rule: string; readonly subject: string }): string =>
  JSON.stringify([rule, subject])

const largest = (needs: ReadonlyArray<Needed>, isMore: (a: Needed, b: Needed) => boolean): Needed | undefined =>
  needs.reduce<Needed | undefined>((best, one) => (best === undefined || isMore(one, best) ? one : best), undefined)

const topUpsText = (n: bigint): string => `${n} full top-up${n === 1n ? "" : "s"}`

const dayOf = ({ at }: Needed): string => new Date(at).toISOString().slice(0, 10)
