import { type AttemptState, attemptMoves, isFinalAttempt } from "../../src/domain/Attempt.ts"
import { type IntentState, intentMoves, isFinalIntent } from "../../src/domain/Intent.ts"

/** True if the move is on the diagram. */
export const mayMoveIntent = (from: IntentState, to: IntentState): boolean =>
  !isFinalIntent(from) && intentMoves[from].includes(to)

export const mayMoveAttempt = (from: AttemptState, to: AttemptState): boolean =>
  !isFinalAttempt(from) && attemptMoves[from].includes(to)
