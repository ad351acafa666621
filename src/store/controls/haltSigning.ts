import { Effect } from "effect"
import { type HaltReason, type Invariant, remedyOf } from "../../domain/Halt.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import { raise } from "../alerts/raise.ts"
import { Database } from "../database/Database.ts"
import { Controls } from "./Controls.ts"

/**
 * Halts all signing and pages people, together with what `findings` stores: all durable, or none. The halt is raised
 * where `findings` returns why; a second one for the same reason while the first is in force changes nothing.
 */
export const haltSigningWith = Effect.fn("Controls.haltSigning")(function* <E, R>(
  reason: HaltReason,
  findings: Effect.Effect<string | undefined, E, R>,
) {
  const controls = yield* Controls
  const database = yield* Database
  const raised = yield* database.write(
    Effect.gen(function* () {
      const detail = yield* findings
      if (detail === undefined) return undefined
      yield* controls.halt(reason, detail)
      const halt = (yield* controls.halts).find((h) => h.reason === reason)
      const remedy = remedyOf(reason, detail)
      const words = reason === "operator" ? `halted by ${detail}` : detail
      const isNew = yield* raise("halt", { reason, seq: halt?.seq ?? 0, detail: words, remedy })
      return isNew ? { reason: detail, remedy } : undefined
    }),
  )
  if (raised !== undefined) yield* logEvent("signing halted", { scope: reason, ...raised })
})

/** Halts all signing and pages people. Fails where the store does not take it: nothing is decided or signed then. */
export const haltSigning = (reason: HaltReason, detail: string) => haltSigningWith(reason, Effect.succeed(detail))

/** An assertion of the money path does not hold: counts it, and halts. */
export const haltOnViolation = Effect.fn("Controls.haltOnViolation")(function* (invariant: Invariant, detail: string) {
  const metrics = yield* Metrics
  metrics.invariantViolations.inc({ invariant })
  yield* logEvent("invariant broken", { invariant, detail })
  yield* haltSigning("invariant", `${invariant.replaceAll("_", " ")}: ${detail}`)
})
