import { join } from "node:path"
import { Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { databaseFile } from "../store/Database.ts"
import type { Stranger } from "../store/Findings.ts"
import { type Asked, adopt } from "../submitter/adopt.ts"
import { recover } from "../submitter/recover.ts"

/** Whose store it is, and where. */
export interface Place {
  readonly treasury: Treasury
  readonly dataDir: string
}

const paying = ({ treasury }: Place): ReadonlyArray<string> =>
  [...treasury.parties.values()].flatMap(({ publicKey, signer }) => (signer === undefined ? [] : [publicKey]))

const transferOf = ({ id, from, to, asset, amount, reference, status, timestamp }: Stranger) => ({
  id,
  from,
  to,
  asset,
  amount: String(amount),
  reference,
  status,
  timestamp: String(timestamp),
})

export const ledgerVerbNames = ["adopt", "recover"] as const
export type LedgerVerb = (typeof ledgerVerbNames)[number]

/** What people do about payments on the ledger that the journal does not know. The answer is plain JSON. */
export const ledgerVerb = Effect.fn("Control.ledgerVerb")(function* (verb: LedgerVerb, place: Place, asked: Asked) {
  if (verb === "adopt") return { adopted: (yield* adopt(paying(place), asked)).map(transferOf) }
  const file = join(place.dataDir, databaseFile)
  const { missing, lastInJournal, lastOnLedger } = yield* recover(paying(place), file, asked)
  return { lastOnLedger: lastOnLedger ?? null, lastInJournal, imported: missing.map(transferOf) }
})
