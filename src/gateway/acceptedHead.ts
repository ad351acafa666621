import { Clock, Effect, Option } from "effect"
import type { BlockMark } from "../domain/Balance.ts"
import { quorumTip } from "../domain/chain.ts"
import {
  acceptAfterResume,
  afterHead,
  fitsItsRows,
  type HeadKnown,
  headFits,
  isAnotherChain,
  type ReportedHead,
} from "../rules/saneHead.ts"
import { type AcceptedHeads, ChainState } from "../store/network/ChainState.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { GatewayError, type GatewayReason, otherChain } from "./GatewayError.ts"
import { type GatewayAnswer, Gateways } from "./Gateways.ts"
import { Health, isUnheard } from "./Health.ts"
import type { ChainHead } from "./schema/ChainHead.ts"

export interface ChainOptions {
  readonly chainId: string
  /** True if the network runs in this process: its first head counts at once. */
  readonly isOwn?: boolean
}

/** Recent heads kept of each gateway, among which a common block is searched. */
const recentMax = 32

type Heads = ReadonlyArray<GatewayAnswer<ChainHead>>

interface Judged extends GatewayAnswer<ChainHead> {
  readonly head: ReportedHead
}

/**
 * The newest block that counts: on the treasury's chain, plausible after the last accepted one, and of several gateways
 * the highest that a quorum reports alike. Fails as OtherChain if a quorum is on another chain, as BegunAgain if its
 * chain is another one under the same id, and as Doubted while fewer than a quorum report a head that fits.
 */
export const acceptedHead = Effect.fnUntraced(function* ({ chainId, isOwn }: ChainOptions) {
  const gateways = yield* Gateways
  const health = yield* Health
  const stored = yield* Effect.serviceOption(ChainState)
  const kept: AcceptedHeads = Option.getOrElse(stored, inMemory)
  const { quorum } = gateways
  const isAlone = gateways.all.length === 1
  const name = isAlone ? gateways.all[0]!.name : "quorum"
  const recent = new Map<string, ReadonlyArray<ChainHead>>()
  const failed = (reason: GatewayReason) => new GatewayError({ gateway: name, operation: "height", reason })

  const known = kept
    .acceptedHead(chainId)
    .pipe(
      Effect.catchTag("StoreError", (error) =>
        Effect.fail(failed({ _tag: "Doubted", detail: `the accepted block cannot be read: ${error.message}` })),
      ),
    )
  /** If the store accepts no writes, which is reported elsewhere, the accepted head is kept in memory. */
  const keep = Effect.fnUntraced(function* (after: HeadKnown, risen: string | undefined) {
    yield* health.judgeBy(after)
    const written = risen === undefined ? kept.keepHead(chainId, after) : kept.keepRisenHead(chainId, after, risen)
    yield* Effect.catchTag(written, "StoreError", (error) =>
      logEvent("newest block not stored", { reason: error.message }),
    )
  })

  /** Accepts or refuses the quorum's head. Returns the answers whose head counts: all, if fewer than a quorum fit. */
  const judge = Effect.fnUntraced(function* (ours: Heads) {
    const now = yield* Clock.currentTimeMillis
    const before = yield* known
    const answers = yield* Effect.forEach(ours, (one) =>
      Effect.map(
        health.rows(one.gateway.name),
        (rows): Judged => ({ ...one, head: { height: one.value.height, rows } }),
      ),
    )
    const isFit = ({ head }: Judged) => headFits(before, head.height, now) && !isAnotherChain(head, before)
    const fitting = answers.filter(isFit)
    const counting = fitting.length >= quorum ? fitting : answers
    const reported = quorumHead(counting, before, quorum)
    const next = afterHead(before, reported, now)
    // A command that only reads has no time to wait for a second head.
    const isWaiting = next.stray?.kind === "first" && isOwn !== true && Option.isSome(stored)
    const after = next.stray?.kind === "first" && !isWaiting ? acceptAfterResume(reported.height, now) : next
    const { accepted, stray } = after
    const isForced = before.accepted !== undefined && stray === undefined && fitting.length < quorum
    const detail = `block ${accepted?.height} is accepted after block ${before.accepted?.height}: for five minutes none fitted`
    yield* keep(after, isForced ? detail : undefined)
    if (stray?.kind === "changed") return yield* failed({ _tag: "BegunAgain", detail: stray.why, chainId })
    if (stray !== undefined) return yield* failed({ _tag: "Doubted", detail: stray.why })
    const nearby = counting.filter(({ head }) => headFits(after, head.height, now))
    // With fewer there is no common block: only the lower height that a quorum reports is known.
    return nearby.length >= quorum ? nearby : counting
  })

  /** Common head of a quorum. Leaves out gateways whose head does not fit, or whose block is not the quorum's. */
  const commonOf = Effect.fnUntraced(function* (ours: Heads, fitting: Heads) {
    const heads = fitting.map(({ value }) => value)
    for (const { gateway, value } of ours) {
      const isFit = fitting.some((one) => one.gateway === gateway)
      yield* health.noteStray(gateway.name, isFit ? undefined : `its block ${value.height} cannot be the newest`)
      const before = isFit ? (recent.get(gateway.name) ?? []) : []
      const others = before.filter(({ height }) => height !== value.height)
      recent.set(gateway.name, isFit ? [value, ...others].slice(0, recentMax) : [])
      if (isForked(value, heads, quorum)) {
        yield* health.quarantine(gateway.name, `its block ${value.height} is not that of the others`)
      }
    }
    const lists = fitting.map(({ gateway }) => recent.get(gateway.name) ?? [])
    return commonHead(lists, quorum)
  })

  // The first answers are judged by the head that was accepted before this start.
  yield* Effect.ignore(Effect.flatMap(known, health.judgeBy))

  const head = Effect.gen(function* () {
    const unheard = new Set((yield* health.all).filter((one) => isUnheard(one) && !one.isStray).map((one) => one.name))
    const everyone = yield* gateways.everyone((g) => g.head)
    const answers = isAlone ? everyone : everyone.filter(({ gateway }) => !unheard.has(gateway.name))
    const ours = answers.filter(({ value }) => value.chainId === chainId)
    const theirs = answers.filter((one) => !ours.includes(one))
    if (theirs.length >= quorum) return yield* otherChain(name, theirs[0]!.value.chainId, chainId)
    if (ours.length < quorum) {
      const detail = `${ours.length} of ${quorum} gateways that must agree are on chain ${chainId}`
      return yield* failed({ _tag: "Ambiguous", detail })
    }
    const fitting = yield* judge(ours)
    return isAlone ? fitting[0]!.value : yield* commonOf(ours, fitting)
  })
  return { head }
})

/** The head that a quorum reports: the lowest of its heights. It is another chain only if a quorum reports that. */
const quorumHead = (answers: ReadonlyArray<Judged>, known: HeadKnown, quorum: number): ReportedHead => {
  const heads = answers.map(({ head }) => head)
  const height = quorumTip(
    heads.map((head) => head.height),
    quorum,
  )!
  const another = heads.filter((head) => isAnotherChain(head, known))
  if (another.length >= quorum) return { height, rows: another[0]?.rows }
  const rows = heads.flatMap((head) => (head.rows === undefined || another.includes(head) ? [] : [head.rows]))
  const isOfItsRows = heads.filter(fitsItsRows).length >= quorum
  return { height, rows: quorumRows(rows, Math.min(quorum, rows.length)), isOfItsRows }
}

/** The lowest height and the earliest time of a quorum: row headers of one gateway prove nothing. */
const quorumRows = (rows: ReadonlyArray<BlockMark>, quorum: number): BlockMark | undefined => {
  const height = quorumTip(
    rows.map((one) => one.height),
    quorum,
  )
  const timestamp = quorumTip(
    rows.map((one) => one.timestamp),
    quorum,
  )
  return height === undefined || timestamp === undefined ? undefined : { height, timestamp }
}

/** Accepted head of a command without a store. */
const inMemory = (): AcceptedHeads => {
  let known: HeadKnown = {}
  const keep = (_: string, next: HeadKnown) =>
    Effect.sync(() => {
      known = next
    })
  return {
    acceptedHead: () => Effect.succeed(known),
    isHeadStray: Effect.sync(() => known.stray !== undefined),
    keepHead: keep,
    keepRisenHead: keep,
  }
}

const workOf = ({ pow }: ChainHead): string => JSON.stringify(pow)

/** Work parameters that no signature accepts, for a head whose block or work no quorum agrees on. */
const noWork: ChainHead["pow"] = { hashFunction: "", difficulty: 0, pastBlocks: 0, txPerBlock: 0, increasing: false }

/** The first value that a quorum names. */
const agreed = (values: ReadonlyArray<string>, quorum: number): string | undefined =>
  values.find((value) => values.filter((other) => other === value).length >= quorum)

/**
 * The highest block whose hash a quorum named among the last heads of each gateway (newest first), with the work that a
 * quorum asks for now. Without such a block, the quorum's lowest height with `noWork`. Takes at least a quorum of
 * non-empty lists.
 */
export const commonHead = (recent: ReadonlyArray<ReadonlyArray<ChainHead>>, quorum: number): ChainHead => {
  const newest = recent.flatMap(([head]) => head ?? [])
  const work = agreed(newest.map(workOf), quorum)
  const pow = newest.find((head) => workOf(head) === work)?.pow ?? noWork
  const heights = [...new Set(recent.flat().map(({ height }) => height))].sort((a, b) => Number(b - a))
  for (const height of heights) {
    const there = recent.flatMap((heads) => heads.find((head) => head.height === height) ?? [])
    const hash = agreed(
      there.map((head) => head.hash),
      quorum,
    )
    const head = there.find((one) => one.hash === hash)
    if (head !== undefined) return { ...head, pow }
  }
  const tip = quorumTip(
    newest.map(({ height }) => height),
    quorum,
  )
  const head = newest.find(({ height }) => height === tip)!
  return { ...head, pow: noWork }
}

/** True if a gateway shows another chain at a block for which a quorum reports one hash. */
export const isForked = (one: ChainHead, heads: ReadonlyArray<ChainHead>, quorum: number): boolean => {
  const others = heads.filter(({ height, hash }) => height === one.height && hash !== one.hash)
  return others.some(({ hash }) => others.filter((other) => other.hash === hash).length >= quorum)
}
