import { Effect, Random } from "effect"
import { type Attempt, sendEnd } from "../domain/Attempt.ts"
import type { NextStep } from "./classify.ts"

/** Quick sends of one attempt; after them the same bytes go out by blocks. */
export const sendsMax = 6
const backoffMillisMin = 500
const backoffMillisMax = 8_000

/** Whether a send is to wait for its time. None waits longer than this: a later time is of a clock that was wrong. */
export const isLater = (nextAt: number, now: number): boolean => nextAt > now && nextAt - now <= backoffMillisMax

/** Blocks between two broadcasts of the same bytes while they are unseen: max(2, window/10). */
export const rebroadcastBlocks = (windowBlocks: number): bigint => BigInt(Math.max(2, Math.ceil(windowBlocks / 10)))

/** Whether the bytes may still be sent at this height: never inside the margin before the window's end. */
export const maySend = (attempt: Attempt, height: bigint): boolean => height < sendEnd(attempt)

/** Blocks from this height on in which the bytes may be sent. */
export const blocksLeft = (attempt: Attempt, height: bigint): bigint => sendEnd(attempt) - height

/**
 * When the same bytes may go out again: at a time (Unix milliseconds) and from a height on. Full jitter, 0.5 s doubling
 * to 8 s, for the quick sends; then by blocks. `sends` counts the one just made.
 */
export const nextSend = Effect.fnUntraced(function* (
  step: NextStep,
  attempt: Attempt,
  at: { readonly sends: number; readonly now: number; readonly height: bigint },
) {
  if (step === "otherFraming" || step === "newWork") return { nextAt: at.now, nextHeight: 0n }
  if (step === "nextBlock" && at.sends < sendsMax) return { nextAt: at.now, nextHeight: at.height + 1n }
  if (step === "resend" && at.sends < sendsMax) {
    const ceiling = Math.min(backoffMillisMax, backoffMillisMin * 2 ** (at.sends - 1))
    const wait = Math.round((yield* Random.next) * ceiling)
    return { nextAt: at.now + wait, nextHeight: 0n }
  }
  return { nextAt: at.now, nextHeight: at.height + rebroadcastBlocks(attempt.windowBlocks) }
})
