import { EventEmitter } from "node:events"
import { resolve } from "node:path"
import { Cause, Clock, Effect, Exit, FiberMap, Layer, Option, Random } from "effect"
import { HttpClient } from "effect/http"
import {
  clashesOf,
  type DaemonConfig,
  dataDirIn,
  nameProblem,
  noTreasury,
  sharedAccounts,
  type TreasuryEntry,
  treasuriesIn,
  unusedSettings,
} from "../../config/DaemonFile.ts"
import { ProcessContext, readEnvironment } from "../../config/Environment.ts"
import { readSecret } from "../../config/files.ts"
import { secureDataDir } from "../../config/ownFiles.ts"
import { parseListen } from "../../config/schema/Fields.ts"
import type { Treasury } from "../../config/Treasury.ts"
import { ConfigError, configProblem, formatProblem } from "../../config/yaml/ConfigError.ts"
import { storeDirIn } from "../../config/yaml/readSources.ts"
import { shellWord } from "../../domain/text.ts"
import { GatewayPool } from "../../gateway/GatewayPool.ts"
import { noteAddress, ownAddress, type Surface, type SurfaceAnswers, withServices } from "../../http/StatusServer.ts"
import type { TreasuryState } from "../../http/View.ts"
import { HeadlineSink } from "../../http/watchHealth.ts"
import { type SharedParts, sharedMachine } from "../../layers.ts"
import { workPool } from "../../pow/ProofOfWork.ts"
import { layerHttp } from "../../sockets/client.ts"
import type { LeaseHolder } from "../../store/database/Connections.ts"
import { CommandFlags, logEvent } from "../../telemetry/Logging.ts"
import { fleetMetrics, mergeMetrics } from "../../telemetry/Metrics.ts"
import { failWith } from "../common/output.ts"
import { type Chosen, chosenIn, daemonIn, setup } from "../common/setup.ts"
import { checkedSetup, storeText } from "./checkedSetup.ts"
import { loggingLayer } from "./logging.ts"
import { haltByFile, haltOnSignalBy, haltShared, onHangup, ProcessSignals, passSignals } from "./signals.ts"
import { tracingLayer } from "./tracing.ts"
import { runTreasury } from "./treasury.ts"
import { listAnswers, mountedAt } from "./treasuryList.ts"

interface RunChosen extends Chosen {
  readonly sandbox: boolean
  readonly once: boolean
  readonly output: Option.Option<"text" | "json">
}

/** The settings of the process: those of its file, of the environment and of the flags. */
const daemonOf = Effect.fnUntraced(function* (dir: string, chosen: RunChosen) {
  const only = (flag: string, remedy: string) =>
    failWith("usage", `${flag} is for one treasury, and ${dir} holds several; ${remedy}`)
  if (chosen.sandbox) return yield* only("--sandbox", "run a network of its own: cofferer sandbox FILE")
  if (chosen.once) return yield* only("--once", `name one: cofferer run --once ${dir}/FILE`)
  if (chosen.config.length > 1) return yield* only("an overlay", "make a treasury a folder of parts")
  const environment = yield* readEnvironment((yield* ProcessContext).env)
  const written = yield* daemonIn(dir)
  return {
    environment,
    config: {
      ...written,
      listen: environment.listen === undefined ? written.listen : parseListen(environment.listen),
      metrics: environment.metrics === undefined ? written.metrics : parseListen(environment.metrics),
      dataDir: Option.match(chosen.data, { onNone: () => written.dataDir, onSome: (path) => resolve(path) }),
    } satisfies DaemonConfig,
  }
})

/** Runs the treasuries of a folder until it is stopped. Each starts, fails and ends alone. */
export const runTreasuries = Effect.fnUntraced(function* (dir: string, chosen: RunChosen, startedAt: number) {
  const { config: given, environment } = yield* daemonOf(dir, chosen)
  const { dir: dataDir, mended } = yield* secureDataDir(given.dataDir)
  const config = { ...given, dataDir }
  const logging = loggingLayer({ treasury: config, environment }, chosen.output, startedAt, { isOfMany: true })
  const name = "all"
  return yield* Effect.gen(function* () {
    for (const detail of mended) yield* logEvent("configuration doubtful", { detail })
    return yield* serveAll(config)
  }).pipe(
    Effect.scoped,
    Effect.catchTag("ListenError", ({ message }) => failWith("failure", message)),
    Effect.provide(
      Layer.mergeAll(
        layerHttp,
        GatewayPool.layer(config.requestsPerSecond),
        connectionsLayer(config),
        tracingLayer({ name, tracing: config.tracing }),
      ).pipe(Layer.provideMerge(logging)),
    ),
  )
})

/** Connections of all treasuries to their PostgreSQL, where they share one. */
const connectionsLayer = ({ postgresUrlFile: urlFile }: DaemonConfig) =>
  urlFile === undefined
    ? Layer.empty
    : Layer.unwrap(
        Effect.gen(function* () {
          const { Connections } = yield* Effect.promise(() => import("../../store/database/Connections.ts"))
          return Connections.layer({ url: yield* readSecret(urlFile) })
        }),
      )

const serveAll = Effect.fnUntraced(function* (config: DaemonConfig) {
  const hub = new EventEmitter().setMaxListeners(0)
  const shared: SharedParts = {
    http: Layer.succeed(HttpClient.HttpClient, yield* HttpClient.HttpClient),
    gateways: yield* GatewayPool,
    work: yield* workPool(),
  }
  const states = new Map<string, TreasuryState>()
  const running = new Map<string, SurfaceAnswers<never>>()
  const ofProcess = fleetMetrics()
  const metrics = Effect.gen(function* () {
    for (const { name, state } of states.values()) {
      ofProcess.up.set({ treasury: name }, state === "running" ? 1 : 0)
      ofProcess.standby.set({ treasury: name }, state === "standby" ? 1 : 0)
    }
    const texts = [yield* Effect.promise(ofProcess.text)]
    for (const { metrics } of running.values()) {
      texts.push(yield* metrics)
      // A scrape of many takes long: loops go on between two of them.
      yield* Effect.yieldNow
    }
    return mergeMetrics(texts)
  })
  const surface = ownAddress(
    { ...config.listen, metrics: config.metrics, portBusy: "error", dataDir: config.dataDir, isOfMany: true },
    mountedAt(running, (name) => states.get(name)),
  )
  const { announce, url } = yield* surface.serve(listAnswers(() => states.values(), running, metrics))
  const fibers = yield* FiberMap.make<string>()
  let entries: ReadonlyArray<TreasuryEntry> = []
  const live = new Map<string, Treasury>()
  const host: TreasuryHost = { hub, config, shared, states, running, live, url, scanned: () => entries }
  /** Starts the treasuries that the folder has now, and ends those that it has no longer. Returns their number. */
  const scan = Effect.gen(function* () {
    entries = yield* readEntries(config)
    const gone = [...fibers].flatMap(([key]) => (entries.some((entry) => keyOf(entry) === key) ? [] : [key]))
    // Side by side: each waits for others that end with it.
    yield* Effect.forEach(gone, (key) => FiberMap.remove(fibers, key), { concurrency: "unbounded", discard: true })
    for (const key of gone) {
      live.delete(key)
      const name = key.slice(key.indexOf(" ") + 1)
      const state = states.get(name)
      // A treasury whose file was renamed begins with a state of its own.
      if (state !== undefined && keyOf(state) === key) states.delete(name)
      if (entries.some((entry) => entry.name === name)) continue
      ofProcess.up.remove({ treasury: name })
      ofProcess.standby.remove({ treasury: name })
    }
    for (const entry of entries) {
      // A treasury that waits for its restart or stands by is restarted now with its present files.
      const state = states.get(entry.name)?.state
      const onlyIfMissing = state === "starting" || state === "running"
      yield* FiberMap.run(fibers, keyOf(entry), keepRunning(entry, host), { onlyIfMissing })
    }
    // An empty folder is no error: a SIGHUP reads it again.
    for (const problem of entries.length === 0 ? noTreasury(config.dir).problems : []) {
      yield* logEvent("configuration doubtful", { detail: formatProblem(problem) })
    }
    return entries.length
  })
  const count = yield* scan
  // After the treasuries listen: a halt of before is passed on now.
  yield* passSignals(hub)
  yield* announce
  yield* logEvent("treasuries started", { count, dataDir: config.dataDir })
  yield* Effect.forkScoped(onHangup(scan))
  return yield* Effect.never
})

const readEntries = (config: DaemonConfig) =>
  Effect.try({
    try: () => treasuriesIn(config),
    catch: (error) =>
      configProblem(config.dir, `cannot be read (${(error as NodeJS.ErrnoException).code})`, "let this user read it"),
  })

/** Identity of a running treasury: a file of another name is another one. */
const keyOf = ({ name, file }: Pick<TreasuryEntry, "name" | "file">): string => `${file.replaceAll(" ", "%20")} ${name}`

interface TreasuryHost {
  readonly hub: EventEmitter
  readonly config: DaemonConfig
  readonly shared: SharedParts
  readonly states: Map<string, TreasuryState>
  readonly running: Map<string, SurfaceAnswers<never>>
  /** Those of mode live by identity, from their first start until their file is gone: one that failed starts again. */
  readonly live: Map<string, Treasury>
  readonly url: string
  /** Treasuries that the folder had when it was read last. */
  readonly scanned: () => ReadonlyArray<TreasuryEntry>
}

const restartMillisMin = 1_000
const restartMillisMax = 60_000
/** A treasury that ran this long has recovered: after the next failure it waits the shortest time again. */
const healthyNanos = 60_000_000_000n

/** Runs a treasury, and again whenever it ends: after 1 s, doubling to 60 s, with jitter. Its files are read anew. */
const keepRunning = (entry: TreasuryEntry, host: TreasuryHost) =>
  Effect.gen(function* () {
    yield* Effect.forkScoped(haltOnSignalBy(haltWhileDown(entry, host)))
    let wait = restartMillisMin
    for (;;) {
      const begun = yield* Clock.monotonicTimeNanos
      const exit = yield* Effect.exit(runOne(entry, host))
      if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
      if ((yield* Clock.monotonicTimeNanos) - begun >= healthyNanos) wait = restartMillisMin
      const reason = reasonOf(exit)
      const seconds = Math.round(wait / 100) / 10
      noteState(host, entry, yield* Clock.currentTimeMillis, { state: "ended", severity: "bad", text: reason })
      yield* logEvent("treasury ended", { reason, seconds }, Exit.isFailure(exit) ? defectOf(exit.cause) : {})
      yield* Effect.sleep(Math.round(wait * (0.8 + (yield* Random.next) * 0.4)))
      wait = Math.min(restartMillisMax, wait * 2)
    }
  }).pipe(Effect.scoped, Effect.annotateLogs({ treasury: entry.name }), Effect.provideService(ProcessSignals, host.hub))

/** Halts a treasury whose run has ended or has not begun, and so hears no signal: it would start again, and pay. */
const haltWhileDown = Effect.fnUntraced(function* (entry: TreasuryEntry, { states, config }: TreasuryHost) {
  const known = states.get(entry.name)
  if (known?.file === entry.file && !isDown(known)) return
  // Its files, or the directory, may be what is wrong.
  const dataDir = storeDirIn([entry.file]) ?? dataDirIn(config, entry.name)
  yield* Effect.ignore(secureDataDir(dataDir))
  yield* haltByFile(dataDir)
  const found = Option.getOrUndefined(yield* Effect.option(setup(chosenIn(config, entry))))
  if (found?.postgresUrlFile !== undefined) yield* haltShared(found)
})

const reasonOf = (exit: Exit.Exit<unknown, { readonly message: string }>): string => {
  if (Exit.isSuccess(exit)) return "it ended by itself"
  const error = Cause.findErrorOption(exit.cause)
  return Option.isSome(error) ? error.value.message : "defect"
}

const defectOf = (cause: Cause.Cause<unknown>) => (Option.isSome(Cause.findErrorOption(cause)) ? {} : { cause })

const isDown = ({ state }: Pick<TreasuryState, "state">): boolean => state === "starting" || state === "ended"

const noteState = (
  { states }: TreasuryHost,
  { name, file }: TreasuryEntry,
  now: number,
  change: Pick<TreasuryState, "state" | "severity" | "text">,
): void => {
  const before = states.get(name)
  if (before !== undefined && before.file !== file) return
  // One that is started again and again is down since its first failure.
  const isSame =
    before !== undefined &&
    (isDown(before) ? isDown(change) : before.severity === change.severity && before.state === change.state)
  states.set(name, { name, file, ...change, since: isSame ? before.since : new Date(now).toISOString() })
}

/** One life of a treasury, from its files to its end. */
const runOne = Effect.fnUntraced(function* (entry: TreasuryEntry, host: TreasuryHost) {
  const { config, shared, running, live, url } = host
  const now = yield* Clock.currentTimeMillis
  const starting = (at: number) => noteState(host, entry, at, { state: "starting", severity: "warn", text: "starting" })
  starting(now)
  // Reads the folder again only if the name was taken: otherwise each of many would read all files.
  if (nameProblem(entry, host.scanned()) !== undefined) {
    const wrong = nameProblem(entry, yield* readEntries(config))
    if (wrong !== undefined) return yield* wrong
  }
  const { found, warnings } = yield* checkedSetup({ ...chosenIn(config, entry), sandbox: false })
  if (found.treasury.name !== entry.name) {
    const remedy = 'write it as one line: "name: ..."'
    return yield* configProblem(entry.file, `its name is ${found.treasury.name}, read as ${entry.name}`, remedy)
  }
  for (const detail of [...warnings, ...unusedSettings(found.treasury).map(formatProblem)]) {
    yield* logEvent("configuration doubtful", { detail })
  }
  const { treasury, mode, dataDir, postgresUrlFile } = found
  live.delete(keyOf(entry))
  if (mode === "live") {
    const others = [...live.values()]
    const problems = clashesOf(treasury, others)
    if (problems.length > 0) return yield* new ConfigError({ problems })
    // At once: another with a key of this one may be judged at the next pause of this fiber.
    live.set(keyOf(entry), treasury)
    for (const problem of sharedAccounts(treasury, others)) {
      yield* logEvent("configuration doubtful", { detail: formatProblem(problem) })
    }
  }
  const clock = yield* Clock.Clock
  const surface: Surface = {
    serve: Effect.fnUntraced(function* <R>(answers: SurfaceAnswers<R>) {
      const own = yield* withServices(answers)
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          running.set(entry.name, own)
          const since = clock.currentTimeMillisUnsafe()
          noteState(host, entry, since, { state: "running", severity: "ok", text: "it runs" })
        }),
        () => Effect.sync(() => running.get(entry.name) === own && running.delete(entry.name)),
      )
      const ownUrl = `${url}/treasury/${encodeURIComponent(entry.name)}/`
      yield* noteAddress(dataDir, ownUrl)
      return { url: ownUrl, announce: Effect.void }
    }),
  }
  let seen: string | undefined
  const onStandby = Effect.fnUntraced(function* (current: LeaseHolder | undefined) {
    // In state starting, a SIGHUP does not restart it.
    if (current === undefined) return starting(clock.currentTimeMillisUnsafe())
    const holder = current.name
    const since = new Date(current.since).toISOString()
    const text = `${holder} runs it since ${since}`
    noteState(host, entry, clock.currentTimeMillisUnsafe(), { state: "standby", severity: "ok", text })
    if (seen !== text) yield* logEvent("standing by", { holder, since })
    seen = text
  })
  return yield* runTreasury({
    options: { treasury, mode, dataDir, postgresUrlFile, onStandby },
    surface,
    machineOf: sharedMachine(shared),
    sandbox: undefined,
  }).pipe(
    Effect.provideService(CommandFlags, {
      place: `-c ${shellWord(config.dir)} --treasury ${shellWord(entry.name)}`,
      hasOperators: treasury.approvals.size > 0,
    }),
    Effect.provideService(HeadlineSink, ({ severity, text }) =>
      noteState(host, entry, clock.currentTimeMillisUnsafe(), { state: "running", severity, text }),
    ),
    Effect.catchTag("StoreError", (error) => failWith("failure", storeText(error.message, dataDir))),
  )
}, Effect.scoped)
