import { Cause, Effect, Exit, Option, Queue } from "effect"
import { readHaltFile, writeHaltFile } from "../../config/files.ts"
import { reloadConfig } from "../../http/reload.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import type { FailureEvent } from "../../telemetry/logEvents.ts"
import { logState } from "./logState.ts"

/** Does `act` at each such signal; several that come during one `act` count as one. */
const atSignal = <E extends { readonly message: string }, R>(
  signal: NodeJS.Signals,
  act: Effect.Effect<unknown, E, R>,
  failure: FailureEvent,
) =>
  Effect.gen(function* () {
    const signals = yield* Queue.sliding<true>(1)
    const on = () => Queue.offerUnsafe(signals, true)
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on(signal, on)),
      () => Effect.sync(() => process.off(signal, on)),
    )
    for (;;) {
      yield* Queue.take(signals)
      // Whatever it dies of: without a listener the next signal would end the daemon.
      const done = yield* Effect.exit(act)
      if (Exit.isSuccess(done)) continue
      if (Cause.hasInterruptsOnly(done.cause)) return yield* Effect.interrupt
      const error = Cause.findErrorOption(done.cause)
      if (Option.isSome(error)) yield* logEvent(failure, { reason: error.value.message })
      else yield* logEvent(failure, { reason: "defect" }, { severity: "page", cause: done.cause })
    }
  }).pipe(Effect.scoped)

/**
 * SIGHUP reads the files again and accepts nothing weaker. On a terminal the signal means that the terminal is gone,
 * and ends the daemon as it ends any program.
 */
export const reloadOnHangup = Effect.suspend(() =>
  process.stdout.isTTY
    ? Effect.void
    : atSignal(
        "SIGHUP",
        reloadConfig({ author: "SIGHUP", reason: "the signal SIGHUP", allowWeaker: false }),
        "configuration not loaded",
      ),
)

/** SIGUSR1 logs the state. */
export const logStateOnSignal = atSignal("SIGUSR1", logState, "state not reported")

/** While the store takes no writes, SIGUSR1 logs that alone. */
export const logOutageOnSignal = (reason: string) =>
  atSignal(
    "SIGUSR1",
    logEvent("state reported", { about: "store", subject: "unwritable", detail: reason }),
    "state not reported",
  )

/** SIGUSR2 writes the HALT file, which needs neither the store nor a command line. */
const haltOnSignal = (dataDir: string) =>
  atSignal(
    "SIGUSR2",
    Effect.gen(function* () {
      if ((yield* readHaltFile(dataDir)) === undefined) yield* writeHaltFile(dataDir, "the signal SIGUSR2")
      yield* logEvent("HALT file written", { dataDir, reason: "the signal SIGUSR2" })
    }).pipe(
      Effect.catch(({ message }) =>
        logEvent(
          "HALT file not written",
          { reason: message, remedy: '"cofferer halt --reason TEXT"' },
          { severity: "page" },
        ),
      ),
    ),
    "HALT file not written",
  )

/**
 * Sets signals for as long as the process is a daemon, even while its store takes no writes: SIGUSR2 halts, and neither
 * SIGUSR1 nor a SIGHUP without a terminal ends the process.
 */
export const outliveSignals = Effect.fnUntraced(function* (dataDir: string) {
  yield* Effect.forkScoped(haltOnSignal(dataDir))
  const ignored: ReadonlyArray<NodeJS.Signals> = process.stdout.isTTY ? ["SIGUSR1"] : ["SIGUSR1", "SIGHUP"]
  const ignore = () => {}
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const signal of ignored) process.on(signal, ignore)
    }),
    () =>
      Effect.sync(() => {
        for (const signal of ignored) process.off(signal, ignore)
      }),
  )
})
