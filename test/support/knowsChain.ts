import { Clock, Effect } from "effect"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { AcceptedHead } from "../../src/store/network/AcceptedHead.ts"

/** The first head that the gateways tell counts at once: the store has known the chain for long. */
export const knowsChain = Effect.fnUntraced(function* (chainId: string) {
  const heads = yield* AcceptedHead
  yield* Effect.exit((yield* GatewayReader).head)
  const { stray } = yield* heads.of(chainId)
  if (stray?.kind !== "first") return
  yield* heads.keep(chainId, { accepted: { height: stray.height, at: yield* Clock.currentTimeMillis } })
})
