/** What one figure of a benchmark is, before it is judged. */
export interface Figure {
  /** "BENCHMARK what is measured". */
  readonly name: string
  /** The median of the samples. */
  readonly value: number
  readonly unit: string
  readonly better: "higher" | "lower"
  /** One per slice of time, in the order in which they were taken. */
  readonly samples: ReadonlyArray<number>
}

/** Several figures that are taken together. */
export interface Benchmark {
  readonly name: string
  /** Ends "Measures ...". */
  readonly about: string
  /** Whether it runs only when it is named. */
  readonly byNameAlone?: boolean
  readonly run: (
    say: (text: string) => void,
    options: { readonly minutes: number | undefined; readonly count: number | undefined },
  ) => Promise<ReadonlyArray<Figure>>
}

/** What a figure should reach, and what it must not miss. */
export interface Goal {
  readonly goal: number
  readonly floor: number
}

export interface Judged extends Figure {
  readonly goal: number | null
  readonly floor: number | null
}

/** The middle sample; the lower of two. NaN of none. */
export const median = (samples: ReadonlyArray<number>): number =>
  [...samples].sort((a, b) => a - b)[Math.floor((samples.length - 1) / 2)] ?? Number.NaN

export const figure = (
  name: string,
  samples: ReadonlyArray<number>,
  how: { readonly unit: string; readonly better: "higher" | "lower" },
): Figure => ({ name, value: median(samples), ...how, samples })

/** Puts the goal of its name beside each figure. */
export const judge = (figures: ReadonlyArray<Figure>, goals: Readonly<Record<string, Goal>>): ReadonlyArray<Judged> =>
  figures.map((one) => ({ ...one, goal: goals[one.name]?.goal ?? null, floor: goals[one.name]?.floor ?? null }))

const reaches = (one: Judged, bound: number): boolean =>
  one.better === "higher" ? one.value >= bound : one.value <= bound

/** Whether the floor holds. A figure without a floor, or that is no number, misses it: no check passes by luck. */
export const holds = (one: Judged): boolean => one.floor !== null && reaches(one, one.floor)

const verdict = (one: Judged): string => {
  if (one.floor === null || one.goal === null) return "no floor is written"
  if (!holds(one)) return "BELOW THE FLOOR"
  return reaches(one, one.goal) ? "goal reached" : "above the floor"
}

const number = (value: number | null): string =>
  value === null ? "-" : value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : 0 })

/** A table for people. */
export const report = (figures: ReadonlyArray<Judged>): string => {
  const rows = figures.map((one) => [
    one.name,
    `${number(one.value)} ${one.unit}`,
    `${number(Math.min(...one.samples))} to ${number(Math.max(...one.samples))}`,
    number(one.goal),
    number(one.floor),
    verdict(one),
  ])
  const all = [["figure", "median", "slices", "goal", "floor", ""], ...rows]
  const widths = all[0]!.map((_, i) => Math.max(...all.map((row) => row[i]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
