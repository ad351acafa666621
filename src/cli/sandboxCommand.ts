import { join } from "node:path"
import { Clock, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { secureDataDir } from "../config/ownFiles.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { say } from "../telemetry/say.ts"
import { linesFlag, loggingLayer } from "./logging.ts"
import { sandboxDir } from "./sandboxClient.ts"
import { sandboxFault } from "./sandboxFault.ts"
import { configFlag, dataFlag, fileArgument, setup } from "./setup.ts"

const flags = { file: fileArgument, config: configFlag, data: dataFlag, output: linesFlag }

/** The network alone, as its own process: what a daemon can be pointed at, hurt and killed beside. */
export const sandboxCommand = Command.make(
  "sandbox",
  flags,
  Effect.fn(function* (chosen) {
    const startedAt = yield* Clock.currentTimeMillis
    const found = yield* setup(chosen)
    const { chainId } = found.treasury.network
    const scenario = yield* decodeScenario(found.treasury.document, chainId)
    yield* secureDataDir(found.dataDir)
    return yield* Effect.gen(function* () {
      const sandbox = yield* Sandbox
      yield* say("sandbox", { detail: `network ${chainId} at ${sandbox.url}`, url: sandbox.url })
      return yield* sandbox.join
    }).pipe(
      Effect.provide(
        Sandbox.layer({
          scenario,
          dir: join(found.dataDir, sandboxDir),
          portBusy: "error",
          clock: "real",
        }).pipe(Layer.provideMerge(loggingLayer(found, chosen.output, startedAt))),
      ),
    )
  }),
).pipe(
  Command.withDescription("Run the play-money network of a file's sandbox section"),
  Command.withSubcommands([sandboxFault]),
)
