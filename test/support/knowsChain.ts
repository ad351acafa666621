import { Clock, Effect } from "effect"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"

/** The first head that the gateways tell counts at once: the store has known the chain for long. */
export const knowsChain = Effect.fnUntraced(function* (chainId: string) {
  const state = yield* ChainState
  yield* Effect.exit((yield* GatewayReader).head)
  const { stray } = yield* state.acceptedHead(chainId)
  if (stray?.kind !== "first") return
  yield* state.keepHead(chainId, { accepted: { height: stray.height, at: yield* Clock.currentTimeMillis } })
})
