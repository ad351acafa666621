import { Effect } from "effect"
import { type HaltReason, type Invariant, remedyOf } from "../domain/Halt.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { say } from "../telemetry/say.ts"
import { type Alert, AlertQueue } from "./AlertQueue.ts"
import { Brake } from "./Brake.ts"
import { Database } from "./Database.ts"
import { Signals } from "./Signals.ts"
import type { StoreError } from "./StoreError.ts"

const alertOf = (reason: HaltReason, detail: string, dedup: string): Alert => ({
  dedup,
  severity: "page",
  kind: "halt",
  subject: reason,
  detail: `nothing is signed: ${detail}; ${remedyOf(reason)}`,
  fields: { reason },
})

/** Tells of a halt that has just come into force, and wakes who is to page people. */
const told = Effect.fnUntraced(function* (reason: HaltReason, detail: string) {
  yield* say("halted", { subject: reason, detail: `${detail}; ${remedyOf(reason)}`, reason }, "page")
  yield* (yield* Signals).wake("alerts")
})

/**
 * Halts all signing and pages people, together with what `findings` stores: all durable, or none. The halt is raised
 * where `findings` returns why; a second one for the same reason while the first is in force changes nothing.
 */
export const tripWith = Effect.fn("Brake.trip")(function* <E, R>(
  reason: HaltReason,
  findings: Effect.Effect<string | undefined, E, R>,
) {
  const brake = yield* Brake
  const alerts = yield* AlertQueue
  const database = yield* Database
  const wasHeld = (yield* brake.held).some((halt) => halt.reason === reason)
  const raised = yield* database.atomically(
    Effect.gen(function* () {
      const detail = yield* findings
      if (detail === undefined) return undefined
      yield* brake.halt(reason, detail)
      const halt = (yield* brake.halts).find((h) => h.reason === reason)
      // Who was told while it was held in memory is not told again.
      const isNew = yield* alerts.raise(alertOf(reason, detail, `halt/${reason}/${halt?.seq}`), spokenAs(reason))
      return isNew ? detail : undefined
    }),
  )
  if (raised === undefined) return
  if (!wasHeld) return yield* told(reason, raised)
  yield* alerts.forget(spokenAs(reason))
  yield* brake.drop(reason)
  yield* (yield* Signals).wake("alerts")
})

/**
 * Halts all signing and pages people. Where the store does not take it, the halt and the alert are held in memory for
 * as long as the process lives, and `holdOn` makes them durable once it can.
 */
export const trip = (reason: HaltReason, detail: string) =>
  tripWith(reason, Effect.succeed(detail)).pipe(
    Effect.catchTag("StoreError", (error: StoreError) => holdInMemory(reason, detail, error)),
  )

const holdInMemory = Effect.fnUntraced(function* (reason: HaltReason, detail: string, error: StoreError) {
  const brake = yield* Brake
  const alerts = yield* AlertQueue
  if (!(yield* brake.hold(reason, detail))) return
  yield* alerts.speak(alertOf(reason, detail, spokenAs(reason)))
  yield* told(reason, `${detail}; held in memory, as the store takes no writes (${error.message})`)
})

/** Says which alert is that of a halt in memory. */
const spokenAs = (reason: HaltReason): string => `halt/${reason}/memory`

/** Makes the halts durable that were held in memory alone. */
export const holdOn = Effect.fn("Brake.holdOn")(function* () {
  const brake = yield* Brake
  for (const { reason, detail } of yield* brake.held) {
    yield* tripWith(reason as HaltReason, Effect.succeed(detail))
    yield* brake.drop(reason)
  }
})

/** An assertion of the money path does not hold: counts it, and halts. */
export const violated = Effect.fn("Brake.violated")(function* (invariant: Invariant, detail: string) {
  const metrics = yield* Metrics
  metrics.invariantViolations.inc({ invariant })
  yield* Effect.logError("an invariant is broken", { invariant, detail })
  yield* trip("invariant", `${invariant.replaceAll("_", " ")}: ${detail}`)
})
