import { Clock, Effect, Option } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { sumText } from "../domain/sumText.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"

/** Networks forget movements, the earliest after a day: of what is older none proves nothing. */
const rememberedMillis = 72_000_000

/**
 * Calls people to a payment that is recorded as paid on a gateway's word, where the ledger's own movements, complete
 * beyond its window, have none of it: nobody would pay it any more. A page while the ledger still remembers that time;
 * a ticket later, since then only the gateway's word is left. Call it in the transaction that ends its watch.
 */
export const tellUnpaid = Effect.fnUntraced(function* ({ intentId, state, createdAt }: Attempt) {
  if (state !== "confirmed") return
  const intent = Option.getOrUndefined(yield* (yield* Outbox).byId(intentId))
  if (intent === undefined) return
  const { payment, rule, decimals, detail } = intent
  const isForgotten = (yield* Clock.currentTimeMillis) - createdAt > rememberedMillis
  const word = (yield* Gateways).quorum === 1 ? "one gateway's word" : "the word of as many gateways as must agree"
  const found = isForgotten
    ? `on ${word}, and could not be checked any more (${detail}): the ledger's movements of that time have none of ` +
      "it, and may be forgotten by now"
    : `(${detail}), and the ledger's movements have none of it`
  yield* (yield* AlertQueue).raise({
    dedup: `unpaid/${intent.id}`,
    severity: isForgotten ? "ticket" : "page",
    kind: "intent",
    subject: shortId(intent.id).slice(0, 4),
    detail:
      `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} is recorded as paid ${found}. ` +
      'Compare them at another gateway; where it was not paid and is still owed, hand it in with "cofferer submit"',
    fields: { intent: intent.id, state: intent.state },
  })
  yield* (yield* Signals).wake("alerts")
})
