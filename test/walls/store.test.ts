import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { approve } from "../../src/http/approvals.ts"
import { approvalOf } from "../../src/payments/approvalOf.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { payersOf, pollWorkAndEpoch } from "../../src/poller/pollNetwork.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { entryHash, genesis } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { daemonHere } from "../support/daemonHere.ts"
import { round } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { operatorKey, operatorSigns } from "../support/Operators.ts"
import { withSandbox } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"
import { waitUntil } from "../support/until.ts"

const dir = tempDir("tampered")
const fixture = (name: string): string => readFileSync(new URL(`${name}`, import.meta.url), "utf8")
const at = (...names: ReadonlyArray<string>): string => join(dir, ...names)
const file = at("treasury.yaml")

const copy = (from: string, to: string): string => {
  mkdirSync(at(to), { recursive: true })
  for (const name of [databaseFile, `${databaseFile}-wal`]) {
    if (existsSync(at(from, name))) cpSync(at(from, name), at(to, name))
  }
  return at(to)
}

/** What a treasury leaves behind that paid twice, once on the word of two operators; and a copy from the middle. */
const pays = (dataDir: string, isWhole: boolean) =>
  withSandbox({ text: fixture("scenario.yaml"), dir: join(dataDir, "sandbox") }, function* (_, sandbox) {
    const treasury = yield* loadTreasury(file)
    const options = { treasury, mode: treasury.mode, dataDir, gatewayUrl: sandbox.url }
    yield* Effect.gen(function* () {
      yield* prepare(options)
      yield* pollWorkAndEpoch(payersOf(treasury.parties.values()))
      yield* pollAssets()
      const outbox = yield* Outbox
      for (let i = 0; i < 4; i++) yield* round(options, sandbox)
      if (isWhole) copy("data", "early")
      const waiting = (yield* outbox.open).find(({ state }) => state === "awaiting_approval")
      const needed = approvalOf(treasury, waiting!)
      for (const one of ["ana", "ben"]) {
        yield* approve(treasury, waiting!.id, { signature: operatorSigns(one, needed!.text) })
      }
      const states = Effect.map(outbox.recent(10), (all) => all.map(({ state }) => state).join())
      const arePaid = Effect.map(states, (all) => all === "confirmed,confirmed")
      yield* waitUntil("the end of both payments", arePaid, round(options, sandbox))
    }).pipe(Effect.provide(daemonHere(options)))
  })

/** Who can write the file needs no trigger's leave. */
const unguarded = (db: DatabaseSync): void => {
  const triggers = db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`)
  db.exec("PRAGMA foreign_keys = OFF")
}

type Row = Parameters<typeof entryHash>[0]

/** Numbers and hashes of the whole journal made anew, as the program makes them. */
const rehashed = (db: DatabaseSync): void => {
  const rows = db.prepare("SELECT * FROM journal ORDER BY seq").all() as unknown as ReadonlyArray<Row>
  db.exec("DELETE FROM journal")
  let last = genesis
  for (const entry of rows) {
    const row = { ...entry, seq: last.seq + 1, prev: last.hash }
    last = { seq: row.seq, hash: entryHash(row) }
    const { seq, at, treasury, kind, subject, body, prev } = row
    db.prepare("INSERT INTO journal (seq, at, treasury, kind, subject, body, prev, hash) VALUES (?,?,?,?,?,?,?,?)").run(
      ...[seq, at, treasury, kind, subject, body, prev, last.hash],
    )
  }
}

const eve = operatorKey("eve").publicKey
const payee = "(SELECT id FROM intents WHERE rule = 'keep-eve')"

/** Statements on the rows as they are; nothing of the journal is made to fit. */
const rows: Readonly<Record<string, string>> = {
  "an entry's body": "UPDATE journal SET body = '{}' WHERE seq = 5",
  "an entry's time": "UPDATE journal SET at = at - 1 WHERE kind = 'decision'",
  "an entry's kind": "UPDATE journal SET kind = 'note' WHERE kind = 'permit'",
  "an entry's subject": "UPDATE journal SET subject = 'x' WHERE kind = 'approval'",
  "an entry gone": "DELETE FROM journal WHERE kind = 'permit'",
  "the last entries gone": "DELETE FROM journal WHERE seq > (SELECT max(seq) - 3 FROM journal)",
  "an entry put in at the end":
    "INSERT INTO journal SELECT seq + 1, at, treasury, kind, subject, body, hash, hash FROM journal ORDER BY seq DESC LIMIT 1",
  "two entries in each other's place":
    "UPDATE journal SET seq = -5 WHERE seq = 5; UPDATE journal SET seq = 5 WHERE seq = 6; UPDATE journal SET seq = 6 WHERE seq = -5",
  "the journal gone": "DELETE FROM journal",
  "a payment's amount": "UPDATE intents SET amount = '1' WHERE rule = 'keep-bob'",
  "a payment's receiver": "UPDATE intents SET to_key = from_key WHERE rule = 'keep-bob'",
  "a payment's rule": "UPDATE intents SET rule = 'keep-gus' WHERE rule = 'keep-bob'",
  "a payment's end": "UPDATE intents SET state = 'failed' WHERE rule = 'keep-bob'",
  "a payment's fee": "UPDATE intents SET fee = '0'",
  "a payment that is open again": "UPDATE intents SET state = 'reserved', settled_at = NULL WHERE rule = 'keep-eve'",
  "a payment gone": `DELETE FROM evidence WHERE intent_id = ${payee}; DELETE FROM sends WHERE intent_id = ${payee}; DELETE FROM watches; DELETE FROM attempts WHERE intent_id = ${payee}; DELETE FROM intents WHERE rule = 'keep-eve'`,
  "an attempt's bytes": "UPDATE attempts SET input_data = x'0801'",
  "an attempt's signature": `UPDATE attempts SET signature = '${"0".repeat(128)}'`,
  "an attempt's end": "UPDATE attempts SET state = 'expired'",
  "an attempt's work": "UPDATE attempts SET hash_bare = hash_prefixed",
  "the bytes of one payment at another":
    "UPDATE attempts SET input_data = (SELECT input_data FROM attempts AS a WHERE a.intent_id <> attempts.intent_id LIMIT 1)",
  "a spend's amount": "UPDATE spends SET amount = '1'",
  "a spend's digest": `UPDATE spends SET digest = '${"0".repeat(64)}'`,
  "a spend gone": "DELETE FROM spends WHERE rowid = (SELECT max(rowid) FROM spends)",
  "a spend more":
    "INSERT INTO spends SELECT 'x', k, digest, signature, from_key, to_key, asset_id, amount, spent_at, signed_at, ended_at FROM spends LIMIT 1",
  "an approval gone": "DELETE FROM approvals WHERE operator = 'ana'",
  "an approval of another operator": "UPDATE approvals SET operator = 'chloe' WHERE operator = 'ana'",
  "an approval under another key": `UPDATE approvals SET key = '${eve}' WHERE operator = 'ana'`,
  "an approval of another text": "UPDATE approvals SET text = replace(text, '150', '950')",
  "a send gone": "DELETE FROM sends WHERE n = 1",
  "a send's answer": "UPDATE sends SET code = 99 WHERE code = 0",
  "evidence of another kind": "UPDATE evidence SET kind = 'absent' WHERE kind = 'executed'",
  "evidence gone": "DELETE FROM evidence",
}

/** The same, and all numbers and hashes of the journal made to fit. */
const anew: Readonly<Record<string, string>> = {
  "an entry before a permit gone": "DELETE FROM journal WHERE kind = 'decision'",
  "an entry before a permit changed": "UPDATE journal SET at = at + 1 WHERE kind = 'started'",
  "a name in the configuration's entry":
    'UPDATE journal SET body = replace(body, \'"toName":"bob"\', \'"toName":"acme"\') WHERE kind = \'config\'',
  "a permit's line": "UPDATE journal SET body = replace(body, '\"line\":1', '\"line\":7') WHERE kind = 'permit'",
  "a permit gone": "DELETE FROM journal WHERE kind = 'permit'",
  "the permits of two payments exchanged": `UPDATE journal SET subject = CASE subject WHEN ${payee} THEN (SELECT id FROM intents WHERE rule = 'keep-bob') ELSE ${payee} END WHERE kind = 'permit'`,
  "a permit after its signature":
    "UPDATE journal SET seq = -1 WHERE seq = (SELECT min(seq) FROM journal WHERE kind = 'permit'); UPDATE journal SET seq = seq - 1 WHERE seq > 0 AND seq = (SELECT min(seq) FROM journal WHERE kind = 'signature'); UPDATE journal SET seq = (SELECT min(seq) + 1 FROM journal WHERE kind = 'signature') WHERE seq = -1",
  "an approval's operator": "UPDATE journal SET body = replace(body, '\"ana\"', '\"chloe\"') WHERE kind = 'approval'",
  "an amount, everywhere":
    "UPDATE journal SET body = replace(body, '150000000', '950000000'); UPDATE intents SET amount = '950000000'; UPDATE spends SET amount = '950000000'",
  "a payment and all that tells of it gone": `DELETE FROM journal WHERE subject = ${payee}; DELETE FROM evidence WHERE intent_id = ${payee}; DELETE FROM sends WHERE intent_id = ${payee}; DELETE FROM watches; DELETE FROM spends WHERE intent_id = ${payee}; DELETE FROM attempts WHERE intent_id = ${payee}; DELETE FROM approvals; DELETE FROM intents WHERE rule = 'keep-eve'`,
  "the tail after the last signature": "DELETE FROM journal WHERE kind IN ('send', 'work', 'evidence')",
  "another treasury": "UPDATE journal SET treasury = 'acme'",
}

const verified = (data: string) => callCofferer(["verify", "-c", file, "--data", data])

describe("a journal and a store that somebody changed", () => {
  it.effect("are noticed by verify, or by the start", function* () {
    const text = `${fixture("treasury.yaml")}store: { watermark: "${at("watermark")}" }\n`
    writeFileSync(file, text)
    for (const name of ["data", "twin"]) mkdirSync(at(name, "sandbox"), { recursive: true })
    yield* TestClock.setTime(1_800_000_000_000)
    yield* pays(at("twin"), false)
    rmSync(at("watermark"))
    yield* TestClock.setTime(1_800_000_600_000)
    yield* pays(at("data"), true)
    const whole = yield* Effect.promise(() => verified(copy("data", "whole")))
    assert.deepStrictEqual([whole.code, whole.stderr], [0, ""], "as it is")

    let tried = 0
    const through: Array<string> = []
    const attack = Effect.fnUntraced(function* (title: string, change: (db: DatabaseSync) => void, from = "data") {
      const data = copy(from, `attack${tried++}`)
      const db = new DatabaseSync(join(data, databaseFile))
      unguarded(db)
      const before = db.prepare("SELECT total_changes() AS n").get()!["n"]
      change(db)
      const isChanged = from !== "data" || db.prepare("SELECT total_changes() AS n").get()!["n"] !== before
      db.close()
      assert.isTrue(isChanged, `${title}: nothing was changed`)
      const { code, stderr } = yield* Effect.promise(() => verified(data))
      if (code === 0) through.push(title)
      else assert.match(stderr, /^cofferer: (journal broken: )?.+\n$/, title)
    })
    for (const [title, sql] of Object.entries(rows)) yield* attack(title, (db) => db.exec(sql))
    for (const [title, sql] of Object.entries(anew)) {
      yield* attack(`${title}, rehashed`, (db) => {
        db.exec(sql)
        rehashed(db)
      })
    }
    yield* attack("an older copy of the store", () => undefined, "early")
    yield* attack("the store of another installation", () => undefined, "twin")
    yield* attack(
      "the store of another installation under our name",
      (db) => {
        const own = new DatabaseSync(join(at("whole"), databaseFile))
        const { value } = own.prepare("SELECT value FROM settings WHERE key = 'installation'").get()!
        own.close()
        db.prepare("UPDATE settings SET value = ? WHERE key = 'installation'").run(value!)
      },
      "twin",
    )

    // A copy is as whole as its original: the start sees that the file is another one.
    const treasury = yield* loadTreasury(file)
    for (const [title, from] of [
      ["a copy of today", "data"],
      ["an older copy", "early"],
      ["another store", "twin"],
    ] as const) {
      const dataDir = copy(from, `start${tried++}`)
      mkdirSync(join(dataDir, "sandbox"))
      cpSync(at("data", "sandbox"), join(dataDir, "sandbox"), { recursive: true })
      const options = { treasury, mode: treasury.mode, dataDir, gatewayUrl: "http://127.0.0.1:1" }
      const halts = yield* prepare(options).pipe(
        Effect.andThen(Effect.flatMap(Controls, (controls) => controls.halts)),
        Effect.provide(daemonHere(options)),
      )
      if (!halts.some(({ reason }) => reason === "restored_store")) through.push(`started on ${title}`)
    }
    console.log(`store: tried ${tried} through ${through.length}`)
    assert.deepStrictEqual(through, [])
    assert.isAtLeast(tried, 20)
  })
})
