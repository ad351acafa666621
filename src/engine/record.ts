import { Clock, Effect, Option } from "effect"
import type { Decision, Payment } from "../domain/Decision.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import type { Look } from "../rules/Look.ts"
import { isRehearsed } from "../rules/Rule.ts"
import { networkFee } from "../rules/Snapshot.ts"
import { commandOf, intentFor, paymentName } from "../rules/Subject.ts"
import { Outbox } from "../store/Outbox.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import { listedBefore } from "../store/Tags.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { intentIdOf } from "./intentIdOf.ts"
import { journalDecision } from "./journalDecision.ts"

type Act = Extract<Decision, { _tag: "Act" }>

/**
 * Stores the payments of this episode; where that one is over already, or another life of the store has paid a part of
 * it, of the next. Open ones are left as they are. A planned time has one payment whatever became of it.
 */
export const record = Effect.fnUntraced(function* (
  look: Look,
  decision: Act,
  firstEpisode: number,
  isPlanned: boolean,
) {
  const { treasury, mode } = yield* EngineOptions
  const outbox = yield* Outbox
  const { subject } = look
  const none: ReadonlyArray<Intent> = []
  for (let episode = firstEpisode; ; episode++) {
    const ids = decision.payments.map((payment) =>
      intentIdOf({ treasury, rule: subject.rule.name, subject: paymentName(subject, payment), episode }),
    )
    const stored = (yield* Effect.forEach(ids, outbox.byId)).flatMap(Option.toArray)
    if (stored.length === 0) {
      if (!isPlanned && (yield* isListed(commandOf(subject), decision.payments, ids))) continue
      const intents = yield* Effect.forEach(decision.payments, (payment, i) =>
        propose({ look, decision, payment, episode, id: ids[i]! }),
      )
      return { intents, episode }
    }
    // What was rehearsed is told once, until the condition has cleared. Once the rule pays, the same need is paid.
    const told = stored.some(({ state }) => state === "rehearsed") && isRehearsed(mode, subject.rule)
    if (isPlanned || told || stored.some(({ state }) => !isFinalIntent(state))) return { intents: none, episode }
  }
})

/** A new store counts from 1 again: what the ledger lists under a number was another need, in another life. */
const isListed = Effect.fnUntraced(function* (
  command: Intent["command"],
  payments: ReadonlyArray<Payment>,
  ids: ReadonlyArray<Intent["id"]>,
) {
  for (const [i, payment] of payments.entries()) {
    if ((yield* listedBefore({ id: ids[i]!, command, payment })).length > 0) return true
  }
  return false
})

/** What the rule's code answered, and to what. */
const answerIn = ({ subject, snapshot }: Look) =>
  subject.kind === "code" ? snapshot.answers?.get(subject.rule.name) : undefined

const propose = Effect.fnUntraced(function* (planned: {
  readonly look: Look
  readonly decision: Act
  readonly payment: Payment
  readonly episode: number
  readonly id: Intent["id"]
}) {
  const { look, decision, payment, episode, id } = planned
  const { subject, snapshot } = look
  const { treasury, policy, mode } = yield* EngineOptions
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const intent = intentFor(subject, payment, { id, treasury, episode, detail: decision.detail, policy, at: now })
  yield* outbox.record(intent)
  yield* journalDecision(intent, policy, answerIn(look))
  if (!isRehearsed(mode, subject.rule)) return intent
  const taken = intent.command === "transfer" ? networkFee(snapshot, subject.asset, payment.amount) : 0n
  const fee = taken ?? intent.feeMax
  yield* (yield* Rehearsals).add(subject.rule.name, payment, fee)
  const why = mode === "live" ? "on trial" : `mode ${mode}`
  return yield* outbox.move(intent, "rehearsed", { detail: `${why}: would have been paid` })
})
