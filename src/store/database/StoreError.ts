import { inspect } from "node:util"
import { Effect, Schema } from "effect"

/** The store failed. Nothing may be assumed: a failed commit is read again, not believed undone. */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `store: ${this.operation} failed: ${causeText(this.cause)}`
  }
}

/** Text of a cause. PostgreSQL's client keeps the server's message one cause below its own. */
export const causeText = (cause: unknown): string => {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : inspect(cause)
  return /^PgConnection: /.test(cause.message) && cause.cause instanceof Error ? causeText(cause.cause) : cause.message
}

/** Names the operation that failed and keeps the cause. */
export const storeError =
  (operation: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(effect, (cause) => new StoreError({ operation, cause }))
