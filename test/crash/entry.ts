import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Tracer } from "effect"
import { commandLine, exitCodeOf } from "../../src/cli/root.ts"

/**
 * The daemon as it is, but that it kills itself with SIGKILL at the start or end of a named span, the nth time:
 * COFFERER_TEST_KILL="Outbox.persist:end:1". Steps are spans, so no line of the program knows of it.
 */
const [name, moment, nth] = (process.env["COFFERER_TEST_KILL"] ?? "").split(":")
let seen = 0
const at = (span: string, when: string) => {
  if (span !== name || when !== moment || ++seen < Number(nth)) return
  process.kill(process.pid, "SIGKILL")
}

class FailingSpan extends Tracer.NativeSpan {
  override end(...args: Parameters<Tracer.NativeSpan["end"]>) {
    super.end(...args)
    at(this.name, "end")
  }
}

const tracer = Tracer.make({
  span: (options) => {
    at(options.name, "start")
    return new FailingSpan(options)
  },
})

commandLine(process.argv.slice(2)).pipe(
  Effect.provide(Layer.merge(NodeServices.layer, Layer.succeed(Tracer.Tracer, tracer))),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCodeOf(exit)) }),
)
