import { Effect } from "effect"
import { dialect } from "./dialect.ts"

/** Terms that were in force, by the journal entry that put them there, and those that had to wait first. */
export const terms = Effect.gen(function* () {
  const { sql, int, serial, strict } = yield* dialect
  yield* sql`CREATE TABLE terms (
    seq ${int} PRIMARY KEY, hash TEXT NOT NULL, terms TEXT NOT NULL, alerts TEXT NOT NULL, rules TEXT NOT NULL,
    at ${int} NOT NULL) ${strict}`
  yield* sql`CREATE TABLE terms_waits (
    id ${serial}, hash TEXT NOT NULL, weaker TEXT NOT NULL, since ${int} NOT NULL, block_since ${int},
    told_at ${int}, objected_by TEXT, objection TEXT, objected_at ${int}, ended_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX terms_waits_open ON terms_waits ((ended_at IS NULL)) WHERE ended_at IS NULL`
})

/** Terms are those of mode live, and weaker ones halt a start: none waits for a time, and rules are no part of them. */
export const termsHalt = Effect.gen(function* () {
  const { sql, int, serial, strict } = yield* dialect
  yield* sql`DROP TABLE terms_waits`
  yield* sql`ALTER TABLE terms DROP COLUMN rules`
  yield* sql`DELETE FROM terms WHERE terms NOT LIKE '%"mode":"live"%'`
  yield* sql`CREATE TABLE terms_accepted (
    id ${serial}, hash TEXT NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL, at ${int} NOT NULL, since ${int},
    ended_at ${int}, in_force_at ${int}) ${strict}`
  yield* sql`CREATE UNIQUE INDEX terms_accepted_open ON terms_accepted ((ended_at IS NULL)) WHERE ended_at IS NULL`
})
