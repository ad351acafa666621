import { Effect, Option } from "effect"
import { shortId } from "../domain/Hex.ts"
import { Journal } from "../store/Journal.ts"
import { Outbox } from "../store/Outbox.ts"
import { intentView } from "./StatusView.ts"

const listMax = 1_000
const listDefault = 20

/** Payments with their attempts, newest first. A limit that is none gives twenty. */
export const listIntents = Effect.fnUntraced(function* (limit: number) {
  const outbox = yield* Outbox
  const count = Number.isInteger(limit) && limit > 0 ? Math.min(limit, listMax) : listDefault
  return yield* Effect.forEach(yield* outbox.recent(count), intentView)
})

/**
 * One payment from the decision to its end: what was decided, signed, sent, answered and seen. It is named by its id,
 * its short name, or the start of one that fits no other.
 */
export const storyOf = Effect.fnUntraced(function* (id: string) {
  const outbox = yield* Outbox
  const exact = Option.getOrUndefined(yield* outbox.byId(id))
  const matches =
    exact === undefined
      ? (yield* outbox.recent(listMax)).filter((i) => i.id.startsWith(id) || shortId(i.id).startsWith(id))
      : [exact]
  const intent = matches[0]
  if (intent === undefined) return { problem: `no payment "${id}"`, known: 0 }
  if (matches.length > 1) return { problem: `"${id}" fits ${matches.length} payments`, known: matches.length }
  return {
    ...(yield* intentView(intent)),
    payment: intent.payment,
    feeMax: intent.feeMax,
    fee: intent.fee ?? null,
    sends: yield* outbox.sends(intent.id),
    evidence: yield* outbox.evidence(intent.id),
    journal: yield* (yield* Journal).about(intent.id),
  }
})
