import { Context, Effect } from "effect"
import type { GatewayError } from "./GatewayError.ts"
import { type ChainHead, ChainHeadAnswer } from "./schema/ChainHead.ts"
import type { Transport } from "./Transport.ts"

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
}
