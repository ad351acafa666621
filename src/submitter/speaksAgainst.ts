import { Effect } from "effect"
import { deadlineHeight } from "../domain/Attempt.ts"
import type { Live } from "./endings.ts"
import { hasFallen } from "./movementOf.ts"
import { sendsOf } from "./sendsOf.ts"

/**
 * What keeps listings from proving that an attempt never executed, in words: a node that has not imported its transfers
 * yet lists none, and is honest. Any one gateway that shows the movement, and any fall of the balance, bars it.
 * Undefined where complete movements past the deadline, or where none are told the balances, have none of it.
 */
export const speaksAgainst = Effect.fnUntraced(function* ({ intent, attempt }: Live) {
  if (yield* hasFallen(intent, attempt)) return "the listings have none of it, and the payer's balance fell by it"
  const sends = yield* sendsOf(attempt.party, [attempt])
  if (sends?.shown.has(attempt.transferId) === true) return "the listings have none of it, and movements do"
  const reaches = sends?.mark === undefined || sends.mark.height > deadlineHeight(attempt)
  if (sends?.complete === false || !reaches) return "the movements are not told up to the end of the window"
  return undefined
})
