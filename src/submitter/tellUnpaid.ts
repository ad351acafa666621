import { Clock, Effect, Option } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { sumText } from "../domain/sumText.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"

/** Networks forget movements, the earliest after a day: of what is older none proves nothing. */
const rememberedMillis = 72_000_000

/**
 * Pages people for a payment that is recorded as paid on a gateway's word, where the ledger's own movements, complete
 * beyond its window, have none of it: nobody would pay it any more. Call it in the transaction that ends its watch.
 */
export const tellUnpaid = Effect.fnUntraced(function* ({ intentId, state, createdAt }: Attempt) {
  if (state !== "confirmed" || (yield* Clock.currentTimeMillis) - createdAt > rememberedMillis) return
  const intent = Option.getOrUndefined(yield* (yield* Outbox).byId(intentId))
  if (intent?.command !== "transfer") return
  const { payment, rule, decimals, detail } = intent
  yield* (yield* AlertQueue).raise({
    dedup: `unpaid/${intent.id}`,
    severity: "page",
    kind: "intent",
    subject: shortId(intent.id).slice(0, 4),
    detail:
      `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} is recorded as paid (${detail}), and the ` +
      'ledger\'s movements have none of it. Compare them at another gateway; where it was not paid and is still owed, hand it in with "cofferer submit"',
    fields: { intent: intent.id, state: intent.state },
  })
  yield* (yield* Signals).wake("alerts")
})
