import { createHash } from "node:crypto"
import { join } from "node:path"
import { Clock, Effect } from "effect"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { formatAmount } from "../domain/Amount.ts"
import { isoOf, nanosOf } from "../domain/Time.ts"
import { subjectOf } from "../poller/Comparison.ts"
import { Reconciliation, reconcileBalances } from "../poller/Reconciliation.ts"
import { assetById, partyByKey, pinnedSum } from "../rules/Account.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Controls } from "../store/controls/Controls.ts"
import { databaseFile } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import type { UnrecognizedTransfer } from "../store/payments/noteListing.ts"
import { type AuditRequest, adopt, compareHistory, recover } from "../submitter/audit/adopt.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { agreeing, haltNamed, needAgreement } from "./agreeing.ts"
import type { StoreOwner } from "./controlVerbs.ts"
import { problem } from "./stories.ts"

const restoredStore = "restored_store"

const payersOf = ({ parties }: Pick<Treasury, "parties">): ReadonlyArray<string> =>
  [...parties.values()].flatMap(({ publicKey, signer }) => (signer === undefined ? [] : [publicKey]))

const transferOf =
  ({ assets, parties }: Treasury) =>
  ({ id, from, to, asset, amount, reference, status, timestamp }: UnrecognizedTransfer) => {
    return {
      id,
      from,
      to,
      toName: partyByKey(parties, to)?.name ?? null,
      asset,
      amount: String(amount),
      /** In units of the asset, where it is pinned. */
      sum: pinnedSum(assets, asset, amount) ?? null,
      reference,
      status,
      timestamp: String(timestamp),
    }
  }

/**
 * Start of each paying key's listing: payments that a lost store made earlier are not recognized. `unlisted`:
 * where there is none, or it begins later than the listed transfers that the store has.
 */
const reachOf = Effect.fnUntraced(function* (place: StoreOwner, unlisted: ReadonlyMap<string, bigint | undefined>) {
  const oldest = yield* (yield* LedgerAudit).oldestListed
  const payers = [...place.treasury.parties.values()].filter(({ signer }) => signer !== undefined)
  return payers.map(({ name, publicKey }) => {
    const at = (unlisted.has(publicKey) ? unlisted : oldest).get(publicKey)
    return { party: name, since: at === undefined ? null : isoOf(at) }
  })
})

/** Refusal if a restored database pays with none of this treasury's keys; undefined if not. */
const foreignStore = Effect.fnUntraced(function* (place: StoreOwner) {
  if (!(yield* (yield* Controls).halts).some(({ reason }) => reason === restoredStore)) return undefined
  const { terms } = (yield* (yield* Approvals).termsInForce) ?? {}
  const [stored, own] = [terms === undefined ? [] : payersOf(terms), payersOf(place.treasury)]
  if (stored.length === 0 || own.length === 0 || stored.some((key) => own.includes(key))) return undefined
  const short = (keys: ReadonlyArray<string>) => keys.map((key) => key.slice(0, 8)).join(", ")
  return problem(
    `the database is of a treasury that pays with ${short(stored)}, and this one pays with ${short(own)}`,
    409,
    `put this treasury's own database into ${place.dataDir}; if its keys changed after the backup, recover with those of then`,
  )
})

export type LedgerVerb = "adopt" | "recover"

/** Text that operators sign: the payments, and the halts that end. */
const agreeTo =
  (verb: LedgerVerb, { treasury }: StoreOwner, reason: string) =>
  (found: ReadonlyArray<UnrecognizedTransfer>) =>
    Effect.gen(function* () {
      const ended = verb === "adopt" ? "foreign_payment" : restoredStore
      const halts = (yield* (yield* Controls).halts).filter((halt) => halt.reason === ended).map(haltNamed)
      const ids = found.map(({ id }) => `${id}\n`).toSorted()
      const list = createHash("sha256").update(ids.join("")).digest("hex")
      return yield* needAgreement(treasury, { kind: verb, halts, payments: found.length, list, reason })
    })

/**
 * Applies a person's verdict on listed payments that the journal does not know, once the operators agree to exactly
 * these. The answer is plain JSON.
 */
export const ledgerVerb = Effect.fn("Control.ledgerVerb")(function* (
  verb: LedgerVerb,
  place: StoreOwner,
  { signature, ...asked }: AuditRequest & { readonly signature?: string | undefined },
) {
  const agree = agreeTo(verb, place, asked.reason)
  if (verb === "adopt") {
    const adopted = Effect.gen(function* () {
      const all = yield* adopt(payersOf(place.treasury), asked, agree)
      yield* logEvent("transfers acknowledged", { payments: all.length, author: asked.author, reason: asked.reason })
      return { adopted: all.map(transferOf(place.treasury)), reach: yield* reachOf(place, new Map()) }
    })
    return yield* agreeing(place.treasury, signature, adopted)
  }
  const foreign = yield* foreignStore(place)
  if (foreign !== undefined) return foreign
  const file = join(place.dataDir, databaseFile)
  const recovered = Effect.gen(function* () {
    const done = yield* recover(payersOf(place.treasury), file, asked, agree)
    const { missing, unlisted, lastInJournal, lastOnLedger } = done
    yield* logEvent("payments imported", { payments: missing.length, author: asked.author, reason: asked.reason })
    const imported = missing.map(transferOf(place.treasury))
    return { lastOnLedger: lastOnLedger ?? null, lastInJournal, imported, reach: yield* reachOf(place, unlisted) }
  })
  return yield* agreeing(place.treasury, signature, recovered)
})

export type Reconciled = Effect.Success<ReturnType<typeof reconcileNow>>

/** A comparison needs a block that is newer than the listing, two where something differs. */
const patienceMillis = 45_000

/**
 * Compares balances and payments with the gateway's present answers. `advance` reads newer balance rows: it is called
 * as long as the comparison waits for them.
 */
export const reconcileNow = Effect.fn("Control.reconcile")(function* <E, R>(
  place: { readonly treasury: Treasury; readonly mode: Mode },
  advance: Effect.Effect<unknown, E, R>,
) {
  const { treasury, mode } = place
  const { parties, assets } = treasury
  const reconciliation = yield* Reconciliation
  const before = yield* reconciliation.request
  const deadline = (yield* Clock.currentTimeMillis) + patienceMillis
  let isCompared = false
  while (!isCompared && (yield* Clock.currentTimeMillis) < deadline) {
    yield* reconcileBalances(treasury)
    isCompared = (yield* reconciliation.count) > before
    if (!isCompared) yield* advance
  }
  const drifts = (yield* (yield* Drifts).all).map((drift) => {
    const decimals = assetById(assets, drift.asset)?.decimals ?? 0
    const say = (units: bigint) => formatAmount(units, decimals)
    const subject = subjectOf({ parties, assets }, drift)
    return { kind: "drift", subject, id: "", ours: say(drift.stored), ledger: say(drift.reported) }
  })
  const history = mode === "live" ? yield* compareHistory(payersOf(treasury)) : undefined
  const nameOf = (key: string) => partyByKey(parties, key)?.name ?? ""
  const payments = (history?.differences ?? []).map(({ kind, party, id, ours, ledger }) => {
    return { kind, subject: nameOf(party), id, ours, ledger }
  })
  const watched = new Set<string>([...parties.values()].map(({ publicKey }) => publicKey))
  const accounts = (yield* (yield* Observations).accounts).filter(({ party }) => watched.has(party)).length
  return {
    /** `subject`: a party and asset, or a party; `id`: of the transfer or payment, "" for balances. */
    differences: [...drifts, ...payments],
    /** Accounts whose balances were compared; null where no comparison came to its end in time. */
    accounts: isCompared ? accounts : null,
    /** Transfers of our keys that the gateway lists; null where the mode pays nothing, so that there is no journal. */
    transfers: history?.transfers ?? null,
  }
})

/** Oldest time of any ledger: networks refuse earlier ones. */
const oldest = nanosOf(Date.UTC(2020, 0, 1, 0, 0, 1))

/** Has the daemon read every balance change since a time (Unix nanoseconds), now or when it runs next. */
export const askBackfill = Effect.fn("Backfill.ask")(function* (since: bigint, keepMillis: number) {
  const observations = yield* Observations
  const now = yield* Clock.currentTimeMillis
  const at = (since / 1_000n) * 1_000n
  if (at < oldest)
    return problem("no network is that old", 400, "give a time after 2020-01-01, or a duration such as 7d")
  if (at >= nanosOf(now)) return problem("that time is yet to come", 400, "give a time of the past")
  if (at < nanosOf(now - keepMillis)) {
    return problem("rows as old as that are not kept", 400, "let store.keep of the treasury file be longer")
  }
  if ((yield* observations.watermark) === undefined) {
    return problem("no balance was read yet", 400, "run the daemon first: the past ends where its reading began")
  }
  const asked = yield* observations.backfillSince(at)
  yield* (yield* Signals).wake("backfill")
  // Without an end it is stored already, or requested.
  return { since: isoOf(at), until: asked === undefined ? null : isoOf(asked.until) }
})
