import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Cause, Clock, Context, Effect, Exit, type Fiber, Layer, Logger, Random, References, Scheduler } from "effect"
import { HttpClient } from "effect/http"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { prepare, runLoops } from "../../src/daemon.ts"
import { GatewayPool } from "../../src/gateway/GatewayPool.ts"
import { type GatewayHealth, Health } from "../../src/gateway/Health.ts"
import { type DaemonOptions, daemonLayer } from "../../src/layers.ts"
import { type Channel, NotifyError } from "../../src/notify/Channel.ts"
import { logChannel, Notifier } from "../../src/notify/Notifier.ts"
import { ProofOfWork } from "../../src/pow/ProofOfWork.ts"
import { publicKeyOf, writeKeys } from "../../src/sandbox/Keys.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import type { Dice } from "../support/Dice.ts"
import { seenMillis } from "./Allowance.ts"
import { bookText, plainBook } from "./Book.ts"
import { type Failing, kill, type Mortal, own } from "./CrashPoints.ts"
import { keySeed } from "./Network.ts"
import type { VirtualTime } from "./VirtualTime.ts"
import { layerWire, type WireOptions } from "./Wire.ts"

const key = (name: string) => publicKeyOf(keySeed, name)
export const reserve = key("reserve")
/**
 * Requests a second below which a reading takes longer than a replay may stay unseen: of balances, listing and ledger,
 * each with a head after it, and the second look at a payment, whose first word alone ends nothing, with its own head;
 * between two polls of others.
 */
const readingPerSecond = 10 / (seenMillis / 1_000)

/** Base units up to which the rule fills each account. */
export const targets: ReadonlyMap<string, bigint> = new Map([
  [key("hot"), 20_000_000_000n],
  [key("warm"), 15_000_000_000n],
])

/** Names of the accounts that are kept filled. */
export const names: ReadonlyMap<string, string> = new Map([
  [key("hot"), "hot"],
  [key("warm"), "warm"],
])

export const oneGateway = 'gateways: { only: "http://127.0.0.1:1" }'
export const threeGateways =
  'gateways: { a: "http://127.0.0.1:1", b: "http://127.0.0.1:2", c: "http://127.0.0.1:3" }, quorum: 2'
/** The third of three, where one of them lies. */
export const liarHost = "127.0.0.1:3"

/** The treasury of every run without anything else. `dir` holds its keys. */
export const treasuryIn = (dir: string, network: string, who = "") => {
  mkdirSync(dir, { recursive: true })
  writeKeys(dir, keySeed, [`${who}reserve`, `${who}maker`])
  const text = bookText({ ...plainBook, who }, network, 0)
  return Effect.flatMap(parseYaml(join(dir, "simulation.yaml"), text), treasuryOf)
}

/** The same in each run, another one for each of two treasuries. */
const installationOf = (name: string): string => (name === "simulation" ? "51a51a51" : "51a51a52")

export interface ReplicaOptions {
  readonly treasury: DaemonOptions["treasury"]
  readonly dataDir: string
  readonly time: VirtualTime
  /** Milliseconds by which its wall clock is wrong. Default: it is right. */
  readonly wrongBy?: () => number
  readonly dice: Dice
  readonly metrics: Context.Context<Metrics>
  readonly wire: Omit<WireOptions, "dice">
  /** Steps until it dies of itself; Infinity: never. */
  readonly dieAt: number
  readonly failing: Failing | undefined
  readonly isDiskFull?: () => boolean
  /** What receivers of alerts do instead of taking them; undefined: they take them. */
  readonly deafness?: () => "hang" | "refuse" | undefined
  readonly onStatement: Mortal["onStatement"]
  /** It died, or gave up by itself. */
  readonly onEnd: () => void
  /** Gateways as the treasuries of its process share them. Default: it has none beside it. */
  readonly pool?: GatewayPool["Service"]
  /** It gave up by itself in a process that goes on. Default: the process ends with it. */
  readonly onEndAlone?: () => void
  /** Hears of what it logs as an error. Default: nobody does. */
  readonly onError?: (text: string) => void
}

/** What runs in a process of the daemon. */
export type Services = Layer.Success<ReturnType<typeof daemonLayer>>

/** One process of the daemon. */
export interface Replica {
  readonly mortal: Mortal
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly kill: () => void
  /** Ends the halts, as a person does it at this process. */
  readonly lift: () => void
  /** Whether fewer gateways than must agree may be asked and believed, or so slowly that it knows nothing in time. */
  readonly isBlind: () => boolean
  /** Runs an effect among the services of the process, as its socket would; undefined while it is not up. */
  readonly act: <A, E>(effect: Effect.Effect<A, E, Services>) => Fiber.Fiber<A, E> | undefined
}

/** Starts the real daemon: all of its loops on the real store, over the wire of the simulation. */
export const startReplica = (options: ReplicaOptions): Replica => {
  const { time, dice, wire } = options
  const mortal: Mortal = {
    alive: true,
    steps: 0,
    dieAt: options.dieAt,
    commitsAtDeath: () => dice.next() < 0.5,
    onDeath: options.onEnd,
    db: undefined,
    pausedTo: 0,
    statements: 0,
    failing: options.failing,
    ...(options.isDiskFull === undefined ? {} : { isDiskFull: options.isDiskFull }),
    onStatement: options.onStatement,
  }
  const daemon: DaemonOptions = { treasury: options.treasury, mode: "live", dataDir: options.dataDir }
  const metrics = Layer.succeedContext(options.metrics)
  const layer = daemonLayer(daemon, {
    http: layerWire(mortal, { ...wire, dice }),
    work: ProofOfWork.layerInline,
    metrics,
    ...(options.pool === undefined ? {} : { gateways: Layer.succeed(GatewayPool, options.pool) }),
    notifier: Notifier.layer(options.treasury.receivers.map(({ name }) => receiverOf(name, options.deafness))),
  })
  let health: Health["Service"] | undefined
  let services: Context.Context<Services> | undefined
  const { onError } = options
  const program = Effect.gen(function* () {
    health = yield* Health
    services = yield* Effect.context<Services>()
    yield* (yield* Settings).set("installation", installationOf(options.treasury.name))
    yield* prepare(daemon)
    return yield* runLoops(daemon)
  }).pipe(Effect.provide(Layer.merge(layer, Logger.layer(onError === undefined ? [] : [errors(onError)]))))
  const clock = time.clockWrongBy(options.wrongBy ?? (() => 0))
  const context = Context.empty().pipe(
    Context.add(Clock.Clock, clock),
    Context.add(
      Scheduler.Scheduler,
      time.schedulerOf(
        () => mortal.alive,
        () => mortal.pausedTo,
      ),
    ),
    Context.add(Random.Random, randomOf(dice)),
    Context.add(References.TracerEnabled, false),
    Context.add(HttpClient.TracerDisabledWhen, () => true),
    Context.add(References.MinimumLogLevel, onError === undefined ? "None" : "Error"),
  )
  own(join(options.dataDir, databaseFile), mortal)
  const fiber = Effect.runForkWith(context)(program)
  fiber.addObserver((exit) => {
    if (!mortal.alive || !Exit.isFailure(exit)) return
    // The process ended by itself, as a loop that gave up ends it: its file is closed, and it is started again.
    if (options.onEndAlone === undefined) return kill(mortal)
    // What of it still runs, such as a read that others share, dies with the process.
    Object.assign(mortal, { dieAt: Number.POSITIVE_INFINITY, onDeath: () => {} })
    options.onEndAlone()
  })
  const isBlind = () => {
    if (health === undefined) return true
    const views = Effect.runSyncWith(Context.make(Clock.Clock, clock))(health.all)
    const { quorum } = options.treasury.network
    const isShut = ({ state, perSecond = Number.POSITIVE_INFINITY }: GatewayHealth) =>
      state === "banned" || (views.length > 1 && state === "quarantined") || perSecond < readingPerSecond
    return views.length - views.filter(isShut).length < quorum
  }
  const act = <A, E>(effect: Effect.Effect<A, E, Services>) =>
    services === undefined ? undefined : Effect.runForkWith(Context.merge(services, context))(effect)
  const lift = () => {
    act(releaseAll)
    time.runTo(time.now())
  }
  return { mortal, fiber, lift, isBlind, act, kill: () => kill(mortal) }
}

/** A receiver that may be deaf: one that hangs is given up by its channel after ten seconds. */
const receiverOf = (name: string, deafness: ReplicaOptions["deafness"]): Channel => {
  const taking = logChannel(name)
  return {
    name,
    send: (notification) =>
      Effect.suspend(() => {
        const how = deafness?.()
        if (how === undefined) return taking.send(notification)
        const refused = Effect.fail(new NotifyError({ receiver: name, detail: how }))
        return how === "hang" ? Effect.andThen(Effect.sleep(10_000), refused) : refused
      }),
  }
}

/** Ends every halt, those too that a resume of everything leaves in force. */
const releaseAll = Effect.gen(function* () {
  const controls = yield* Controls
  for (const { reason } of yield* controls.halts) yield* controls.release(reason, "operator")
})

const errors = (hear: (text: string) => void) =>
  Logger.make<unknown, void>(({ message, cause }) => {
    const words = (Array.isArray(message) ? message : [message]).map((one) =>
      typeof one === "string" ? one : JSON.stringify(one),
    )
    hear([...words, ...(cause.reasons.length === 0 ? [] : [Cause.pretty(cause)])].join(" "))
  })

const randomOf = (dice: Dice): Random.Random => ({
  nextIntUnsafe: () => Math.floor((dice.next() * 2 - 1) * Number.MAX_SAFE_INTEGER),
  nextDoubleUnsafe: () => dice.next(),
})
