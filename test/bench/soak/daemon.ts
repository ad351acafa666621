import { monitorEventLoopDelay } from "node:perf_hooks"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Logger, Tracer } from "effect"
import { loadTreasury } from "../../../src/config/Treasury.ts"
import { prepare, runLoops } from "../../../src/daemon.ts"
import { daemonLayer } from "../../../src/layers.ts"
import { Observations } from "../../../src/store/balances/Observations.ts"
import { blockMillis } from "./world.ts"

/**
 * The daemon as it is, in a process of its own, with a clock at its decisions: `daemon.ts FILE DIR START MINUTES`.
 * Prints one line of JSON when the time is over.
 */
const [file = "", dataDir = "", startText = "", minutes = ""] = process.argv.slice(2)
const start = Number(startText)

let stored = 0n
let decidedOn = 0n
/** The next block whose rows no decision has seen yet. */
let next = 0
const waits: Array<number> = []
let advanced = (): void => {}

/** Every block below the watermark that the decision began with was seen by it; its rows waited since their time. */
const decided = (): void => {
  const now = Date.now()
  const until = Math.floor((Number(decidedOn / 1_000_000n) - start + blockMillis - 1) / blockMillis)
  for (; next < until; next++) waits.push(now - (start + next * blockMillis))
}

class TimedSpan extends Tracer.NativeSpan {
  override end(...args: Parameters<Tracer.NativeSpan["end"]>) {
    super.end(...args)
    if (this.name === "Observations.advance") advanced()
    if (this.name === "Engine.decide") decided()
  }
}
const tracer = Tracer.make({
  span: (options) => {
    if (options.name === "Engine.decide") decidedOn = stored
    return new TimedSpan(options)
  },
})

const at = (samples: ReadonlyArray<number>, share: number): number =>
  samples.toSorted((a, b) => a - b)[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? Number.NaN

const watch = Effect.gen(function* () {
  const runPromise = Effect.runPromiseWith(yield* Effect.context())
  const { watermark } = yield* Observations
  const look = () => {
    void runPromise(watermark).then((mark) => {
      stored = mark?.timestamp ?? 0n
    })
  }
  // What was there before the daemon began is no row that waited.
  advanced = () => {
    next = Math.ceil((Date.now() - start) / blockMillis)
    advanced = look
  }
  yield* Effect.sleep("10 seconds")
  waits.length = 0
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const cpu = process.cpuUsage()
  const resident: Array<number> = []
  const seconds = Number(minutes) * 60
  for (let second = 0; second < seconds; second++) {
    resident.push(process.memoryUsage.rss() / 2 ** 20)
    yield* Effect.sleep("1 second")
  }
  const used = process.cpuUsage(cpu)
  console.log(
    JSON.stringify({
      blocks: waits.length,
      waitP50: at(waits, 0.5),
      waitP99: at(waits, 0.99),
      waitMax: at(waits, 1),
      loopP99: delay.percentile(99) / 1e6 - 5,
      residentMax: at(resident, 1),
      residentFirst: resident[0],
      cpuShare: (used.user + used.system) / 1e6 / seconds,
    }),
  )
})

const program = Effect.gen(function* () {
  const treasury = yield* loadTreasury(file)
  const options = { treasury, mode: treasury.mode, dataDir }
  yield* Effect.gen(function* () {
    yield* prepare(options)
    yield* Effect.raceFirst(runLoops(options), watch)
  }).pipe(Effect.provide(daemonLayer(options)))
})

await Effect.runPromise(
  program.pipe(
    Effect.provide(Layer.mergeAll(NodeServices.layer, Layer.succeed(Tracer.Tracer, tracer), Logger.layer([]))),
    Effect.scoped,
  ) as Effect.Effect<void>,
)
process.exit(0)
