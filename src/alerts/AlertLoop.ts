import { Clock, Effect, Random, Result } from "effect"
import { Notifier } from "../notify/Notifier.ts"
import { AlertQueue, type Delivery } from "../store/AlertQueue.ts"
import { tripFor } from "../store/guarded.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { Metrics } from "../telemetry/Metrics.ts"

const waitMillis = 1_000
const perRound = 50
const backoffMillisMin = 1_000
/** A receiver that is down for a day is asked every five minutes. */
const backoffMillisMax = 300_000

/** Delivers what is due. A receiver that fails keeps its alerts; the others are not held up by it. */
export const deliverOnce = Effect.fn("Alerts.deliver")(function* (treasury: string) {
  const queue = yield* AlertQueue
  const due = yield* queue.due(perRound)
  const byReceiver = new Map<string, Array<Delivery>>()
  for (const delivery of due)
    byReceiver.set(delivery.receiver, [...(byReceiver.get(delivery.receiver) ?? []), delivery])
  yield* Effect.forEach(
    byReceiver.values(),
    (deliveries) => Effect.forEach(deliveries, (delivery) => deliver(treasury, delivery), { discard: true }),
    { concurrency: "unbounded", discard: true },
  )
})

/** What the store does not take is remembered by the queue: that stops payments, and no alert. */
const deliver = (treasury: string, delivery: Delivery) =>
  Effect.catchTag(deliverOne(treasury, delivery), "StoreError", tripFor)

const deliverOne = Effect.fn("Alerts.deliverOne")(function* (treasury: string, delivery: Delivery) {
  const queue = yield* AlertQueue
  const notifier = yield* Notifier
  const metrics = yield* Metrics
  const { receiver } = delivery
  const sent = yield* Effect.result(
    notifier.send(receiver, {
      id: `${treasury}/${delivery.seq}`,
      treasury,
      severity: delivery.severity,
      kind: delivery.kind,
      subject: delivery.subject,
      detail: delivery.detail,
      fields: delivery.fields,
      at: delivery.at,
    }),
  )
  if (Result.isSuccess(sent)) {
    metrics.notifications.inc({ receiver, outcome: "delivered" })
    return yield* queue.delivered(delivery)
  }
  const known = notifier.receivers.includes(receiver)
  if (known) metrics.notifications.inc({ receiver, outcome: "failed" })
  yield* Effect.logWarning("an alert was not delivered", { receiver, reason: sent.failure.detail })
  if (!known) return yield* queue.failed(delivery, sent.failure.detail, undefined)
  const ceiling = Math.min(backoffMillisMax, backoffMillisMin * 2 ** Math.min(delivery.tries, 20))
  const wait = Math.round(ceiling * (0.5 + (yield* Random.next) / 2))
  yield* queue.failed(delivery, sent.failure.detail, (yield* Clock.currentTimeMillis) + wait)
})

/** The loop: at once when something is raised, else each second. */
export const alertLoop = (treasury: string) =>
  Effect.gen(function* () {
    const cycle = yield* Cycle
    const signals = yield* Signals
    yield* cycle.counted("alerts", deliverOnce(treasury))
    yield* signals.wait("alerts", waitMillis)
  }).pipe(Effect.forever)
