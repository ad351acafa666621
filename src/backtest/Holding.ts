import type { Level } from "../rules/Rule.ts"
import type { Subject } from "../rules/Subject.ts"

/** How long, and how far, a balance was outside a band. */
interface Outside {
  readonly band: Band
  readonly rule: string
  /** Unix milliseconds; undefined while it is within. */
  since: number | undefined
  millis: number
  times: number
}

/** One account: what it holds, and what of that is known. */
export interface Holding {
  readonly key: string
  /** Negative where the outside took what the rules had not brought. */
  free: bigint
  beside: bigint
  known: boolean
  /** As the rules see it. */
  seen: { readonly free: bigint; readonly total: bigint } | undefined
  lowest: { readonly free: bigint; readonly at: number } | undefined
  highest: { readonly free: bigint; readonly at: number } | undefined
  readonly outside: Array<Outside>
}

export const emptyHolding = (key: string): Holding => ({
  key,
  free: 0n,
  beside: 0n,
  known: false,
  seen: undefined,
  lowest: undefined,
  highest: undefined,
  outside: [],
})

const positive = (units: bigint): bigint => (units < 0n ? 0n : units)

export const seenOf = ({ free: units, beside }: Holding): { readonly free: bigint; readonly total: bigint } => {
  const free = positive(units)
  return { free, total: free + positive(beside) }
}

/** Shows the present balance to the rules. */
export const look = (holding: Holding): void => {
  if (holding.known) holding.seen = seenOf(holding)
}

/** Notes how far the balance has gone, after a change. */
export const measure = (holding: Holding, at: number): void => {
  const { free, lowest, highest } = holding
  if (lowest === undefined || free < lowest.free) holding.lowest = { free, at }
  if (highest === undefined || free > highest.free) holding.highest = { free, at }
  for (const outside of holding.outside) {
    const balance = outside.band.level.balance === "free" ? free : free + holding.beside
    const isOut = !isWithin(outside.band, balance)
    if (isOut === (outside.since !== undefined)) continue
    if (isOut) {
      outside.since = at
      outside.times++
    } else {
      outside.millis += at - (outside.since ?? at)
      outside.since = undefined
    }
  }
}

/** Closes what is still outside. */
export const endMeasure = (holding: Holding, at: number): void => {
  for (const outside of holding.outside) {
    if (outside.since === undefined) continue
    outside.millis += at - outside.since
    outside.since = at
  }
}

/** The balances at which a subject has no need, both ends included. */
export interface Band {
  readonly level: Level
  readonly least: bigint | undefined
  readonly most: bigint | undefined
}

/** The band of a subject whose need follows from one balance alone; undefined for all others. */
export const bandOf = (subject: Subject): Band | undefined => {
  switch (subject.kind) {
    case "topUp":
      return { level: subject.level, least: subject.level.trigger, most: undefined }
    case "request":
      return { level: subject.rule.level, least: subject.rule.level.trigger, most: undefined }
    case "sweep":
      return { level: subject.level, least: undefined, most: subject.level.trigger }
    case "split":
    case "withdraw":
      return { level: subject.rule.level, least: undefined, most: subject.rule.level.trigger }
    default:
      return undefined
  }
}

/** True if the balance is within the band. */
export const isWithin = ({ least, most }: Band, balance: bigint): boolean =>
  (least === undefined || balance >= least) && (most === undefined || balance <= most)
