import { Effect } from "effect"
import { DifficultyRefused, difficultyMax, PowError, TooSlow } from "./PowError.ts"

/** Hashes a millisecond that no thread reaches, and that every one does: what lies between is measured, not guessed. */
const perMilliMax = 20_000
const perMilliMin = 20

/** What solves, as far as its speed is concerned. */
export interface Pace {
  /** Hashes a millisecond of one search; undefined before it was measured. */
  readonly rate: () => number | undefined
  /** Whether that was so long ago that nothing is to be refused by it. */
  readonly isOld: () => boolean
  /** Hashes to be made before a search of this difficulty begins. */
  readonly ahead: (difficulty: number) => number
  /** Searches for a moment, so that there is a rate. */
  readonly measure: Effect.Effect<void>
}

/** Work, and the milliseconds in which it is of use. */
export interface Wanted {
  readonly difficulty: number
  readonly millisMax: number
}

/**
 * Why the work is not to be expected in its time, by the number of hashes that it takes on average; undefined: it is.
 * Answered at once, without a search, but where a measurement is missing or old and the answer follows from it.
 */
export const judgeWork = Effect.fnUntraced(function* ({ difficulty, millisMax }: Wanted, pace: Pace) {
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > difficultyMax) {
    return new PowError({ operation: "solve", reason: new DifficultyRefused({ difficulty, difficultyMax }) })
  }
  const hashes = 2 ** difficulty
  const isLate = (perMilli: number) => pace.ahead(difficulty) + hashes > millisMax * perMilli
  const known = pace.rate()
  const isDoubtful = known === undefined ? isLate(perMilliMin) : isLate(known) && pace.isOld()
  if (isDoubtful && !isLate(perMilliMax)) yield* pace.measure
  const perMilli = pace.rate()
  if (!isLate(perMilli ?? perMilliMax)) return undefined
  const millis = hashes / (perMilli ?? perMilliMax)
  const isQueued = millis <= millisMax
  const detail = isQueued
    ? `the work of other payments comes first, and difficulty ${difficulty} takes about ${timeText(millis)}`
    : `difficulty ${difficulty} takes about ${timeText(millis)} at ${rateText(perMilli)}`
  return new PowError({ operation: "solve", reason: new TooSlow({ detail, isQueued }) })
})

const rateText = (perMilli: number | undefined): string =>
  perMilli === undefined
    ? `the ${perMilliMax / 1_000} million hashes a second that no machine exceeds`
    : `${Number((perMilli / 1_000).toPrecision(1))} million hashes a second`

const units = [
  ["days", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const

/** To one digit, so that the same work is told of in the same words. */
const timeText = (millis: number): string => {
  const [unit, size] = units.find(([, size]) => millis >= 1.5 * size) ?? ["ms", 1]
  return `${Number((millis / size).toPrecision(1))} ${unit}`
}
