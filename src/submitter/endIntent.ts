import { Clock, Effect, Option, Schema } from "effect"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { sumText } from "../domain/sumText.ts"
import { AcceptedHead } from "../store/AcceptedHead.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { Findings } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { BlockPace } from "./BlockPace.ts"
import { Turns } from "./Turns.ts"
import { judgeVerb, type Verb } from "./verbs.ts"

/** A person's verb was not done. `isBusy`: only because a loop is at the payment right now. */
class VerbRefused extends Schema.TaggedError<VerbRefused>()("VerbRefused", {
  message: Schema.String,
  remedy: Schema.String,
  isBusy: Schema.Boolean,
}) {}

/** Longer than a look at the ledger mostly takes; one that hangs is told of. */
const waitMillisMax = 5_000

interface Asked {
  readonly intentId: string
  readonly verb: Verb
  readonly author: string
  readonly reason: string
}

/**
 * Ends a payment on a person's word: the change, author and reason are one transaction, after all evidence in the store
 * was looked at in it, and after `agree` there. Returns the payment as it stands then.
 */
export const endIntent = Effect.fn("People.endIntent")(function* <E, R>(asked: Asked, agree: Agree<E, R>) {
  const turns = yield* Turns
  const database = yield* Database
  const done = yield* turns.person(asked.intentId, waitMillisMax, database.atomically(end(asked, agree)))
  if (Option.isSome(done)) return done.value
  return yield* new VerbRefused({ message: "the network is being asked about it", remedy: "ask again", isBusy: true })
})

/** Asked before the payment ends: whoever must agree to it. */
type Agree<E, R> = (intent: Intent) => Effect.Effect<unknown, E, R>

const end = Effect.fnUntraced(function* <E, R>({ intentId, verb, author, reason }: Asked, agree: Agree<E, R>) {
  const outbox = yield* Outbox
  const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
  if (intent === undefined) return yield* refused(`no payment "${intentId}"`, 'see "intents"')
  const findings = yield* Findings
  const attempts = yield* outbox.attempts(intentId)
  const done = yield* Effect.filter(attempts, ({ transferId }) =>
    Effect.map(findings.executions(transferId), (count) => count > 0),
  )
  const chainId = attempts.at(-1)?.chainId
  const watermark = yield* (yield* Observations).watermark
  const judged = judgeVerb(verb, {
    now: yield* Clock.currentTimeMillis,
    blockMillis: yield* (yield* BlockPace).millis,
    intent,
    attempts,
    sends: yield* outbox.sends(intentId),
    evidence: yield* outbox.evidence(intentId),
    done: new Set(done.map(({ transferId }) => transferId)),
    height: watermark?.height ?? 0n,
    accepted: yield* acceptedOf(chainId),
  })
  if (!judged.permitted) return yield* refused(judged.message, judged.remedy)
  yield* agree(intent)
  const by = { verb: verb.verb, author, reason }
  const detail = `${judged.words} by ${author}: ${reason}`
  // When it executed is not known: rules wait for balances that are newer than now.
  const settledAt = judged.to === "confirmed" ? BigInt(yield* Clock.currentTimeMillis) * 1_000_000n : undefined
  const settlement = { detail, settledAt, by }
  if (judged.to !== "confirmed") yield* tellUnpaid(intent, judged.to, detail)
  if (judged.ends !== undefined) {
    yield* outbox.settle(intent, judged.ends.attempt, judged.ends.to, judged.to, settlement)
    return { ...intent, state: judged.to, detail }
  }
  // A person who rejects a payment has been asked about it.
  const asking = intent.state === "proposed" && judged.to === "rejected"
  const at = asking ? yield* outbox.move(intent, "awaiting_approval", { detail: `put to ${author}` }) : intent
  return yield* outbox.move(at, judged.to, settlement)
})

/** The newest block of its chain, unless none fits now. */
const acceptedOf = Effect.fnUntraced(function* (chainId: string | undefined) {
  if (chainId === undefined) return undefined
  const { accepted, stray } = yield* (yield* AcceptedHead).of(chainId)
  return stray === undefined ? accepted?.height : undefined
})

/** The others hear of a payment that one person has ended unpaid. */
const tellUnpaid = Effect.fnUntraced(function* (intent: Intent, state: string, detail: string) {
  const { id, rule, payment, decimals } = intent
  const waited = intent.detail.startsWith("waits: ") ? `; it ${intent.detail.replace("waits: ", "waited: ")}` : ""
  const remedy = 'where it is still owed and its rule does not decide it anew, hand it in with "cofferer submit"'
  yield* (yield* AlertQueue).raise({
    dedup: `${state}/${id}`,
    severity: "info",
    kind: "intent",
    subject: shortId(id).slice(0, 4),
    detail: `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} ends unpaid, ${detail}${waited}; ${remedy}`,
    fields: { intent: id, state },
  })
})

const refused = (message: string, remedy: string) => new VerbRefused({ message, remedy, isBusy: false })
