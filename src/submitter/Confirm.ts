import { Effect } from "effect"
import { isFinalAttempt } from "../domain/Attempt.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { confirmIntent } from "./confirmIntent.ts"
import { Draining } from "./Draining.ts"
import { inTurn } from "./inTurn.ts"
import { isOurChain } from "./isOurChain.ts"
import { payingInForce, SubmitterOptions } from "./SubmitterOptions.ts"
import { Tip } from "./Tip.ts"

const waitMillis = 1_000
const waitMillisUnanswered = 5_000

/** One look for every live attempt. What one look runs into does not stop the others. */
export const confirmOnce = Effect.fn("Confirm.round")(function* () {
  const outbox = yield* Outbox
  const signals = yield* Signals
  const draining = yield* Draining
  const { mode } = yield* SubmitterOptions
  if (mode !== "live") return
  const open = yield* outbox.open
  const live = yield* outbox.live
  if (live.length === 0) return
  const head = yield* (yield* Tip).head
  if (!(yield* isOurChain(head))) return
  const { height } = head
  for (const attempt of live) {
    const intent = open.find((i) => i.id === attempt.intentId)
    if (intent === undefined || isFinalAttempt(attempt.state)) continue
    // What the awaited answer says comes first: two loops would write about one attempt at once.
    if (yield* draining.isSending(attempt)) continue
    yield* inTurn(intent, (now) => confirmIntent({ intent: now, attempt, height })).pipe(
      Effect.catchTag("GatewayError", (error) =>
        Effect.logWarning("a payment could not be looked up", { intent: intent.id, reason: error.message }),
      ),
    )
  }
  yield* signals.wake("engine")
})

/** The loop that finds out what became of payments. It cannot send. */
export const confirmLoop = Effect.gen(function* () {
  const cycle = yield* Cycle
  const signals = yield* Signals
  yield* cycle
    .counted("confirm", confirmOnce())
    .pipe(
      Effect.catchTag("GatewayError", (error) =>
        Effect.logWarning("payments could not be looked up", { reason: error.message }).pipe(
          Effect.andThen(Effect.sleep(waitMillisUnanswered)),
        ),
      ),
    )
  yield* signals.wait("confirm", waitMillis)
}).pipe(payingInForce, Effect.forever)
