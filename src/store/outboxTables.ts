import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { dialect } from "./dialect.ts"

/**
 * The money path. What the code promises the schema enforces: one possibly-live attempt per intent, a nonce and a
 * transfer id once, signed columns and final rows for ever as they are.
 */
export const outbox = Effect.gen(function* () {
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
export const guards = Effect.gen(function* () {
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
