import { Clock, Effect, FiberMap, Random, Result } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { Notifier } from "../notify/Notifier.ts"
import { isPaying, type Rule } from "../rules/Rule.ts"
import { subjectsOf } from "../rules/Subject.ts"
import { AlertQueue, type Delivery } from "../store/alerts/AlertQueue.ts"
import { makeAllClears } from "../store/alerts/allClears.ts"
import { makeReminders, type Reminders } from "../store/alerts/LiveAlerts.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { haltOnStoreError } from "../store/database/storeErrors.ts"
import { CommandFlags, logEvent, withFlags } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"

const waitMillis = 1_000
/** Alerts of one receiver after which its fiber ends; the next round begins another. */
const perRound = 50
const backoffMillisMin = 1_000
/** A receiver that is down for a day gets a try every five minutes. */
const backoffMillisMax = 300_000

/** Delivers what is due to one receiver, pages first. One alert at a time: a page that comes meanwhile is the next. */
const deliverTo = Effect.fnUntraced(function* (treasury: string, receiver: string) {
  const queue = yield* AlertQueue
  for (let n = 0; n < perRound; n++) {
    const [due] = yield* queue.due(1, receiver)
    if (due === undefined) return
    // What waits in front of it is tried first: alerts arrive in their order.
    const first = due.aside ? due : ((yield* queue.firstOf(receiver)) ?? due)
    const delivery = yield* queue.grouped(first)
    const nextAt = yield* deliver(treasury, delivery)
    if (nextAt === undefined || delivery.aside) continue
    // A receiver that accepts no other alert either is down: all wait, in order. Otherwise only this one is set aside.
    const other = yield* queue.another(delivery)
    if (other === undefined) continue
    const otherAt = yield* deliver(treasury, other)
    // The later of both: if the receiver hangs, the first time has passed before the second attempt ends.
    yield* otherAt === undefined ? queue.setAside(delivery) : queue.postpone(receiver, Math.max(nextAt, otherAt))
  }
})

/** Receivers of the configuration, and those that it no longer names and that still have alerts. */
const receivers = Effect.gen(function* () {
  const pending = yield* (yield* AlertQueue).pending
  return new Set([...(yield* Notifier).receivers, ...pending.map(({ receiver }) => receiver)])
})

/** Kind of the rules that raise an alert. Rules of any kind raise an alert that is not named here. */
const raisers: Readonly<Record<string, Rule["kind"]>> = {
  rule_fires: "alert",
  rule_code: "code",
  payout_late: "payout",
  request: "request",
}

/** Reminders as a configuration has them. */
export const remindersOf = ({
  alerting,
  receivers,
  routes,
  rules,
}: Pick<Treasury, "alerting" | "receivers" | "routes" | "rules">): Reminders => ({
  forgetful: new Set(receivers.flatMap(({ name, alertmanager }) => (alertmanager === undefined ? [] : [name]))),
  repeatMillis: alerting.repeatMillis,
  steps: routes.flatMap(({ severities, receivers, escalate = [] }) =>
    [{ afterMillis: undefined, receivers }, ...escalate].map((step) => ({ severities, ...step })),
  ),
  hasRule: (alert, name, subject) => {
    const rule = rules.find((one) => one.name === name)
    if (rule === undefined || rule.kind !== (raisers[alert] ?? rule.kind)) return false
    return subject === undefined || (isPaying(rule) && subjectsOf(rule).some((one) => one.name === subject))
  },
})

/** Delivers what is due to all receivers, all-clears included, side by side, and ends with the slowest. */
export const deliverOnce = Effect.fn("Alerts.deliverOnce")(function* (treasury: string, reminders: () => Reminders) {
  yield* withoutStore((yield* makeAllClears)(reminders().hasRule))
  yield* withoutStore((yield* makeReminders)(reminders()))
  const all = yield* receivers
  yield* Effect.forEach(all, (receiver) => deliverTo(treasury, receiver), { concurrency: "unbounded", discard: true })
})

/** A store error halts signing, and delays no alert. */
const withoutStore = <A, R>(effect: Effect.Effect<A, StoreError, R>) =>
  Effect.catchTag(effect, "StoreError", haltOnStoreError)

const deliver = (treasury: string, delivery: Delivery) => withoutStore(deliverOne(treasury, delivery))

/** A repetition, or a group that grew, is a new message: a receiver must not drop it as a duplicate. */
const roundText = ({ round, group }: Delivery): string =>
  `${round === 0 ? "" : `/${round}`}${group.length === 0 ? "" : `/to-${group.at(-1)?.seq}`}`

const namesMax = 5

const together = ({ subject, detail, group }: Delivery) => {
  const count = group.length + 1
  if (count === 1) return { detail, count }
  const first = [{ subject, detail }, ...group].slice(0, namesMax).map((one) => `${one.subject}: ${one.detail}`)
  const left = count - first.length
  const more = left === 0 ? "" : ` and ${left} more`
  return { detail: `${first.join("; ")}${more}`, count }
}

/** Sends one alert or group. Returns the time of the next attempt (Unix milliseconds); undefined if there is none. */
const deliverOne = Effect.fn("Alerts.deliverOne")(function* (treasury: string, delivery: Delivery) {
  const queue = yield* AlertQueue
  const notifier = yield* Notifier
  const metrics = yield* Metrics
  const { receiver } = delivery
  const { detail, count } = together(delivery)
  // Without it an alert of a new store could have the id of one that a lost store sent, and be dropped as a duplicate.
  const installation = yield* Effect.orElseSucceed((yield* Settings).get("installation"), () => undefined)
  const own = `${treasury}/${installation ?? "00000000"}`
  const ceiling = Math.min(backoffMillisMax, backoffMillisMin * 2 ** Math.min(delivery.tries, 20))
  const wait = Math.round(ceiling * (0.5 + (yield* Random.next) / 2))
  yield* queue.begin(delivery, (yield* Clock.currentTimeMillis) + wait)
  const sent = yield* Effect.result(
    notifier.send(receiver, {
      id: `${own}/${delivery.seq}/${delivery.at.toString(36)}${roundText(delivery)}`,
      key: `${own}/${delivery.dedup}`,
      treasury,
      severity: delivery.severity,
      kind: delivery.kind,
      name: delivery.name,
      subject: delivery.subject,
      count,
      detail: withFlags(detail, yield* CommandFlags),
      fields: delivery.fields,
      at: delivery.at,
      resolves: delivery.resolves?.map(({ dedup, ...alert }) => ({ ...alert, key: `${own}/${dedup}` })),
    }),
  )
  const reason = Result.isFailure(sent) ? sent.failure.detail : sent.success
  if (reason !== undefined) yield* logEvent("alert not delivered", { receiver, reason })
  if (Result.isSuccess(sent)) {
    metrics.notifications.inc({ receiver, outcome: "delivered" })
    yield* queue.delivered(delivery, reason || undefined)
    return undefined
  }
  const known = notifier.receivers.includes(receiver)
  if (known) metrics.notifications.inc({ receiver, outcome: "failed" })
  const nextAt = known ? (yield* Clock.currentTimeMillis) + wait : undefined
  yield* queue.failed(delivery, sent.failure.detail, nextAt)
  return nextAt
})

/**
 * The loop: at once when something is raised, else each second. Each receiver has a fiber of its own, which ends when
 * nothing is due to it: one that hangs delays no other.
 */
export const alertLoop = (treasury: string, reminders: () => Reminders) =>
  Effect.gen(function* () {
    const { counted } = yield* Metrics
    const signals = yield* Signals
    const fibers = yield* FiberMap.make<string, void, StoreError>()
    const allClears = yield* makeAllClears
    const remind = yield* makeReminders
    const renewed = Effect.suspend(() => Effect.andThen(allClears(reminders().hasRule), remind(reminders())))
    const begin = Effect.flatMap(Effect.andThen(withoutStore(renewed), receivers), (all) =>
      Effect.forEach(
        all,
        (receiver) => FiberMap.run(fibers, receiver, deliverTo(treasury, receiver), { onlyIfMissing: true }),
        { discard: true },
      ),
    )
    const turn = Effect.andThen(counted("alerts", begin), signals.wait("alerts", waitMillis))
    return yield* Effect.raceFirst(Effect.forever(turn), Effect.andThen(FiberMap.join(fibers), Effect.never))
  }).pipe(Effect.scoped)

/** Setting: when the store took its last write of this kind. Unix milliseconds. */
const writtenKey = "heartbeat"
const writeMillis = 60_000
const writtenMillis = 180_000

/** Writes to the store once a minute: one that takes no writes is found out even where nothing else writes. */
export const noteWritten = Effect.gen(function* () {
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  if (Math.abs(now - Number(yield* settings.get(writtenKey))) < writeMillis) return
  yield* settings.set(writtenKey, String(now))
})

/** True if the store took such a write in the last three minutes. */
export const isWritten = Effect.gen(function* () {
  const at = Number(yield* (yield* Settings).get(writtenKey))
  return Math.abs((yield* Clock.currentTimeMillis) - at) < writtenMillis
})

/** A loop that finished nothing for longer stands still. */
const stalledMillis = 300_000
const loops = ["engine", "submitter", "confirm", "alerts", "health"] as const

/** True while the loops go round and the store takes writes. */
const isWorking = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  const last = yield* (yield* Metrics).lastSuccess
  // A time later than now is of a clock that was ahead: it shows nothing of the time since.
  if (!loops.every((loop) => Math.abs(now - (last.get(loop) ?? 0)) < stalledMillis)) return false
  return yield* Effect.isSuccess(noteWritten)
})

/** Calls the heartbeat's address if the daemon works: a service outside alerts people once the calls stop. */
export const beatOnce = Effect.fn("Alerts.beat")(function* () {
  const { beat } = yield* Notifier
  if (beat === undefined || !(yield* isWorking)) return
  const { heartbeat } = yield* Metrics
  yield* beat.pipe(
    Effect.andThen(Clock.currentTimeMillis),
    Effect.tap((now) => Effect.sync(() => heartbeat.set(now / 1_000))),
    Effect.catch(({ detail }) => logEvent("heartbeat not accepted", { reason: detail })),
  )
})

export const heartbeatLoop = (everyMillis: number) =>
  beatOnce().pipe(Effect.andThen(Effect.sleep(everyMillis)), Effect.forever)
