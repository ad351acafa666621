import { timeText } from "../../domain/Time.ts"

/** Difference between our clock and the newest trusted block; they alone do not show which one is wrong. */
interface ClockGap {
  readonly kind: "unknown" | "behind" | "ahead"
  /** The same words for as long as it lasts. */
  readonly detail: string
}

/**
 * Why nothing may be signed, concluded or forgotten now: no trusted block is known, or it and our clock (Unix
 * milliseconds both) differ by more than is allowed, in either direction. Undefined where they agree.
 */
export const clockGap = (now: number, block: number | undefined, maxAgeMillis: number): ClockGap | undefined => {
  if (block === undefined) return { kind: "unknown", detail: "no final block was read yet" }
  if (Math.abs(now - block) <= maxAgeMillis) return undefined
  const kind = block < now ? "behind" : "ahead"
  const where = kind === "behind" ? "behind" : "ahead of"
  return { kind, detail: `the newest final block is more than ${timeText(maxAgeMillis)} ${where} our clock` }
}

/** A block's own time as a gateway reported it, and our clock at that answer, Unix milliseconds both. */
export interface TimedBlock {
  readonly blockAt: number
  readonly at: number
}

/** Blocks this far apart show whether a chain goes on. Rarer polls keep a pair that is further apart. */
const spanMillis = 40_000
const spanMillisMin = 10_000
/** Answers closer together than this replace each other, which bounds the memory. */
const stepMillisMin = 2_000
/** An older answer of a gateway does not count for its clock. */
const freshMillis = 60_000

/** Adds an answer's block to those kept of its gateway, oldest first. A clock that was put back drops later ones. */
export const noteBlock = (known: ReadonlyArray<TimedBlock>, block: TimedBlock): ReadonlyArray<TimedBlock> => {
  const past = known.filter(({ at }) => at <= block.at)
  const recent = past.filter(({ at }) => block.at - at <= spanMillis)
  const kept = recent.length === 0 ? past.slice(-1) : recent
  const before = kept.at(-2)
  const isClose = before !== undefined && block.at - before.at < stepMillisMin
  return [...(isClose ? kept.slice(0, -1) : kept), block]
}

/**
 * Block time minus our clock, while the gateway's blocks advance about as fast as our clock. Undefined if they stand
 * still, catch up, or were not reported for long enough: then their time proves nothing about clocks.
 */
export const aheadMillisOf = (blocks: ReadonlyArray<TimedBlock>, now: number): number | undefined => {
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (first === undefined || last === undefined || Math.abs(now - last.at) > freshMillis) return undefined
  const span = last.at - first.at
  const came = last.blockAt - first.blockAt
  return span < spanMillisMin || 2 * came < span || came > 2 * span ? undefined : last.blockAt - last.at
}

/** A gateway's clock beside ours. */
interface ClockReading {
  readonly name: string
  readonly aheadMillis: number
}

/** Which clock is wrong, and by how much blocks are ahead of ours; below 0: behind it. */
export interface WrongClock {
  /** ours: several gateways agree with each other. either: there is one gateway. gateways: all else. */
  readonly whose: "ours" | "either" | "gateways"
  readonly aheadMillis: number
  /** Gateways whose blocks differ from our clock. */
  readonly gateways: ReadonlyArray<string>
}

/** Judges which clock is wrong where blocks that go on are further from ours than allowed; undefined: none is. */
export const wrongClock = (readings: ReadonlyArray<ClockReading>, maxAgeMillis: number): WrongClock | undefined => {
  const apart = readings.filter(({ aheadMillis }) => Math.abs(aheadMillis) > maxAgeMillis)
  const [first] = apart
  if (first === undefined) return undefined
  const groups = apart.map(({ aheadMillis }) =>
    apart.filter((other) => Math.abs(other.aheadMillis - aheadMillis) <= maxAgeMillis),
  )
  const group = groups.reduce((largest, one) => (one.length > largest.length ? one : largest), [first])
  const isMajority = group.length >= 2 && 2 * group.length > readings.length
  return {
    whose: isMajority ? "ours" : readings.length === 1 ? "either" : "gateways",
    aheadMillis: (group[0] ?? first).aheadMillis,
    gateways: (isMajority ? group : apart).map(({ name }) => name),
  }
}
