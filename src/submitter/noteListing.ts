import { Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { plural } from "../domain/plural.ts"
import { readReference } from "../domain/Reference.ts"
import { Database } from "../store/Database.ts"
import { Findings, type ListedTransfer, type Stranger } from "../store/Findings.ts"
import { Journal } from "../store/Journal.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { tripWith } from "../store/trip.ts"
import { countSpends } from "./countSpends.ts"

/** The sequence number of the journal that a reference of this installation carries; undefined for any other. */
export const ownSequence = (installation: string | undefined, reference: string): number | undefined => {
  const said = readReference(reference)
  return said?.installation === installation ? said?.seq : undefined
}

/** The last sequence number of this installation among the transfers; undefined where none carries one. */
export const lastOwnSequence = (
  installation: string | undefined,
  transfers: ReadonlyArray<{ readonly reference: string }>,
): number | undefined =>
  transfers.reduce<number | undefined>((last, { reference }) => {
    const seq = ownSequence(installation, reference)
    return seq === undefined || (last !== undefined && last >= seq) ? last : seq
  }, undefined)

interface Listed {
  readonly transfers: ReadonlyArray<ListedTransfer>
  readonly cursor: string | undefined
}

/** Compares what was listed of a key with the journal, stores what is new, and halts on what must not be there. */
export const noteListing = Effect.fn("Reconcile.note")(function* (party: string, listing: Listed) {
  const { transfers, cursor } = listing
  if (transfers.length === 0) return
  const findings = yield* Findings
  const installation = yield* (yield* Settings).get("installation")
  const isOwn = (reference: string) => ownSequence(installation, reference) !== undefined
  const database = yield* Database
  yield* database.atomically(
    Effect.gen(function* () {
      const { strangers, done } = yield* findings.note({ party, cursor, transfers, isOwn })
      yield* judgeStrangers(installation, strangers)
      yield* countSpends(strangers)
      for (const attempt of done) yield* judgeDone(attempt)
    }),
  )
})

export const judgeStrangers = Effect.fnUntraced(function* (
  installation: string | undefined,
  strangers: ReadonlyArray<Stranger>,
) {
  const own = strangers.filter((stranger) => stranger.own)
  if (own.length > 0) {
    const { seq } = yield* (yield* Journal).head
    const detail = `the ledger lists ${plural(own.length, "payment")} of this installation that the journal does not know, the last signed at its entry ${lastOwnSequence(installation, own)}; it ends at ${seq}`
    yield* tripWith("restored_store", Effect.succeed(detail))
  }
  const foreign = strangers.filter((stranger) => !stranger.own)
  const last = foreign.at(-1)
  if (last !== undefined) {
    const detail = `someone used the key ${last.from.slice(0, 8)}: ${plural(foreign.length, "payment")} that the journal does not know, the last ${last.id.slice(0, 8)} to ${last.to.slice(0, 8)}`
    yield* tripWith("foreign_payment", Effect.succeed(detail))
  }
})

/**
 * An attempt that the ledger shows as done: never after it was settled as something else. Done in another block than
 * before it executed twice, or the gateway errs about times: the ledger's movements are counted, which tell. Returns
 * whether they have to be.
 */
const judgeDone = Effect.fnUntraced(function* (attempt: Attempt) {
  const findings = yield* Findings
  yield* judgeCount(attempt, 1)
  if ((yield* findings.executions(attempt.transferId)) <= 1) return false
  yield* findings.watch(attempt)
  return true
})

/** Notes an execution that was seen by the transfer's id, and halts where it is not the first. */
export const noteExecution = Effect.fn("Reconcile.execution")(function* (attempt: Attempt, timestamp: bigint) {
  const findings = yield* Findings
  yield* findings.noteExecution(attempt.transferId, timestamp)
  // The movements are counted by the loop that compares the ledger: at once, not at its next turn.
  if (yield* judgeDone(attempt)) yield* (yield* Signals).wake("reconcile")
})

/** Halts where an attempt executed more often than once, or executed although it was settled as not executed. */
export const judgeCount = Effect.fnUntraced(function* (attempt: Attempt, executions: number) {
  const { intentId, k, state } = attempt
  const denied = state === "failed" || state === "expired"
  if (executions < (denied ? 1 : 2)) return
  const findings = yield* Findings
  const how = denied ? `executed although it was settled as ${state}` : `executed ${executions} times`
  const detail = `attempt ${k} of payment ${shortId(intentId)} (transfer ${attempt.transferId.slice(0, 8)}) ${how}`
  const noted = findings.noteDuplicate(intentId, Math.max(2, executions), detail)
  yield* tripWith(
    "duplicate_execution",
    Effect.map(noted, (isNew) => (isNew ? detail : undefined)),
  )
})
