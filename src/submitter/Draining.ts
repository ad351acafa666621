import { Context, Effect, Layer } from "effect"

/** The way to a quiet end: no send begins once it is set, and the end waits for those that have begun. */
export class Draining extends Context.Service<
  Draining,
  {
    readonly start: Effect.Effect<void>
    readonly isDraining: Effect.Effect<boolean>
    /** Sends whose answer is awaited. */
    readonly sending: Effect.Effect<number>
    /** Counts the effect as a send while it runs. */
    readonly counted: <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("cofferer/submitter/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.sync(() => {
      let draining = false
      let sending = 0
      return Draining.of({
        start: Effect.sync(() => {
          draining = true
        }),
        isDraining: Effect.sync(() => draining),
        sending: Effect.sync(() => sending),
        counted: (send) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              sending++
            }),
            () => send,
            () =>
              Effect.sync(() => {
                sending--
              }),
          ),
      })
    }),
  )
}
