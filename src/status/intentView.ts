import { Effect } from "effect"
import { deadlineHeight } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, isFinalIntent, noteOf, setAsideOf } from "../domain/Intent.ts"
import { intentWaits } from "../domain/IntentWait.ts"
import { sumText } from "../domain/sumText.ts"
import { holdsOf } from "../store/holdsOf.ts"
import { Outbox } from "../store/Outbox.ts"
import { overdueNow } from "../submitter/Overdue.ts"
import type { IntentView } from "./View.ts"

/** An intent with its attempts, as people see it. `inForce`: by which it is past the bound of its state. */
export const intentView = Effect.fnUntraced(function* (intent: Intent, inForce?: Parameters<typeof overdueNow>[0]) {
  const outbox = yield* Outbox
  const attempts = yield* outbox.attempts(intent.id)
  return {
    id: intent.id,
    short: shortId(intent.id).slice(0, 4),
    state: intent.state,
    open: !isFinalIntent(intent.state),
    rule: intent.rule,
    amount: sumText(intent.payment, intent.decimals),
    from: intent.payment.from,
    to: intent.payment.to,
    detail: intent.detail,
    note: noteOf(intent),
    setAside: setAsideOf(intent) ?? null,
    held: yield* holdsOf(intent),
    overdue: (inForce && (yield* overdueNow(inForce, intent)))?.words ?? null,
    wait: isFinalIntent(intent.state) ? null : intentWaits[intent.state],
    createdAt: new Date(intent.createdAt).toISOString(),
    attempts: attempts.map((attempt) => ({
      k: attempt.k,
      state: attempt.state,
      sends: attempt.sends,
      deadline: String(deadlineHeight(attempt)),
      transferId: attempt.transferId,
      txHash: (attempt.framing === "prefixed" ? attempt.hashPrefixed : attempt.hashBare)?.toUpperCase() ?? null,
    })),
  } satisfies IntentView
})
