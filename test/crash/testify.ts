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

/** Asks the store of a data directory that no daemon holds, and the ledger as the network's own path tells it. */
export const testify = async (dataDir: string, ledger: unknown, party: string): Promise<Omit<Testimony, "told">> => {
  const filename = join(dataDir, Database.databaseFile)
  const { problem } = await verify(filename)
  const db = new DatabaseSync(filename)
  try {
    const all = (sql: string) => db.prepare(sql).all() as ReadonlyArray<Record<string, unknown>>
    const { executed } = ledger as { readonly executed: ReadonlyArray<Executed> }
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
      executed: executed.filter((tx) => tx.party === party && tx.code === 0).map(({ transferId }) => transferId),
    }
  } finally {
    db.close()
  }
}
