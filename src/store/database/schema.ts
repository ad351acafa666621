import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StoreError } from "./StoreError.ts"

/** Words that differ by database: the same tables on SQLite and PostgreSQL. */
const dialect = Effect.map(SqlClient.SqlClient, (sql) => {
  const word = (sqlite: string, pg: string) => sql.literal(sql.onDialectOrElse({ pg: () => pg, orElse: () => sqlite }))
  return {
    sql,
    int: word("INTEGER", "BIGINT"),
    bytes: word("BLOB", "BYTEA"),
    serial: word("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    strict: word("STRICT", ""),
    keyed: word("STRICT, WITHOUT ROWID", ""),
    digits: (column: string) =>
      sql.literal(
        sql.onDialectOrElse({
          pg: () => `CHECK (${column} ~ '^[0-9]{1,78}$')`,
          orElse: () => `CHECK (${column} <> '' AND length(${column}) <= 78 AND ${column} NOT GLOB '*[^0-9]*')`,
        }),
      ),
  }
})

/**
 * The money path. What the code promises the schema enforces: one possibly-live attempt per intent, a nonce and a
 * transfer id once, signed columns and final rows for ever as they are.
 */
const outbox = Effect.gen(function* () {
  const { sql, int, bytes, serial, strict, digits } = yield* dialect
  yield* sql`CREATE TABLE intents (
    id TEXT NOT NULL PRIMARY KEY, treasury TEXT NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL,
    episode ${int} NOT NULL, from_party TEXT NOT NULL, from_key TEXT NOT NULL, to_party TEXT NOT NULL,
    to_key TEXT NOT NULL, asset TEXT NOT NULL, asset_id TEXT NOT NULL, decimals ${int} NOT NULL,
    amount TEXT NOT NULL ${digits("amount")}, fee_max TEXT NOT NULL ${digits("fee_max")},
    state TEXT NOT NULL, detail TEXT NOT NULL, fee TEXT, settled_at ${int},
    created_at ${int} NOT NULL, updated_at ${int} NOT NULL, submitted_by TEXT,
    command TEXT NOT NULL DEFAULT 'transfer', asked_at ${int}, UNIQUE (treasury, rule, subject, episode)) ${strict}`
  yield* sql`CREATE INDEX intents_state ON intents (state)`
  yield* sql`CREATE INDEX intents_created ON intents (created_at)`
  yield* sql`CREATE INDEX intents_updated ON intents (updated_at)`
  yield* sql`CREATE INDEX intents_settled ON intents (settled_at)`
  yield* sql`CREATE TABLE attempts (
    intent_id TEXT NOT NULL REFERENCES intents (id), k ${int} NOT NULL, chain_id TEXT NOT NULL, party TEXT NOT NULL,
    nonce TEXT NOT NULL, anchor_height ${int} NOT NULL, anchor_hash TEXT NOT NULL, window_blocks ${int} NOT NULL,
    input_data ${bytes} NOT NULL, signature TEXT NOT NULL, transfer_id TEXT NOT NULL UNIQUE,
    difficulty ${int} NOT NULL, work_index ${int} NOT NULL DEFAULT 0, pow_tid TEXT, pow_nonce TEXT,
    hash_bare TEXT, hash_prefixed TEXT,
    state TEXT NOT NULL, framing TEXT, sends ${int} NOT NULL DEFAULT 0, next_at ${int} NOT NULL,
    next_height ${int} NOT NULL DEFAULT 0, created_at ${int} NOT NULL, updated_at ${int} NOT NULL,
    signed_after ${int}, window_min ${int}, window_max ${int},
    PRIMARY KEY (intent_id, k), UNIQUE (party, nonce)) ${strict}`
  yield* sql`CREATE UNIQUE INDEX attempts_live ON attempts (intent_id)
    WHERE state IN ('signed', 'sending', 'accepted', 'refused', 'unknown')`
  yield* sql`CREATE INDEX attempts_anchor ON attempts (party, anchor_height)`
  yield* sql`CREATE TABLE sends (
    seq ${serial}, intent_id TEXT NOT NULL, k ${int} NOT NULL, n ${int} NOT NULL, gateway TEXT NOT NULL,
    framing TEXT NOT NULL, first ${int} NOT NULL, tx_hash TEXT NOT NULL, started_at ${int} NOT NULL, ended_at ${int},
    outcome TEXT, code ${int}, data TEXT, log TEXT,
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) ${strict}`
  yield* sql`CREATE INDEX sends_attempt ON sends (intent_id, k)`
  yield* sql`CREATE INDEX sends_started ON sends (started_at)`
  yield* sql`CREATE TABLE evidence (
    seq ${serial}, intent_id TEXT NOT NULL, k ${int} NOT NULL, kind TEXT NOT NULL, at ${int} NOT NULL,
    height ${int}, gateway TEXT NOT NULL, detail TEXT NOT NULL,
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) ${strict}`
  yield* sql`CREATE INDEX evidence_attempt ON evidence (intent_id, k)`
})

/** The triggers exist for SQLite; PostgreSQL gets functions of the same meaning with its adapter. */
const guards = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  if (sql.onDialectOrElse({ pg: () => true, orElse: () => false })) return
  const forbid = (name: string, on: string, when: string, why: string) =>
    sql.unsafe(`CREATE TRIGGER ${name} BEFORE ${on} WHEN ${when} BEGIN SELECT RAISE(ABORT, '${why}'); END`)
  yield* forbid(
    "attempts_signed",
    "UPDATE ON attempts",
    `OLD.input_data <> NEW.input_data OR OLD.signature <> NEW.signature OR OLD.nonce <> NEW.nonce
     OR OLD.transfer_id <> NEW.transfer_id OR OLD.anchor_height <> NEW.anchor_height OR OLD.chain_id <> NEW.chain_id
     OR OLD.party <> NEW.party OR OLD.window_blocks > NEW.window_blocks`,
    "signed columns never change",
  )
  yield* forbid(
    "attempts_final",
    "UPDATE ON attempts",
    "OLD.state IN ('confirmed', 'failed', 'expired')",
    "a final attempt never changes",
  )
  yield* forbid("attempts_kept", "DELETE ON attempts", "1", "attempts are kept")
  yield* forbid(
    "intents_final",
    "UPDATE ON intents",
    "OLD.state IN ('confirmed', 'failed', 'denied', 'rejected', 'cancelled', 'abandoned', 'rehearsed')",
    "a final intent never changes",
  )
  yield* forbid("intents_kept", "DELETE ON intents", "1", "intents are kept")
  yield* forbid(
    "intents_decided",
    "UPDATE ON intents",
    `OLD.amount <> NEW.amount OR OLD.from_key <> NEW.from_key OR OLD.to_key <> NEW.to_key
     OR OLD.asset_id <> NEW.asset_id`,
    "a decided payment never changes",
  )
  yield* forbid(
    "intents_commanded",
    "UPDATE ON intents",
    "OLD.command <> NEW.command",
    "a decided payment never changes",
  )
  yield* forbid(
    "intents_approved",
    "UPDATE ON intents",
    `OLD.submitted_by IS NOT NEW.submitted_by OR OLD.rule <> NEW.rule OR OLD.fee_max <> NEW.fee_max
     OR OLD.created_at <> NEW.created_at`,
    "what operators approve never changes",
  )
  yield* forbid("approvals_given", "UPDATE ON approvals", "1", "an approval never changes")
  yield* forbid("approvals_kept", "DELETE ON approvals", "1", "approvals are kept")
})

/** Version of the tables below; increase it with each change. A store of another version is not opened. */
const schemaVersion = 4

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
 * Data reported by gateways. Accounts have short ids: their names, 150 bytes each, would be written with every row, and
 * take most of the time and of the disk.
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

/** State of rules, each changed decision, and funding requests until the money arrives. */
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
    detail TEXT NOT NULL, fields TEXT NOT NULL, at ${int} NOT NULL, resolves TEXT, name TEXT NOT NULL DEFAULT '',
    repeats ${int} NOT NULL DEFAULT 0, ended_at ${int}, acked_at ${int}, acked_by TEXT, acked_reason TEXT) ${strict}`
  yield* sql`CREATE INDEX alerts_open ON alerts (seq) WHERE ended_at IS NULL`
  yield* sql`CREATE TABLE deliveries (
    alert ${int} NOT NULL REFERENCES alerts (seq), receiver TEXT NOT NULL, state TEXT NOT NULL,
    tries ${int} NOT NULL DEFAULT 0, next_at ${int} NOT NULL, error TEXT, updated_at ${int} NOT NULL,
    aside ${int} NOT NULL DEFAULT 0, round ${int} NOT NULL DEFAULT 0,
    PRIMARY KEY (alert, receiver)) ${strict}`
  yield* sql`CREATE INDEX deliveries_pending ON deliveries (state, next_at)`
  yield* sql`CREATE TABLE silences (
    id ${serial}, name TEXT, kind TEXT, subject TEXT, author TEXT NOT NULL, reason TEXT NOT NULL, at ${int} NOT NULL,
    until ${int} NOT NULL) ${strict}`
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
 * Results of comparing the ledger with the journal: each listed transfer and withdrawal of our keys with the payment
 * that it claims to be, executions beyond the first, and how far each comparison has come.
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
