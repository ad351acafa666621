import { Effect, Schema } from "effect"

/** The store failed. Nothing may be assumed: a failed commit is read again, not believed undone. */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    const cause = this.cause
    return `store: ${this.operation} failed: ${cause instanceof Error ? cause.message : String(cause)}`
  }
}

/** Names the operation that failed and keeps the cause. */
export const storeError =
  (operation: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(effect, (cause) => new StoreError({ operation, cause }))
