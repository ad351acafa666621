import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Option, Tracer } from "effect"
import { commandLine, exitCodeOf } from "../../src/cli/root.ts"

/**
 * The daemon as it is, but that it kills itself with SIGKILL at the start or end of a named span, the nth time:
 * COFFERER_TEST_KILL="Outbox.persist:end:1". "Outbox.persist/Journal.append:end:1" counts the spans within another one
 * alone, "*:start:70" counts all. Steps are spans, so no line of the program knows of it.
 */
const [path = "", moment, nth] = (process.env["COFFERER_TEST_KILL"] ?? "").split(":")
const [name, inside] = path.split("/").toReversed()
let seen = 0

const isWithin = (span: Option.Option<Tracer.AnySpan>): boolean => {
  if (inside === undefined) return true
  for (let above = span; Option.isSome(above); ) {
    if (above.value._tag !== "Span") return false
    if (above.value.name === inside) return true
    above = above.value.parent
  }
  return false
}

const at = (span: string, above: Option.Option<Tracer.AnySpan>, when: string) => {
  if ((span !== name && name !== "*") || when !== moment || !isWithin(above) || ++seen < Number(nth)) return
  process.kill(process.pid, "SIGKILL")
}

class FailingSpan extends Tracer.NativeSpan {
  override end(...args: Parameters<Tracer.NativeSpan["end"]>) {
    super.end(...args)
    at(this.name, this.parent, "end")
  }
}

const tracer = Tracer.make({
  span: (options) => {
    at(options.name, options.parent, "start")
    return new FailingSpan(options)
  },
})

commandLine(process.argv.slice(2)).pipe(
  Effect.provide(Layer.merge(NodeServices.layer, Layer.succeed(Tracer.Tracer, tracer))),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCodeOf(exit)) }),
)
