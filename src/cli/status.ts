import { Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { version } from "../config/version.ts"
import { storeLayer } from "../services.ts"
import { StatusView } from "../status/StatusView.ts"
import type { View } from "../status/View.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { type Chosen, configFlag, dataFlag, notRunning, storedSetup } from "./setup.ts"
import { viewText } from "./viewText.ts"

const flags = {
  fail: Flag.Boolean("fail").pipe(
    Flag.withDescription("Exit 8 unless the treasury is healthy"),
    Flag.withDefault(false),
  ),
  live: Flag.Boolean("live").pipe(Flag.withDescription("Ask only whether the daemon answers"), Flag.withDefault(false)),
  config: configFlag,
  data: dataFlag,
  output: outputFlag,
}

export const status = Command.make(
  "status",
  flags,
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    if (chosen.live) {
      const alive = yield* control(dataDir, "GET", "/api/v1/live")
      if (alive === undefined) return yield* notRunning(chosen, dataDir)
      return yield* printResult(chosen.output, yield* bodyOf(alive), () => "live")
    }
    const answer = yield* control(dataDir, "GET", "/api/v1/status")
    const view = answer === undefined ? yield* stored(chosen, dataDir) : viewOf(yield* bodyOf(answer))
    const running = answer !== undefined
    yield* printResult(chosen.output, { running, ...view }, () =>
      running ? viewText(view) : `no daemon runs; this is what its database says\n${viewText(view)}`,
    )
    if (chosen.fail && (!running || view.sentence.severity !== "ok")) {
      return yield* failWith("unhealthy", running ? view.sentence.text : "no daemon runs")
    }
    return undefined
  }),
).pipe(Command.withDescription("Print the treasury's status"))

/** The daemon is of the same version as this command line: its view is taken as it comes. */
const viewOf = (body: unknown): View => body as View

const stored = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string) {
  const found = yield* storedSetup(chosen, dataDir)
  const { treasury, mode } = found
  const options = { treasury, mode, version }
  return yield* Effect.flatMap(StatusView, (service) => service.view).pipe(
    Effect.provide(StatusView.layer(options).pipe(Layer.provide(storeLayer(found)))),
    Effect.mapError((error) => failWith("failure", error.message)),
  )
})
