import { Clock, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { prepare } from "../../daemon.ts"
import { ownAddress } from "../../http/StatusServer.ts"
import { type DaemonOptions, daemonLayer, realMachine } from "../../layers.ts"
import type { Sandbox } from "../../sandbox/Sandbox.ts"
import { CommandFlags, logEvent } from "../../telemetry/Logging.ts"
import { failWith } from "../common/output.ts"
import { configFlag, dataFlag, fileArgument, flagsOf, type Setup, severalIn, switchFlag } from "../common/setup.ts"
import { checkedSetup, storeText } from "./checkedSetup.ts"
import { linesFlag, loggingLayer } from "./logging.ts"
import { runOnce } from "./once.ts"
import { tracingLayer } from "./tracing.ts"
import { checkChain, logStart, runTreasury } from "./treasury.ts"

const flags = {
  file: fileArgument,
  config: configFlag,
  data: dataFlag,
  sandbox: switchFlag("sandbox", "Also run the play-money network of the file's sandbox section"),
  once: switchFlag("once", "Run one cycle, settle its payments and exit"),
  output: linesFlag,
}

export const run = Command.make(
  "run",
  flags,
  Effect.fn(function* (chosen) {
    const startedAt = yield* Clock.currentTimeMillis
    const dir = severalIn(chosen)
    if (dir !== undefined) {
      const { runTreasuries } = yield* Effect.promise(() => import("./treasuries.ts"))
      return yield* runTreasuries(dir, chosen, startedAt)
    }
    const { found, warnings } = yield* checkedSetup(chosen)
    const work = chosen.sandbox ? besideSandbox(found, chosen.once) : daemon(found, chosen.once, undefined)
    const warned = Effect.forEach(warnings, (detail) => logEvent("configuration doubtful", { detail }))
    const logging = loggingLayer(found, chosen.output, startedAt)
    return yield* Effect.andThen(warned, work).pipe(
      Effect.annotateLogs({ treasury: found.treasury.name }),
      Effect.provide(Layer.provideMerge(tracingLayer(found.treasury), logging)),
      // Commands in its log, alerts and page are typed in any folder.
      Effect.provideService(CommandFlags, { place: flagsOf(found), hasOperators: found.treasury.approvals.size > 0 }),
    )
  }),
).pipe(Command.withDescription("Run the daemon"))

/** Loads the modules of the play-money network: a daemon of a real network needs none of them. */
const besideSandbox = Effect.fnUntraced(function* (found: Setup, once: boolean) {
  const { withSandbox } = yield* Effect.promise(() => import("../sandbox.ts"))
  yield* withSandbox(found, (sandbox) => daemon({ ...found, gatewayUrl: sandbox.url }, once, sandbox)).pipe(
    Effect.catchTag("SandboxError", (error) => failWith("failure", storeText(error.message, found.dataDir))),
  )
})

const daemon = (options: DaemonOptions & Setup, once: boolean, sandbox: Sandbox["Service"] | undefined) =>
  Effect.gen(function* () {
    if (once) yield* payOnce(options, sandbox)
    else {
      const portBusy = sandbox === undefined ? "error" : "free"
      const { listen, metrics, dataDir } = options
      const surface = ownAddress({ ...listen, metrics, portBusy, dataDir })
      yield* runTreasury({ options, surface, machineOf: realMachine, sandbox })
    }
  }).pipe(
    Effect.catchTags({
      LoopGaveUp: (error) => failWith("failure", error.message),
      ListenError: (error) => failWith("failure", error.message),
      StoreError: (error) => failWith("failure", storeText(error.message, options.dataDir)),
    }),
  )

const payOnce = (options: DaemonOptions, sandbox: Sandbox["Service"] | undefined) =>
  Effect.gen(function* () {
    yield* logStart(options, sandbox)
    yield* prepare(options)
    yield* checkChain(options.treasury, { isBeside: sandbox !== undefined, once: true })
    return yield* runOnce(options)
  }).pipe(Effect.provide(daemonLayer(options)))
