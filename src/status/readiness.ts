import { Effect } from "effect"
import { Settings } from "../store/Settings.ts"

/**
 * What stands against readiness, by part; empty: ready. Only what makes this process useless to its callers counts:
 * halted, stale and an unreachable gateway are states that the page must show, so they never take it away.
 */
export const unreadyReasons = Effect.gen(function* () {
  const settings = yield* Settings
  const store = yield* settings.set("readyz", "1").pipe(
    Effect.as(undefined),
    Effect.catchTag("StoreError", (error) => Effect.succeed(error.message)),
  )
  return store === undefined ? {} : { store }
})
