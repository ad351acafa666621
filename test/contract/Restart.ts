import type { Effect } from "effect"

/** Runs the first effect on a fresh store, then, after closing it, the second on the same file. */
export type Restart<R> = <E>(
  first: Effect.Effect<void, E, R>,
  second?: Effect.Effect<void, E, R>,
) => Effect.Effect<void, unknown>
