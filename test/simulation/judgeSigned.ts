import type { DatabaseSync } from "node:sqlite"
import { type IntentState, isFinalIntent } from "../../src/domain/Intent.ts"
import type { Docket } from "./Docket.ts"

interface Entry {
  readonly seq: number
  readonly kind: string
  readonly subject: string
  readonly body: string
}

const entriesSql = "SELECT seq, kind, subject, body FROM journal WHERE kind IN ('intent', 'attempt') ORDER BY seq"

/** No attempt is signed for a payment that waits for a person or has ended: the journal has them in one order. */
export const judgeLeft = (db: DatabaseSync, docket: Docket): void => {
  const states = new Map<string, IntentState>()
  for (const { seq, kind, subject, body } of db.prepare(entriesSql).all() as unknown as ReadonlyArray<Entry>) {
    const said = JSON.parse(body) as { readonly state?: string }
    if (kind === "intent") {
      if (said.state !== undefined) states.set(subject, said.state as IntentState)
      continue
    }
    if (said.state !== "signed") continue
    docket.chance("left")
    const state = states.get(subject)
    if (state === "manual" || (state !== undefined && isFinalIntent(state)))
      docket.wrong("left", `an attempt of ${subject.slice(0, 8)} is signed at entry ${seq}, and it is ${state}`)
  }
}

interface Signed {
  readonly id: string
  readonly k: number
  readonly created_at: number
  readonly to_key: string
  readonly amount: string
}

const signedSql = `SELECT i.id, a.k, a.created_at, i.to_key, i.amount FROM attempts a
  JOIN intents i ON i.id = a.intent_id WHERE i.command = 'transfer'`

/** What may be in force at which time, as whoever writes the files and starts the processes knows it. */
export interface TermsThen {
  /** Milliseconds from which on, until the next one. */
  readonly at: number
  /** The most that one transfer to these keys may move, in base units. */
  readonly perTransfer: bigint
}

/** No payment is signed above the terms that were in force then. */
export const judgeTerms = (
  db: DatabaseSync,
  terms: ReadonlyArray<TermsThen>,
  to: ReadonlySet<string>,
  docket: Docket,
): void => {
  if (terms.length < 2) return
  const rows = db.prepare(signedSql).all() as unknown as ReadonlyArray<Signed>
  for (const { id, k, created_at: at, to_key: key, amount } of rows) {
    if (!to.has(key)) continue
    docket.chance("terms")
    // What was in force as it was signed, and a moment before: a signature takes no time here, its journey does.
    const then = terms.filter((one, i) => one.at <= at && (terms[i + 1]?.at ?? Number.POSITIVE_INFINITY) >= at)
    const most = then.reduce((sum, { perTransfer }) => (perTransfer > sum ? perTransfer : sum), 0n)
    if (BigInt(amount) > most)
      docket.wrong("terms", `attempt ${k} of ${id.slice(0, 8)} moves ${amount}, ${most} was permitted then`)
  }
}
