import { Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { deadlineHeight } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import type { Unsigned } from "../payments/planAttempt.ts"
import type { Refusal } from "../rules/policy/Policy.ts"
import type { SignerError } from "../signer/SignerError.ts"
import { haltOnViolation, haltSigning } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { StoreError } from "../store/database/StoreError.ts"
import { haltOnStoreError } from "../store/database/storeErrors.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { currentBacking } from "./SigningFacts.ts"
import { settleAndAlert } from "./settleAndAlert.ts"
import { signAttempt } from "./signAttempt.ts"
import { reserveAndShowWait, showIfListed, showWait } from "./waiting.ts"

/** Signs an intent and returns the attempt, to be sent; undefined if it is not signed: the intent then shows why. */
export const signIntent = Effect.fnUntraced(function* (intent: Intent) {
  const { current, outcome } = yield* signAttempt(intent)
  if (outcome._tag !== "Signed") {
    yield* outcome._tag === "Refused"
      ? recordRefusal(current, outcome.error, outcome.plan)
      : recordPlan(current, outcome)
    return undefined
  }
  const { attempt } = outcome
  yield* countSigning("permitted", "none")
  yield* logEvent("payment signed", {
    intent: intent.id,
    attempt: attempt.k,
    block: String(attempt.anchorHeight),
    validToBlock: String(deadlineHeight(attempt)),
    transferId: attempt.transferId,
  })
  return attempt
})

/** Records why an intent is not signed, or ends it and alerts people. */
const recordPlan = Effect.fnUntraced(function* (intent: Intent, plan: Unsigned) {
  switch (plan._tag) {
    case "Wait":
      if (plan.isListed === true) yield* showIfListed(intent)
      else if (plan.why !== undefined) yield* reserveAndShowWait(intent, plan.why)
      return
    case "End": {
      const { state, sentence, detail, isForWhole } = plan
      const moved = (yield* Outbox).move(intent, state, { detail })
      const ended = settleAndAlert(intent, { state, sentence, detail, severity: "ticket" }, moved)
      if (isForWhole !== true) return yield* ended
      const isOwed = Effect.map(currentBacking(intent), ({ _tag }) => _tag === "Part")
      return yield* (yield* Database).write(Effect.flatMap(isOwed, (owed) => (owed ? Effect.void : ended)))
    }
    case "Halt":
      return yield* haltSigning("chain_changed", plan.detail)
  }
})

const recordRefusal = Effect.fnUntraced(function* (intent: Intent, error: SignerError, plan: Unsigned) {
  const { reason } = error
  if (reason._tag === "MemoryFailed") {
    const { cause } = reason
    return yield* cause instanceof StoreError
      ? haltOnStoreError(cause)
      : haltSigning("store_error", `the signer's memory failed: ${error.message}`)
  }
  const refusal = reason._tag === "Refused" ? reason : undefined
  if (refusal !== undefined) yield* countSigning("refused", refusal.refusal)
  if (refusal?.refusal === "signature") {
    yield* haltOnViolation("two_signers", refusal.detail)
    return yield* showWait(intent, "two implementations disagree about its signature")
  }
  return yield* recordPlan(intent, plan)
})

const countSigning = Effect.fnUntraced(function* (decision: "permitted" | "refused", reason: Refusal | "none") {
  const { name: treasury } = (yield* CycleConfig).treasury
  ;(yield* Metrics).signerRequests.inc({ treasury, decision, reason })
})
