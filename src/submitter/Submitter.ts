import { Effect, Option } from "effect"
import { byOneConfig, CycleConfig } from "../config/ConfigInForce.ts"
import { isFinalAttempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import { approvalOf } from "../payments/approvalOf.ts"
import { intentStateOf } from "../payments/judgeAttempt.ts"
import { isUnsigned } from "../rules/policy/Policy.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { awaitApproval } from "./awaitApproval.ts"
import { blockedBy } from "./beginSend.ts"
import { ChainHeadCache, haltOnWrongChain } from "./ChainHeadCache.ts"
import { InFlight, withIntentLock } from "./InFlight.ts"
import { sendAttempt } from "./sendAttempt.ts"
import { signIntent } from "./signIntent.ts"
import { endWaiting, isAskedLater, reserveAndShowWait, showIfListed, showWait } from "./waiting.ts"

/** Concurrent intents. Each has at most one live attempt, and the network accepts few per block. */
const concurrentMax = 4
const waitMillis = 500
/** Pause after a gateway did not answer. Stored bytes lose nothing by a few seconds. */
const waitMillisUnanswered = 5_000

/** Advances one open intent as far as possible: asks for approval, reserves, signs, solves, sends. */
const advance = Effect.fn("Submitter.advance")(function* (intent: Intent) {
  const outbox = yield* Outbox
  if (yield* showIfListed(intent)) return
  // Approval is asked for, and its time runs, even while a halt or a pause keeps the payment from being signed.
  const needed = approvalOf((yield* CycleConfig).treasury, intent)
  if (needed !== undefined && (yield* isAskedLater(intent))) return
  const current = needed === undefined ? intent : yield* awaitApproval(intent, needed)
  if ((yield* (yield* InFlight).isDraining) || (yield* endWaiting(current))) return
  const stop = yield* blockedBy(intent)
  if (stop !== undefined) return yield* showStop(current, stop)
  const isDue = isUnsigned(current) && (needed === undefined || current.state === "reserved")
  const live = isDue
    ? yield* signOrShowWait(current)
    : (yield* outbox.attempts(intent.id)).find((a) => !isFinalAttempt(a.state))
  if (live === undefined) return
  const head = yield* (yield* ChainHeadCache).head
  if (yield* haltOnWrongChain(head)) return
  const state = yield* sendAttempt(live, head.height)
  if (intentStateOf(state) !== (isDue ? "in_flight" : current.state)) yield* showLiveAttempt(intent.id)
})

/** Signs the payment. If the gateway does not answer, shows that as the reason of the wait. */
const signOrShowWait = (intent: Intent) =>
  signIntent(intent).pipe(
    Effect.catchTag("GatewayError", (error) =>
      Effect.andThen(reserveAndShowWait(intent, error.message), Effect.fail(error)),
    ),
  )

/** Shows the halt or pause on an unsigned payment; one that waits for approval keeps its progress instead. */
const showStop = Effect.fnUntraced(function* (intent: Intent, stop: string) {
  if (isUnsigned(intent) && intent.state !== "awaiting_approval") yield* showWait(intent, stop)
})

/** Sets the intent's state by its live attempt: in flight, or unknown until an answer settles it. */
const showLiveAttempt = Effect.fn("Submitter.reflect")(function* (intentId: string) {
  const outbox = yield* Outbox
  // A lookup may have settled the payment since: only the rows that the transaction reads count.
  const write = Effect.gen(function* () {
    const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
    const live = (yield* outbox.attempts(intentId)).find((a) => !isFinalAttempt(a.state))
    if (intent === undefined || live === undefined) return
    const to = intentStateOf(live.state)
    if (intent.state === to || (intent.state !== "in_flight" && intent.state !== "unknown")) return
    const detail =
      to === "unknown"
        ? "it may or may not be in the network; the same bytes are sent again"
        : `attempt ${live.k} is ${live.state}`
    yield* outbox.move(intent, to, { detail })
  })
  yield* (yield* Database).write(write)
})

/**
 * One round over all open intents. The failure of one intent does not stop the others. Returns true if the gateway
 * answered all requests.
 */
export const submitOnce = Effect.fn("Submitter.round")(function* () {
  const { mode } = yield* CycleConfig
  if (mode !== "live") return true
  // The time of a block is measured from round to round.
  yield* (yield* Observations).blockMillis
  const outbox = yield* Outbox
  const open = (yield* outbox.open).filter((i) => i.state !== "manual")
  const answered = yield* Effect.forEach(
    open,
    (intent) =>
      withIntentLock(intent, advance).pipe(
        Effect.as(true),
        Effect.catchTags({
          GatewayError: (error) =>
            Effect.as(logEvent("payment waits for a gateway", { intent: intent.id, reason: error.message }), false),
          PowError: (error) =>
            Effect.as(logEvent("proof of work failed", { intent: intent.id, reason: error.message }), true),
        }),
      ),
    { concurrency: concurrentMax },
  )
  return answered.every((ok) => ok)
})

/** The loop that moves money. It alone requires the writer. Its end ends the searches for proofs of work. */
export const submitLoop = Effect.gen(function* () {
  const { counted } = yield* Metrics
  const signals = yield* Signals
  const answered = yield* counted("submitter", submitOnce())
  if (!answered) yield* Effect.sleep(waitMillisUnanswered)
  yield* signals.wait("submitter", waitMillis)
}).pipe(byOneConfig, Effect.forever, Effect.ensuring(Effect.flatMap(InFlight, ({ stopSearches }) => stopSearches)))
