import { Effect } from "effect"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import { Database } from "../store/Database.ts"
import { Outbox } from "../store/Outbox.ts"
import { Settings } from "../store/Settings.ts"
import { endAndTell } from "./endAndTell.ts"
import { Wanted } from "./Wanted.ts"

/** Setting of a store that was put back, from its recovery until what it held open is handed over; "" ends it. */
export const handOverKey = "handOver"

const why = "the store was put back from a copy, and the one that was lost may have paid it"
/** Stands for the gateway of a send that only the lost store knows of. */
const lostGateway = "lost store"

/**
 * Hands over to people what a recovered store held open, and what was planned until now: the store that was lost went
 * on from the same decisions, and what it did of them nobody here knows. Nothing of it is signed any more. What is out
 * may still be seen on the ledger; rules go on by today's balances once the quarantine is over.
 */
export const handOver = Effect.fn("Recover.handOver")(function* () {
  const settings = yield* Settings
  if (((yield* settings.get(handOverKey)) ?? "") === "") return
  const database = yield* Database
  const { open } = yield* Outbox
  yield* database.atomically(
    Effect.gen(function* () {
      for (const intent of yield* open) if (intent.state !== "manual") yield* handOverOne(intent)
      yield* (yield* Wanted).letGoPlanned
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

const handOverOne = Effect.fnUntraced(function* (intent: Intent) {
  const outbox = yield* Outbox
  const attempts = yield* outbox.attempts(intent.id)
  const live = attempts.filter(({ state }) => !isFinalAttempt(state))
  for (const attempt of live) if (attempt.state === "signed") yield* noteLostSend(attempt)
  if (live.length > 0) {
    const said = `${why}, by this attempt or another; the money stays reserved until it is seen or a person resolves it`
    const ending = { state: "manual", sentence: `is manual: ${said}`, detail: said, severity: "page" } as const
    return yield* endAndTell(intent, ending, outbox.move(intent, "manual", { detail: why }))
  }
  const state = attempts.length === 0 ? "cancelled" : "abandoned"
  const ending = { state, sentence: `is ${state}: ${why}`, detail: why, severity: "ticket" } as const
  yield* endAndTell(intent, ending, outbox.move(intent, state, { detail: why }))
})
