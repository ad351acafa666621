import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StoreError } from "./StoreError.ts"

/** Money: digits alone, no more than any amount has. */
const digits = (column: string) =>
  `CHECK (${column} <> '' AND length(${column}) <= 78 AND ${column} NOT GLOB '*[^0-9]*')`

const seq = "seq INTEGER PRIMARY KEY AUTOINCREMENT"
const id = "id INTEGER PRIMARY KEY AUTOINCREMENT"
/** The name of an account. */
const name = "party, asset, market, type"

/**
 * The money path. What the code promises the schema enforces: one possibly-live attempt per intent, a nonce and a
 * transfer id once, signed columns and final rows for ever as they are.
 */
const outbox = [
  `CREATE TABLE intents (
    id TEXT NOT NULL, treasury TEXT NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL,
    episode INTEGER NOT NULL, from_party TEXT NOT NULL, from_key TEXT NOT NULL, to_party TEXT NOT NULL,
    to_key TEXT NOT NULL, asset TEXT NOT NULL, asset_id TEXT NOT NULL, decimals INTEGER NOT NULL,
    amount TEXT NOT NULL ${digits("amount")}, fee_max TEXT NOT NULL ${digits("fee_max")},
    state TEXT NOT NULL, detail TEXT NOT NULL, fee TEXT, settled_at INTEGER,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, submitted_by TEXT,
    command TEXT NOT NULL DEFAULT 'transfer', asked_at INTEGER, UNIQUE (treasury, rule, subject, episode),
    PRIMARY KEY (id)) STRICT`,
  `CREATE INDEX intents_state ON intents (state)`,
  `CREATE INDEX intents_created ON intents (created_at)`,
  `CREATE INDEX intents_updated ON intents (updated_at)`,
  `CREATE INDEX intents_settled ON intents (settled_at)`,
  `CREATE TABLE attempts (
    intent_id TEXT NOT NULL, k INTEGER NOT NULL, chain_id TEXT NOT NULL, party TEXT NOT NULL,
    nonce TEXT NOT NULL, anchor_height INTEGER NOT NULL, anchor_hash TEXT NOT NULL, window_blocks INTEGER NOT NULL,
    input_data BLOB NOT NULL, signature TEXT NOT NULL, transfer_id TEXT NOT NULL,
    difficulty INTEGER NOT NULL, work_index INTEGER NOT NULL DEFAULT 0, pow_tid TEXT, pow_nonce TEXT,
    hash_bare TEXT, hash_prefixed TEXT,
    state TEXT NOT NULL, framing TEXT, sends INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL,
    next_height INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    signed_after INTEGER, window_min INTEGER, window_max INTEGER,
    PRIMARY KEY (intent_id, k), UNIQUE (party, nonce), UNIQUE (transfer_id),
    FOREIGN KEY (intent_id) REFERENCES intents (id)) STRICT`,
  `CREATE UNIQUE INDEX attempts_live ON attempts (intent_id)
    WHERE state IN ('signed', 'sending', 'accepted', 'refused', 'unknown')`,
  `CREATE INDEX attempts_anchor ON attempts (party, anchor_height)`,
  `CREATE TABLE sends (
    ${seq}, intent_id TEXT NOT NULL, k INTEGER NOT NULL, n INTEGER NOT NULL, gateway TEXT NOT NULL,
    framing TEXT NOT NULL, first INTEGER NOT NULL, tx_hash TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT, code INTEGER, data TEXT, log TEXT,
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) STRICT`,
  `CREATE INDEX sends_attempt ON sends (intent_id, k)`,
  `CREATE INDEX sends_started ON sends (started_at)`,
  `CREATE TABLE evidence (
    ${seq}, intent_id TEXT NOT NULL, k INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
    height INTEGER, gateway TEXT NOT NULL, detail TEXT NOT NULL,
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) STRICT`,
  `CREATE INDEX evidence_attempt ON evidence (intent_id, k)`,
]

/**
 * Data reported by gateways. Accounts have short ids: a name of 150 bytes in every row would take most of the time and
 * of the disk.
 */
const observations = [
  `CREATE TABLE account_names (
    ${id}, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    UNIQUE (${name})) STRICT`,
  `CREATE TABLE balances (
    account INTEGER NOT NULL, balance TEXT NOT NULL ${digits("balance")}, timestamp INTEGER NOT NULL,
    PRIMARY KEY (account)) STRICT`,
  `CREATE TABLE changes (
    timestamp INTEGER NOT NULL, account INTEGER NOT NULL, balance TEXT NOT NULL ${digits("balance")},
    PRIMARY KEY (timestamp, account)) STRICT, WITHOUT ROWID`,
  `CREATE VIEW accounts AS SELECT ${name}, balance, timestamp
    FROM balances JOIN account_names ON account_names.id = balances.account`,
  `CREATE VIEW balance_rows AS SELECT timestamp, asset, party, market, type, balance
    FROM changes JOIN account_names ON account_names.id = changes.account`,
  `CREATE TABLE watermarks (
    name TEXT NOT NULL, timestamp INTEGER NOT NULL, height INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (name)) STRICT`,
  `CREATE TABLE assets (
    id TEXT NOT NULL, symbol TEXT NOT NULL, name TEXT NOT NULL, decimals INTEGER NOT NULL,
    quantum TEXT NOT NULL, status TEXT NOT NULL, seen_at INTEGER NOT NULL, fields TEXT NOT NULL DEFAULT '',
    missed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (id)) STRICT`,
  `CREATE TABLE asset_transitions (
    ${seq}, asset TEXT NOT NULL, symbol TEXT NOT NULL, from_status TEXT, to_status TEXT NOT NULL,
    at INTEGER NOT NULL, handled INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL DEFAULT 'status',
    changes TEXT NOT NULL DEFAULT '[]') STRICT`,
  `CREATE TABLE parameters (key TEXT NOT NULL, value TEXT NOT NULL, seen_at INTEGER NOT NULL,
    PRIMARY KEY (key)) STRICT`,
  `CREATE TABLE drifts (
    ${seq}, party TEXT NOT NULL, asset TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    stored TEXT NOT NULL ${digits("stored")}, reported TEXT NOT NULL ${digits("reported")},
    at INTEGER NOT NULL, agreed INTEGER, ended_at INTEGER) STRICT`,
  `CREATE UNIQUE INDEX drifts_open ON drifts (party, asset, market, type) WHERE ended_at IS NULL`,
  `CREATE INDEX drifts_ended ON drifts (ended_at)`,
]

/**
 * The past: balances when reading began, which are no rows of the ledger's history; ranges of it that are read later
 * (backfills), and ranges that are lost (gaps).
 */
const past = [
  `CREATE TABLE openings (
    timestamp INTEGER NOT NULL, asset TEXT NOT NULL, party TEXT NOT NULL, market TEXT NOT NULL, type TEXT NOT NULL,
    balance TEXT NOT NULL ${digits("balance")},
    PRIMARY KEY (timestamp, asset, party, market, type)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE backfills (
    ${seq}, since INTEGER NOT NULL, until INTEGER NOT NULL, next INTEGER NOT NULL,
    updated_at INTEGER NOT NULL) STRICT`,
  `CREATE TABLE gaps (
    ${seq}, since INTEGER NOT NULL, until INTEGER NOT NULL, cause TEXT NOT NULL, seen_at INTEGER NOT NULL) STRICT`,
]

/** State of rules, each changed decision, and funding requests until the money arrives. */
const rules = [
  `CREATE TABLE rule_states (
    rule TEXT NOT NULL, subject TEXT NOT NULL, episode INTEGER NOT NULL, firing_since INTEGER,
    observations INTEGER NOT NULL, last_observation INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
    detail TEXT NOT NULL, reason_since INTEGER NOT NULL, decided_at INTEGER NOT NULL, clearing_since INTEGER,
    told_at INTEGER, PRIMARY KEY (rule, subject)) STRICT`,
  `CREATE TABLE decisions (
    ${seq}, at INTEGER NOT NULL, rule TEXT NOT NULL, subject TEXT NOT NULL, decision TEXT NOT NULL,
    reason TEXT, detail TEXT NOT NULL) STRICT`,
  `CREATE INDEX decisions_of ON decisions (rule, subject, at, seq)`,
  `CREATE TABLE asks (
    ${seq}, rule TEXT NOT NULL, subject TEXT NOT NULL, episode INTEGER NOT NULL, from_party TEXT NOT NULL,
    to_party TEXT NOT NULL, asset TEXT NOT NULL, amount TEXT NOT NULL ${digits("amount")}, decimals INTEGER NOT NULL,
    detail TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER) STRICT`,
  `CREATE UNIQUE INDEX asks_open ON asks (rule, subject) WHERE ended_at IS NULL`,
]

/** The signer's own memory, pauses and halts, and the wire form of the chain. */
const controls = [
  `CREATE TABLE spends (
    intent_id TEXT NOT NULL, k INTEGER NOT NULL, digest TEXT NOT NULL, signature TEXT NOT NULL,
    from_key TEXT NOT NULL,
    to_key TEXT NOT NULL, asset_id TEXT NOT NULL, amount TEXT NOT NULL ${digits("amount")},
    spent_at INTEGER NOT NULL, signed_at INTEGER NOT NULL, ended_at INTEGER, PRIMARY KEY (intent_id, k)) STRICT`,
  `CREATE INDEX spends_time ON spends (spent_at)`,
  `CREATE INDEX spends_ended ON spends (ended_at)`,
  `CREATE TABLE pauses (
    ${seq}, scope TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL, at INTEGER NOT NULL,
    until INTEGER, ended_at INTEGER) STRICT`,
  `CREATE TABLE halts (
    ${seq}, reason TEXT NOT NULL, detail TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER) STRICT`,
  `CREATE TABLE framings (
    gateway TEXT NOT NULL, chain_id TEXT NOT NULL, framing TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (gateway, chain_id)) STRICT`,
]

/**
 * Alerts and their deliveries, the hash-chained journal, approvals, and settings. `next_at` of a delivery is the time
 * of its next try; once it is delivered, the number of the alert whose key its message had.
 */
const records = [
  `CREATE TABLE alerts (
    ${seq}, dedup TEXT NOT NULL, severity TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
    detail TEXT NOT NULL, fields TEXT NOT NULL, at INTEGER NOT NULL, resolves TEXT, name TEXT NOT NULL DEFAULT '',
    repeats INTEGER NOT NULL DEFAULT 0, ended_at INTEGER, acked_at INTEGER, acked_by TEXT, acked_reason TEXT,
    UNIQUE (dedup)) STRICT`,
  `CREATE INDEX alerts_open ON alerts (seq) WHERE ended_at IS NULL`,
  `CREATE TABLE deliveries (
    alert INTEGER NOT NULL, receiver TEXT NOT NULL, state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL, error TEXT, updated_at INTEGER NOT NULL,
    aside INTEGER NOT NULL DEFAULT 0, round INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (alert, receiver), FOREIGN KEY (alert) REFERENCES alerts (seq)) STRICT`,
  `CREATE INDEX deliveries_pending ON deliveries (state, next_at)`,
  `CREATE TABLE silences (
    ${id}, name TEXT, kind TEXT, subject TEXT, author TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL,
    until INTEGER NOT NULL) STRICT`,
  `CREATE TABLE journal (
    seq INTEGER NOT NULL, at INTEGER NOT NULL, treasury TEXT NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (seq)) STRICT`,
  `CREATE INDEX journal_subject ON journal (subject, seq)`,
  `CREATE TABLE approvals (
    ${seq}, subject TEXT NOT NULL, operator TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    signature TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE (key, text)) STRICT`,
  `CREATE INDEX approvals_subject ON approvals (subject)`,
  `CREATE TABLE settings (key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key)) STRICT`,
]

/**
 * Results of comparing the ledger with the journal: each listed transfer and withdrawal of our keys with the payment
 * that it claims to be, executions beyond the first, and how far each comparison has come.
 */
const auditTables = [
  `CREATE TABLE transfer_cursors (
    party TEXT NOT NULL, cursor TEXT NOT NULL, read_at INTEGER NOT NULL, PRIMARY KEY (party)) STRICT`,
  `CREATE TABLE listed_transfers (
    id TEXT NOT NULL, party TEXT NOT NULL, receiver TEXT NOT NULL, asset TEXT NOT NULL,
    amount TEXT NOT NULL ${digits("amount")}, reference TEXT NOT NULL, tag TEXT, status TEXT NOT NULL,
    timestamp INTEGER NOT NULL, own INTEGER NOT NULL, seen_at INTEGER NOT NULL, known_as TEXT,
    known_at INTEGER, PRIMARY KEY (id)) STRICT`,
  `CREATE INDEX listed_transfers_unknown ON listed_transfers (timestamp) WHERE known_as IS NULL`,
  `CREATE INDEX listed_transfers_tag ON listed_transfers (party, tag) WHERE tag IS NOT NULL`,
  `CREATE TABLE executions (
    transfer_id TEXT NOT NULL, timestamp INTEGER NOT NULL, seen_at INTEGER NOT NULL,
    PRIMARY KEY (transfer_id, timestamp)) STRICT`,
  `CREATE TABLE duplicates (
    intent_id TEXT NOT NULL, n INTEGER NOT NULL, detail TEXT NOT NULL, seen_at INTEGER NOT NULL,
    acknowledged_at INTEGER,
    PRIMARY KEY (intent_id, n)) STRICT`,
  `CREATE TABLE watches (
    intent_id TEXT NOT NULL, k INTEGER NOT NULL, PRIMARY KEY (intent_id, k),
    FOREIGN KEY (intent_id, k) REFERENCES attempts (intent_id, k)) STRICT`,
]

/** Terms that were in force in mode live, by their journal entry, and acceptances of weaker ones. */
const termsInForce = [
  `CREATE TABLE terms (
    seq INTEGER, hash TEXT NOT NULL, terms TEXT NOT NULL, alerts TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (seq)) STRICT`,
  `CREATE TABLE terms_accepted (
    ${id}, hash TEXT NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, since INTEGER,
    ended_at INTEGER, in_force_at INTEGER) STRICT`,
  `CREATE UNIQUE INDEX terms_accepted_open ON terms_accepted ((ended_at IS NULL)) WHERE ended_at IS NULL`,
]

/** A trigger that refuses changes of rows for which the condition holds. */
const forbid = (name: string, on: string, when: string, why: string) =>
  `CREATE TRIGGER ${name} BEFORE ${on} WHEN ${when} BEGIN SELECT RAISE(ABORT, '${why}'); END`

/** Signed columns and final rows never change. */
const guards = [
  forbid(
    "attempts_signed",
    "UPDATE ON attempts",
    `OLD.input_data <> NEW.input_data OR OLD.signature <> NEW.signature OR OLD.nonce <> NEW.nonce
     OR OLD.transfer_id <> NEW.transfer_id OR OLD.anchor_height <> NEW.anchor_height OR OLD.chain_id <> NEW.chain_id
     OR OLD.party <> NEW.party OR OLD.window_blocks > NEW.window_blocks`,
    "signed columns never change",
  ),
  forbid(
    "attempts_final",
    "UPDATE ON attempts",
    `OLD.state IN ('confirmed', 'failed', 'expired')`,
    "a final attempt never changes",
  ),
  forbid("attempts_kept", "DELETE ON attempts", `1`, "attempts are kept"),
  forbid(
    "intents_final",
    "UPDATE ON intents",
    `OLD.state IN ('confirmed', 'failed', 'denied', 'rejected', 'cancelled', 'abandoned', 'rehearsed')`,
    "a final intent never changes",
  ),
  forbid("intents_kept", "DELETE ON intents", `1`, "intents are kept"),
  forbid(
    "intents_decided",
    "UPDATE ON intents",
    `OLD.amount <> NEW.amount OR OLD.from_key <> NEW.from_key
     OR OLD.to_key <> NEW.to_key OR OLD.asset_id <> NEW.asset_id`,
    "a decided payment never changes",
  ),
  forbid("intents_commanded", "UPDATE ON intents", `OLD.command <> NEW.command`, "a decided payment never changes"),
  forbid(
    "intents_approved",
    "UPDATE ON intents",
    `OLD.submitted_by IS DISTINCT FROM NEW.submitted_by OR OLD.rule <> NEW.rule
     OR OLD.fee_max <> NEW.fee_max OR OLD.created_at <> NEW.created_at`,
    "what operators approve never changes",
  ),
  forbid("approvals_given", "UPDATE ON approvals", `1`, "an approval never changes"),
  forbid("approvals_kept", "DELETE ON approvals", `1`, "approvals are kept"),
]

/** Version of the tables above; increase it with each change. A store of another version is not opened. */
export const schemaVersion = 4

/** Every table, view, index and trigger, as SQLite takes them. */
export const definitions: ReadonlyArray<string> = [
  ...observations,
  ...past,
  ...rules,
  ...outbox,
  ...controls,
  ...records,
  ...auditTables,
  ...termsInForce,
  ...guards,
]

/** Fails where another build made the tables. */
const otherBuild = (found: unknown) =>
  new StoreError({
    operation: "open",
    cause:
      `another build made its tables (version ${found}, not ${schemaVersion}); run that build, or begin ` +
      'in an empty data directory, where "cofferer adopt" takes the payments of this store for known',
  })

/** Creates the tables of a new store, and refuses a store whose tables another build made. */
export const useSchema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql`SELECT user_version AS version, (SELECT count(*) FROM sqlite_master) AS tables
    FROM pragma_user_version`
  if (found?.["tables"] === 0) {
    yield* sql.unsafe([...definitions, `PRAGMA user_version = ${schemaVersion}`].join(";\n")).raw
  } else if (found?.["version"] !== schemaVersion) return yield* otherBuild(found?.["version"])
})
