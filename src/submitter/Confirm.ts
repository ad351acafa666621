import { Clock, Effect, Result } from "effect"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { warnOf } from "../gateway/warnOf.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { BlockPace } from "./BlockPace.ts"
import { confirmIntent } from "./confirmIntent.ts"
import { Draining } from "./Draining.ts"
import { giveUpUnseen } from "./endings.ts"
import { sureHeight } from "./evidence.ts"
import { inTurn } from "./inTurn.ts"
import { isOurChain } from "./isOurChain.ts"
import { payingInForce, SubmitterOptions } from "./SubmitterOptions.ts"
import { seeMoved } from "./seeMoved.ts"
import { Tip } from "./Tip.ts"

const waitMillis = 1_000
const waitMillisUnanswered = 5_000

/**
 * One look for every live attempt. What one look runs into does not stop the others, and where the newest block cannot
 * be asked for, what executed is looked for all the same; then the round fails as that question did.
 */
export const confirmOnce = Effect.fn("Confirm.round")(function* () {
  const outbox = yield* Outbox
  const signals = yield* Signals
  const draining = yield* Draining
  const { mode } = yield* SubmitterOptions
  if (mode !== "live") return
  yield* seeMoved()
  const open = yield* outbox.open
  const live = yield* outbox.live
  if (live.length === 0) return
  const head = yield* Effect.map((yield* Tip).head, Result.succeed).pipe(
    Effect.catchTag("GatewayError", (error) => Effect.succeed(Result.fail(error))),
  )
  if (Result.isSuccess(head) && !(yield* isOurChain(head.success))) return
  for (const attempt of live) {
    const intent = open.find((i) => i.id === attempt.intentId)
    if (intent === undefined || isFinalAttempt(attempt.state)) continue
    // What the awaited answer says comes first: two loops would write about one attempt at once.
    if (yield* draining.isSending(attempt)) continue
    yield* inTurn(intent, (now) => look(now, attempt, head))
  }
  yield* signals.wake("engine")
  if (Result.isFailure(head)) return yield* head.failure
})

/** Before the newest block is known nothing counts as over, and nothing as absent. */
const heightUnknown = 0n

const look = Effect.fnUntraced(function* (
  intent: Intent,
  attempt: Attempt,
  head: Result.Result<ChainHead, GatewayError>,
) {
  const pace = { now: yield* Clock.currentTimeMillis, blockMillis: yield* (yield* BlockPace).millis }
  const height = sureHeight(attempt, { ...pace, told: Result.isSuccess(head) ? head.success.height : heightUnknown })
  const error = yield* confirmIntent({ intent, attempt, height }).pipe(
    Effect.as(Result.isFailure(head) ? head.failure : undefined),
    Effect.catchTag("GatewayError", (failure) =>
      Effect.as(
        Effect.logWarning("a payment could not be looked up", { intent: intent.id, reason: failure.message }),
        failure,
      ),
    ),
  )
  if (error === undefined) return
  if (Result.isSuccess(head)) return yield* giveUpUnseen({ intent, attempt, height }, error.message)
  // It only calls people, by the newest block that anything told of.
  const known = sureHeight(attempt, { ...pace, told: yield* knownHeight })
  yield* giveUpUnseen({ intent, attempt, height: known }, error.message)
})

/** The newest block of our chain that anything told of. */
const knownHeight = Effect.gen(function* () {
  const { chainId } = yield* SubmitterOptions
  const heads = (yield* (yield* Tip).recent).filter((head) => head.chainId === chainId)
  const watermark = (yield* (yield* Observations).watermark)?.height ?? heightUnknown
  return heads.reduce((newest, { height }) => (height > newest ? height : newest), watermark)
})

/** The loop that finds out what became of payments. It cannot send. */
export const confirmLoop = Effect.gen(function* () {
  const cycle = yield* Cycle
  const signals = yield* Signals
  yield* cycle
    .counted("confirm", confirmOnce())
    .pipe(
      Effect.catchTag("GatewayError", (error) =>
        warnOf("payments are looked up without the newest block", error).pipe(
          Effect.andThen(Effect.sleep(waitMillisUnanswered)),
        ),
      ),
    )
  yield* signals.wait("confirm", waitMillis)
}).pipe(payingInForce, Effect.forever)
