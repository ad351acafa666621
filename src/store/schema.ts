import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { dialect } from "./dialect.ts"
import { guards, outbox } from "./outboxTables.ts"
import { StoreError } from "./StoreError.ts"

/** Of the tables below. Whoever changes one counts on: a store of another number is not opened. */
const schemaVersion = 2

/** Creates the tables of a new store, and refuses a store whose tables another build made. */
export const useSchema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql`SELECT user_version AS version, (SELECT count(*) FROM sqlite_master) AS tables
    FROM pragma_user_version`
  if (found?.["tables"] === 0) {
    yield* Effect.all([observations, past, rules, outbox, controls, records, findings, termsInForce, guards])
    yield* sql.unsafe(`PRAGMA user_version = ${schemaVersion}`)
  } else if (found?.["version"] !== schemaVersion) {
    const cause =
      `another build made its tables (version ${found?.["version"]}, not ${schemaVersion}); run that build, or begin ` +
      'in an empty data directory, where "cofferer adopt" takes the payments of this store for known'
    return yield* new StoreError({ operation: "open", cause })
  }
})

/**
 * What the gateway was seen to say. Accounts have short ids: their names, 150 bytes each, would be written with every
 * row, and take most of the time and of the disk.
 */
const observations = Effect.gen(function* () {
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
  yield* sql`CREATE VIEW accounts AS SELECT ${name}, balance, timestamp
    FROM balances JOIN account_names ON account_names.id = balances.account`
  yield* sql`CREATE VIEW balance_rows AS SELECT timestamp, asset, party, market, type, balance
    FROM changes JOIN account_names ON account_names.id = changes.account`
  yield* sql`CREATE TABLE watermarks (
    name TEXT NOT NULL PRIMARY KEY, timestamp ${int} NOT NULL, height ${int} NOT NULL, updated_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE assets (
    id TEXT NOT NULL PRIMARY KEY, symbol TEXT NOT NULL, name TEXT NOT NULL, decimals ${int} NOT NULL,
    quantum TEXT NOT NULL, status TEXT NOT NULL, seen_at ${int} NOT NULL, fields TEXT NOT NULL DEFAULT '',
    missed ${int} NOT NULL DEFAULT 0) ${strict}`
  yield* sql`CREATE TABLE asset_transitions (
    seq ${serial}, asset TEXT NOT NULL, symbol TEXT NOT NULL, from_status TEXT, to_status TEXT NOT NULL,
    at ${int} NOT NULL, handled ${int} NOT NULL DEFAULT 0, kind TEXT NOT NULL DEFAULT 'status',
    changes TEXT NOT NULL DEFAULT '[]') ${strict}`
  yield* sql`CREATE TABLE parameters (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL, seen_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE drifts (
    seq ${serial}, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    stored TEXT NOT NULL ${digits("stored")}, reported TEXT NOT NULL ${digits("reported")},
    at ${int} NOT NULL, agreed ${int}, ended_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX drifts_open ON drifts (party, asset, market, type) WHERE ended_at IS NULL`
  yield* sql`CREATE INDEX drifts_ended ON drifts (ended_at)`
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

/** What rules remember, each decision when it changed, and what people were asked to pay until the money was seen. */
const rules = Effect.gen(function* () {
  const { sql, int, serial, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE rule_states (
    rule TEXT NOT NULL, subject TEXT NOT NULL, episode ${int} NOT NULL, firing_since ${int},
    observations ${int} NOT NULL, last_observation ${int} NOT NULL, state TEXT NOT NULL, reason TEXT,
    detail TEXT NOT NULL, reason_since ${int} NOT NULL, decided_at ${int} NOT NULL, clearing_since ${int},
    told_at ${int}, PRIMARY KEY (rule, subject)) ${strict}`
  yield* sql`CREATE TABLE decisions (
    seq ${serial}, at ${int} NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL, decision TEXT NOT NULL,
    reason TEXT, detail TEXT NOT NULL) ${strict}`
  yield* sql`CREATE INDEX decisions_of ON decisions (rule, subject, at, seq)`
  yield* sql`CREATE TABLE asks (
    seq ${serial}, rule TEXT NOT NULL, subject TEXT NOT NULL, episode ${int} NOT NULL, from_party TEXT NOT NULL,
    to_party TEXT NOT NULL, asset TEXT NOT NULL, amount TEXT NOT NULL ${digits("amount")}, decimals ${int} NOT NULL,
    detail TEXT NOT NULL, at ${int} NOT NULL, ended_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX asks_open ON asks (rule, subject) WHERE ended_at IS NULL`
})

/** The signer's own memory, the brake, who may move money, and the wire form of each gateway. */
const controls = Effect.gen(function* () {
  const { sql, int, serial, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE spends (
    intent_id TEXT NOT NULL, k ${int} NOT NULL, digest TEXT NOT NULL, signature TEXT NOT NULL, from_key TEXT NOT NULL,
    to_key TEXT NOT NULL, asset_id TEXT NOT NULL, amount TEXT NOT NULL ${digits("amount")},
    spent_at ${int} NOT NULL, signed_at ${int} NOT NULL, ended_at ${int}, PRIMARY KEY (intent_id, k)) ${strict}`
  yield* sql`CREATE INDEX spends_time ON spends (spent_at)`
  yield* sql`CREATE INDEX spends_ended ON spends (ended_at)`
  yield* sql`CREATE TABLE pauses (
    seq ${serial}, scope TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL, at ${int} NOT NULL,
    until ${int}, ended_at ${int}) ${strict}`
  yield* sql`CREATE TABLE halts (
    seq ${serial}, reason TEXT NOT NULL, detail TEXT NOT NULL, at ${int} NOT NULL, ended_at ${int}) ${strict}`
  yield* sql`CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, epoch ${int} NOT NULL, until ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE framings (
    gateway TEXT NOT NULL, chain_id TEXT NOT NULL, framing TEXT NOT NULL, at ${int} NOT NULL,
    PRIMARY KEY (gateway, chain_id)) ${strict}`
})

/** Alerts until delivered, the hash-chained journal, what operators signed, and single values. */
const records = Effect.gen(function* () {
  const { sql, int, serial, strict } = yield* dialect
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
  yield* sql`CREATE INDEX journal_subject ON journal (subject, seq)`
  yield* sql`CREATE TABLE approvals (
    seq ${serial}, subject TEXT NOT NULL, operator TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    signature TEXT NOT NULL, at ${int} NOT NULL, UNIQUE (key, text)) ${strict}`
  yield* sql`CREATE INDEX approvals_subject ON approvals (subject)`
  yield* sql`CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) ${strict}`
})

/**
 * What comparing the ledger with the journal found: each listed transfer and withdrawal of our keys with the payment
 * that it says it is, executions beyond the first, and how far each comparison has come.
 */
const findings = Effect.gen(function* () {
  const { sql, int, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE transfer_cursors (
    party TEXT NOT NULL PRIMARY KEY, cursor TEXT NOT NULL, read_at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE listed_transfers (
    id TEXT NOT NULL PRIMARY KEY, party TEXT NOT NULL, receiver TEXT NOT NULL, asset TEXT NOT NULL,
    amount TEXT NOT NULL ${digits("amount")}, reference TEXT NOT NULL, tag TEXT, status TEXT NOT NULL,
    timestamp ${int} NOT NULL, own ${int} NOT NULL, seen_at ${int} NOT NULL, known_as TEXT, known_at ${int}) ${strict}`
  yield* sql`CREATE INDEX listed_transfers_unknown ON listed_transfers (timestamp) WHERE known_as IS NULL`
  yield* sql`CREATE INDEX listed_transfers_tag ON listed_transfers (party, tag) WHERE tag IS NOT NULL`
  yield* sql`CREATE TABLE executions (
    transfer_id TEXT NOT NULL, timestamp ${int} NOT NULL, seen_at ${int} NOT NULL,
    PRIMARY KEY (transfer_id, timestamp)) ${strict}`
  yield* sql`CREATE TABLE duplicates (
    intent_id TEXT NOT NULL, n ${int} NOT NULL, detail TEXT NOT NULL, seen_at ${int} NOT NULL, acknowledged_at ${int},
    PRIMARY KEY (intent_id, n)) ${strict}`
  yield* sql`CREATE TABLE watches (
    intent_id TEXT NOT NULL, k ${int} NOT NULL, PRIMARY KEY (intent_id, k),
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) ${strict}`
})

/** Terms of mode live that were in force, by the journal entry that put them there, and acceptances of weaker ones. */
const termsInForce = Effect.gen(function* () {
  const { sql, int, serial, strict } = yield* dialect
  yield* sql`CREATE TABLE terms (
    seq ${int} PRIMARY KEY, hash TEXT NOT NULL, terms TEXT NOT NULL, alerts TEXT NOT NULL, at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE terms_accepted (
    id ${serial}, hash TEXT NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL, at ${int} NOT NULL, since ${int},
    ended_at ${int}, in_force_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX terms_accepted_open ON terms_accepted ((ended_at IS NULL)) WHERE ended_at IS NULL`
})
