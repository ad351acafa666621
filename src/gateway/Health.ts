import { Clock, Context, Effect, Layer } from "effect"
import type { BlockMark } from "../domain/Balance.ts"
import { majorityOf, quorumTip } from "../domain/quorum.ts"
import {
  type Belief,
  beginsAgain,
  ceilingOf,
  type HeadBounds,
  headBounds,
  isPlausible,
  type NamedBlock,
  type RowsBlock,
  stepBackMax,
} from "../rules/headBelief.ts"
import { aheadMillisOf, noteBlock, type TimedBlock } from "../rules/wrongClock.ts"
import { Metrics, type RequestOutcome } from "../telemetry/Metrics.ts"
import { escapeText } from "./escapeText.ts"
import type { Pace } from "./Limiter.ts"

export const gatewayStates = ["up", "lagging", "quarantined", "banned", "down"] as const
export type GatewayState = (typeof gatewayStates)[number]

/** What is known of one gateway, from its own answers and from those of the others. */
export interface GatewayHealth {
  readonly name: string
  readonly state: GatewayState
  /** Where it surely is: the older of the blocks that its chain and its rows named last; undefined before the first. */
  readonly height: bigint | undefined
  /** The newer of them. Its chain is asked only where money moves. */
  readonly named: bigint | undefined
  /** Blocks behind the newest that a majority has begun. */
  readonly lag: bigint
  /** Share of its last 20 requests that gave no usable answer. */
  readonly failing: number
  /** Whether one of these gave a usable answer. A process that has just begun has heard nobody. */
  readonly isHeard: boolean
  /** Requests a second that its refusals leave, where these are fewer than one; undefined otherwise. */
  readonly perSecond: number | undefined
  /** Why it is quarantined, until when it is banned, what its last failure was, or that it is asked slowly. */
  readonly detail: string
  /** The chain that it named last, where that is another than the treasury's. */
  readonly otherChain: string | undefined
  /** Time of its blocks minus our clock, while these go on as time does; undefined where that cannot be told. */
  readonly aheadMillis: number | undefined
  /** That its row headers name a later block far below one that was known, and since when (Unix milliseconds). */
  readonly begunAgain?: BegunAgain
  /** That it is quarantined for what it said of heights alone: where it is now shows whether it is right again. */
  readonly isOfHeight: boolean
}

/** Why a gateway is quarantined: for a block that cannot be the newest, or for what it says of the ledger. */
export type QuarantineCause = "height" | "ledger"

export interface BegunAgain {
  /** Height of the block that was known. */
  readonly below: bigint
  readonly since: number
}

/** What blocks row headers can name. */
export interface MarkBounds {
  /** The highest block that the chain can have begun by now; undefined while that is not known. */
  readonly ceiling: bigint | undefined
  /** The newest known block with its time: what is later is not far below it. */
  readonly block: BlockMark | undefined
}

const lagMax = 5n
/** A quarantine lasts at least so long, and until the gateway has come to where it said that it was. */
const quarantineMillis = 30_000
/** After so long its old claims are forgotten: one wrong number does not shut it out for ever. */
const forgetMillis = 600_000
/** What a gateway said longer ago says nothing about where it is. */
const freshMillis = 60_000
const samplesMax = 20
const failuresInARow = 5

/** A round of polls takes longer than ten seconds where fewer requests a second may be sent. */
const slowPerSecond = 1
const slowWords = (perSecond: number): string =>
  `asked slowly, ${perSecond.toFixed(1)} requests a second: it refused others as too many`

const bannedWords = (until: number): string =>
  `banned until ${new Date(until).toISOString().slice(0, 19).replace("T", " ")} UTC`

/** After so long without another failure a gateway that is down is tried like the others again. */
const downMillis = 60_000

/** The node's chain and the rows of its history are two things that may be at two heights. */
type Kind = "chain" | "rows"

interface Quarantine {
  readonly since: number
  readonly detail: string
  readonly cause: QuarantineCause
  /** Since when its head agrees with that of a gateway that is heard, and the last of these. */
  readonly agreeing?: { readonly since: number; readonly last: NamedBlock }
}

/** What is kept of one gateway, in memory alone: a new process judges anew. */
interface Notes {
  height: bigint | undefined
  heightAt: number
  /** The block that its rows named last; also where the answer was not believed. */
  rows: RowsBlock | undefined
  /** Blocks of its row headers with their times, over the last seconds. */
  timed: ReadonlyArray<TimedBlock>
  /** With when an answer said so last. */
  begunAgain: (BegunAgain & { readonly at: number }) | undefined
  readonly seen: Map<Kind, { readonly highest: bigint; readonly last: bigint; readonly at: number }>
  quarantine: Quarantine | undefined
  other: { readonly chainId: string; readonly since: number } | undefined
  failures: ReadonlyArray<boolean>
  failedAt: number
  lastFailure: string
}

const usable: ReadonlySet<RequestOutcome> = new Set(["ok", "refused"])

/** One request that ended. */
export interface Ended {
  readonly outcome: RequestOutcome
  readonly detail: string
  readonly mark: BlockMark | undefined
}

/** Judges gateways by what they answer: how high, how late, how often not at all, and whether they contradict. */
export class Health extends Context.Service<
  Health,
  {
    /** Whose pace says while the gateway shuts us out; a later one takes its place. */
    readonly follow: (gateway: string, pace: Effect.Effect<Pace>) => Effect.Effect<void>
    readonly note: (gateway: string, ended: Ended) => Effect.Effect<void>
    readonly noteHeight: (gateway: string, height: bigint) => Effect.Effect<void>
    /** It is on that other chain, or on ours again (undefined): heights of two chains do not compare. */
    readonly noteChain: (gateway: string, otherChain: string | undefined) => Effect.Effect<void>
    /** Its answers count for nothing for a while: it contradicted itself or the others. Default cause: the ledger. */
    readonly quarantine: (gateway: string, detail: string, cause?: QuarantineCause) => Effect.Effect<void>
    /**
     * Of one that is quarantined: its head agrees with another one that is heard, and is needed; undefined: not so. It
     * is readmitted once that held for half a minute, wherever it said before that it was.
     */
    readonly noteAgreement: (gateway: string, height: bigint | undefined) => Effect.Effect<void>
    /** Ends a quarantine, and forgets where the gateway said that it was: where it is now was judged. */
    readonly readmit: (gateway: string) => Effect.Effect<void>
    /** What is believed of the chain. */
    readonly believe: (belief: Pick<Belief, "trusted" | "block">, bounds: HeadBounds) => Effect.Effect<void>
    readonly bounds: Effect.Effect<MarkBounds>
    /** The block that the gateway's row headers named last; undefined where it has none. */
    readonly rows: (gateway: string) => Effect.Effect<RowsBlock | undefined>
    /** In the order in which the gateways are configured. */
    readonly all: Effect.Effect<ReadonlyArray<GatewayHealth>>
    /** Names, the best first: healthy ones in the order of the configuration, then the others. */
    readonly ranked: Effect.Effect<ReadonlyArray<string>>
  }
>()("cofferer/gateway/Health") {
  static readonly layer = (names: ReadonlyArray<string>): Layer.Layer<Health, never, Metrics> =>
    Layer.effect(
      Health,
      Effect.gen(function* () {
        const metrics = yield* Metrics
        const records = new Map(names.map((name) => [name, fresh()]))
        const of = (name: string): Notes => records.get(name) ?? fresh()
        const tip = (now: number) => {
          const told = [...records.values()].flatMap(({ height, heightAt, quarantine }) =>
            height === undefined || quarantine !== undefined || now - heightAt > freshMillis ? [] : [height],
          )
          return told.length === 0 ? undefined : quorumTip(told, majorityOf(told.length))
        }
        const release = (name: string) => {
          of(name).quarantine = undefined
          of(name).seen.clear()
          metrics.gatewayQuarantined.set({ gateway: name }, 0)
        }
        const paces = new Map<string, Effect.Effect<Pace>>()
        let trusted: { readonly block: NamedBlock; readonly bounds: HeadBounds } | undefined
        let known: BlockMark | undefined
        const all = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          // One that nobody asks any more must come back too.
          for (const name of names) {
            beginBy(of(name), now)
            if (now - (of(name).quarantine?.since ?? now) >= forgetMillis) release(name)
            if (now - (of(name).begunAgain?.at ?? now) >= forgetMillis) of(name).begunAgain = undefined
          }
          const newest = tip(now)
          return yield* Effect.forEach(names, (name) =>
            Effect.map(paces.get(name) ?? Effect.undefined, (pace) =>
              view({ name, record: of(name), newest, now, pace }),
            ),
          )
        })
        const quarantine = (name: string, detail: string, cause: QuarantineCause, now: number) => {
          of(name).quarantine = { since: now, detail, cause }
          metrics.gatewayQuarantined.set({ gateway: name }, 1)
        }
        const height = (name: string, kind: Kind, seen: bigint, now: number) => {
          const record = of(name)
          beginBy(record, now)
          const highest = record.seen.get(kind)?.highest ?? seen
          record.seen.set(kind, { highest: seen > highest ? seen : highest, last: seen, at: now })
          const fresh = [...record.seen.values()].filter(({ at }) => now - at <= freshMillis)
          record.height = fresh.reduce((least, { last }) => (last < least ? last : least), seen)
          record.heightAt = now
          const { quarantine: held } = record
          if (held === undefined && seen + stepBackMax < highest) {
            quarantine(name, `it went back from block ${highest} to ${seen}`, "height", now)
          } else if (held !== undefined) {
            const isBack = fresh.every((one) => one.last + stepBackMax >= one.highest)
            const forMillis = now - held.since
            if ((isBack && forMillis >= quarantineMillis) || forMillis >= forgetMillis) release(name)
            else if (kind === "chain" && !agreesStill(held, seen, now)) disagree(record, held)
          }
        }
        const disagree = (record: Notes, { since, detail, cause }: Quarantine) => {
          record.quarantine = { since, detail, cause }
        }
        const agreesStill = ({ agreeing }: Quarantine, seen: bigint, now: number): boolean => {
          const { blocksPerSecond } = trusted?.bounds ?? headBounds
          const bounds = { jumpBlocks: stepBackMax, blocksPerSecond }
          return agreeing === undefined || isPlausible(seen, agreeing.last, now, bounds)
        }
        const agreement = (name: string, height: bigint | undefined, now: number) => {
          const record = of(name)
          const { quarantine: held } = record
          if (held?.cause !== "height") return
          if (height === undefined) return disagree(record, held)
          const since = Math.min(held.agreeing?.since ?? now, now)
          record.quarantine = { ...held, agreeing: { since, last: { height, at: now } } }
          const rows = record.seen.get("rows")
          const areRowsThere =
            rows === undefined ||
            now - rows.at > freshMillis ||
            rows.last + stepBackMax >= (rows.highest < height ? rows.highest : height)
          if (areRowsThere && now - since >= quarantineMillis) release(name)
        }
        const chain = (name: string, other: string | undefined, now: number) => {
          const record = of(name)
          const before = record.other
          if (other === undefined && before === undefined) return
          record.other = other === undefined ? undefined : { chainId: other, since: before?.since ?? now }
          record.seen.clear()
          record.height = undefined
          record.rows = undefined
          record.timed = []
          record.begunAgain = undefined
          const { quarantine: held } = record
          // What it was quarantined for there is of that chain's blocks.
          if (other === undefined && before !== undefined && held !== undefined && held.since >= before.since)
            release(name)
          metrics.gatewayQuarantined.set({ gateway: name }, (record.quarantine ?? record.other) ? 1 : 0)
        }
        const now = Clock.currentTimeMillis
        return Health.of({
          follow: (name, pace) => Effect.sync(() => paces.set(name, pace)),
          note: (name, ended) =>
            Effect.map(now, (at) => {
              noteEnd(of(name), ended, at)
              if (ended.mark === undefined) return
              const record = of(name)
              record.rows = { ...ended.mark, at }
              record.timed = noteBlock(record.timed, { blockAt: Number(ended.mark.timestamp / 1_000_000n), at })
              record.begunAgain =
                known !== undefined && beginsAgain(ended.mark, known)
                  ? { below: known.height, since: at, ...record.begunAgain, at }
                  : undefined
              height(name, "rows", ended.mark.height, at)
            }),
          noteHeight: (name, seen) => Effect.map(now, (at) => height(name, "chain", seen, at)),
          noteChain: (name, otherChain) => Effect.map(now, (at) => chain(name, otherChain, at)),
          quarantine: (name, detail, cause = "ledger") => Effect.map(now, (at) => quarantine(name, detail, cause, at)),
          noteAgreement: (name, height) => Effect.map(now, (at) => agreement(name, height, at)),
          readmit: (name) =>
            Effect.sync(() => {
              release(name)
              of(name).begunAgain = undefined
            }),
          believe: (belief, bounds) =>
            Effect.sync(() => {
              trusted = belief.trusted && { block: belief.trusted, bounds }
              known = belief.block
            }),
          bounds: Effect.map(now, (at) => ({
            ceiling: trusted && ceilingOf(trusted.block, at, trusted.bounds),
            block: known,
          })),
          rows: (name) => Effect.sync(() => of(name).rows),
          all,
          ranked: Effect.map(all, (views) =>
            views.toSorted((a, b) => rank[a.state] - rank[b.state]).map(({ name }) => name),
          ),
        })
      }),
    )
}

const rank: Readonly<Record<GatewayState, number>> = { up: 0, lagging: 1, down: 2, quarantined: 3, banned: 4 }

const fresh = (): Notes => ({
  height: undefined,
  heightAt: 0,
  rows: undefined,
  timed: [],
  begunAgain: undefined,
  seen: new Map(),
  quarantine: undefined,
  other: undefined,
  failures: [],
  failedAt: 0,
  lastFailure: "",
})

const noteEnd = (record: Notes, { outcome, detail }: Ended, now: number): void => {
  const failed = !usable.has(outcome)
  record.failures = [...record.failures, failed].slice(-samplesMax)
  if (failed) {
    record.lastFailure = detail
    record.failedAt = now
  }
}

/** What was noted while our clock was ahead is of now: else it would last for as long as the clock was wrong by. */
const beginBy = (record: Notes, now: number): void => {
  const { quarantine, begunAgain } = record
  if (quarantine !== undefined && quarantine.since > now) record.quarantine = { ...quarantine, since: now }
  if (begunAgain !== undefined && begunAgain.at > now) record.begunAgain = { ...begunAgain, at: now }
  record.failedAt = Math.min(record.failedAt, now)
  record.heightAt = Math.min(record.heightAt, now)
}

interface Seen {
  readonly name: string
  readonly record: Notes
  readonly newest: bigint | undefined
  readonly now: number
  readonly pace: Pace | undefined
}

const view = ({ name, record, newest, now, pace }: Seen): GatewayHealth => {
  const { height, quarantine, failures, lastFailure, begunAgain } = record
  const failed = failures.filter((one) => one).length
  const failing = failures.length === 0 ? 0 : failed / failures.length
  const inARow = failures.length >= failuresInARow && failures.slice(-failuresInARow).every((one) => one)
  const isFailing = inARow || (failures.length === samplesMax && failing >= 0.5)
  const isDown = isFailing && now - record.failedAt < downMillis
  const lag = height === undefined || newest === undefined || height >= newest ? 0n : newest - height
  const named = [...record.seen.values()].reduce<bigint | undefined>(
    (newer, { last }) => (newer === undefined || last > newer ? last : newer),
    undefined,
  )
  const otherChain = record.other?.chainId
  const perSecond = pace?.state === "throttled" && pace.perSecond < slowPerSecond ? pace.perSecond : undefined
  const isOfHeight = quarantine?.cause === "height" && begunAgain === undefined
  const aheadMillis = aheadMillisOf(record.timed, now)
  const isHeard = failed < failures.length
  const base = { name, height, named, lag, failing, isHeard, perSecond, otherChain, isOfHeight, aheadMillis }
  if (otherChain !== undefined)
    return { ...base, state: "quarantined", detail: `it is on chain ${escapeText(otherChain)}` }
  if (begunAgain !== undefined)
    return {
      ...base,
      begunAgain,
      state: "quarantined",
      detail: `its chain begins again below block ${begunAgain.below}`,
    }
  if (quarantine !== undefined) return { ...base, state: "quarantined", detail: quarantine.detail }
  if (pace?.state === "banned") return { ...base, state: "banned", detail: bannedWords(now + pace.forMillis) }
  if (isDown) return { ...base, state: "down", detail: lastFailure }
  if (lag > lagMax) return { ...base, state: "lagging", detail: `${lag} blocks behind` }
  if (failures.at(-1) === true) return { ...base, state: "up", detail: lastFailure }
  return { ...base, state: "up", detail: perSecond === undefined ? "" : slowWords(perSecond) }
}

/**
 * Whether its answers count for nothing now. One on another chain is heard: each of its answers says so, and a quorum
 * of them that the chain is another.
 */
export const isUnheard = ({ state, otherChain }: GatewayHealth): boolean =>
  state === "quarantined" && otherChain === undefined

/** The gateways that have shut us out, each with the end of its ban, in a sentence; empty where there is none. */
export const bansText = (
  gateways: ReadonlyArray<{ readonly name: string; readonly state: string; readonly detail: string }>,
): string =>
  gateways
    .filter(({ state }) => state === "banned")
    .map(({ name, detail }) => `gateway ${name} is ${detail}`)
    .join(", ")
