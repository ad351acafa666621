import { readFileSync } from "node:fs"
import { threadCpuMicros } from "../support/threadCpu.ts"

/** One measured figure. */
export interface Figure {
  /** "BENCHMARK what is measured". */
  readonly name: string
  /** The median of the samples, where the name says nothing else. */
  readonly value: number
  readonly unit: string
  readonly better: "higher" | "lower"
  /** The extremes of the samples. */
  readonly low: number
  readonly high: number
}

/** Several figures that are taken together. */
export interface Benchmark {
  readonly name: string
  /** Ends "Measures ...". */
  readonly about: string
  /** Sentences of docs/performance.md: what keeps the figures from being better. */
  readonly limits: string
  readonly run: (
    say: (text: string) => void,
    options: { readonly count: number | undefined },
  ) => Promise<ReadonlyArray<Figure>>
}

/** The figures of a run, with where they were taken. */
export interface Run {
  readonly machine: string
  readonly node: string
  /** Each with its day, YYYY-MM-DD: runs of single benchmarks are kept side by side. */
  readonly figures: ReadonlyArray<Figure & { readonly date: string }>
}

/** The sample below which this share of them lies, 0 to 1. NaN of none. */
export const percentile = (samples: ReadonlyArray<number>, share: number): number =>
  samples.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * samples.length) - 1)] ?? Number.NaN

/** The middle sample; the lower of two. NaN of none. */
export const median = (samples: ReadonlyArray<number>): number => percentile(samples, 0.5)

/** Four digits: what is kept of a run says no more than it knows. */
export const rounded = (value: number): number => Number(value.toPrecision(4))

export const figure = (
  name: string,
  samples: ReadonlyArray<number>,
  how: { readonly unit: string; readonly better: "higher" | "lower" },
): Figure => ({
  name,
  value: rounded(median(samples)),
  low: rounded(Math.min(...samples)),
  high: rounded(Math.max(...samples)),
  ...how,
})

/** One way to do a piece of work. */
export interface Variant {
  readonly name: string
  /** Pieces between two looks at the clock. */
  readonly batch: number
  /** Called before each slice, off the clock. */
  readonly prepare?: () => unknown
  /** Does pieces of work, from a number on. */
  readonly work: (from: number, count: number) => unknown
}

/** Pieces a second of this thread's processor time. */
const rateOf = async ({ work, batch, prepare }: Variant, sliceMillis: number): Promise<number> => {
  await prepare?.()
  const began = threadCpuMicros()
  let done = 0
  let micros = 0
  for (; micros < sliceMillis * 1_000; micros = threadCpuMicros() - began) {
    await work(done, batch)
    done += batch
  }
  return (done * 1_000_000) / micros
}

/**
 * Rates of each variant, in pieces a second of this thread's processor time. The variants take turns in short slices,
 * so that whatever else the machine does meets all of them. The first round is for the compilers and counts for none.
 */
export const alternate = async (
  variants: ReadonlyArray<Variant>,
  { rounds = 15, sliceMillis = 200 }: { readonly rounds?: number; readonly sliceMillis?: number } = {},
): Promise<ReadonlyArray<ReadonlyArray<number>>> => {
  const rates = variants.map((): Array<number> => [])
  for (let round = -1; round < rounds; round++) {
    for (const [i, variant] of variants.entries()) {
      const rate = await rateOf(variant, sliceMillis)
      if (round >= 0) rates[i]!.push(rate)
    }
  }
  return rates
}

/** The rate of the first variant, and how many times that of each peer it is, round by round. */
export const besidePeers = async (
  [own, ...peers]: readonly [Variant, ...ReadonlyArray<Variant>],
  {
    unit,
    per = 1,
    prefix = own.name.split(" ")[0],
  }: { readonly unit: string; readonly per?: number; readonly prefix?: string },
): Promise<ReadonlyArray<Figure>> => {
  const [rates = [], ...others] = await alternate([own, ...peers])
  return [
    figure(
      own.name,
      rates.map((rate) => rate / per),
      { unit: `${unit} of processor time`, better: "higher" },
    ),
    ...peers.map(({ name }, i) =>
      figure(
        `${prefix} against ${name}`,
        rates.map((rate, round) => rate / others[i]![round]!),
        { unit: "times", better: "higher" },
      ),
    ),
  ]
}

/** Goals by the names of figures. */
const goals: Readonly<Record<string, number>> = JSON.parse(readFileSync(new URL("goals.json", import.meta.url), "utf8"))

/** Worse than before by a larger part than this is a regression. */
const regression = 0.1

/** A sentence for each figure that is more than a tenth worse than the one of the same name in an earlier run. */
export const regressions = (now: ReadonlyArray<Figure>, before: ReadonlyArray<Figure>): ReadonlyArray<string> =>
  now.flatMap((one) => {
    const earlier = before.find(({ name }) => name === one.name)
    if (earlier === undefined) return []
    const isGood =
      one.better === "higher"
        ? one.value >= earlier.value * (1 - regression)
        : one.value <= earlier.value * (1 + regression)
    return isGood ? [] : [`${one.name}: ${numberText(one.value)} ${one.unit}, before ${numberText(earlier.value)}`]
  })

/** A number for people: three digits, or the whole part of a longer one. */
export const numberText = (value: number): string =>
  value.toLocaleString("en-US", value < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 })

const goalText = ({ name, value, better }: Figure): string => {
  const goal = goals[name]
  if (goal === undefined) return ""
  const isReached = better === "higher" ? value >= goal : value <= goal
  return isReached ? numberText(goal) : `${numberText(goal)}, missed`
}

export const columns: ReadonlyArray<string> = ["figure", "median", "slices", "goal"]

/** The cells of a figure: name, median with its unit, extremes, goal. */
export const cellsOf = (one: Figure): ReadonlyArray<string> => [
  one.name,
  `${numberText(one.value)} ${one.unit}`,
  `${numberText(one.low)} to ${numberText(one.high)}`,
  goalText(one),
]

/** A table for people. */
export const report = (figures: ReadonlyArray<Figure>): string => {
  const all = [columns, ...figures.map(cellsOf)]
  const widths = columns.map((_, i) => Math.max(...all.map((row) => row[i]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
