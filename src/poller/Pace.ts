import { Ref } from "effect"
import type { WindowAnswer } from "./askWindow.ts"

/** What reading has learnt about a gateway and its rows; it is learnt anew after a start. */
export interface Pace {
  /** How long the next window may be, in nanoseconds. */
  readonly span: bigint
  /** For how many more sparse answers large pages are asked for: after a block that did not fit others will come. */
  readonly largeFor: number
  /** Whether larger pages may be asked for: a gateway that refused one is not asked again. */
  readonly mayGrow: boolean
  /** Whether the gateway names blocks. */
  readonly hasMarks: boolean
  /** Unix milliseconds at which people were last told how far it is. */
  readonly toldAt: number
}

/** Networks take 365 days, and look for the rows of all of them at once. */
const spanMax = 30n * 86_400_000_000_000n
const spanMin = 1_000_000n

export const makePace = (): Ref.Ref<Pace> =>
  Ref.makeUnsafe<Pace>({ span: spanMax, largeFor: 0, mayGrow: true, hasMarks: true, toldAt: 0 })

/** The largest page that networks give. */
export const pageRowsMax = 5_000

/** Sparse answers after which pages are of the usual size again. */
const largeForMax = 32

/** Large pages from a block on that did not fit a usual one, while answers are not sparse for long. */
export const nextLargeFor = (
  { largeFor, mayGrow }: Pace,
  answer: WindowAnswer & { readonly _tag: "Rows" },
  usual: number,
): number => {
  const isLarge = answer.cut === "block" || (largeFor > 0 && answer.rows.length > usual)
  if (isLarge) return mayGrow && usual < pageRowsMax ? largeForMax : 0
  return Math.max(0, largeFor - 1)
}

/**
 * The next window's length: a cut one shows how many rows there are in how much time, a sparse one lets it grow again.
 * A block that had to be read in parts says nothing about its neighbours.
 */
export const nextSpan = (
  span: bigint,
  answer: WindowAnswer & { readonly _tag: "Rows" },
  asked: { readonly from: bigint; readonly pageRows: number },
): bigint => {
  const length = answer.until - asked.from
  if (answer.cut === "block") return span
  if (answer.cut === "narrowed") return within((length * 3n) / 4n)
  const share = answer.rows.length / asked.pageRows
  return within(share > 0.5 ? span : share > 0.1 ? span * 2n : span * 8n)
}

const within = (span: bigint): bigint => (span < spanMin ? spanMin : span > spanMax ? spanMax : span)

/** What was learnt about each gateway, by name. */
export type Paces = Map<string, Ref.Ref<Pace>>

export const paceOf = (paces: Paces, name: string): Ref.Ref<Pace> => {
  const pace = paces.get(name) ?? makePace()
  paces.set(name, pace)
  return pace
}
