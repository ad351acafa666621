import { Clock, Effect, Option, Schema } from "effect"
import { byOneConfig, CycleConfig } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { type Intent, intentWaits, isFinalIntent, overdueOf, waitsFrom } from "../domain/Intent.ts"
import { approvalOf } from "../payments/approvalOf.ts"
import { raise } from "../store/alerts/raise.ts"
import { Journal } from "../store/journal/Journal.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { AuditMemory } from "./AuditMemory.ts"

const waitMillis = 5_000
/** After a start, overdue payments are alerted this much later: the ledger may show their end at once. */
const lookedMillisMin = 120_000

/**
 * Pages for each payment that is open beyond the bound of its state. It depends only on the store and the clock, so it
 * pages while other loops fail or wait, and in every mode.
 */
export const alertOverdue = Effect.fn("Overdue.round")(function* () {
  const { treasury } = yield* CycleConfig
  const outbox = yield* Outbox
  const memory = yield* AuditMemory
  const now = yield* Clock.currentTimeMillis
  for (const intent of yield* outbox.open) {
    const first = yield* memory.firstSeen(`open/${intent.id}`, now)
    if (now - first < lookedMillisMin) continue
    const overdue = yield* overdueNow(treasury, intent)
    if (overdue !== undefined) yield* page(intent, overdue)
  }
})

/** Why a payment is past the bound of its state, by the store and the clock alone; undefined while it is not. */
export const overdueNow = Effect.fnUntraced(function* (treasury: Treasury, intent: Intent) {
  if (isFinalIntent(intent.state)) return undefined
  const now = yield* Clock.currentTimeMillis
  const attempts = yield* (yield* Outbox).attempts(intent.id)
  const expires = approvalOf(treasury, intent)?.terms.expires
  // A payment is not in its state for longer than it exists: this avoids reading the journal for most.
  if (overdueOf(intent.state, attempts, { now, since: waitsFrom(intent), expires }) === undefined) return undefined
  return overdueOf(intent.state, attempts, { now, since: yield* stateSince(intent), expires })
})

const StateBody = Schema.fromJsonString(Schema.Struct({ state: Schema.String }))
const stateOf = Schema.decodeUnknownOption(StateBody)

/** When it came to its state, by the journal. */
const stateSince = Effect.fnUntraced(function* ({ id, state, createdAt, updatedAt }: Intent) {
  const entries = yield* (yield* Journal).about(id)
  const last = entries.findLast(
    ({ kind, body }) => kind === "intent" && Option.exists(stateOf(body), (told) => told.state === state),
  )
  return waitsFrom({ createdAt: last?.at ?? createdAt, updatedAt })
})

const page = Effect.fnUntraced(function* (
  intent: Intent,
  { name, words }: { readonly name: string; readonly words: string },
) {
  const { state, detail } = intent
  if (isFinalIntent(state)) return
  const facts = { ...paymentFacts(intent), ...intentWaits[state], stateWords: state.replaceAll("_", " ") }
  yield* raise("payment_overdue", { ...facts, name, words, detail })
})

/** The loop that no gateway holds up. */
export const overdueLoop = alertOverdue().pipe(byOneConfig, Effect.andThen(Effect.sleep(waitMillis)), Effect.forever)
