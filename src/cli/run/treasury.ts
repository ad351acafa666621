import { Clock, Effect, Fiber, Layer } from "effect"
import { ConfigInForce } from "../../config/ConfigInForce.ts"
import { version } from "../../config/files.ts"
import { isEmbedded, type Treasury } from "../../config/Treasury.ts"
import { ConfigError } from "../../config/yaml/ConfigError.ts"
import { drain, prepare, runLoops } from "../../daemon.ts"
import { type GatewayError, warnOf } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import { layerControl } from "../../http/ControlServer.ts"
import { type Surface, serveStatus } from "../../http/StatusServer.ts"
import type { DaemonOptions, Machine } from "../../layers.ts"
import type { Sandbox } from "../../sandbox/Sandbox.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { noteEnd, noteStart } from "../../store/controls/starts.ts"
import { Database } from "../../store/database/Database.ts"
import { isUnwritable } from "../../store/database/storeErrors.ts"
import { InFlight } from "../../submitter/InFlight.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { permittedLines } from "../common/worstCase.ts"
import { lastState, logReady, logStopped, summaries } from "./runLog.ts"
import { logStateOnSignal, reloadOnHangup } from "./signals.ts"
import { endEarlierOutage, outlastOutages } from "./storeOutage.ts"

/** Time for awaited answers after a stop is requested. The whole end is bounded at 10 s in main. */
const drainMillisOf = ({ postgresUrlFile }: DaemonOptions): number =>
  // Another process waits for the treasury. It sends the same bytes again where it finds no answer.
  postgresUrlFile === undefined ? 5_000 : 500

/** One treasury, and the parts of the process that it uses. */
interface TreasuryRun {
  readonly options: DaemonOptions
  /** Where its page, API and metrics are served. */
  readonly surface: Surface
  /** Parts of the machine, of its own or shared with other treasuries. */
  readonly machineOf: (options: DaemonOptions) => Machine
  /** The network that runs in this process for it. */
  readonly sandbox: Sandbox["Service"] | undefined
}

/**
 * Runs a treasury: opens its store and signer, prepares them, serves its surfaces and supervises its loops. It outlasts
 * outages of its store. Interrupted, it drains what is being sent and closes all that it opened. Fails with what ends
 * it; never ends otherwise.
 */
export const runTreasury = ({ options, surface, machineOf, sandbox }: TreasuryRun) => {
  const isDemo = sandbox !== undefined
  let isFirst = true
  let isNoted = false
  let stoppingSince: number | undefined
  const noteStopping = Effect.map(Clock.currentTimeMillis, (now) => {
    stoppingSince = now
  })
  const life = (current: DaemonOptions) =>
    Effect.gen(function* () {
      if (isFirst) yield* logStart(current, sandbox)
      isFirst = false
      // One process may run several times. An end before it serves anything is recorded too.
      if (!isNoted) yield* noteStart(current.treasury.files)
      isNoted = true
      yield* Effect.forkScoped(endEarlierOutage(current))
      return yield* begun(current).pipe(
        Effect.onInterrupt(() => Effect.ignore(handOver(stoppingSince))),
        Effect.tapError((error) => (isUnwritable(error) ? Effect.void : Effect.ignore(noteEnd(error.message)))),
      )
    }).pipe(Effect.scoped)
  const begun = (current: DaemonOptions) =>
    Effect.gen(function* () {
      yield* prepare(current)
      yield* checkChain(current.treasury, { isBeside: isDemo, once: false })
      const { announce } = yield* serveStatus(surface)
      yield* Layer.build(layerControl(current))
      yield* announce
      return yield* serve(current, sandbox, noteStopping)
    })
  return outlastOutages(options, { surface, machineOf }, life).pipe(
    Effect.scoped,
    Effect.provide(machineOf(options).metrics),
  )
}

/** Notes the end, and releases the lease with it: another process may start while this one closes. */
const handOver = Effect.fnUntraced(function* (since: number | undefined) {
  const noted = (yield* Database).handOver(Effect.andThen(noteEnd(), lastState))
  // A store that takes no writes can still be read.
  const last = yield* Effect.catch(noted, () => lastState)
  if (since !== undefined) yield* logStopped(last, since)
})

const serve = (options: DaemonOptions, sandbox: Sandbox["Service"] | undefined, noteStopping: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const loops = yield* Effect.forkScoped(runLoops(options))
    yield* Effect.forkScoped(reloadOnHangup)
    yield* Effect.forkScoped(logStateOnSignal)
    yield* Effect.forkScoped(logReady(options.treasury))
    yield* Effect.forkScoped(summaries(options, sandbox))
    return yield* Effect.onInterrupt(Fiber.join(loops), () =>
      Effect.andThen(noteStopping, stop(loops, drainMillisOf(options))),
    )
  }).pipe(Effect.scoped)

const stop = Effect.fnUntraced(function* (loops: Fiber.Fiber<unknown, unknown>, drainMillis: number) {
  const sending = yield* (yield* InFlight).sending
  if (sending > 0) {
    yield* logEvent("daemon stopping", { count: sending, seconds: drainMillis / 1_000 })
  }
  yield* drain(drainMillis)
  yield* Fiber.interrupt(loops)
})

/**
 * A gateway on another chain is a mistake of the file and an error at once. If the store has read this chain before,
 * the gateway has changed, which halts. A gateway that does not answer is a state.
 */
export const checkChain = Effect.fnUntraced(function* (
  treasury: Treasury,
  { isBeside, once }: { readonly isBeside: boolean; readonly once: boolean },
) {
  const { gateways } = treasury.network
  const remedy: { readonly remedy?: string } =
    isEmbedded(treasury) && !isBeside ? { remedy: "--sandbox runs the file's own network beside it" } : {}
  const unanswered = (error: GatewayError) => warnOf("gateway does not answer yet", error, remedy)
  yield* (yield* GatewayReader).head.pipe(
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

/** An address for the log, without its path: some providers have their users' keys there. */
const shownAddress = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return pathname === "/" ? origin : `${origin}/...`
}

export const logStart = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox["Service"] | undefined) {
  const { dataDir } = options
  const { treasury, mode } = (yield* ConfigInForce).now()
  const { gateways, quorum, chainId } = treasury.network
  const embedded = sandbox === undefined ? undefined : true
  yield* logEvent("daemon starting", { version, treasury: treasury.name, mode, chainId, dataDir, embedded })
  yield* logEvent("gateways configured", {
    urls: options.gatewayUrl === undefined ? gateways.map(({ url }) => shownAddress(url)) : [options.gatewayUrl],
    quorum: gateways.length === 1 ? undefined : quorum,
    dataDir,
  })
  if (mode !== "live") return yield* logEvent("nothing permitted", { reason: `in mode ${mode} nothing is signed` })
  const lines = permittedLines(treasury)
  if (lines.length === 0) return yield* logEvent("nothing permitted", { reason: "no policy line allows a payment" })
  for (const line of lines) yield* logEvent("payments permitted", line)
  return yield* logEvent("nothing else permitted", {})
})
