import { Effect } from "effect"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { trip } from "../store/trip.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * Whether the gateway is on the treasury's chain. On another one everything halts: a signature would mean something
 * else there, and that a payment is missing there proves nothing.
 */
export const isOurChain = Effect.fnUntraced(function* (head: ChainHead) {
  const options = yield* SubmitterOptions
  if (head.chainId === options.chainId) return true
  yield* trip("chain_changed", `the gateway is on chain ${head.chainId}, this treasury on ${options.chainId}`)
  return false
})
