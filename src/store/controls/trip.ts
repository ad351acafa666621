import { Effect } from "effect"
import { type HaltReason, type Invariant, remedyOf } from "../../domain/Halt.ts"
import { say } from "../../telemetry/Logging.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import { type Alert, AlertQueue } from "../alerts/AlertQueue.ts"
import { Database } from "../database/Database.ts"
import { Signals } from "../database/Signals.ts"
import { Brake } from "./Brake.ts"

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
  const raised = yield* database.atomically(
    Effect.gen(function* () {
      const detail = yield* findings
      if (detail === undefined) return undefined
      yield* brake.halt(reason, detail)
      const halt = (yield* brake.halts).find((h) => h.reason === reason)
      const isNew = yield* alerts.raise(alertOf(reason, detail, `halt/${reason}/${halt?.seq}`))
      return isNew ? detail : undefined
    }),
  )
  if (raised !== undefined) yield* told(reason, raised)
})

/** Halts all signing and pages people. Fails where the store does not take it: nothing is decided or signed then. */
export const trip = (reason: HaltReason, detail: string) => tripWith(reason, Effect.succeed(detail))

/** An assertion of the money path does not hold: counts it, and halts. */
export const violated = Effect.fn("Brake.violated")(function* (invariant: Invariant, detail: string) {
  const metrics = yield* Metrics
  metrics.invariantViolations.inc({ invariant })
  yield* Effect.logError("an invariant is broken", { invariant, detail })
  yield* trip("invariant", `${invariant.replaceAll("_", " ")}: ${detail}`)
})
