import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { storeLayer } from "../../src/layers.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { fastSandbox } from "../support/fastSandbox.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("held")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const text = (url: string) =>
  fastSandbox(url)
    .replace(/ {2}spenders:[\s\S]*(?= {2}faults)/, "")
    .replace(/ {2}faults:[\s\S]*/, "")

const payment = (key: string): string => {
  const path = join(dir, `${key}.yaml`)
  writeFileSync(path, `idempotencyKey: ${key}\ntransfer: { from: reserve, to: hot, asset: USDT, amount: "100" }\n`)
  return path
}
const call = (...args: ReadonlyArray<string>) => callCofferer([...args, "-c", file, "--data", data])
const submit = (key: string, ...more: ReadonlyArray<string>) => call("submit", payment(key), ...more)

describe("a payment of a person that a halt or a pause holds", () => {
  let network: Here
  beforeAll(async () => {
    writeFileSync(file, text("http://127.0.0.1:1"))
    network = startHere(["sandbox", file, "--data", join(dir, "network"), "--output", "json"])
    writeFileSync(file, text(urlOf(await network.line(({ msg }) => msg === "sandbox listening"))))
    cpSync(join(dir, "network"), data, { recursive: true })
    // A store that has known the chain for long: the first head of a new one counts after ten seconds.
    const known = Effect.gen(function* () {
      const treasury = yield* loadTreasury(file)
      const keep = Effect.flatMap(ChainState, (state) =>
        state.keepHead(treasury.network.chainId, { accepted: { height: 1n, at: Date.now() } }),
      )
      yield* Effect.provide(keep, storeLayer({ treasury, dataDir: data }))
    })
    await Effect.runPromise(known)
  })
  afterAll(async () => {
    await network.stop()
  })

  it("is submitted without a daemon and paid once nothing holds it", async () => {
    writeFileSync(join(data, "HALT"), "ana: audit\n")
    const held = await submit("alone")
    assert.strictEqual(held.code, 8, held.stderr)
    assert.match(
      held.stdout,
      /^queued as [0-9a-z]{8}; "cofferer intents show [0-9a-z]{8} -c \S+ --data \S+" shows its progress\n(if the database was lost: a payment of this idempotencyKey since|the ledger lists no transfer) /,
    )
    assert.match(
      held.stderr,
      /is queued, and not paid while this holds it:\n {2}halted \(halt file\): ana: audit; .*"cofferer resume/,
    )
    const again = await submit("alone", "--output", "json")
    assert.strictEqual(again.code, 8, again.stderr)
    for (const list of [["intents"], ["alerts", "list"]]) {
      assert.match((await call(...list)).stdout, /^no daemon runs here; the database says:\n/)
    }
    rmSync(join(data, "HALT"))
    const paid = await submit("alone")
    assert.deepStrictEqual([paid.code, /confirmed: 100\.00 USDT/.test(paid.stdout)], [0, true], paid.stderr)
  }, 60_000)

  it("is refused beside a process that holds the database and has no socket", async () => {
    const other = new DatabaseSync(join(data, databaseFile))
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT")
    const refused = await submit("beside")
    other.close()
    assert.deepStrictEqual(
      [refused.code, refused.stderr.split("\n").at(-2)],
      [
        1,
        `cofferer: store: open failed: ${join(data, databaseFile)} is in use by another process; restart or stop it, or name another directory with --data`,
      ],
    )
  })

  it("is recorded in the PostgreSQL of its file alone, without a daemon", async () => {
    const shared = join(dir, "on-postgres.yaml")
    const elsewhere = join(dir, "elsewhere")
    writeFileSync(join(dir, "address"), "postgres://nobody@127.0.0.1:1/none", { mode: 0o600 })
    writeFileSync(shared, `${readFileSync(file, "utf8")}database: { postgres: { urlFile: address } }\n`)
    cpSync(join(dir, "network"), elsewhere, { recursive: true })
    const refused = await callCofferer(["submit", payment("shared"), "-c", shared, "--data", elsewhere])
    assert.deepStrictEqual(
      readdirSync(elsewhere).filter((name) => name.includes(".db")),
      [],
      refused.stderr,
    )
    assert.strictEqual(refused.code, 1, refused.stderr)
  }, 60_000)

  it("is submitted to a daemon, which says everywhere what holds it", async () => {
    const daemon = startHere(["run", file, "--data", data, "--output", "json"], {
      env: { COFFERER_LISTEN: "127.0.0.1:0" },
    })
    try {
      await daemon.line(({ msg }) => msg === "daemon ready")
      const pause = ["--scope", "party:hot", "--reason", "audit", "--for", "1h"]
      assert.strictEqual((await call("pause", ...pause)).code, 0)
      const held = await submit("served", "--output", "json")
      assert.strictEqual(held.code, 8, held.stderr)
      const taken = JSON.parse(held.stdout) as { intentId: string; created: boolean; held: ReadonlyArray<string> }
      assert.isTrue(taken.created)
      const words =
        /^paused \(party:hot\) by .* until 20.* UTC: audit; "cofferer resume --scope party:hot --reason TEXT"$/
      assert.lengthOf(taken.held, 1)
      assert.match(taken.held[0] ?? "", words)
      assert.match((await call("intents", "show", taken.intentId)).stdout, /^ {2}paused \(party:hot\) by /m)
      assert.match(
        (await call("status")).stdout,
        /^! {3}Paused \(party:hot\) by .* until .*: audit; "cofferer resume --scope/,
      )

      assert.strictEqual((await call("resume", "--scope", "party:hot", "--reason", "looked")).code, 0)
      await daemon.line(({ msg, amount }) => msg === "payment confirmed" && amount === "100.00")
      assert.strictEqual((await submit("served")).code, 0, "a payment that is over is held by nothing")

      assert.strictEqual((await call("halt", "--reason", "drill")).code, 0)
      const halted = await submit("halted")
      assert.strictEqual(halted.code, 8, halted.stderr)
      assert.match(
        halted.stderr,
        /halted by \S+: drill; once the cause is gone: "cofferer resume --reason TEXT -c \S+ --data \S+"/,
      )
      assert.match((await call("intents")).stdout, /proposed .*halted by \S+/)
      const { intentId } = JSON.parse((await submit("halted", "--output", "json")).stdout) as typeof taken
      assert.strictEqual((await call("reject", intentId, "--reason", "not owed")).code, 0)
      const ended = await submit("halted")
      assert.strictEqual(ended.code, 6, "a payment that ended unpaid is no success")
      assert.match(ended.stderr, /is rejected, and nothing is paid under its idempotencyKey; if it is still owed, /)
    } finally {
      await daemon.stop()
    }
  }, 60_000)
})
