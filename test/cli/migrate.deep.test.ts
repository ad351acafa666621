import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { cofferer, type Daemon, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { asAdmin, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { networkOf, treasuryName, writeTreasuries } from "../support/Treasuries.ts"
import { tempDir } from "../support/tempDir.ts"
import { waitUntil } from "../support/until.ts"

describe("a treasury that is moved between its databases", () => {
  const dir = tempDir("migrate")
  const files = join(dir, "files")
  const name = treasuryName(0)
  const address = join(dir, "address")
  let network: Awaited<ReturnType<typeof networkOf>> | undefined
  let database = ""
  const daemons = new Set<Daemon>()
  const run = () => {
    const daemon = start(["run", files, "--output", "json"], { cwd: dir })
    daemons.add(daemon)
    return daemon
  }
  const lineOf = (daemon: Daemon, msg: string) => daemon.line((line) => line["msg"] === msg)
  const call = (...args: ReadonlyArray<string>) => callCofferer([...args, "-c", files])
  const toPostgres = ["migrate", "-c", files, "--to", `postgres:${address}`]

  beforeEach(({ skip }) => skip(serverUrl() === "", "needs PostgreSQL"))

  beforeAll(async () => {
    if (serverUrl() === "") return
    const falls = Array.from({ length: 20 }, (_, i) => ({ treasury: 0, block: 2 + 25 * i }))
    network = await networkOf(1, falls, "250ms")
    database = await Effect.runPromise(takeDatabase)
    writeTreasuries(files, 1, network.url, { poll: "200ms" })
    writeFileSync(address, urlOf(serverUrl(), database), { mode: 0o600 })
  })

  afterAll(async () => {
    for (const daemon of daemons) await daemon.stop("SIGKILL")
    await network?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  it("pays where it was until the move is whole, and then there alone", async () => {
    const missing = await call("migrate", "--to", `postgres:${address}`)
    assert.deepStrictEqual([missing.code, /nothing to move/.test(missing.stderr)], [4, true], missing.stderr)
    const first = run()
    await lineOf(first, "payment confirmed")
    const busy = await call("migrate", "--to", `postgres:${address}`)
    assert.deepStrictEqual([busy.code, /a daemon runs in .*; stop it first/.test(busy.stderr)], [6, true], busy.stderr)
    const same = await call("migrate", "--to", "sqlite")
    assert.deepStrictEqual([same.code, /is a SQLite file already/.test(same.stderr)], [2, true], same.stderr)
    await first.stop()

    // A question makes the tables.
    const daemonFile = join(files, "daemon.yaml")
    const written = readFileSync(daemonFile, "utf8")
    const setPostgres = () => writeFileSync(daemonFile, `${written}database: { postgres: { urlFile: ${address} } }\n`)
    setPostgres()
    await call("intents")
    writeFileSync(daemonFile, written)
    const found = async (where: string, what = "1") =>
      (await Effect.runPromise(asAdmin(database, `SELECT ${what} FROM pg_stat_activity WHERE ${where}`)))[0] ?? []
    const until = (what: string, where: string) =>
      Effect.runPromise(
        waitUntil(
          what,
          Effect.map(
            Effect.promise(() => found(where)),
            (rows) => rows.length > 0,
          ),
          Effect.sleep("50 millis"),
        ),
      )
    const [locks, waits] = ["query = 'SELECT pg_sleep(60)'", "query LIKE 'INSERT INTO journal%'"]
    const locking = asAdmin(database, "BEGIN", "LOCK TABLE journal IN SHARE ROW EXCLUSIVE MODE", "SELECT pg_sleep(60)")
    const locked = Effect.runPromiseExit(locking)
    await until("a locked table", locks)
    const killed = start(toPostgres, { cwd: dir })
    await until("the middle of the copy", `${waits} AND wait_event_type = 'Lock'`)
    await killed.stop("SIGKILL")
    await found(locks, "pg_terminate_backend(pid)")
    await locked
    const again = run()
    await lineOf(again, "payment confirmed")
    await again.stop()

    setPostgres()
    const early = run()
    const { reason } = await lineOf(early, "treasury ended")
    assert.match(String(reason), /a move from .* has not ended; "cofferer migrate" ends it/)
    await early.stop()
    writeFileSync(daemonFile, written)
    const moved = await cofferer(toPostgres, { cwd: dir })
    assert.match(moved.stdout, /^moved t0000 from .*\n[\d]+ rows in \d+ tables, each compared; \d+ journal entries/)
    const next = `now write .* in \\S+t0000\\.yaml, and start it: "cofferer run \\S+files"\n`
    assert.match(moved.stdout, new RegExp(`${next}nothing .* "cofferer recover --reason TEXT --data \\S+"\n$`))
    const old = run()
    assert.match(String((await lineOf(old, "treasury ended"))["reason"]), /this treasury was moved to the PostgreSQL/)
    await old.stop()
    const submitted = await call("resume", "--reason", "a test", "--treasury", name)
    assert.match(submitted.stderr, /this treasury was moved to the PostgreSQL/)

    setPostgres()
    const there = run()
    const halted = await lineOf(there, "signing halted")
    assert.match(JSON.stringify(halted), /the store was moved from/)
    await lineOf(there, "daemon ready")
    const recovered = await call("recover", "--reason", "moved")
    assert.match(recovered.stdout, /imported 0 payments/, recovered.stderr)
    await there.stop()
    const verified = await call("verify")
    assert.strictEqual(verified.code, 0, verified.stderr)
  })
})
