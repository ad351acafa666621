import { Effect } from "effect"
import { deadlineHeight } from "../domain/Attempt.ts"
import { Observations } from "../store/Observations.ts"
import type { Live } from "./endings.ts"
import { hasWithdrawn } from "./movedFor.ts"
import { hasFallen, mayHaveLeft } from "./movementOf.ts"
import { sendsOf } from "./sendsOf.ts"

/**
 * What keeps listings from proving that an attempt never executed, in words: a node that has not imported its transfers
 * yet lists none, and is honest. Any one gateway that shows the movement, and any fall of the balance, bars it.
 * Undefined where complete movements past the deadline, or where none are told the balances up to there, have none of
 * it.
 */
export const speaksAgainst = Effect.fnUntraced(function* ({ intent, attempt }: Live) {
  const fell = "the listings have none of it, and the payer's balance fell by it"
  if (yield* hasFallen(intent, attempt)) return fell
  const sends = yield* sendsOf(attempt.party, [attempt])
  // A block may hold several payments: where no movement says whose a fall is, a larger one may be its own as well.
  if (sends === undefined && (yield* mayHaveLeft(intent, attempt, 0n)) !== false) return fell
  if (sends?.shown.has(attempt.transferId) === true) return "the listings have none of it, and movements do"
  if (intent.command === "withdraw" && (yield* hasWithdrawn(intent, attempt))) {
    return "the listings have none of it, and movements have one alike"
  }
  const rows = yield* (yield* Observations).watermark
  const reached = sends?.mark?.height ?? rows?.height ?? 0n
  if (sends?.complete === false || reached <= deadlineHeight(attempt)) {
    return "the movements are not told up to the end of the window"
  }
  return undefined
})
