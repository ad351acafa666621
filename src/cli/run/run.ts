import { relative } from "node:path"
import { Clock, Effect, Fiber, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { ConfigInForce } from "../../config/ConfigInForce.ts"
import { needCertificates, ProcessContext } from "../../config/Environment.ts"
import { version } from "../../config/files.ts"
import { refuseSharedFolder, secureDataDir } from "../../config/ownFiles.ts"
import { isEmbedded, type Treasury } from "../../config/Treasury.ts"
import { ConfigError, formatProblem } from "../../config/yaml/ConfigError.ts"
import { drain, prepare, runLoops } from "../../daemon.ts"
import { ChainContext } from "../../gateway/ChainContext.ts"
import { type GatewayError, warnOf } from "../../gateway/GatewayError.ts"
import { layerControl } from "../../http/ControlServer.ts"
import { StatusServer } from "../../http/StatusServer.ts"
import { type DaemonOptions, daemonLayer, realMachine } from "../../layers.ts"
import type { Sandbox } from "../../sandbox/Sandbox.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { noteEnd, noteStart } from "../../store/controls/starts.ts"
import { isUnwritten } from "../../store/database/guarded.ts"
import { InFlight } from "../../submitter/InFlight.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { checkKeys, checkNetwork } from "../checks.ts"
import { failWith } from "../common/output.ts"
import { needSandbox } from "../common/sandboxClient.ts"
import {
  type Chosen,
  configFlag,
  dataFlag,
  fileArgument,
  filesOf,
  type Setup,
  setup,
  typedFiles,
} from "../common/setup.ts"
import { mayPay } from "../common/worstCase.ts"
import { linesFlag, loggingLayer } from "./logging.ts"
import { sayReady, sayStopped, summaries } from "./narrate.ts"
import { runOnce } from "./once.ts"
import { logStateOnSignal, reloadOnHangup } from "./signals.ts"
import { type Listening, outlastOutages } from "./storeOutage.ts"
import { tracingLayer } from "./tracing.ts"

/** Time for awaited answers after a stop is requested. The whole end is bounded at 10 s in main. */
const drainMillis = 5_000

const flags = {
  file: fileArgument,
  config: configFlag,
  data: dataFlag,
  sandbox: Flag.Boolean("sandbox").pipe(
    Flag.withDescription("Also run the play-money network of the file's sandbox section"),
    Flag.withDefault(false),
  ),
  once: Flag.Boolean("once").pipe(
    Flag.withDescription("Run one cycle, settle its payments and exit"),
    Flag.withDefault(false),
  ),
  output: linesFlag,
}

/** Reads the files, and warns of doubtful network settings and keys. */
const sound = Effect.fnUntraced(function* (chosen: Chosen) {
  const found = yield* setup(chosen)
  yield* needCertificates((yield* ProcessContext).env, found.mode)
  return { found, warnings: [...(yield* checkNetwork(found.treasury)), ...(yield* checkKeys(found, true))] }
})

export const run = Command.make(
  "run",
  flags,
  Effect.fn(function* (chosen) {
    const startedAt = yield* Clock.currentTimeMillis
    const { found: written, warnings } = yield* sound(chosen)
    const lacking = chosen.sandbox
      ? undefined
      : needSandbox(written, `cofferer run --sandbox ${typedFiles(filesOf(chosen))}`)
    if (lacking !== undefined) return yield* lacking
    const { dir: dataDir, mended } = yield* secureDataDir(written.dataDir)
    yield* refuseSharedFolder(written.treasury.watermarkFile)
    const found = { ...written, dataDir }
    const work = chosen.sandbox
      ? besideSandbox(found, chosen.once)
      : daemon(optionsOf(found), found, chosen.once, undefined)
    const lines = [...warnings.map(formatProblem), ...mended]
    const warned = Effect.forEach(lines, (detail) => logEvent("configuration doubtful", { detail }))
    const logging = loggingLayer(found, chosen.output, startedAt)
    return yield* Effect.andThen(warned, work).pipe(
      Effect.annotateLogs({ treasury: found.treasury.name }),
      Effect.provide(Layer.provideMerge(tracingLayer(found.treasury), logging)),
    )
  }),
).pipe(Command.withDescription("Run the daemon"))

const optionsOf = ({ treasury, mode, dataDir }: Setup) => ({ treasury, mode, dataDir })

/** The modules of the play-money network are loaded here: a daemon before a real one needs none of them. */
const besideSandbox = Effect.fnUntraced(function* (found: Setup, once: boolean) {
  const { withSandbox } = yield* Effect.promise(() => import("./withSandbox.ts"))
  yield* withSandbox(found, (sandbox) =>
    daemon({ ...optionsOf(found), gatewayUrl: sandbox.url }, found, once, sandbox),
  ).pipe(Effect.catchTag("SandboxError", (error) => failWith("failure", storeText(error.message, found.dataDir))))
})

const daemon = (options: DaemonOptions, found: Setup, once: boolean, sandbox: Sandbox["Service"] | undefined) =>
  Effect.gen(function* () {
    if (once) yield* payOnce(options, sandbox)
    else yield* lives(options, found, sandbox)
  }).pipe(
    Effect.catchTags({
      LoopGaveUp: (error) => failWith("failure", error.message),
      ListenError: (error) => failWith("failure", error.message),
      StoreError: (error) => failWith("failure", storeText(error.message, options.dataDir)),
    }),
  )

const payOnce = (options: DaemonOptions, sandbox: Sandbox["Service"] | undefined) =>
  Effect.gen(function* () {
    yield* introduce(options, sandbox)
    yield* prepare(options)
    yield* checkChain(options.treasury, { isBeside: sandbox !== undefined, once: true })
    return yield* runOnce(options)
  }).pipe(Effect.provide(daemonLayer(options)))

/** The daemon, which restarts at the same address if its store accepted no writes for a while. */
const lives = (options: DaemonOptions, found: Setup, sandbox: Sandbox["Service"] | undefined) => {
  const isDemo = sandbox !== undefined
  let isFirst = true
  let isNoted = false
  const life = (current: DaemonOptions, address: Listening, sayPage: (url: string) => Effect.Effect<void>) =>
    Effect.gen(function* () {
      if (isFirst) yield* introduce(current, sandbox)
      isFirst = false
      // One process may have several lives; what ends it before it serves anything counts as well.
      if (!isNoted) yield* noteStart()
      isNoted = true
      return yield* begun(current, address, sayPage).pipe(
        Effect.onInterrupt(() => Effect.ignore(noteEnd())),
        Effect.tapError((error) => (isUnwritten(error) ? Effect.void : Effect.ignore(noteEnd(error.message)))),
      )
    })
  const begun = (current: DaemonOptions, address: Listening, sayPage: (url: string) => Effect.Effect<void>) =>
    Effect.gen(function* () {
      yield* prepare(current)
      yield* checkChain(current.treasury, { isBeside: isDemo, once: false })
      const surfaces = Layer.merge(StatusServer.layer({ ...current, ...address }), layerControl(current))
      return yield* Effect.provide(serve(current, found, sandbox, sayPage), surfaces)
    })
  const address = { ...found.listen, metrics: found.metrics, portBusy: isDemo ? "free" : "error" } as const
  return outlastOutages(options, address, life).pipe(Effect.scoped, Effect.provide(realMachine(options).metrics))
}

const serve = (
  options: DaemonOptions,
  found: Setup,
  sandbox: Sandbox["Service"] | undefined,
  sayPage: (url: string) => Effect.Effect<void>,
) =>
  Effect.gen(function* () {
    yield* sayPage((yield* StatusServer).url)
    const loops = yield* Effect.forkScoped(runLoops(options))
    yield* Effect.forkScoped(reloadOnHangup)
    yield* Effect.forkScoped(logStateOnSignal)
    yield* Effect.forkScoped(sayReady(options.treasury))
    yield* Effect.forkScoped(summaries(found, sandbox))
    return yield* Effect.onInterrupt(Fiber.join(loops), () => stop(loops))
  }).pipe(Effect.scoped)

const stop = Effect.fnUntraced(function* (loops: Fiber.Fiber<unknown, unknown>) {
  const startedAt = yield* Clock.currentTimeMillis
  const sending = yield* (yield* InFlight).sending
  if (sending > 0) {
    yield* logEvent("daemon stopping", { count: sending, seconds: drainMillis / 1_000 })
  }
  yield* drain(drainMillis)
  yield* Fiber.interrupt(loops)
  yield* sayStopped(startedAt).pipe(Effect.ignore)
})

const storeText = (message: string, dataDir: string): string =>
  /database is locked/.test(message)
    ? `${dataDir} is in use by another process; stop it, or name another directory with --data`
    : /disk is full/.test(message)
      ? `${message}; free space under ${dataDir}`
      : message

/**
 * A gateway on another chain is a mistake of the file and an error at once. If the store has read this chain before,
 * the gateway has changed, which halts. A gateway that does not answer is a state.
 */
const checkChain = Effect.fnUntraced(function* (
  treasury: Treasury,
  { isBeside, once }: { readonly isBeside: boolean; readonly once: boolean },
) {
  const { gateways } = treasury.network
  const remedy: { readonly remedy?: string } =
    isEmbedded(treasury) && !isBeside ? { remedy: "--sandbox runs the file's own network beside it" } : {}
  const unanswered = (error: GatewayError) => warnOf("gateway does not answer yet", error, remedy)
  yield* (yield* ChainContext).head.pipe(
    Effect.asVoid,
    Effect.catchReason("GatewayError", "OtherChain", ({ chainId }, error) =>
      Effect.gen(function* () {
        if (!once && (yield* (yield* Observations).watermark) !== undefined) return yield* unanswered(error)
        const who = gateways.length === 1 ? `gateway ${gateways[0].name} is` : "the gateways are"
        const message = `network.chainId: ${who} on chain "${chainId}", the file says "${treasury.network.chainId}"`
        const right = "name the chain that you mean, or another gateway"
        return yield* new ConfigError({ problems: [treasury.document.problem(["network", "chainId"], message, right)] })
      }),
    ),
    Effect.catchTag("GatewayError", unanswered),
  )
})

const introduce = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox["Service"] | undefined) {
  const { dataDir } = options
  const { treasury, mode } = (yield* ConfigInForce).now()
  const { gateways, quorum, chainId } = treasury.network
  const embedded = sandbox === undefined ? undefined : true
  yield* logEvent("daemon starting", { version, treasury: treasury.name, mode, chainId, dataDir, embedded })
  const data = relative(process.cwd(), dataDir) || "."
  yield* logEvent("gateways configured", {
    urls: options.gatewayUrl === undefined ? gateways.map(({ url }) => url) : [options.gatewayUrl],
    quorum: gateways.length === 1 ? undefined : quorum,
    dataDir: data.startsWith("..") ? dataDir : data,
  })
  if (mode !== "live") return yield* logEvent("nothing permitted", { reason: `in mode ${mode} nothing is signed` })
  const lines = mayPay(treasury)
  if (lines.length === 0) return yield* logEvent("nothing permitted", { reason: "no policy line allows a payment" })
  for (const line of lines) yield* logEvent("payments permitted", line)
  return yield* logEvent("nothing else permitted", {})
})
