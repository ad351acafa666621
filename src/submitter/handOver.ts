import { Effect } from "effect"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import { Database } from "../store/Database.ts"
import { Outbox } from "../store/Outbox.ts"
import { Settings } from "../store/Settings.ts"
import { endAndTell } from "./endAndTell.ts"
import { isNamed } from "./namesOf.ts"
import { Wanted } from "./Wanted.ts"

/**
 * Setting of a store that was put back, from its recovery until what it held open is handed over: "pending" and the
 * keys of which the gateways list nothing; "" ends it.
 */
export const handOverKey = "handOver"

const why = "the store was put back from a copy, and the one that was lost may have paid it"
/** Stands for the gateway of a send that only the lost store knows of. */
const lostGateway = "lost store"

/**
 * Hands over to people what a recovered store has under way: the store that was lost went on from the same decisions.
 * What is not signed and named from outside stays, since the ledger tells before its signature whether it was paid;
 * where the gateways list nothing it ends, with all that was planned until now. What a rule decides it decides anew, by
 * the balances after the quarantine.
 */
export const handOver = Effect.fn("Recover.handOver")(function* () {
  const settings = yield* Settings
  const [pending, ...unlisted] = ((yield* settings.get(handOverKey)) ?? "").split(" ")
  if (pending !== "pending") return
  const blind: ReadonlySet<string> = new Set(unlisted)
  const database = yield* Database
  const { open } = yield* Outbox
  yield* database.atomically(
    Effect.gen(function* () {
      for (const intent of yield* open) if (intent.state !== "manual") yield* handOverOne(intent, blind)
      if (blind.size > 0) yield* (yield* Wanted).letGoPlanned(blind)
      yield* settings.set(handOverKey, "")
    }),
  )
})

/** Bytes that this store never sent may have left the other one: their end is looked for on the ledger. */
export const noteLostSend = Effect.fnUntraced(function* (attempt: Attempt) {
  const { framing = "bare", hashBare, hashPrefixed } = attempt
  const txHash = (framing === "bare" ? hashBare : hashPrefixed) ?? ""
  yield* (yield* Outbox).beginSend({ attempt, gateway: lostGateway, framing, first: false, txHash })
})

const handOverOne = Effect.fnUntraced(function* (intent: Intent, blind: ReadonlySet<string>) {
  const outbox = yield* Outbox
  const attempts = yield* outbox.attempts(intent.id)
  const live = attempts.filter(({ state }) => !isFinalAttempt(state))
  for (const attempt of live) if (attempt.state === "signed") yield* noteLostSend(attempt)
  if (live.length > 0) {
    const said = `${why}, by this attempt or another; the money stays reserved until it is seen or a person resolves it`
    const ending = { state: "manual", sentence: `is manual: ${said}`, detail: said, severity: "page" } as const
    return yield* endAndTell(intent, ending, outbox.move(intent, "manual", { detail: why }))
  }
  const isListed = intent.command === "transfer" && !blind.has(intent.payment.fromKey)
  if (isListed && isNamed(intent, yield* (yield* Wanted).standing(intent))) return
  const state = attempts.length === 0 ? "cancelled" : "abandoned"
  const ending = { state, sentence: `is ${state}: ${why}`, detail: why, severity: "ticket" } as const
  yield* endAndTell(intent, ending, outbox.move(intent, state, { detail: why }))
})
