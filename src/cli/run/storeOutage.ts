import { existsSync } from "node:fs"
import { join } from "node:path"
import { Clock, Deferred, Effect, Layer, Result, Schedule } from "effect"
import { ConfigInForce } from "../../config/ConfigInForce.ts"
import { type Alert, alertOf, overOf } from "../../domain/alerts/Alert.ts"
import { markUnknown } from "../../http/exposeMetrics.ts"
import { outageAnswers, type Surface } from "../../http/StatusServer.ts"
import { type DaemonOptions, daemonLayer, databaseLayer, type Machine } from "../../layers.ts"
import { type AlertIdentity, NotifyError } from "../../notify/Channel.ts"
import { Notifier } from "../../notify/Notifier.ts"
import { databaseFile } from "../../store/database/Database.ts"
import type { StoreError } from "../../store/database/StoreError.ts"
import { isBusy, isDoubtful, isTakenOver, isUnwritable } from "../../store/database/storeErrors.ts"
import { tryStore } from "../../store/database/tryStore.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import { logOutageOnSignal, outliveSignals } from "./signals.ts"

const retryMillis = 1_000
/** The alert is repeated at most this often. */
const tellMillis = 3_600_000
/** A further outage within that time is alerted once it lasts this long: the one before had its all-clear. */
const againMillis = 60_000

/**
 * Runs the daemon, and again whenever its store accepts no writes: everything above the store ends as in a crash, so
 * nothing is decided, signed, sent or believed meanwhile. It restarts with the configuration that was in force, once
 * the store was opened, checked if it is in doubt, and written.
 */
export const outlastOutages = Effect.fnUntraced(function* <A, E, R>(
  given: DaemonOptions,
  { surface, machineOf }: { readonly surface: Surface; readonly machineOf: (options: DaemonOptions) => Machine },
  run: (options: DaemonOptions) => Effect.Effect<A, E, R>,
) {
  const metrics = yield* Metrics
  metrics.storeWritable.set(1)
  yield* outliveSignals(given)
  let options = given
  let isMade = existsSync(join(given.dataDir, databaseFile))
  let isLater = false
  let isOut = false
  let toldAt = Number.NEGATIVE_INFINITY
  const keepConfig = Effect.map(ConfigInForce, ({ now }) => {
    const { treasury, mode, alerts } = now()
    options = { ...options, treasury: { ...treasury, ...alerts }, mode }
  })
  const running = Effect.suspend(() => {
    isMade = true
    return Effect.ensuring(run(options), keepConfig)
  })
  const life = Effect.suspend(() =>
    Effect.provide(running, daemonLayer(options, { ...machineOf(options), metrics: Layer.succeed(Metrics, metrics) })),
  )
  const scope = yield* Effect.scope
  const tellHourly = Effect.fnUntraced(function* (error: StoreError, isOver: Deferred.Deferred<void>) {
    const known: Outage = { began: yield* Clock.currentTimeMillis, taken: new Set(), isOver, isOut: () => isOut }
    for (let waitMillis = againMillis; ; waitMillis = tellMillis) {
      const sinceMillis = Math.abs((yield* Clock.currentTimeMillis) - toldAt)
      if (sinceMillis < tellMillis) yield* Effect.sleep(Math.min(waitMillis, tellMillis - sinceMillis))
      toldAt = yield* Clock.currentTimeMillis
      const told = Effect.provide(tellPeople(options, error, known), machineOf(options).notifier)
      yield* Effect.forkIn(
        Effect.catchTag(told, "ConfigError", ({ message }) =>
          logEvent("receivers not read", { reason: message }, { severity: "page" }),
        ),
        scope,
      )
    }
  })
  const outage = Effect.fnUntraced(function* (error: StoreError) {
    isLater = true
    isOut = true
    metrics.storeWritable.set(0)
    markUnknown(metrics, options.treasury)
    const remedy = `free space under ${placeOf(options)}, or make it writable; the daemon goes on by itself`
    yield* logEvent("database not writable", { reason: error.message, remedy })
    const isOver = yield* Deferred.make<void>()
    const probes = surface.serve(outageAnswers(error.message)).pipe(
      Effect.flatMap(({ announce }) => announce),
      Effect.catchTag("ListenError", ({ message }) => logEvent("page not listening", { reason: message })),
    )
    const waiting = Effect.raceFirst(untilWritable(options, isMade, error), tellHourly(error, isOver))
    yield* Effect.forkScoped(logOutageOnSignal(error.message)).pipe(
      Effect.andThen(probes),
      Effect.andThen(waiting),
      Effect.scoped,
    )
    isOut = false
    metrics.storeWritable.set(1)
    yield* logEvent("database writable", {})
    yield* Deferred.succeed(isOver, undefined)
  })
  for (;;) {
    const failure = yield* life.pipe(
      Effect.as(undefined),
      Effect.catchIf(
        // Later than at the first start a command may have opened the file meanwhile.
        (error) => (isUnwritable(error) && !isTakenOver(error)) || (isLater && isBusy(error)),
        (error) => Effect.succeed(error as StoreError),
      ),
    )
    if (failure === undefined) return
    yield* outage(failure)
  }
})

/** Location of the store, for people. */
const placeOf = ({ dataDir, postgresUrlFile }: DaemonOptions) =>
  postgresUrlFile === undefined ? dataDir : `the running server of ${postgresUrlFile}`

/** An outage as alerts are sent. */
interface Outage {
  /** Unix milliseconds. */
  readonly began: number
  /** Receivers that took its page: they get its all-clear, once. */
  readonly taken: Set<string>
  readonly isOver: Deferred.Deferred<void>
  /** True while this or a later one lasts. */
  readonly isOut: () => boolean
}

/** The page comes again after an hour; an all-clear does not. */
const pageTries = { schedule: Schedule.spaced("30 seconds"), times: 100 }
const untilTaken = { schedule: Schedule.min([Schedule.exponential("30 seconds"), Schedule.spaced("5 minutes")]) }

/** Sends an alert past the store: a page for 50 minutes, an all-clear until it is taken; not while `isOut`. */
const sendTo = Effect.fnUntraced(function* (
  treasury: string,
  { dedup, name = "", ...alert }: Alert,
  receiver: string,
  resolves?: ReadonlyArray<AlertIdentity>,
  isOut = () => false,
) {
  const { send } = yield* Notifier
  const at = yield* Clock.currentTimeMillis
  const key = `${treasury}/${dedup}`
  const notification = { ...alert, id: `${key}/${at.toString(36)}`, key, name, treasury, count: 1, at, resolves }
  const sent = Effect.suspend(() =>
    isOut()
      ? Effect.fail(new NotifyError({ receiver, detail: "the store accepts no writes again" }))
      : send(receiver, notification),
  )
  yield* sent.pipe(
    Effect.tapError(({ detail: reason }) => logEvent("alert not delivered", { receiver, reason })),
    Effect.retry(resolves === undefined ? pageTries : untilTaken),
  )
})

const over = overOf("store_unwritable", {})

/** Identity of the page, the same in each process, so that a later process can end it. */
const pageOf = (treasury: string, at: number): AlertIdentity => {
  const { dedup, severity, kind, subject } = alertOf("store_unwritable", { reason: "", dir: "" })
  return { key: `${treasury}/${dedup}`, severity, kind, subject, at }
}

/** A page to those who get pages, past the store, and its all-clear; each receiver until it has taken it. */
const tellPeople = Effect.fnUntraced(function* (
  options: DaemonOptions,
  error: StoreError,
  { began, taken, isOver, isOut }: Outage,
) {
  const { name: treasury, routes } = options.treasury
  const page = alertOf("store_unwritable", { reason: error.message, dir: placeOf(options) })
  const tell = Effect.fnUntraced(function* (receiver: string) {
    yield* sendTo(treasury, page, receiver)
    if (taken.has(receiver)) return
    taken.add(receiver)
    yield* Deferred.await(isOver)
    yield* sendTo(treasury, over, receiver, [pageOf(treasury, began)], isOut)
  })
  const receivers = new Set(
    routes.filter(({ severities }) => severities.has("page")).flatMap((route) => route.receivers),
  )
  yield* Effect.forEach(receivers, (receiver) => Effect.ignore(tell(receiver)), {
    concurrency: "unbounded",
    discard: true,
  })
})

/**
 * Ends the page of an outage in which an earlier process was stopped, at receivers that would show it for ever. They
 * ignore the end of what they do not show; people would read it as news at each start. No store knows of an outage that
 * began before its first write, so each start asks them.
 */
export const endEarlierOutage = Effect.fnUntraced(function* ({ treasury: { name, receivers } }: DaemonOptions) {
  const ended = [pageOf(name, yield* Clock.currentTimeMillis)]
  const keeping = receivers.filter(({ pagerduty, alertmanager }) => (pagerduty ?? alertmanager) !== undefined)
  yield* Effect.forEach(keeping, (receiver) => Effect.ignore(sendTo(name, over, receiver.name, ended)), {
    concurrency: "unbounded",
    discard: true,
  })
})

/** Waits until the store can be written. Doubt about the file from any try stays until a check removes it. */
const untilWritable = Effect.fnUntraced(function* (options: DaemonOptions, mustExist: boolean, first: StoreError) {
  const filename = join(options.dataDir, databaseFile)
  let isDoubted = isDoubtful(first)
  for (;;) {
    yield* Effect.sleep(retryMillis)
    const tried = yield* Effect.result(
      options.postgresUrlFile === undefined
        ? tryStore({ filename, mustExist, isDoubted })
        : Effect.scoped(Layer.build(Layer.fresh(databaseLayer(options, "reader")))),
    )
    if (Result.isSuccess(tried)) return
    isDoubted ||= isDoubtful(tried.failure)
  }
})
