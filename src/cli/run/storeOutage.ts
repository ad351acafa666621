import { existsSync } from "node:fs"
import { join } from "node:path"
import { Clock, Deferred, Effect, Layer, Result, Schedule } from "effect"
import { ConfigInForce } from "../../config/ConfigInForce.ts"
import { type Alert, alertOf, overOf } from "../../domain/alerts/Alert.ts"
import { markUnknown } from "../../http/exposeMetrics.ts"
import { outageAnswers, type Surface } from "../../http/StatusServer.ts"
import { HeadlineSink } from "../../http/watchHealth.ts"
import { type DaemonOptions, daemonLayer, databaseLayer, type Machine } from "../../layers.ts"
import { type AlertIdentity, NotifyError, type SendResult } from "../../notify/Channel.ts"
import { Notifier } from "../../notify/Notifier.ts"
import { databaseFile } from "../../store/database/Database.ts"
import type { StoreError } from "../../store/database/StoreError.ts"
import { isBusy, isDamaged, isDoubtful, isTakenOver, isUnwritable } from "../../store/database/storeErrors.ts"
import { tryStore, writeRoom } from "../../store/database/tryStore.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import { logOutageOnSignal, outliveSignals } from "./signals.ts"

const retryMillis = 1_000
/** Time between two pages. */
const repeatMillis = 3_600_000
/** An outage within `repeatMillis` of the last page is paged after this time, since that page has an all-clear. */
const soonMillis = 60_000

/**
 * Runs the daemon. When its store accepts no writes, the run ends as in a crash, so that nothing is decided, signed or
 * sent meanwhile. It restarts with the configuration that was in force, once a trial opens the store, checks it if it
 * may be damaged, and writes to it.
 */
export const outlastOutages = Effect.fnUntraced(function* <A, E, R>(
  given: DaemonOptions,
  { surface, machineOf }: { readonly surface: Surface; readonly machineOf: (options: DaemonOptions) => Machine },
  run: (options: DaemonOptions) => Effect.Effect<A, E, R>,
) {
  const metrics = yield* Metrics
  const noteHeadline = yield* HeadlineSink
  metrics.storeWritable.set(1)
  yield* outliveSignals(given)
  let options = given
  let isMade = existsSync(join(given.dataDir, databaseFile))
  let hadOutage = false
  let isOut = false
  let pagedAt = Number.NEGATIVE_INFINITY
  let outages = 0
  let known: Outage | undefined
  const keepConfig = Effect.map(ConfigInForce, ({ now }) => {
    const { treasury, mode, alerts } = now()
    options = { ...options, treasury: { ...treasury, ...alerts }, mode }
  })
  const running = Effect.suspend(() => {
    isMade = true
    return Effect.ensuring(run(options), keepConfig)
  })
  const daemon = Effect.suspend(() =>
    Effect.provide(running, daemonLayer(options, { ...machineOf(options), metrics: Layer.succeed(Metrics, metrics) })),
  )
  const scope = yield* Effect.scope
  const pageHourly = Effect.fnUntraced(function* (error: StoreError, known: Outage) {
    for (let waitMillis = soonMillis; ; waitMillis = repeatMillis) {
      const sinceMillis = Math.abs((yield* Clock.currentTimeMillis) - pagedAt)
      if (sinceMillis < repeatMillis) yield* Effect.sleep(Math.min(waitMillis, repeatMillis - sinceMillis))
      pagedAt = yield* Clock.currentTimeMillis
      const paged = Effect.provide(pagePeople(options, error, known), machineOf(options).notifier)
      yield* Effect.forkIn(
        Effect.catchTag(paged, "ConfigError", ({ message }) =>
          logEvent("receivers not read", { reason: message }, { severity: "page" }),
        ),
        scope,
      )
    }
  })
  const outage = Effect.fnUntraced(function* (error: StoreError) {
    hadOutage = true
    isOut = true
    outages += 1
    known ??= {
      began: yield* Clock.currentTimeMillis,
      taken: new Set(),
      isOver: yield* Deferred.make<void>(),
      isOut: () => isOut,
    }
    metrics.storeWritable.set(0)
    markUnknown(metrics, options.treasury)
    const remedy = remedyOf(options, error)
    const page = alertOf("store_unwritable", { reason: error.message, remedy })
    yield* logEvent("database not writable", { reason: error.message, remedy })
    const probes = surface.serve(outageAnswers(options.treasury.name, error.message, remedy)).pipe(
      Effect.flatMap(({ announce }) => announce),
      Effect.catchTag("ListenError", ({ message }) => logEvent("page not listening", { reason: message })),
      // A list of several treasuries shows one with a surface as healthy.
      Effect.tap(() => Effect.sync(() => noteHeadline({ severity: "bad", text: page.detail }))),
    )
    const waiting = Effect.raceFirst(untilWritable(options, isMade, error), pageHourly(error, known))
    yield* Effect.forkScoped(logOutageOnSignal(error.message)).pipe(
      Effect.andThen(probes),
      Effect.andThen(waiting),
      Effect.scoped,
    )
    isOut = false
    metrics.storeWritable.set(1)
    yield* logEvent("database writable", {})
    yield* Effect.forkIn(endLater(outages), scope)
  })
  /** The trial may have taken the last room: the page ends once no further outage began for a minute. */
  const endLater = Effect.fnUntraced(function* (count: number) {
    yield* Effect.sleep(soonMillis)
    if (known === undefined || count !== outages) return
    yield* Deferred.succeed(known.isOver, undefined)
    known = undefined
  })
  for (;;) {
    const failure = yield* daemon.pipe(
      Effect.as(undefined),
      Effect.catchIf(
        // After an outage the file may be busy for a moment: a command opened it meanwhile.
        (error) => (isUnwritable(error) && !isTakenOver(error)) || (hadOutage && isBusy(error)),
        (error) => Effect.succeed(error as StoreError),
      ),
    )
    if (failure === undefined) return
    yield* outage(failure)
  }
})

const remedyOf = ({ dataDir, postgresUrlFile }: DaemonOptions, error: StoreError): string => {
  if (isDamaged(error)) {
    return `the database in ${dataDir} is damaged: stop the daemon, and restore a backup; it goes on by itself only if SQLite finds the file intact`
  }
  const remedy =
    postgresUrlFile === undefined
      ? `free space under ${dataDir}, or make it writable`
      : `make the server of ${postgresUrlFile} run, accept this user and take writes`
  return `${remedy}; the daemon goes on by itself`
}

/** An outage as alerts are sent, with those that follow within a minute. */
interface Outage {
  /** Unix milliseconds. */
  readonly began: number
  /** Receivers that took its page: they get its all-clear, once. */
  readonly taken: Set<string>
  readonly isOver: Deferred.Deferred<void>
  /** True while this or a later one lasts. */
  readonly isOut: () => boolean
}

/** 50 minutes: after an hour the next page comes. */
const pageTries = { schedule: Schedule.spaced("30 seconds"), times: 100 }
const untilTaken = { schedule: Schedule.min([Schedule.exponential("30 seconds"), Schedule.spaced("5 minutes")]) }

/** Sends an alert without the store. Retries a page by `pageTries`, an all-clear `untilTaken`; waits while `isOut`. */
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
      ? Effect.fail(new NotifyError({ receiver, detail: "another outage of the store began" }))
      : send(receiver, notification),
  )
  const noteMissing = (reason: SendResult) =>
    reason === undefined ? Effect.void : logEvent("alert not delivered", { receiver, reason })
  yield* sent.pipe(
    Effect.tapError(({ detail }) => noteMissing(detail)),
    Effect.tap(noteMissing),
    Effect.retry(resolves === undefined ? pageTries : untilTaken),
  )
})

const allClear = overOf("store_unwritable", {})

/** Identity of the page. It is the same in each process, so that a later one can end the page. */
const pageOf = (treasury: string, at: number): AlertIdentity => {
  const { dedup, severity, kind, subject } = alertOf("store_unwritable", { reason: "", remedy: "" })
  return { key: `${treasury}/${dedup}`, severity, kind, subject, at }
}

/** Pages the receivers of pages without the store, and sends the all-clear to each that took the page. */
const pagePeople = Effect.fnUntraced(function* (
  options: DaemonOptions,
  error: StoreError,
  { began, taken, isOver, isOut }: Outage,
) {
  const { name: treasury, routes } = options.treasury
  const page = alertOf("store_unwritable", { reason: error.message, remedy: remedyOf(options, error) })
  const sendBoth = Effect.fnUntraced(function* (receiver: string) {
    yield* sendTo(treasury, page, receiver)
    if (taken.has(receiver)) return
    taken.add(receiver)
    yield* Deferred.await(isOver)
    yield* sendTo(treasury, allClear, receiver, [pageOf(treasury, began)], isOut)
  })
  const receivers = new Set(
    routes.filter(({ severities }) => severities.has("page")).flatMap((route) => route.receivers),
  )
  yield* Effect.forEach(receivers, (receiver) => Effect.ignore(sendBoth(receiver)), {
    concurrency: "unbounded",
    discard: true,
  })
})

/**
 * Sends the all-clear for an outage in which an earlier process stopped, at each start, since no store has a record of
 * it: only to PagerDuty and Alertmanager, which would show the page for ever and ignore an all-clear without a page.
 */
export const endEarlierOutage = Effect.fnUntraced(function* ({ treasury: { name, receivers } }: DaemonOptions) {
  const ended = [pageOf(name, yield* Clock.currentTimeMillis)]
  const keeping = receivers.filter(({ pagerduty, alertmanager }) => (pagerduty ?? alertmanager) !== undefined)
  yield* Effect.forEach(keeping, (receiver) => Effect.ignore(sendTo(name, allClear, receiver.name, ended)), {
    concurrency: "unbounded",
    discard: true,
  })
})

/** Waits until the store can be written. Once a try reports that the file may be damaged, it must also pass a check. */
const untilWritable = Effect.fnUntraced(function* (options: DaemonOptions, mustExist: boolean, first: StoreError) {
  const filename = join(options.dataDir, databaseFile)
  let isDoubted = isDoubtful(first)
  for (;;) {
    yield* Effect.sleep(retryMillis)
    const tried = yield* Effect.result(
      options.postgresUrlFile === undefined
        ? tryStore({ filename, mustExist, isDoubted })
        : Effect.provide(writeRoom, Layer.fresh(databaseLayer(options, "guest"))),
    )
    if (Result.isSuccess(tried)) return
    isDoubted ||= isDoubtful(tried.failure)
  }
})
