import { Cause, Effect, Exit, Option, Queue } from "effect"
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
    // Whatever it dies of: without somebody who listens, the next signal would end the daemon.
    const done = yield* Effect.exit(reloadConfig({ author: "SIGHUP", reason: "the signal SIGHUP", allowWeaker: false }))
    if (Exit.isSuccess(done)) continue
    if (Cause.hasInterruptsOnly(done.cause)) return yield* Effect.interrupt
    const error = Cause.findErrorOption(done.cause)
    const words = "a new configuration could not be put in force"
    if (Option.isSome(error)) yield* Effect.logWarning(words, { reason: error.value.message })
    else yield* Effect.logError(words, done.cause)
  }
}).pipe(Effect.scoped)

/** Keeps the process alive at a SIGHUP that nobody reads files for, as while its store takes no writes. */
export const outliveHangups = Effect.suspend(() => {
  if (process.stdout.isTTY) return Effect.void
  const ignore = () => {}
  return Effect.acquireRelease(
    Effect.sync(() => void process.on("SIGHUP", ignore)),
    () => Effect.sync(() => process.off("SIGHUP", ignore)),
  )
})
