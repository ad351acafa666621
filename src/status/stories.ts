import { Effect, Option } from "effect"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { Journal } from "../store/Journal.ts"
import { Outbox } from "../store/Outbox.ts"
import { intentView } from "./intentView.ts"

const listMax = 1_000
const listDefault = 20

/** Payments with their attempts, newest first. A limit that is none gives twenty. */
export const listIntents = Effect.fnUntraced(function* (limit: number) {
  const outbox = yield* Outbox
  const count = Number.isInteger(limit) && limit > 0 ? Math.min(limit, listMax) : listDefault
  return yield* Effect.forEach(yield* outbox.recent(count), (intent) => intentView(intent))
})

/** Why something asked of this API is not done, with the status of HTTP that says so. */
export interface Problem {
  readonly problem: string
  readonly status: number
  readonly remedy: string
}

export const problem = (text: string, status: number, remedy = 'see "intents"'): Problem => ({
  problem: text,
  status,
  remedy,
})

/** A payment by its id, its short name, or the start of one that fits no other of the open and the newest ones. */
export const findIntent = Effect.fnUntraced(function* (id: string) {
  const outbox = yield* Outbox
  const exact = Option.getOrUndefined(yield* outbox.byId(id))
  if (exact !== undefined) return found(exact)
  const near = new Map([...(yield* outbox.open), ...(yield* outbox.recent(listMax))].map((i) => [i.id, i]))
  const matches = [...near.values()].filter((i) => i.id.startsWith(id) || shortId(i.id).startsWith(id))
  const intent = matches[0]
  if (intent === undefined) return problem(`no payment "${id}"`, 404)
  return matches.length > 1 ? problem(`"${id}" fits ${matches.length} payments`, 400) : found(intent)
})

const found = (intent: Intent): Problem | { readonly intent: Intent } => ({ intent })

/** One payment from the decision to its end: what was decided, signed, sent, answered and seen. */
export const storyOf = Effect.fnUntraced(function* (id: string) {
  const outbox = yield* Outbox
  const named = yield* findIntent(id)
  if ("problem" in named) return named
  const { intent } = named
  return {
    ...(yield* intentView(intent)),
    payment: intent.payment,
    decimals: intent.decimals,
    feeMax: intent.feeMax,
    fee: intent.fee ?? null,
    sends: yield* outbox.sends(intent.id),
    evidence: yield* outbox.evidence(intent.id),
    journal: yield* (yield* Journal).about(intent.id),
  }
})
