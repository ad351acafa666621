import { type Dice, shuffled } from "../support/Dice.ts"
import { type Failpoint, failpoints, type Moment, moments, nameOf } from "./failpoints.ts"

/** A step at which some life is to end. */
export interface Target {
  readonly point: Failpoint
  readonly moment: Moment
  /** Lives that were meant to end there, and ended elsewhere. */
  readonly misses: number
}

/** Lives for one target before it counts as out of reach. */
export const missesMax = 8

/** What is still to be hit. Targets of one group follow each other on one world. */
export interface Schedule {
  /** Of the first world, in this order: it is fresh only once. */
  readonly fresh: ReadonlyArray<Target>
  readonly groups: ReadonlyArray<ReadonlyArray<Target>>
}

const targetsOf = (points: ReadonlyArray<Failpoint>): ReadonlyArray<Target> =>
  points.flatMap((point) => moments.map((moment) => ({ point, moment, misses: 0 })))

const isOf = (circumstance: Failpoint["circumstance"]) => (point: Failpoint) => point.circumstance === circumstance

/**
 * Which steps a run of so many kills is to hit: all of them, before and after, where there are kills enough to try
 * some again; else a seeded part of those that need nothing special. With an aim: those of which it is a part of the
 * name, again and again.
 */
export const scheduleOf = (kills: number, dice: Dice, aim = ""): Schedule => {
  const all = targetsOf(failpoints)
  if (aim !== "") {
    const own = targetsOf(failpoints.filter((point) => nameOf(point).includes(aim)))
    const turns = Array.from({ length: Math.ceil(kills / own.length) }, () => shuffled(own, dice))
    return {
      fresh: [],
      groups: turns
        .flat()
        .slice(0, kills)
        .map((target) => [target]),
    }
  }
  if (kills < all.length * 1.1) {
    const some = shuffled(targetsOf(failpoints.filter(isOf(undefined))), dice).slice(0, Math.floor(kills * 0.75))
    return { fresh: [], groups: some.map((target) => [target]) }
  }
  const fresh = targetsOf(failpoints.filter(isOf("fresh")))
  // Attempts that end unexecuted need their time once, not for each of them.
  const expiry = targetsOf(failpoints.filter(isOf("expiry")))
  const others = all.filter(({ point: { circumstance } }) => circumstance !== "fresh" && circumstance !== "expiry")
  return { fresh, groups: [expiry, ...shuffled(others, dice).map((target) => [target])] }
}

export interface Hits {
  start: number
  end: number
}

/** How often each step ended a life, before and after it. */
export const tableOf = (hits: ReadonlyMap<string, Hits>): string => {
  const rows = failpoints.map(nameOf).map((name) => ({ name, ...(hits.get(name) ?? { start: 0, end: 0 }) }))
  const width = Math.max(...rows.map(({ name }) => name.length))
  const lines = rows.map(
    ({ name, start, end }) => `${name.padEnd(width)}  ${String(start).padStart(6)}  ${String(end).padStart(5)}`,
  )
  return [`${"failpoint".padEnd(width)}  before  after`, ...lines].join("\n")
}
