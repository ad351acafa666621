import { Schema } from "effect"

/** The difficulty is above the cap, or not a whole number from 0 on. Asking again changes nothing. */
export class DifficultyRefused extends Schema.TaggedError<DifficultyRefused>()("DifficultyRefused", {
  // Whatever was asked for, and so perhaps no finite number.
  // @effect-diagnostics-next-line schemaNumber:off
  difficulty: Schema.Number,
  difficultyMax: Schema.Int,
}) {
  readonly isRetryable = false
}

/** A block hash that is not 64 characters, or an empty tid: no nonce would ever pass. */
export class WorkRefused extends Schema.TaggedError<WorkRefused>()("WorkRefused", { detail: Schema.String }) {
  readonly isRetryable = false
}

/** By the rate that was measured the work is not to be expected in the time there is for it. No search was begun. */
export class TooSlow extends Schema.TaggedError<TooSlow>()("TooSlow", {
  detail: Schema.String,
  /** True if it would be in time without the searches queued before it. */
  isQueued: Schema.Boolean,
}) {
  readonly isRetryable = false
}

/** The time for it is over, and nothing was found. */
export class OutOfTime extends Schema.TaggedError<OutOfTime>()("OutOfTime", { detail: Schema.String }) {
  readonly isRetryable = true
}

/** All workers are busy and the queue is at its bound. */
export class QueueFull extends Schema.TaggedError<QueueFull>()("QueueFull", { queueSizeMax: Schema.Int }) {
  readonly isRetryable = true
}

/** The thread ended in the middle of the search; the next search gets a new one. */
export class WorkerDied extends Schema.TaggedError<WorkerDied>()("WorkerDied", { detail: Schema.String }) {
  readonly isRetryable = true
}

/** A worker's nonce did not pass the check of the calling thread. It was not returned. */
export class WrongNonce extends Schema.TaggedError<WrongNonce>()("WrongNonce", { nonce: Schema.BigInt }) {
  readonly isRetryable = true
}

/** The pool was shut down before the search ended. */
export class Stopped extends Schema.TaggedError<Stopped>()("Stopped", {}) {
  readonly isRetryable = false
}

/** Why no proof of work was found. */
export class PowError extends Schema.TaggedError<PowError>()("PowError", {
  operation: Schema.String,
  reason: Schema.Union([
    DifficultyRefused,
    WorkRefused,
    TooSlow,
    OutOfTime,
    QueueFull,
    WorkerDied,
    WrongNonce,
    Stopped,
  ]),
}) {
  /** True if a retry of the same work may succeed. */
  get isRetryable(): boolean {
    return this.reason.isRetryable
  }
  override get message(): string {
    return `${this.operation}: ${this.reason._tag}: ${this.words}`
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
