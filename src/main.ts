import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { commandLine, exitCodeOf } from "./cli/root.ts"

/** A stop that does not come to its end by itself is ended: finalizers have no time limit of their own. */
const stopMillisMax = 9_500
let stops = 0
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    // A second signal means now.
    if (++stops > 1) process.exit(1)
    setTimeout(() => process.exit(1), stopMillisMax).unref()
  })
}

/** The treasuries of a folder begin to listen one after the other. */
const passedOnMillis = 100
let isHaltEarly = false
// A halt that comes before the daemon listens, as while it loads its rules, is passed on once it does. By default the
// signal would end the process, which is started again, and pays.
process.on("SIGUSR2", () => {
  isHaltEarly ||= process.listenerCount("SIGUSR2") === 1
})
process.on("newListener", (event) => {
  if (event !== "SIGUSR2" || !isHaltEarly) return
  isHaltEarly = false
  setTimeout(() => process.emit("SIGUSR2", "SIGUSR2"), passedOnMillis).unref()
})

const args = process.argv.slice(2)
commandLine(args).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCodeOf(exit, args)) }),
)
