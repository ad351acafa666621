import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { version } from "../config/version.ts"
import { readView } from "../status/StatusView.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag, notRunning } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"
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
    if (chosen.live) {
      const dataDir = yield* dataDirOf(chosen)
      const alive = yield* control(dataDir, "GET", "/api/v1/live")
      if (alive === undefined) return yield* notRunning(chosen, dataDir)
      return yield* printResult(chosen.output, yield* bodyOf(alive), () => "live")
    }
    const { running, body: view } = yield* throughDaemon(chosen, {
      method: "GET",
      path: "/api/v1/status",
      stored: ({ treasury, mode }) => readView({ treasury, mode, version }),
    })
    yield* printResult(chosen.output, { running, ...view }, () =>
      running ? viewText(view) : `no daemon runs; this is what its database says\n${viewText(view)}`,
    )
    if (chosen.fail && (!running || view.sentence.severity !== "ok")) {
      return yield* failWith("unhealthy", running ? view.sentence.text : "no daemon runs")
    }
    return undefined
  }),
).pipe(Command.withDescription("Print the treasury's status"))
