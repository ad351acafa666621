import { Effect } from "effect"
import { Migrator } from "effect/sql"
import { finalIntentStates } from "../domain/Intent.ts"
import { dialect } from "./dialect.ts"
import { attemptWindows, guards, outbox } from "./outboxTables.ts"
import { terms, termsHalt } from "./termsTables.ts"

/** What the gateway was seen to say: balance rows keyed by time first, latest balances, assets and their history. */
const observations = Effect.gen(function* () {
  const { sql, int, serial, strict, keyed, digits } = yield* dialect
  yield* sql`CREATE TABLE balance_rows (
    timestamp ${int} NOT NULL, asset TEXT NOT NULL, party TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    balance TEXT NOT NULL ${digits("balance")},
    PRIMARY KEY (timestamp, asset, party, market, type)) ${keyed}`
  yield* sql`CREATE TABLE accounts (
    party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    balance TEXT NOT NULL ${digits("balance")}, timestamp ${int} NOT NULL,
    PRIMARY KEY (party, asset, market, type)) ${keyed}`
  yield* sql`CREATE TABLE watermarks (
    name TEXT NOT NULL PRIMARY KEY, timestamp ${int} NOT NULL, height ${int} NOT NULL, updated_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE assets (
    id TEXT NOT NULL PRIMARY KEY, symbol TEXT NOT NULL, name TEXT NOT NULL, decimals ${int} NOT NULL,
    quantum TEXT NOT NULL, status TEXT NOT NULL, seen_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE asset_transitions (
    seq ${serial}, asset TEXT NOT NULL, symbol TEXT NOT NULL, from_status TEXT, to_status TEXT NOT NULL,
    at ${int} NOT NULL, handled ${int} NOT NULL DEFAULT 0) ${strict}`
  yield* sql`CREATE TABLE parameters (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL, seen_at ${int} NOT NULL) ${strict}`
})

/** What rules remember: timers, episodes, and each decision when it changed. */
const rules = Effect.gen(function* () {
  const { sql, int, serial, strict } = yield* dialect
  yield* sql`CREATE TABLE rule_states (
    rule TEXT NOT NULL, subject TEXT NOT NULL, episode ${int} NOT NULL, firing_since ${int},
    observations ${int} NOT NULL, last_observation ${int} NOT NULL, state TEXT NOT NULL, reason TEXT,
    detail TEXT NOT NULL, reason_since ${int} NOT NULL, decided_at ${int} NOT NULL,
    PRIMARY KEY (rule, subject)) ${strict}`
  yield* sql`CREATE TABLE decisions (
    seq ${serial}, at ${int} NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL, decision TEXT NOT NULL,
    reason TEXT, detail TEXT NOT NULL) ${strict}`
})

/** The signer's own memory, the brake, alerts until delivered, and the hash-chained journal. */
const rest = Effect.gen(function* () {
  const { sql, int, serial, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE spends (
    intent_id TEXT NOT NULL, k ${int} NOT NULL, digest TEXT NOT NULL, signature TEXT NOT NULL, from_key TEXT NOT NULL,
    to_key TEXT NOT NULL, asset_id TEXT NOT NULL, amount TEXT NOT NULL ${digits("amount")},
    block_time ${int} NOT NULL, signed_at ${int} NOT NULL, PRIMARY KEY (intent_id, k)) ${strict}`
  yield* sql`CREATE INDEX spends_time ON spends (block_time)`
  yield* sql`CREATE TABLE pauses (
    seq ${serial}, scope TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL, at ${int} NOT NULL,
    until ${int}, ended_at ${int}) ${strict}`
  yield* sql`CREATE TABLE halts (
    seq ${serial}, reason TEXT NOT NULL, detail TEXT NOT NULL, at ${int} NOT NULL, ended_at ${int}) ${strict}`
  yield* sql`CREATE TABLE framings (
    gateway TEXT NOT NULL, chain_id TEXT NOT NULL, framing TEXT NOT NULL, at ${int} NOT NULL,
    PRIMARY KEY (gateway, chain_id)) ${strict}`
  yield* sql`CREATE TABLE alerts (
    seq ${serial}, dedup TEXT NOT NULL UNIQUE, severity TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
    detail TEXT NOT NULL, fields TEXT NOT NULL, at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE deliveries (
    alert ${int} NOT NULL REFERENCES alerts (seq), receiver TEXT NOT NULL, state TEXT NOT NULL,
    tries ${int} NOT NULL DEFAULT 0, next_at ${int} NOT NULL, error TEXT, updated_at ${int} NOT NULL,
    PRIMARY KEY (alert, receiver)) ${strict}`
  yield* sql`CREATE INDEX deliveries_pending ON deliveries (state, next_at)`
  yield* sql`CREATE TABLE journal (
    seq ${int} NOT NULL PRIMARY KEY, at ${int} NOT NULL, treasury TEXT NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL) ${strict}`
  yield* sql`CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) ${strict}`
})

/**
 * What comparing the ledger with the journal found: money of our keys that moved without us, executions beyond the
 * first, and how far each comparison has come.
 */
const findings = Effect.gen(function* () {
  const { sql, int, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE transfer_cursors (
    party TEXT NOT NULL PRIMARY KEY, cursor TEXT NOT NULL, read_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE strangers (
    id TEXT NOT NULL PRIMARY KEY, party TEXT NOT NULL, receiver TEXT NOT NULL, asset TEXT NOT NULL,
    amount TEXT NOT NULL ${digits("amount")}, reference TEXT NOT NULL, status TEXT NOT NULL, timestamp ${int} NOT NULL,
    own ${int} NOT NULL, seen_at ${int} NOT NULL, known_as TEXT, known_at ${int}) ${strict}`
  yield* sql`CREATE INDEX strangers_unknown ON strangers (timestamp) WHERE known_as IS NULL`
  yield* sql`CREATE TABLE executions (
    transfer_id TEXT NOT NULL, timestamp ${int} NOT NULL, seen_at ${int} NOT NULL,
    PRIMARY KEY (transfer_id, timestamp)) ${strict}`
  yield* sql`CREATE TABLE duplicates (
    intent_id TEXT NOT NULL, n ${int} NOT NULL, detail TEXT NOT NULL, seen_at ${int} NOT NULL, acknowledged_at ${int},
    PRIMARY KEY (intent_id, n)) ${strict}`
  yield* sql`CREATE TABLE watches (
    intent_id TEXT NOT NULL, k ${int} NOT NULL, PRIMARY KEY (intent_id, k),
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) ${strict}`
  yield* sql`INSERT INTO watches SELECT intent_id, k FROM attempts WHERE sends > 0`
})

/** Which of several processes on one store may move money. */
const leases = Effect.gen(function* () {
  const { sql, int, strict } = yield* dialect
  yield* sql`CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, epoch ${int} NOT NULL, until ${int} NOT NULL) ${strict}`
})

/** What the journal tells of one payment, without reading all of it. */
const subjects = Effect.gen(function* () {
  const { sql } = yield* dialect
  yield* sql`CREATE INDEX journal_subject ON journal (subject, seq)`
})

/**
 * The past: balances as they were when reading began, which are no rows of the ledger's history, parts of it that are
 * read later, and parts that cannot be had.
 */
const past = Effect.gen(function* () {
  const { sql, int, serial, strict, keyed, digits } = yield* dialect
  yield* sql`CREATE TABLE openings (
    timestamp ${int} NOT NULL, asset TEXT NOT NULL, party TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    balance TEXT NOT NULL ${digits("balance")},
    PRIMARY KEY (timestamp, asset, party, market, type)) ${keyed}`
  yield* sql`CREATE TABLE backfills (
    seq ${serial}, since ${int} NOT NULL, until ${int} NOT NULL, next ${int} NOT NULL, updated_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE gaps (
    seq ${serial}, since ${int} NOT NULL, until ${int} NOT NULL, cause TEXT NOT NULL, seen_at ${int} NOT NULL) ${strict}`
})

/**
 * Accounts by short ids. Their names, 150 bytes each, were written with every row, and took most of the time and of
 * the disk. `balance_rows` and `accounts` stay as views.
 */
const accountIds = Effect.gen(function* () {
  const { sql, int, serial, strict, keyed, digits } = yield* dialect
  const name = sql.literal("party, asset, market, type")
  yield* sql`CREATE TABLE account_names (
    id ${serial}, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    UNIQUE (${name})) ${strict}`
  yield* sql`CREATE TABLE balances (
    account ${int} NOT NULL PRIMARY KEY, balance TEXT NOT NULL ${digits("balance")}, timestamp ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE changes (
    timestamp ${int} NOT NULL, account ${int} NOT NULL, balance TEXT NOT NULL ${digits("balance")},
    PRIMARY KEY (timestamp, account)) ${keyed}`
  yield* sql`INSERT INTO account_names (${name})
    SELECT ${name} FROM accounts UNION SELECT ${name} FROM balance_rows ORDER BY ${name}`
  const same = sql.literal("n.party = o.party AND n.asset = o.asset AND n.market = o.market AND n.type = o.type")
  yield* sql`INSERT INTO balances (account, balance, timestamp)
    SELECT n.id, o.balance, o.timestamp FROM accounts AS o JOIN account_names AS n ON ${same}`
  yield* sql`INSERT INTO changes (timestamp, account, balance)
    SELECT o.timestamp, n.id, o.balance FROM balance_rows AS o JOIN account_names AS n ON ${same}`
  yield* sql`DROP TABLE balance_rows`
  yield* sql`DROP TABLE accounts`
  yield* sql`CREATE VIEW accounts AS SELECT ${name}, balance, timestamp
    FROM balances JOIN account_names ON account_names.id = balances.account`
  yield* sql`CREATE VIEW balance_rows AS SELECT timestamp, asset, party, market, type, balance
    FROM changes JOIN account_names ON account_names.id = changes.account`
})

/** All that is told of an asset, how often it was missing, and what else than its status changed. */
const assetEvents = Effect.gen(function* () {
  const { sql, int } = yield* dialect
  yield* sql`ALTER TABLE assets ADD COLUMN fields TEXT NOT NULL DEFAULT ''`
  yield* sql`ALTER TABLE assets ADD COLUMN missed ${int} NOT NULL DEFAULT 0`
  yield* sql`ALTER TABLE asset_transitions ADD COLUMN kind TEXT NOT NULL DEFAULT 'status'`
  yield* sql`ALTER TABLE asset_transitions ADD COLUMN changes TEXT NOT NULL DEFAULT '[]'`
})

/** Accounts of which balance rows and the gateway's own balance differ, from the first look to the last. */
const drifts = Effect.gen(function* () {
  const { sql, int, serial, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE drifts (
    seq ${serial}, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    stored TEXT NOT NULL ${digits("stored")}, reported TEXT NOT NULL ${digits("reported")},
    at ${int} NOT NULL, ended_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX drifts_open ON drifts (party, asset, market, type) WHERE ended_at IS NULL`
})

/** What people were asked to pay, from the asking until the money was seen. */
const asks = Effect.gen(function* () {
  const { sql, int, serial, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE asks (
    seq ${serial}, rule TEXT NOT NULL, subject TEXT NOT NULL, episode ${int} NOT NULL, from_party TEXT NOT NULL,
    to_party TEXT NOT NULL, asset TEXT NOT NULL, amount TEXT NOT NULL ${digits("amount")}, decimals ${int} NOT NULL,
    detail TEXT NOT NULL, at ${int} NOT NULL, ended_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX asks_open ON asks (rule, subject) WHERE ended_at IS NULL`
})

/** What operators signed, and who handed a payment in: both stay as they were. */
const approvals = Effect.gen(function* () {
  const { sql, int, serial, strict } = yield* dialect
  yield* sql`CREATE TABLE approvals (
    seq ${serial}, subject TEXT NOT NULL, operator TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    signature TEXT NOT NULL, at ${int} NOT NULL, UNIQUE (key, text)) ${strict}`
  yield* sql`CREATE INDEX approvals_subject ON approvals (subject)`
  yield* sql`ALTER TABLE intents ADD COLUMN submitted_by TEXT`
  if (sql.onDialectOrElse({ pg: () => true, orElse: () => false })) return
  const forbid = (name: string, on: string, when: string, why: string) =>
    sql.unsafe(`CREATE TRIGGER ${name} BEFORE ${on} WHEN ${when} BEGIN SELECT RAISE(ABORT, '${why}'); END`)
  yield* forbid("approvals_given", "UPDATE ON approvals", "1", "an approval never changes")
  yield* forbid("approvals_kept", "DELETE ON approvals", "1", "approvals are kept")
  yield* forbid(
    "intents_approved",
    "UPDATE ON intents",
    `OLD.submitted_by IS NOT NEW.submitted_by OR OLD.rule <> NEW.rule OR OLD.fee_max <> NEW.fee_max
     OR OLD.created_at <> NEW.created_at`,
    "what operators approve never changes",
  )
})

/** Payments by when they ended: what a key has sent in an epoch is asked for with every decision. */
const settlements = Effect.gen(function* () {
  const { sql } = yield* dialect
  yield* sql`CREATE INDEX intents_settled ON intents (settled_at)`
})

/** Decisions by what they are about and when: people ask why something did not happen last month. */
const decisionsByTime = Effect.gen(function* () {
  const { sql } = yield* dialect
  yield* sql`CREATE INDEX decisions_of ON decisions (rule, subject, at, seq)`
})

/** What rules that tell people remember: since when an alert is over, and when people last heard of one. */
const alerting = Effect.gen(function* () {
  const { sql, int } = yield* dialect
  yield* sql`ALTER TABLE rule_states ADD COLUMN clearing_since ${int}`
  yield* sql`ALTER TABLE rule_states ADD COLUMN told_at ${int}`
})

/** What an intent has the network do; all before were transfers. */
const commands = Effect.gen(function* () {
  const { sql } = yield* dialect
  yield* sql`ALTER TABLE intents ADD COLUMN command TEXT NOT NULL DEFAULT 'transfer'`
  if (sql.onDialectOrElse({ pg: () => true, orElse: () => false })) return
  yield* sql.unsafe(`CREATE TRIGGER intents_commanded BEFORE UPDATE ON intents WHEN OLD.command <> NEW.command
    BEGIN SELECT RAISE(ABORT, 'a decided payment never changes'); END`)
})

/** Payments by when they last changed: those of the last day are asked for with every decision, of all years. */
const changedPayments = Effect.gen(function* () {
  const { sql } = yield* dialect
  yield* sql`CREATE INDEX intents_updated ON intents (updated_at)`
})

/**
 * Until when a signature counts: from the later of block time and clock, and until its payment came to an end. What is
 * old is valued by the latest time that is known of it.
 */
const spendEnds = Effect.gen(function* () {
  const { sql, int } = yield* dialect
  const finals = sql.in(finalIntentStates)
  yield* sql`ALTER TABLE spends RENAME COLUMN block_time TO spent_at`
  yield* sql`ALTER TABLE spends ADD COLUMN ended_at ${int}`
  yield* sql`UPDATE spends SET spent_at = signed_at WHERE signed_at > spent_at`
  yield* sql`UPDATE spends SET ended_at = spent_at WHERE intent_id NOT IN (SELECT id FROM intents)`
  yield* sql`UPDATE spends SET ended_at = (SELECT CASE WHEN coalesce(settled_at, 0) / 1000000 + 1 > updated_at
    THEN settled_at / 1000000 + 1 ELSE updated_at END FROM intents WHERE id = spends.intent_id)
    WHERE intent_id IN (SELECT id FROM intents WHERE state IN ${finals})`
  yield* sql`CREATE INDEX spends_ended ON spends (ended_at)`
})

/** Keys that are watched already: what they spent is in the signer's log, and nothing before it is counted again. */
const countedKeys = Effect.gen(function* () {
  const { sql } = yield* dialect
  yield* sql`INSERT INTO settings (key, value) SELECT 'counted/' || substr(key, 8), 'before' FROM settings
    WHERE key LIKE 'debits/%'`
})

/** The block time that an attempt is newer than: our clock may be behind the ledger's. Unknown of those before. */
const signedAfter = Effect.gen(function* () {
  const { sql, int } = yield* dialect
  yield* sql`ALTER TABLE attempts ADD COLUMN signed_after ${int}`
})

/** Approvers may be asked anew: the time that they have runs from then. */
const askedAnew = Effect.gen(function* () {
  const { sql, int } = yield* dialect
  yield* sql`ALTER TABLE intents ADD COLUMN asked_at ${int}`
})

/**
 * Each listed transfer and withdrawal of our keys, with the payment that it says it is: what another life of the store
 * paid is found here before it is signed again.
 */
const listedTransfers = Effect.gen(function* () {
  const { sql, int, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE listed_transfers (
    id TEXT NOT NULL PRIMARY KEY, party TEXT NOT NULL, receiver TEXT NOT NULL, asset TEXT NOT NULL,
    amount TEXT NOT NULL ${digits("amount")}, reference TEXT NOT NULL, tag TEXT, status TEXT NOT NULL,
    timestamp ${int} NOT NULL, own ${int} NOT NULL, seen_at ${int} NOT NULL, known_as TEXT, known_at ${int}) ${strict}`
  yield* sql`INSERT INTO listed_transfers SELECT id, party, receiver, asset, amount, reference, NULL, status, timestamp,
    own, seen_at, known_as, known_at FROM strangers`
  yield* sql`DROP TABLE strangers`
  yield* sql`CREATE INDEX listed_transfers_unknown ON listed_transfers (timestamp) WHERE known_as IS NULL`
  yield* sql`CREATE INDEX listed_transfers_tag ON listed_transfers (party, tag) WHERE tag IS NOT NULL`
})

/** Forward only; a released migration is never edited. */
const loader = Migrator.fromRecord({
  "0001_observations": observations,
  "0002_rules": rules,
  "0003_outbox": outbox,
  "0004_guards": guards,
  "0005_rest": rest,
  "0006_findings": findings,
  "0007_leases": leases,
  "0008_subjects": subjects,
  "0009_past": past,
  "0010_account_ids": accountIds,
  "0011_asset_events": assetEvents,
  "0012_drifts": drifts,
  "0013_asks": asks,
  "0014_approvals": approvals,
  "0015_settlements": settlements,
  "0016_decisions_by_time": decisionsByTime,
  "0017_alerting": alerting,
  "0018_commands": commands,
  "0019_changed_payments": changedPayments,
  "0020_spend_ends": spendEnds,
  "0021_counted_keys": countedKeys,
  "0022_terms": terms,
  "0023_signed_after": signedAfter,
  "0024_asked_anew": askedAnew,
  "0025_attempt_windows": attemptWindows,
  "0026_listed_transfers": listedTransfers,
  "0027_terms_halt": termsHalt,
})

export const migrate = Migrator.make({})({ loader, table: "migrations" })
