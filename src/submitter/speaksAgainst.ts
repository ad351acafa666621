import { Clock, Effect } from "effect"
import { deadlineHeight } from "../domain/Attempt.ts"
import { Gateways } from "../gateway/Gateways.ts"
import type { Live } from "./endings.ts"
import { aloneMillis } from "./lastingWord.ts"
import { hasFallen } from "./movementOf.ts"
import { sendsOf } from "./sendsOf.ts"

/**
 * What keeps the listings of a lone gateway from proving that an attempt never executed, in words: a node that has not
 * imported its transfers yet lists none, and is honest. Undefined where its movements have none of it, no balance fell
 * by it, and its listings have said so since `firstAt` (Unix milliseconds) for as long as a word must last.
 */
export const speaksAgainst = Effect.fnUntraced(function* ({ intent, attempt }: Live, firstAt: number) {
  if ((yield* Gateways).quorum > 1) return undefined
  const now = yield* Clock.currentTimeMillis
  if (now - firstAt < aloneMillis) return "its listings have not said so for long"
  if (yield* hasFallen(intent, attempt)) return "its listing has none of it, and the payer's balance fell by it"
  const sends = yield* sendsOf(attempt.party, [attempt])
  if (sends?.counts.has(attempt.transferId) === true) return "its listing has none of it, and its movements do"
  const reaches = sends?.mark === undefined || sends.mark.height > deadlineHeight(attempt)
  if (sends?.complete === false || !reaches) return "its movements are not told up to the end of the window"
  return undefined
})
