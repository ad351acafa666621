import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Fiber, Layer, Schedule, type Scope } from "effect"
import { general } from "../domain/Balance.ts"
import type { PublicKey } from "../domain/Hex.ts"
import { boundedServer } from "../sockets/boundedServer.ts"
import type { Chain } from "./Chain.ts"
import type { World } from "./http/Answer.ts"
import type { PerformedRequest } from "./http/perform.ts"
import { makeRateLimiter, type RateLimiter } from "./http/RateLimiter.ts"
import { answerRequest, type NetworkRequest } from "./http/routes.ts"
import { serveNetwork } from "./http/Server.ts"
import { publicKeyOf, urlFile, writeKeys } from "./Keys.ts"
import { filesFailed, noLedgerFile, openLedgerFile, SandboxError } from "./LedgerFile.ts"
import { type LedgerNode, makeNode } from "./LedgerNode.ts"
import { profiles } from "./Profiles.ts"
import type { Scenario } from "./Scenario.ts"

export interface SandboxOptions {
  readonly scenario: Scenario
  /** Puts an empty chain where a ledger in memory begins. */
  readonly begin?: (chain: Chain) => void
  /** Holds ledger.db and keys/; undefined: everything lives in memory and no key is written. */
  readonly dir: string | undefined
  /** Effect of a busy port: an error, or the choice of a free one. */
  readonly portBusy: "error" | "free"
  /** real: a block each interval of the Clock. manual: only by stepBlock and POST /sandbox/blocks. */
  readonly clock: "real" | "manual"
}

/** A ledger network in one process over real HTTP: play money, and every rule of the real one that clients meet. */
export class Sandbox extends Context.Service<
  Sandbox,
  {
    readonly url: string
    readonly port: number
    readonly keysDir: string | undefined
    /** Key of any name: keys follow from the seed alone. */
    readonly publicKey: (name: string) => PublicKey
    readonly ledger: ReturnType<typeof viewLedger>
    readonly stepBlock: Effect.Effect<void, SandboxError>
    /** Answers a request without a socket. */
    readonly answer: (request: NetworkRequest) => Effect.Effect<PerformedRequest>
    /** Never ends by itself: fails when blocks can no longer be made or kept. Join it, or the network dies unseen. */
    readonly join: Effect.Effect<never, SandboxError>
  }
>()("cofferer/sandbox/Sandbox") {
  /** Opens the ledger, makes the first block where there is none, and listens. */
  static readonly layer = (options: SandboxOptions): Layer.Layer<Sandbox, SandboxError> =>
    Layer.effect(Sandbox, make(options))
}

const make = Effect.fnUntraced(function* (options: SandboxOptions) {
  const { scenario } = options
  const keysDir = options.dir === undefined ? undefined : yield* prepareDir(options.dir, scenario)
  const file =
    options.dir === undefined ? noLedgerFile(scenario) : yield* openLedgerFile(join(options.dir, "ledger.db"), scenario)
  const chain = yield* file.load
  if (chain.height === 0) options.begin?.(chain)
  const node = yield* makeNode(chain, file)
  if (chain.height === 0) yield* node.stepBlock
  const profile = profiles[scenario.profile]
  const world: World = { node, scenario, profile }
  const limiter = scenario.rateLimit && profile.rateLimit !== undefined ? makeRateLimiter(profile.rateLimit) : undefined
  const port = yield* listen(options, world, limiter)
  yield* Effect.addFinalizer(() => node.stop)
  const producer = yield* Effect.forkScoped(options.clock === "manual" ? Effect.never : produce(node, scenario))
  const { host } = scenario.listen
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`
  if (options.dir !== undefined) yield* publishUrl(join(options.dir, urlFile), url)
  return Sandbox.of({
    url,
    port,
    keysDir,
    publicKey: (name) => publicKeyOf(scenario.seed, name),
    ledger: viewLedger(node),
    stepBlock: node.stepBlock,
    answer: (request) => answerRequest(world, limiter, request),
    join: Effect.raceFirst(Fiber.join(producer), node.broken),
  })
})

const prepareDir = (dir: string, scenario: Scenario): Effect.Effect<string, SandboxError> =>
  Effect.try({
    try: () => {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      return writeKeys(dir, scenario.seed, scenario.parties)
    },
    catch: (cause) => filesFailed("keys", cause),
  })

const publishUrl = (path: string, url: string): Effect.Effect<void, SandboxError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => writeFileSync(path, `${url}\n`, { mode: 0o600 }),
      catch: (cause) => filesFailed("listen", cause),
    }),
    () => Effect.sync(() => rmSync(path, { force: true })),
  )

/** One block each interval. After a pause of the process it goes on; it does not catch up. */
const produce = (node: LedgerNode, scenario: Scenario): Effect.Effect<never, SandboxError> =>
  Effect.sleep(scenario.blockIntervalMillis).pipe(
    Effect.andThen(Effect.repeat(node.stepBlock, Schedule.fixed(scenario.blockIntervalMillis))),
    Effect.andThen(Effect.never),
    Effect.tapCause((cause) => Effect.logError("sandbox stopped", cause)),
  )

/** The ledger as it is, for tests: nothing between it and them. */
const viewLedger = (node: LedgerNode) => ({
  /** Base units in an account of a party of the scenario; 0 where there is none. */
  balance: (name: string, symbol: string) =>
    node.read((chain) => {
      const party = chain.keys.get(name)
      const asset = chain.scenario.assets.find((listed) => listed.symbol === symbol)?.id
      for (const account of chain.ledger.accounts.values()) {
        if (account.party === party && account.asset === asset && account.type === general) return account.balance
      }
      return 0n
    }),
  /** Transactions in blocks, oldest first; code 0 means executed. */
  executed: node.read((chain) => [...chain.included]),
  head: node.read(({ height, hash, time }) => ({ height, hash, time })),
})

const listen = Effect.fnUntraced(function* (
  {
    scenario: {
      listen: { host, port },
    },
    portBusy,
  }: SandboxOptions,
  world: World,
  limiter: RateLimiter | undefined,
) {
  const isFreeWanted = (error: SandboxError) => error.isPortBusy === true && portBusy === "free"
  const server = yield* Effect.catchIf(open(host, port), isFreeWanted, () => open(host, 0))
  yield* server.serve(serveNetwork(world, limiter, host))
  return server.address._tag === "UnixPathAddress" ? port : server.address.port
})

/** Connections that the network holds at once. */
const connectionsMax = 300
/** Requests of one connection: a gateway's reader keeps its connection. */
const requestsMax = 16

const open = (host: string, port: number) =>
  NodeHttpServer.make(() => boundedServer(connectionsMax, requestsMax), {
    host,
    port,
    gracefulShutdownTimeout: "500 millis",
  }).pipe(
    Effect.mapError(({ cause }) => {
      const isPortBusy = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
      const busyText = `port ${port} on ${host} is in use; stop the process there, or set sandbox.listen to port 0`
      const otherText = `cannot listen on ${host}:${port} (${String(cause)}); use an address of this machine`
      return new SandboxError({ message: isPortBusy ? busyText : otherText, isPortBusy })
    }),
  )
