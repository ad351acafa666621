import { Clock, Context, Effect } from "effect"
import { GatewayError } from "./GatewayError.ts"
import { type ChainHead, ChainHeadAnswer } from "./schema/ChainHead.ts"
import type { Transport } from "./Transport.ts"

/** A chain head written down by a person, for gateways that do not report it. */
export interface FixedChain {
  readonly head: ChainHead
  /** When it was read, Unix milliseconds, and for how long it may be used. */
  readonly atMillis: number
  readonly validForMillis: number
}

/** Concurrent head requests of one gateway: a caller that needs a newer one does not wait for the last. */
export const headsAtOnce = 2

/** The chain's parameters for a transaction: id, newest block, and the proof of work required. */
export class ChainContext extends Context.Service<
  ChainContext,
  {
    /** The node that answered has begun this height; other nodes may not know it yet. */
    readonly head: Effect.Effect<ChainHead, GatewayError>
  }
>()("cofferer/gateway/ChainContext") {
  /** `chainId`: the height of another chain is not that of this gateway. */
  static readonly make = (transport: Transport["Service"], chainId?: string): ChainContext["Service"] =>
    ChainContext.of({
      head: Effect.gen(function* () {
        const { value } = yield* transport.request({
          operation: "height",
          path: "/blockchain/height",
          schema: ChainHeadAnswer,
          priority: "urgent",
          atOnce: headsAtOnce,
        })
        if (chainId === undefined || value.chainId === chainId) yield* transport.sawHeight(value.height)
        return value
      }).pipe(Effect.withSpan("ChainContext.head")),
    })

  /** Always the same head; the condition is Stale once it is older than it may be, or lies in the future. */
  static readonly makeFixed = (fixed: FixedChain): ChainContext["Service"] =>
    ChainContext.of({
      head: Effect.gen(function* () {
        const ageMillis = (yield* Clock.currentTimeMillis) - fixed.atMillis
        if (ageMillis >= 0 && ageMillis < fixed.validForMillis) return fixed.head
        return yield* new GatewayError({
          gateway: "fixed",
          operation: "height",
          reason: { _tag: "Stale", detail: `${ageMillis} ms old, valid for ${fixed.validForMillis} ms` },
        })
      }).pipe(Effect.withSpan("ChainContext.head")),
    })
}
