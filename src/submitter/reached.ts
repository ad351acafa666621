import { Clock, Effect } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { TrustedHead } from "../store/TrustedHead.ts"
import type { Reached } from "./evidence.ts"

/** What bounds the heights by which attempts of a chain are judged now, whatever is told of them. */
export const reachedNow = Effect.fnUntraced(function* (chainId: string) {
  const { trusted, stood } = yield* (yield* TrustedHead).of(chainId)
  const { blocksPerSecond } = (yield* ConfigInForce).now().treasury.network.head
  const bounds: Omit<Reached, "told"> = {
    // No head is judged where people wrote one down.
    stood: trusted === undefined ? undefined : (stood?.height ?? 0n),
    now: yield* Clock.currentTimeMillis,
    blocksPerSecond,
  }
  return bounds
})
