import { Schema } from "effect"

const detail = Schema.String

/** Why no proof of work was found. */
const PowReason = Schema.TaggedUnion({
  /**
   * The difficulty is above the cap, or not a whole number from 0 on, and so perhaps no finite one. Asking again
   * changes nothing.
   */
  // @effect-diagnostics-next-line schemaNumber:off
  DifficultyRefused: { difficulty: Schema.Number, difficultyMax: Schema.Int },
  /** A block hash that is not 64 characters, or an empty tid: no nonce would ever pass. */
  WorkRefused: { detail },
  /**
   * By the rate that was measured the work is not to be expected in the time there is for it. No search was begun.
   * `isQueued`: it would be in time without the searches queued before it.
   */
  TooSlow: { detail, isQueued: Schema.Boolean },
  /** The time for it is over, and nothing was found. */
  OutOfTime: { detail },
  /** All workers are busy and the queue is at its bound. */
  QueueFull: { queueSizeMax: Schema.Int },
  /** The thread ended in the middle of the search; the next search gets a new one. */
  WorkerDied: { detail },
  /** A worker's nonce did not pass the check of the calling thread. It was not returned. */
  WrongNonce: { nonce: Schema.BigInt },
  /** The pool was shut down before the search ended. */
  Stopped: {},
})

/** A proof of work was not found. */
export class PowError extends Schema.TaggedError<PowError>()("PowError", { reason: PowReason }) {
  override get message(): string {
    return `solve: ${this.reason._tag}: ${this.words}`
  }
  /** Why, for people. */
  get words(): string {
    const { reason } = this
    switch (reason._tag) {
      case "DifficultyRefused":
        return `difficulty ${reason.difficulty} is not one of 0 to ${reason.difficultyMax}, above which no machine finds work in time`
      case "QueueFull":
        return `${reason.queueSizeMax} searches wait already`
      case "WrongNonce":
        return `the thread's nonce ${reason.nonce} is not a solution`
      case "Stopped":
        return "the process ends"
      default:
        return reason.detail
    }
  }
}

export const powError = (reason: PowError["reason"]): PowError => new PowError({ reason })
