import { Effect, type Layer } from "effect"
import { storeLayer } from "../../layers.ts"

/** Longer than a process that hangs in a transaction keeps the store locked. Milliseconds. */
const waitMillis = 15_000

/**
 * Stops or resumes payments in a shared store, whichever process runs the treasury. Fails with the reason as text.
 */
export const asGuest = <A, E extends { readonly message: string }>(
  place: Parameters<typeof storeLayer>[0],
  effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof storeLayer>>>,
) =>
  effect.pipe(
    Effect.provide(storeLayer(place, "guest")),
    Effect.timeout(waitMillis),
    Effect.mapError(({ message }) => message),
  )
