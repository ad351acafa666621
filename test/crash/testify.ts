import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import type { IntentState } from "../../src/domain/Intent.ts"
import * as Database from "../../src/store/database/Database.ts"
import { verifyChain } from "../../src/store/journal/verifyStore.ts"
import type { Testimony } from "./judge.ts"

interface Executed {
  readonly transferId: string
  readonly party: string
  readonly code: number
}

const verify = (filename: string) => verifyChain().pipe(Effect.provide(Database.layer({ filename })), Effect.runPromise)

interface Message {
  readonly id: string
  readonly kind: string
  readonly subject: string
}

interface Raised {
  readonly seq: number
  readonly name: string
  readonly state: string
}

/** Alerts that the receiver has yet to get, in a data directory that no daemon holds. */
export const undeliveredCount = (dataDir: string): number => {
  const db = new DatabaseSync(join(dataDir, Database.databaseFile))
  try {
    const sql = "SELECT count(*) AS n FROM deliveries WHERE receiver = 'desk' AND state <> 'delivered'"
    return Number(db.prepare(sql).get()?.["n"])
  } finally {
    db.close()
  }
}

/** First and last number of the alerts that a message stands for. */
const rangeOf = ({ id }: Message) => {
  const [, , seq, ...rest] = id.split("/")
  const to = rest.find((part) => part.startsWith("to-"))
  return { from: Number(seq), to: to === undefined ? Number(seq) : Number(to.slice(3)) }
}

/** Alerts that a receiver did not get, or that came before an earlier one of the same kind and subject. */
const undelivered = (raised: ReadonlyArray<Raised>, messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const nameOf = new Map(raised.map(({ seq, name }) => [seq, name]))
  const ranges = messages.map(rangeOf)
  const isTaken = ({ seq, name }: Raised) =>
    ranges.some(({ from, to }) => from <= seq && seq <= to && nameOf.get(from) === name)
  const lost = raised.filter((alert) => alert.state !== "delivered" || !isTaken(alert))
  const newest = new Map<string, number>()
  const seen = new Set<string>()
  const late = messages.filter((message) => {
    if (seen.has(message.id)) return false
    seen.add(message.id)
    const subject = `${message.kind}/${message.subject}`
    const { from } = rangeOf(message)
    const isLate = from < (newest.get(subject) ?? 0)
    newest.set(subject, Math.max(from, newest.get(subject) ?? 0))
    return isLate
  })
  return [
    ...lost.map(({ seq, name, state }) => `alert ${seq} (${name}) is ${state} and was not taken`),
    ...late.map(({ id, subject }) => `alert ${id} of ${subject} came after a later one`),
  ]
}

/**
 * Asks the store of a data directory that no daemon holds, the ledger as the network's own path tells it, and the
 * receiver of alerts by the bodies that it took.
 */
export const testify = async (
  dataDir: string,
  { ledger, party, taken }: { readonly ledger: unknown; readonly party: string; readonly taken: ReadonlyArray<string> },
): Promise<Omit<Testimony, "told">> => {
  const filename = join(dataDir, Database.databaseFile)
  const { problem } = await verify(filename)
  const db = new DatabaseSync(filename)
  try {
    const all = (sql: string) => db.prepare(sql).all() as ReadonlyArray<Record<string, unknown>>
    const { executed } = ledger as { readonly executed: ReadonlyArray<Executed> }
    const raised = all(
      "SELECT a.seq, a.name, d.state FROM deliveries d JOIN alerts a ON a.seq = d.alert WHERE d.receiver = 'desk'",
    ).map(({ seq, name, state }) => ({ seq: Number(seq), name: String(name), state: String(state) }))
    return {
      broken: problem ?? undefined,
      intents: all("SELECT id, state, detail FROM intents").map(({ id, state, detail }) => ({
        id: String(id),
        state: state as IntentState,
        detail: String(detail),
      })),
      attempts: all("SELECT intent_id, transfer_id FROM attempts").map((row) => ({
        intentId: String(row["intent_id"]),
        transferId: String(row["transfer_id"]),
      })),
      decided: new Set(
        all("SELECT DISTINCT subject FROM journal WHERE kind = 'intent'").map(({ subject }) => String(subject)),
      ),
      halts: all("SELECT reason, detail FROM halts WHERE ended_at IS NULL").map(
        ({ reason, detail }) => `${reason}: ${detail}`,
      ),
      alerts: {
        raised: raised.length,
        wrong: undelivered(
          raised,
          taken.map((body) => JSON.parse(body) as Message),
        ),
      },
      executed: executed.filter((tx) => tx.party === party && tx.code === 0).map(({ transferId }) => transferId),
    }
  } finally {
    db.close()
  }
}
