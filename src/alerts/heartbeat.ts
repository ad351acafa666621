import { Clock, Effect } from "effect"
import { Notifier } from "../notify/Notifier.ts"
import { Settings } from "../store/database/Settings.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"

/** A loop that finished nothing for longer stands still. */
const stalledMillis = 300_000
const loops = ["engine", "submitter", "confirm", "alerts"] as const

/** True while the loops go round and the store takes writes: what a process cannot say of itself once it is not so. */
const isWorking = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  const last = yield* (yield* Cycle).lastSuccess
  if (!loops.every((loop) => now - (last.get(loop) ?? 0) < stalledMillis)) return false
  return yield* (yield* Settings).set("heartbeat", "1").pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false),
  )
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
