import { Clock, Context, Effect, Exit, Layer, Semaphore } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { hasElapsed } from "../domain/Time.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { nodesApart } from "../rules/saneHead.ts"
import { isSameWork } from "../rules/workParameters.ts"
import { haltSigning } from "../store/controls/Controls.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { ChainState } from "../store/network/ChainState.ts"

/** Interval between judged heads at least, for all callers; a head may be 300 ms older (gateway/onChain). */
const freshMillis = 100
/** Past heads kept: more than any party signs at once. */
const pastMax = 32

/** A time by two clocks: Unix milliseconds, which may be set back, and monotonic nanoseconds, which stop in sleep. */
export interface Moment {
  readonly millis: number
  readonly nanos: bigint
}

export const momentNow: Effect.Effect<Moment> = Effect.all({
  millis: Clock.currentTimeMillis,
  nanos: Clock.monotonicTimeNanos,
})

/** A height, and when the last head that had it was requested. */
interface DatedHeight {
  readonly height: bigint
  readonly askedAt: Moment
}

/** The newest block begun, and the few before it, whose hashes may anchor a command. */
export class ChainHeadCache extends Context.Service<ChainHeadCache>()("cofferer/submitter/ChainHeadCache", {
  make: Effect.gen(function* () {
    const { head: askHead } = yield* GatewayReader
    const state = yield* ChainState
    const lock = yield* Semaphore.make(1)
    let recent: ReadonlyArray<ChainHead> = []
    let askedAt: Moment = { millis: 0, nanos: 0n }
    let highest: DatedHeight = { height: 0n, askedAt }
    let answers = 0
    let answer: Exit.Exit<ChainHead, GatewayError | StoreError> | undefined
    const ask = Effect.gen(function* () {
      const now = yield* momentNow
      const head = yield* askHead
      yield* state.seeHead(head)
      askedAt = now
      // The nodes behind one address differ by a few blocks. A head further below is of a chain that was reset.
      const isBehind = head.height < highest.height && head.height + nodesApart >= highest.height
      if (!isBehind) highest = { height: head.height, askedAt }
      const kept = recent.filter(
        (h) => h.chainId === head.chainId && h.height < head.height && isSameWork(h.pow, head.pow),
      )
      // A transaction signed on a block needs time to be included in one of its window.
      const anchors = kept.filter((h) => 2n * (head.height - h.height) <= BigInt(head.pow.pastBlocks))
      recent = [head, ...anchors].slice(0, pastMax)
      return head
    })
    const noted = Effect.onExit(ask, (exit) =>
      Effect.sync(() => {
        // An interrupted request has no answer for the callers that share it.
        if (Exit.hasInterrupts(exit)) return
        answers += 1
        answer = exit
      }),
    )
    return {
      /** Concurrent callers share one request: a slow gateway does not get one for each loop. */
      head: Effect.gen(function* () {
        const known = recent[0]
        if (known !== undefined && !hasElapsed(askedAt.millis, yield* Clock.currentTimeMillis, freshMillis))
          return known
        const before = answers
        const shared = Effect.suspend(() => (answers > before && answer !== undefined ? answer : noted))
        return yield* lock.withPermits(1)(shared)
      }).pipe(Effect.withSpan("ChainHeadCache.head")),
      /** The newest head's height, or a higher one that other nodes behind the gateway may be at; 0: none yet. */
      highest: Effect.sync(() => highest),
      /** Heads seen by this process, newest first, of the newest head's chain and work and in half of its window. */
      recent: Effect.sync(() => recent),
    }
  }),
}) {
  static readonly layer = Layer.effect(ChainHeadCache, ChainHeadCache.make)
}

/**
 * Halts all signing if the head is of another chain than the treasury's, and returns true then. On another chain a
 * signature would mean something else, and a missing payment proves nothing.
 */
export const haltOnWrongChain = Effect.fnUntraced(function* (head: ChainHead) {
  const { chainId } = (yield* CycleConfig).treasury.network
  if (head.chainId === chainId) return false
  yield* haltSigning("chain_changed", `the gateway is on chain ${head.chainId}, this treasury on ${chainId}`)
  return true
})
