import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import { formatAmount } from "../../src/domain/Amount.ts"
import { privateKeyOf } from "../../src/sandbox/Keys.ts"
import { SandboxError } from "../../src/sandbox/LedgerFile.ts"
import { it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-sandbox-"))),
  (dir) => Effect.sync(() => rmSync(dir, { recursive: true, force: true })),
)

const pay = Effect.fnUntraced(function* (client: Test.TestClient, change: Partial<Test.Draft> = {}) {
  const command = Test.payment(client, "bob", one, { asset: usdt })
  const tx = Test.signed(client, { from: "alice", command, ...(yield* Test.head(client)), ...change })
  return { tx, reply: yield* Test.submit(client, tx) }
})

const ledgerOf = (client: Test.TestClient) => Effect.map(Test.request(client, "/sandbox/ledger"), ({ json }) => json)

/** Everything that readers can see. */
const readAll = (client: Test.TestClient) =>
  Effect.forEach(
    [
      "/blockchain/height",
      "/api/v2/assets",
      "/api/v2/accounts",
      "/api/v2/transfers",
      "/api/v2/epoch",
      "/sandbox/ledger",
      "/sandbox/faults",
      `/api/v2/balance/changes?dateRange.startTimestamp=${BigInt(Date.now() - 3_600_000) * 1_000_000n}`,
    ],
    (path) => Effect.map(Test.request(client, path), ({ json }) => json),
  )

/** What a kill -9 leaves: the files as they are on disk at this moment. */
const snapshot = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true })
  for (const name of ["ledger.db", "ledger.db-wal"]) {
    if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name))
  }
}

describe("the ledger file", () => {
  it.live("shows the same network after a restart, without blocks in between", function* () {
    const dir = yield* folder
    const text = scenarioText({}, { deposits: [{ party: "eve", asset: "VEGA", amount: "0.000000000000000001" }] })
    const before = yield* withSandbox({ isHere: true, dir, text }, function* (client) {
      for (let n = 0; n < 4; n++) {
        yield* pay(client)
        yield* Test.step(client)
      }
      const later = BigInt(Date.now() + 3_600_000) * 1_000_000n
      yield* pay(client, { command: Test.payment(client, "eve", one, { asset: usdt, deliverOn: later }) })
      yield* Test.step(client, 3)
      yield* Test.request(client, "/sandbox/faults", {
        body: '{"operation":"submit","kind":"http_status","status":503,"count":4}',
      })
      yield* Test.request(client, "/transaction", { body: "{}" })
      return yield* readAll(client)
    })
    const after = yield* withSandbox({ isHere: true, dir, text }, readAll)
    assert.deepStrictEqual(after, before)
  })

  it.live("goes on counting after a restart", function* () {
    const dir = yield* folder
    const first = yield* withSandbox({ isHere: true, dir }, (client) => Test.step(client, 5))
    const second = yield* withSandbox({ isHere: true, dir }, function* (client, sandbox) {
      const time = (yield* sandbox.ledger.head).time
      const height = yield* Test.step(client)
      assert.isTrue((yield* sandbox.ledger.head).time > time)
      return height
    })
    assert.deepStrictEqual([first, second], [6, 7])
  })

  it.live("keeps an accepted payment through a kill and executes it once", function* () {
    const dir = yield* folder
    const killed = join(dir, "killed")
    const tx = yield* withSandbox({ isHere: true, dir: join(dir, "first") }, function* (client) {
      const { tx, reply } = yield* pay(client)
      assert.strictEqual(Test.at(reply, "success"), true)
      snapshot(join(dir, "first"), killed)
      return tx
    })
    yield* withSandbox({ isHere: true, dir: killed }, function* (client, sandbox) {
      const known = yield* Test.submit(client, tx)
      assert.strictEqual(Test.at(known, "details.0.message"), "tx already exists in cache")
      yield* Test.step(client, 2)
      const all = yield* sandbox.ledger.executed
      assert.deepStrictEqual(
        all.map((entry) => entry.hash),
        [tx.hash],
      )
      assert.strictEqual(formatAmount(yield* sandbox.ledger.balance("bob", "USDT"), 6), "51.00")
    })
  })

  it.live("remembers what was used: no replay after a restart", function* () {
    const dir = yield* folder
    const { head, tid } = yield* withSandbox({ isHere: true, dir }, function* (client) {
      const head = yield* Test.head(client)
      const { tx } = yield* pay(client, { nonce: 3n })
      yield* Test.step(client)
      return { head, tid: tx.tid }
    })
    yield* withSandbox({ isHere: true, dir }, function* (client) {
      const nonce = yield* pay(client, { nonce: 3n, ...head })
      assert.strictEqual(Test.at(nonce.reply, "data"), "nonce already used by party")
      const work = yield* pay(client, { tid, ...head })
      assert.strictEqual(Test.at(work.reply, "data"), "proof of work tid already used")
    })
  })

  it.live("holds exactly what was answered at any moment of a run", function* () {
    const dir = yield* folder
    const seen: Array<unknown> = []
    yield* withSandbox({ isHere: true, dir: join(dir, "run") }, function* (client) {
      for (let n = 0; n < 12; n++) {
        yield* n % 3 === 2 ? Test.step(client) : pay(client)
        seen.push(yield* ledgerOf(client))
        snapshot(join(dir, "run"), join(dir, String(n)))
      }
    })
    for (const [n, ledger] of seen.entries()) {
      assert.deepStrictEqual(yield* withSandbox({ isHere: true, dir: join(dir, String(n)) }, ledgerOf), ledger)
    }
  })

  it.live("of another seed is refused with a remedy", function* () {
    const dir = yield* folder
    yield* withSandbox({ isHere: true, dir }, (client) => Test.step(client))
    const text = scenarioText({ seed: "other" })
    const error = yield* Effect.flip(withSandbox({ isHere: true, dir, text }, (client) => Test.step(client)))
    assert(error instanceof SandboxError)
    assert.match(
      error.message,
      /chain sandbox-1, seed test, format 3, not of chain sandbox-1, seed other, format 3; use that one/,
    )
  })
})

describe("the keys", () => {
  it.live("lie in files of their owner alone, and follow from seed and name", function* () {
    const dir = yield* folder
    yield* withSandbox({ isHere: true, dir }, (_, sandbox) =>
      Effect.sync(() => {
        const keys = sandbox.keysDir ?? ""
        assert.strictEqual(statSync(keys).mode & 0o777, 0o700)
        for (const name of ["alice", "bob", "eve"]) {
          assert.strictEqual(statSync(join(keys, name)).mode & 0o777, 0o600)
          assert.strictEqual(readFileSync(join(keys, name), "utf8"), bytesToHex(privateKeyOf("test", name)))
        }
      }),
    )
  })
})
