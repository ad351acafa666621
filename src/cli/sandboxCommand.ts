import { join } from "node:path"
import { Clock, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { configProblem } from "../config/ConfigError.ts"
import { secureDataDir } from "../config/ownFiles.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { readNetworkState, remedy } from "../sandbox/state/NetworkState.ts"
import { say } from "../telemetry/say.ts"
import { linesFlag, loggingLayer } from "./logging.ts"
import { sandboxDir } from "./sandboxClient.ts"
import { sandboxFault } from "./sandboxFault.ts"
import { configFlag, dataFlag, fileArgument, setup } from "./setup.ts"

const stateFlag = Flag.String("state").pipe(
  Flag.withDescription("Begin a new ledger with the network state of this file"),
  Flag.optional,
)

const flags = { file: fileArgument, config: configFlag, data: dataFlag, output: linesFlag, state: stateFlag }

/** The network alone, as its own process: what a daemon can be pointed at, hurt and killed beside. */
export const sandboxCommand = Command.make(
  "sandbox",
  flags,
  Effect.fn(function* (chosen) {
    const startedAt = yield* Clock.currentTimeMillis
    const found = yield* setup(chosen)
    const scenario = yield* decodeScenario(found.treasury.document, found.treasury.network.chainId)
    const state = Option.isSome(chosen.state) ? yield* readNetworkState(chosen.state.value) : undefined
    const chainId = state?.chainId ?? found.treasury.network.chainId
    yield* secureDataDir(found.dataDir)
    return yield* Effect.gen(function* () {
      const sandbox = yield* Sandbox
      yield* say("sandbox", { detail: `network ${chainId} at ${sandbox.url}`, url: sandbox.url })
      return yield* sandbox.join
    }).pipe(
      Effect.provide(
        Sandbox.layer({
          scenario,
          ...(state === undefined ? {} : { state }),
          dir: join(found.dataDir, sandboxDir),
          portBusy: "error",
          clock: "real",
        }).pipe(Layer.provideMerge(loggingLayer(found, chosen.output, startedAt))),
      ),
      Effect.mapError((error) =>
        error._tag === "SandboxError" && error.reason._tag === "BadState" && Option.isSome(chosen.state)
          ? configProblem(chosen.state.value, `${error.reason.place}: ${error.reason.cause}`, remedy)
          : error,
      ),
    )
  }),
).pipe(
  Command.withDescription("Run the play-money network of a file's sandbox section"),
  Command.withSubcommands([sandboxFault]),
)
