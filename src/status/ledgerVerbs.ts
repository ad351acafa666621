import { createHash } from "node:crypto"
import { join } from "node:path"
import { Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { formatAmount } from "../domain/Amount.ts"
import { plural } from "../domain/plural.ts"
import { Brake } from "../store/Brake.ts"
import { databaseFile } from "../store/Database.ts"
import { Findings, type Stranger } from "../store/Findings.ts"
import { type Asked, adopt } from "../submitter/adopt.ts"
import { recover } from "../submitter/recover.ts"
import { say } from "../telemetry/say.ts"
import { agreeing, haltNamed, needAgreement } from "./agreeing.ts"

/** Whose store it is, and where. */
interface Place {
  readonly treasury: Treasury
  readonly dataDir: string
}

const paying = ({ treasury }: Place): ReadonlyArray<string> =>
  [...treasury.parties.values()].flatMap(({ publicKey, signer }) => (signer === undefined ? [] : [publicKey]))

const transferOf =
  ({ assets, parties }: Treasury) =>
  ({ id, from, to, asset, amount, reference, status, timestamp }: Stranger) => {
    const pinned = [...assets.values()].find((one) => one.id === asset)
    const receiver = [...parties.values()].find(({ publicKey }) => publicKey === to)
    return {
      id,
      from,
      to,
      toName: receiver?.name ?? null,
      asset,
      amount: String(amount),
      /** In units of the asset, where it is pinned. */
      sum: pinned === undefined ? null : `${formatAmount(amount, pinned.decimals)} ${pinned.symbol}`,
      reference,
      status,
      timestamp: String(timestamp),
    }
  }

/** Of each paying key, from when on its payments are listed: one of before that a lost store made is not recognized. */
const reachOf = Effect.fnUntraced(function* (place: Place) {
  const oldest = yield* (yield* Findings).reach
  const payers = [...place.treasury.parties.values()].filter(({ signer }) => signer !== undefined)
  return payers.map(({ name, publicKey }) => {
    const at = oldest.get(publicKey)
    return { party: name, since: at === undefined ? null : new Date(Number(at / 1_000_000n)).toISOString() }
  })
})

/** Logs who used the verb, why, and what it did. */
const logVerb = (word: string, { author, reason }: Asked, result: string) =>
  say(word, { subject: "all", detail: `by ${author}: ${reason}; ${result}`, author })

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
    const adopted = Effect.gen(function* () {
      const all = yield* adopt(paying(place), asked, agree)
      yield* logVerb("adopted", asked, `${plural(all.length, "payment")} that the journal did not know`)
      return { adopted: all.map(transferOf(place.treasury)), reach: yield* reachOf(place) }
    })
    return yield* agreeing(place.treasury, signature, adopted)
  }
  const file = join(place.dataDir, databaseFile)
  const recovered = Effect.gen(function* () {
    const { missing, lastInJournal, lastOnLedger } = yield* recover(paying(place), file, asked, agree)
    yield* logVerb("recovered", asked, `${plural(missing.length, "payment")} imported`)
    const imported = missing.map(transferOf(place.treasury))
    return { lastOnLedger: lastOnLedger ?? null, lastInJournal, imported, reach: yield* reachOf(place) }
  })
  return yield* agreeing(place.treasury, signature, recovered)
})
