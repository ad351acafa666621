import { Effect, Queue } from "effect"
import { reloadConfig } from "../status/reloadConfig.ts"

/**
 * SIGHUP lets the daemon read its files again; nothing weaker is taken by it. On a terminal the signal means that the
 * terminal is gone, and ends the daemon as it ends any program.
 */
export const reloadOnHangup = Effect.gen(function* () {
  if (process.stdout.isTTY) return
  const hangups = yield* Queue.sliding<true>(1)
  const on = () => Queue.offerUnsafe(hangups, true)
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", on)),
    () => Effect.sync(() => process.off("SIGHUP", on)),
  )
  for (;;) {
    yield* Queue.take(hangups)
    yield* reloadConfig({ author: "SIGHUP", reason: "the signal SIGHUP", allowWeaker: false }).pipe(
      Effect.catchTag("StoreError", (error) =>
        Effect.logWarning("a new configuration could not be put in force", { reason: error.message }),
      ),
    )
  }
}).pipe(Effect.scoped)
