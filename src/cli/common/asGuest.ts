import { Effect, type Layer } from "effect"
import { storeLayer } from "../../layers.ts"

/** A holder that is frozen in a transaction keeps the store locked for less, in milliseconds. */
const waitMillis = 15_000

/**
 * Stops or resumes payments in a store that other processes share, whichever of them runs the treasury. Fails with why
 * the store did not take it.
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
