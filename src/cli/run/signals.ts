import type { EventEmitter } from "node:events"
import { Cause, Context, Effect, Exit, Option, Queue } from "effect"
import { readHaltFile, writeHaltFile } from "../../config/files.ts"
import type { ConfigError } from "../../config/yaml/ConfigError.ts"
import { reloadConfig } from "../../http/reload.ts"
import type { DaemonOptions } from "../../layers.ts"
import { haltSigning } from "../../store/controls/Controls.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import type { FailureEvent } from "../../telemetry/logEvents.ts"
import { asGuest } from "../common/client.ts"
import { logState } from "./logState.ts"

/** Emitter of the signals for a treasury: the process, or the hub of `passSignals` in a process of several. */
export const ProcessSignals = Context.Reference<EventEmitter>("cofferer/cli/ProcessSignals", {
  defaultValue: () => process,
})

/** Signals that a daemon handles. On a terminal SIGHUP means that the terminal closed, and ends the process. */
const daemonSignals = (): ReadonlyArray<NodeJS.Signals> =>
  process.stdout.isTTY ? ["SIGUSR1", "SIGUSR2"] : ["SIGUSR1", "SIGUSR2", "SIGHUP"]

/** Passes signals on to several treasuries, with one listener of the process. */
export const passSignals = Effect.fnUntraced(function* (hub: EventEmitter) {
  for (const signal of daemonSignals()) yield* listenFor(process, signal, () => hub.emit(signal))
})

const listenFor = (source: EventEmitter, signal: NodeJS.Signals, hear: () => void) =>
  Effect.acquireRelease(
    Effect.sync(() => source.on(signal, hear)),
    () => Effect.sync(() => source.off(signal, hear)),
  )

/** Runs `act` after each such signal, without end. Several signals during one run cause one more run. */
const atSignal = <E extends { readonly message: string }, R>(
  signal: NodeJS.Signals,
  act: Effect.Effect<unknown, E, R>,
  failure: FailureEvent,
) =>
  Effect.gen(function* () {
    const signals = yield* Queue.sliding<true>(1)
    yield* listenFor(yield* ProcessSignals, signal, () => Queue.offerUnsafe(signals, true))
    for (;;) {
      yield* Queue.take(signals)
      // No failure may remove the listener: without one the next signal would end the daemon.
      const done = yield* Effect.exit(act)
      if (Exit.isSuccess(done)) continue
      if (Cause.hasInterruptsOnly(done.cause)) return yield* Effect.interrupt
      const error = Cause.findErrorOption(done.cause)
      if (Option.isSome(error)) yield* logEvent(failure, { reason: error.value.message })
      else yield* logEvent(failure, { reason: "defect" }, { severity: "page", cause: done.cause })
    }
  }).pipe(Effect.scoped)

/** Runs `act` after each SIGHUP; does nothing on a terminal, where SIGHUP ends the process. */
export const onHangup = <E extends { readonly message: string }, R>(act: Effect.Effect<unknown, E, R>) =>
  Effect.suspend(() => (process.stdout.isTTY ? Effect.void : atSignal("SIGHUP", act, "configuration not loaded")))

/** SIGHUP reads the files again and accepts nothing weaker. */
export const reloadOnHangup = onHangup(
  Effect.suspend(() => reloadConfig({ author: "SIGHUP", reason: "the signal SIGHUP", allowWeaker: false })),
)

export const logStateOnSignal = atSignal("SIGUSR1", logState, "state not reported")

/** While the store takes no writes, SIGUSR1 logs that alone. */
export const logOutageOnSignal = (reason: string) =>
  atSignal(
    "SIGUSR1",
    logEvent("state reported", { about: "store", subject: "unwritable", detail: reason }),
    "state not reported",
  )

const bySignal = "the signal SIGUSR2"

/** Stores a halt for whichever process runs the treasury. Returns false if it could not be stored. */
export const haltShared = Effect.fnUntraced(function* (options: DaemonOptions) {
  const done = yield* Effect.exit(asGuest(options, haltSigning("operator", bySignal)))
  if (Exit.isSuccess(done)) return true
  const event = { reason: String(Cause.squash(done.cause)), remedy: '"cofferer halt --reason TEXT"' }
  yield* logEvent("not halted elsewhere", event, { severity: "page" })
  return false
})

/** Halts by the HALT file, which needs no store. */
export const haltByFile = Effect.fnUntraced(function* (dataDir: string) {
  if ((yield* readHaltFile(dataDir)) === undefined) yield* writeHaltFile(dataDir, bySignal)
  yield* logEvent("HALT file written", { dataDir, reason: bySignal })
})

/** Halts by `halt` at each SIGUSR2. */
export const haltOnSignalBy = <R>(halt: Effect.Effect<void, ConfigError, R>) =>
  atSignal(
    "SIGUSR2",
    Effect.catch(halt, ({ message }) =>
      logEvent(
        "HALT file not written",
        { reason: message, remedy: '"cofferer halt --reason TEXT"' },
        { severity: "page" },
      ),
    ),
    "HALT file not written",
  )

/** SIGUSR2 halts: on PostgreSQL by the store, which binds every process; on SQLite, or if that fails, by the file. */
export const haltOnSignal = (options: DaemonOptions) =>
  haltOnSignalBy(
    Effect.gen(function* () {
      if (options.postgresUrlFile !== undefined && (yield* haltShared(options))) return
      yield* haltByFile(options.dataDir)
    }),
  )

/**
 * Listens to signals for the daemon's whole life, also while its store takes no writes: SIGUSR2 halts; SIGUSR1, and
 * SIGHUP without a terminal, do not end the process.
 */
export const outliveSignals = Effect.fnUntraced(function* (options: DaemonOptions) {
  yield* Effect.forkScoped(haltOnSignal(options))
  const source = yield* ProcessSignals
  for (const signal of daemonSignals()) if (signal !== "SIGUSR2") yield* listenFor(source, signal, () => {})
})
