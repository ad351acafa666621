import { createHash } from "node:crypto"
import { join } from "node:path"
import { Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { Brake } from "../store/Brake.ts"
import { databaseFile } from "../store/Database.ts"
import type { Stranger } from "../store/Findings.ts"
import { type Asked, adopt } from "../submitter/adopt.ts"
import { recover } from "../submitter/recover.ts"
import { agreeing, haltNamed, needAgreement } from "./agreeing.ts"

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

/** What operators agree to: which payments, and which halts end. */
const agreeTo =
  (verb: LedgerVerb, { treasury }: Place, reason: string) =>
  (found: ReadonlyArray<Stranger>) =>
    Effect.gen(function* () {
      const ended = verb === "adopt" ? "foreign_payment" : "restored_store"
      const halts = (yield* (yield* Brake).halts).filter((halt) => halt.reason === ended).map(haltNamed)
      const ids = found.map(({ id }) => `${id}\n`).toSorted()
      const list = createHash("sha256").update(ids.join("")).digest("hex")
      return yield* needAgreement(treasury, { kind: verb, halts, payments: found.length, list, reason })
    })

/**
 * What people do about payments on the ledger that the journal does not know, once the operators agree to exactly
 * these. The answer is plain JSON.
 */
export const ledgerVerb = Effect.fn("Control.ledgerVerb")(function* (
  verb: LedgerVerb,
  place: Place,
  { signature, ...asked }: Asked & { readonly signature?: string | undefined },
) {
  const agree = agreeTo(verb, place, asked.reason)
  if (verb === "adopt") {
    const adopted = Effect.map(adopt(paying(place), asked, agree), (all) => ({ adopted: all.map(transferOf) }))
    return yield* agreeing(place.treasury, signature, adopted)
  }
  const file = join(place.dataDir, databaseFile)
  const recovered = Effect.map(
    recover(paying(place), file, asked, agree),
    ({ missing, lastInJournal, lastOnLedger }) => ({
      lastOnLedger: lastOnLedger ?? null,
      lastInJournal,
      imported: missing.map(transferOf),
    }),
  )
  return yield* agreeing(place.treasury, signature, recovered)
})
