import { Context, Effect, Layer } from "effect"
import type { Attempt } from "../domain/Attempt.ts"

/** The way to a quiet end: no send begins once it is set, and the end waits for those that have begun. */
export class Draining extends Context.Service<
  Draining,
  {
    readonly start: Effect.Effect<void>
    readonly isDraining: Effect.Effect<boolean>
    /** Sends whose answer is awaited. */
    readonly sending: Effect.Effect<number>
    /** True while an answer for this attempt is awaited. */
    readonly isSending: (attempt: Attempt) => Effect.Effect<boolean>
    /** Counts the effect as a send of the attempt while it runs. */
    readonly counted: <A, E, R>(attempt: Attempt, send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("cofferer/submitter/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.sync(() => {
      let draining = false
      const sending = new Set<string>()
      const keyOf = ({ intentId, k }: Attempt) => `${intentId}/${k}`
      return Draining.of({
        start: Effect.sync(() => {
          draining = true
        }),
        isDraining: Effect.sync(() => draining),
        sending: Effect.sync(() => sending.size),
        isSending: (attempt) => Effect.sync(() => sending.has(keyOf(attempt))),
        counted: (attempt, send) =>
          Effect.acquireUseRelease(
            Effect.sync(() => sending.add(keyOf(attempt))),
            () => send,
            () => Effect.sync(() => sending.delete(keyOf(attempt))),
          ),
      })
    }),
  )
}
