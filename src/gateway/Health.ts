import { Clock, Context, Effect, Layer } from "effect"
import type { BlockMark } from "../domain/Balance.ts"
import { majorityOf, quorumTip } from "../domain/chain.ts"
import { millisOf } from "../domain/Time.ts"
import { aheadMillisOf, noteBlock, type TimedBlock } from "../rules/checks/wrongClock.ts"
import type { HeadKnown, NamedBlock } from "../rules/saneHead.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import type { RequestOutcome } from "../telemetry/metricTable.ts"
import { escapeText } from "./GatewayError.ts"
import type { LimiterPace } from "./Limiter.ts"

const gatewayStates = ["up", "lagging", "quarantined", "banned", "down"] as const
type GatewayState = (typeof gatewayStates)[number]

/** State of one gateway, from its own answers and from those of the others. */
export interface GatewayHealth {
  readonly name: string
  readonly state: GatewayState
  /** The lower of the blocks that its chain and its rows named last; undefined before the first. */
  readonly height: bigint | undefined
  /** The higher of them. Its chain is queried only when money moves. */
  readonly named: bigint | undefined
  /** True if one of its last 20 requests was served; false in a process that has just begun. */
  readonly isHeard: boolean
  /** Requests a second that its refusals leave, where these are fewer than one; undefined otherwise. */
  readonly perSecond: number | undefined
  /** Reason of its quarantine, end of its ban, its last failure, or that it gets few requests. */
  readonly detail: string
  /** The chain that it named last, where that is another than the treasury's. */
  readonly otherChain: string | undefined
  /** Time of its blocks minus our clock, while these advance as time does; undefined if unknown. */
  readonly aheadMillis: number | undefined
  /** Its head does not fit the accepted one: it counts again once that does. */
  readonly isStray: boolean
}

const lagMax = 5n
/** A quarantine lasts this long after the last finding. */
const quarantineMillis = 30_000
/** Longest time for which a gateway's reported block counts as its position. */
const freshMillis = 60_000
const samplesMax = 20
const failuresInARow = 5

/** At fewer requests a second a round of polls takes longer than ten seconds. */
const slowPerSecond = 1
const slowWords = (perSecond: number): string =>
  `asked slowly, ${perSecond.toFixed(1)} requests a second: it refused others as too many`

const bannedWords = (until: number): string =>
  `banned until ${new Date(until).toISOString().slice(0, 19).replace("T", " ")} UTC`

/** A gateway that is down is tried like the others again after this time without another failure. */
const downMillis = 60_000

interface Quarantine {
  readonly since: number
  readonly detail: string
}

/** State of one gateway, in memory only: a new process starts without it. */
interface Notes {
  /** The block that its chain named last. */
  chain: NamedBlock | undefined
  /** The block that its rows named last; also where the answer did not count. */
  rows: (BlockMark & NamedBlock) | undefined
  /** Times of the blocks of its row headers, or of its answers if it names no blocks, over the last seconds. */
  timed: ReadonlyArray<TimedBlock>
  /** Why its head does not fit. */
  stray: string | undefined
  quarantine: Quarantine | undefined
  other: { readonly chainId: string; readonly since: number } | undefined
  ended: ReadonlyArray<RequestOutcome>
  failedAt: number
  lastFailure: string
}

/** A refusal is no failure: not every network has every operation. */
const isFailure = (outcome: RequestOutcome): boolean => outcome !== "ok" && outcome !== "refused"

/** One request that ended. */
export interface Ended {
  readonly outcome: RequestOutcome
  readonly detail: string
  readonly mark: BlockMark | undefined
  /** The gateway's own time, Unix nanoseconds. */
  readonly date?: bigint | undefined
}

/** Judges gateways by what they answer: how high, how late, how often not at all, and whether they contradict. */
export class Health extends Context.Service<Health>()("cofferer/gateway/Health", {
  make: Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
    const metrics = yield* Metrics
    const records = new Map(names.map((name) => [name, fresh()]))
    const of = (name: string): Notes => records.get(name) ?? fresh()
    const isLeftOut = ({ quarantine, other, stray }: Notes) => (quarantine ?? other ?? stray) !== undefined
    /** The block by which lag is measured: the highest that a majority has reached. */
    const tip = (now: number) => {
      const heights = [...records.values()].flatMap((record) =>
        isLeftOut(record) ? [] : (oldest(namedBy(record, now)) ?? []),
      )
      return heights.length === 0 ? undefined : quorumTip(heights, majorityOf(heights.length))
    }
    const show = (name: string) => metrics.gatewayQuarantined.set({ gateway: name }, isLeftOut(of(name)) ? 1 : 0)
    const paces = new Map<string, Effect.Effect<LimiterPace>>()
    let known: HeadKnown = {}
    const all = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const name of names) {
        const record = of(name)
        beginBy(record, now)
        if (now - (record.quarantine?.since ?? now) >= quarantineMillis) record.quarantine = undefined
        show(name)
      }
      const newest = tip(now)
      return yield* Effect.forEach(names, (name) =>
        Effect.map(paces.get(name) ?? Effect.undefined, (pace) => view({ name, record: of(name), newest, now, pace })),
      )
    })
    const chain = (name: string, other: string | undefined, now: number) => {
      const record = of(name)
      const before = record.other
      if (other === undefined && before === undefined) return
      record.other = other === undefined ? undefined : { chainId: other, since: before?.since ?? now }
      record.chain = undefined
      record.rows = undefined
      record.timed = []
      record.stray = undefined
      show(name)
    }
    const now = Clock.currentTimeMillis
    return {
      /** Sets the source that reports bans by the gateway; a later one replaces it. */
      follow: (name: string, pace: Effect.Effect<LimiterPace>) => Effect.sync(() => paces.set(name, pace)),
      note: (name: string, ended: Ended) =>
        Effect.map(now, (at) => {
          const record = of(name)
          noteEnd(record, ended, at)
          const { mark, date } = ended
          if (mark !== undefined) record.rows = { ...mark, at }
          // Where it never names a block, its own time stands for the block's.
          const time = mark?.timestamp ?? (record.rows === undefined ? date : undefined)
          if (time !== undefined) record.timed = noteBlock(record.timed, { blockAt: millisOf(time), at })
        }),
      noteHeight: (name: string, height: bigint) =>
        Effect.map(now, (at) => {
          of(name).chain = { height, at }
        }),
      /** It is on that other chain, or on ours again (undefined): heights of two chains do not compare. */
      noteChain: (name: string, otherChain: string | undefined) => Effect.map(now, (at) => chain(name, otherChain, at)),
      /** Its answers count for nothing for a while: it contradicted the others. */
      quarantine: (name: string, detail: string) =>
        Effect.map(now, (since) => {
          of(name).quarantine = { since, detail }
          show(name)
        }),
      /** One of several whose head does not fit is left out; undefined: it fits. */
      noteStray: (name: string, why: string | undefined) =>
        Effect.sync(() => {
          of(name).stray = why
          show(name)
        }),
      /** Sets the known state of the chain, by which row headers are judged. */
      judgeBy: (next: HeadKnown) =>
        Effect.sync(() => {
          known = next
        }),
      known: Effect.sync(() => known),
      /** The block that the gateway's row headers named last; undefined where it has none. */
      rows: (name: string) => Effect.sync((): BlockMark | undefined => of(name).rows),
      /** In the order in which the gateways are configured. */
      all,
      /** Names, the best first: healthy ones in the order of the configuration, then the others. */
      ranked: Effect.map(all, (views) =>
        views.toSorted((a, b) => rank[a.state] - rank[b.state]).map(({ name }) => name),
      ),
    }
  }),
}) {
  static readonly layer = (names: ReadonlyArray<string>) => Layer.effect(Health, Health.make(names))
}

const rank: Readonly<Record<GatewayState, number>> = { up: 0, lagging: 1, down: 2, quarantined: 3, banned: 4 }

const fresh = (): Notes => ({
  chain: undefined,
  rows: undefined,
  timed: [],
  stray: undefined,
  quarantine: undefined,
  other: undefined,
  ended: [],
  failedAt: 0,
  lastFailure: "",
})

/** The blocks that its chain and its rows named last; with a time, those of the last minute. */
const namedBy = ({ chain, rows }: Notes, now?: number): ReadonlyArray<bigint> =>
  [chain, rows].flatMap((one) =>
    one === undefined || (now !== undefined && now - one.at > freshMillis) ? [] : [one.height],
  )

const oldest = (heights: ReadonlyArray<bigint>): bigint | undefined => quorumTip(heights, heights.length)
const newestOf = (heights: ReadonlyArray<bigint>): bigint | undefined => quorumTip(heights, 1)

const noteEnd = (record: Notes, { outcome, detail }: Ended, now: number): void => {
  record.ended = [...record.ended, outcome].slice(-samplesMax)
  if (isFailure(outcome) || !record.ended.includes("ok")) {
    record.lastFailure = detail
    record.failedAt = now
  }
}

/** Moves times noted while our clock was ahead to now: otherwise they would last as long as the clock's error. */
const beginBy = (record: Notes, now: number): void => {
  const { quarantine } = record
  if (quarantine !== undefined && quarantine.since > now) record.quarantine = { ...quarantine, since: now }
  record.failedAt = Math.min(record.failedAt, now)
}

interface Seen {
  readonly name: string
  readonly record: Notes
  readonly newest: bigint | undefined
  readonly now: number
  readonly pace: LimiterPace | undefined
}

const view = ({ name, record, newest, now, pace }: Seen): GatewayHealth => {
  const { quarantine, ended, lastFailure, stray } = record
  const recent = namedBy(record, now)
  const heights = recent.length > 0 ? recent : namedBy(record)
  const [height, named] = [oldest(heights), newestOf(heights)]
  const isHeard = ended.includes("ok")
  const inARow = ended.length >= failuresInARow && ended.slice(-failuresInARow).every(isFailure)
  // It may refuse all: a token that expired, or a proxy without its node.
  const isMostly = ended.length === samplesMax && (!isHeard || ended.filter(isFailure).length >= samplesMax / 2)
  const isFailing = inARow || isMostly
  const isDown = isFailing && now - record.failedAt < downMillis
  const lag = height === undefined || newest === undefined || height >= newest ? 0n : newest - height
  const otherChain = record.other?.chainId
  const perSecond = pace?.state === "throttled" && pace.perSecond < slowPerSecond ? pace.perSecond : undefined
  const isStray = stray !== undefined && quarantine === undefined
  const aheadMillis = aheadMillisOf(record.timed, now)
  const base = { name, height, named, isHeard, perSecond, otherChain, isStray, aheadMillis }
  if (otherChain !== undefined)
    return { ...base, state: "quarantined", detail: `it is on chain ${escapeText(otherChain)}` }
  if (quarantine !== undefined) return { ...base, state: "quarantined", detail: quarantine.detail }
  if (stray !== undefined) return { ...base, state: "quarantined", detail: stray }
  if (pace?.state === "banned") return { ...base, state: "banned", detail: bannedWords(now + pace.forMillis) }
  if (isDown) return { ...base, state: "down", detail: lastFailure }
  if (lag > lagMax) return { ...base, state: "lagging", detail: `${lag} blocks behind` }
  if (ended.slice(-1).some(isFailure)) return { ...base, state: "up", detail: lastFailure }
  return { ...base, state: "up", detail: perSecond === undefined ? "" : slowWords(perSecond) }
}

/**
 * True if its answers do not count now. Answers of a gateway on another chain do count: each reports that chain, and a
 * quorum of them shows that the chain has changed.
 */
export const isUnheard = ({ state, otherChain }: GatewayHealth): boolean =>
  state === "quarantined" && otherChain === undefined
