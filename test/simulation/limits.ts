import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { HttpClient } from "effect/http"
import { makeRateLimiter, type RateLimiter } from "../../src/sandbox/http/RateLimiter.ts"
import { profiles } from "../../src/sandbox/Profiles.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { makeDice } from "../support/Dice.ts"
import type { Mortal } from "./CrashPoints.ts"
import { makeNetwork, type Network } from "./Network.ts"
import { type Plan, tamePlanOf } from "./Plan.ts"
import { startReplica } from "./Replica.ts"
import type { Bench } from "./runSeed.ts"
import { makeRunner, makeVirtualTime, type VirtualTime } from "./VirtualTime.ts"
import { layerWire, type WireOptions } from "./Wire.ts"

const startMillis = Date.parse("2026-11-21T10:00:00Z")

/** What a caller was answered. */
export interface Served {
  /** By virtual minute: answers that were no refusal of the limiter. */
  readonly perMinute: Array<number>
  tooMany: number
  banned: number
}

/** One life of the daemon, and how long it rests between two polls. */
export interface Life {
  readonly minutes: number
  readonly pollMillis: number
}

export interface LimitsOptions {
  readonly lives: ReadonlyArray<Life>
  /** Requests a second that somebody else sends from the daemon's own address. */
  readonly neighbourPerSecond: number
  /** Listings that somebody else polls from another address, each again as soon as there is an answer. */
  readonly naiveLanes: number
}

export interface LimitsFound {
  readonly daemon: Served
  readonly neighbour: Served
  readonly naive: Served
  /** Virtual seconds from the newest block that the daemon has stored to the end. */
  readonly behindSeconds: number
  readonly executed: number
}

const calm = (minutes: number): Plan => ({
  ...tamePlanOf(1, "honest"),
  profile: "0.75",
  window: 20,
  blocks: minutes * 60,
  blockMillis: 1_000,
  difficulty: 1,
  txPerBlock: 2,
  epochSeconds: 3_600,
  transfersPerEpoch: 1_000,
  workChanges: [],
  faults: [],
  stepsPerLife: undefined,
  sleeps: false,
  rebroadcaster: false,
  manyNodes: false,
  latencyMillis: 20,
  spends: Array.from({ length: minutes }, (_, i) => ({ block: 30 + 60 * i, from: "hot" as const, amount: 3_000 })),
})

const immortal = (): Mortal => ({
  alive: true,
  steps: 0,
  dieAt: Number.POSITIVE_INFINITY,
  commitsAtDeath: () => false,
  onDeath: () => {},
  db: undefined,
  pausedTo: 0,
  onStatement: () => {},
  statements: 0,
  failing: undefined,
})

/** A world with the data node's limiter in it. */
interface World {
  readonly time: VirtualTime
  readonly network: Network
  readonly wire: (address: string) => { readonly served: Served; readonly options: Omit<WireOptions, "dice"> }
}

const makeWorld = (plan: Plan): World => {
  const time = makeVirtualTime(startMillis, makeDice("limits"))
  const { fork, atOnce: run } = makeRunner(time)
  const network = makeNetwork([plan], fork, run)
  const limiter: RateLimiter = makeRateLimiter(
    profiles["0.75"].rateLimit ?? { perSecond: 20, burst: 100, banMillis: 0 },
  )
  const wire = (address: string) => {
    const served: Served = { perMinute: [], tooMany: 0, banned: 0 }
    const options: Omit<WireOptions, "dice"> = {
      network,
      latencyMillis: plan.latencyMillis,
      limiter,
      address,
      hear: () => {},
      onSubmit: () => {},
      onArrival: () => {},
      lie: () => (_asked, told) => {
        const minute = Math.floor((time.now() - startMillis) / 60_000)
        if (told.status === 429) served.tooMany++
        else if (told.status === 403) served.banned++
        else served.perMinute[minute] = (served.perMinute[minute] ?? 0) + 1
        return told
      },
    }
    return { served, options }
  }
  return { time, network, wire }
}

const listings = ["assets", "accounts", "network/parameters", "transfers"]

/** Polls its listings as simple programs do: all at once, and again when `pause` is over. */
const pollPlainly = (world: World, options: Omit<WireOptions, "dice">, lanes: number, pause: number) => {
  const loop = Effect.fnUntraced(function* (lane: number) {
    const client = yield* HttpClient.HttpClient
    for (;;) {
      yield* Effect.ignore(client.get(`http://gateway/api/v2/${listings[lane % listings.length]}`))
      yield* Effect.sleep(pause)
    }
  })
  const http = layerWire(immortal(), { ...options, dice: makeDice("plain") })
  for (let lane = 0; lane < lanes; lane++) world.network.fork(Effect.provide(loop(lane), http))
}

interface DaemonSetup extends Pick<Life, "pollMillis"> {
  readonly dataDir: string
  readonly wire: Omit<WireOptions, "dice">
}

const startDaemon = (bench: Bench, { time }: World, { dataDir, pollMillis, wire }: DaemonSetup) => {
  const { treasury, metrics } = bench
  const pace = { pollBusyMillis: pollMillis, pollIdleMillis: pollMillis }
  return startReplica({
    treasury: { ...treasury, network: { ...treasury.network, ...pace } },
    dataDir,
    time,
    dice: makeDice("replica"),
    metrics,
    dieAt: Number.POSITIVE_INFINITY,
    failing: undefined,
    onEnd: () => {},
    onStatement: () => {},
    wire,
  })
}

/** Runs the whole daemon in virtual time against a network that bans who asks too much. */
export const runWithLimits = (bench: Bench, options: LimitsOptions): LimitsFound => {
  const plan = calm(options.lives.reduce((sum, { minutes }) => sum + minutes, 0))
  const world = makeWorld(plan)
  const { time, network } = world
  const dataDir = join(bench.dir, "limits")
  rmSync(dataDir, { recursive: true, force: true })
  mkdirSync(dataDir, { recursive: true })
  const [daemon, neighbour, naive] = [world.wire("10.0.0.1"), world.wire("10.0.0.1"), world.wire("10.0.0.2")]
  pollPlainly(world, naive.options, options.naiveLanes, 0)
  const others = Math.ceil(options.neighbourPerSecond / 4)
  pollPlainly(world, neighbour.options, others, 250 - 2 * plan.latencyMillis)
  for (const { minutes, pollMillis } of options.lives) {
    const replica = startDaemon(bench, world, { dataDir, pollMillis, wire: daemon.options })
    for (let second = 0; second < minutes * 60; second++) {
      time.runTo(time.now() + 1_000)
      network.fork(network.node.stepBlock)
    }
    replica.kill()
  }
  const behindSeconds = (time.now() - newestStored(dataDir)) / 1_000
  const executed = network.chain.included.filter(({ code }) => code === 0).length
  return { daemon: daemon.served, neighbour: neighbour.served, naive: naive.served, behindSeconds, executed }
}

const newestStored = (dataDir: string): number => {
  const db = new DatabaseSync(join(dataDir, databaseFile))
  try {
    const row = db.prepare("SELECT max(timestamp / 1000000) AS millis FROM watermarks").get()
    return Number(row?.["millis"])
  } finally {
    db.close()
  }
}
