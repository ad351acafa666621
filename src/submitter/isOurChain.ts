import { Effect } from "effect"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { Brake } from "../store/Brake.ts"
import { say } from "../telemetry/say.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * Whether the gateway is on the treasury's chain. On another one everything halts: a signature would mean something
 * else there, and that a payment is missing there proves nothing.
 */
export const isOurChain = Effect.fnUntraced(function* (head: ChainHead) {
  const options = yield* SubmitterOptions
  if (head.chainId === options.chainId) return true
  const brake = yield* Brake
  const known = (yield* brake.halts).some((h) => h.reason === "chain_changed")
  const detail = `the gateway is on chain ${head.chainId}, this treasury on ${options.chainId}`
  yield* brake.halt("chain_changed", detail)
  if (!known) yield* say("halted", { detail })
  return false
})
