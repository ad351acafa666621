import { once } from "node:events"
import { appendFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { type Daemon, get, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { asAdmin, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { networkOf, treasuryFile, treasuryName, writeTreasuries } from "../support/Treasuries.ts"
import { tempDir } from "../support/tempDir.ts"
import { waitUntil } from "../support/until.ts"

const count = 2

describe("treasuries whose store is PostgreSQL", () => {
  const dir = tempDir("postgres")
  const files = join(dir, "files")
  let network: { readonly url: string; readonly stop: () => Promise<unknown> } | undefined
  let database = ""
  const daemons = new Set<Daemon>()
  const run = (...more: ReadonlyArray<string>) => {
    const daemon = start(["run", files, ...more, "--output", "json"], { cwd: dir })
    daemons.add(daemon)
    return daemon
  }
  const lineOf = (daemon: Daemon, treasury: string, msg: string) =>
    daemon.line((line) => line["treasury"] === treasury && line["msg"] === msg)
  const call = (...args: ReadonlyArray<string>) => callCofferer([...args, "-c", files])
  const json = async (...args: ReadonlyArray<string>) => JSON.parse((await call(...args, "--output", "json")).stdout)

  beforeEach(({ skip }) => skip(serverUrl() === "", "needs PostgreSQL"))

  beforeAll(async () => {
    if (serverUrl() === "") return
    const falls = [0, 1].flatMap((treasury) => Array.from({ length: 6 }, (_, i) => ({ treasury, block: 2 + 25 * i })))
    network = await networkOf(count, falls, "250ms")
    database = await Effect.runPromise(takeDatabase)
    writeTreasuries(files, count, network.url, {
      poll: "200ms",
      shared: "database: { postgres: { urlFile: ../address } }\n",
    })
    writeFileSync(join(dir, "address"), urlOf(serverUrl(), database), { mode: 0o600 })
  })

  afterAll(async () => {
    for (const daemon of daemons) await daemon.stop("SIGKILL")
    await network?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const executedBy = async (n: number) => {
    const { executed } = JSON.parse((await get(`${network?.url}/sandbox/ledger`)).body)
    const party = publicKeyOf("many", `${treasuryName(n)}-reserve`)
    return executed.filter((one: { party: string; code: number }) => one.party === party && one.code === 0).length
  }

  it("pays from it once each, also where the process is killed between signature and answer", async () => {
    const first = run()
    for (let n = 0; n < count; n++) await lineOf(first, treasuryName(n), "payment confirmed")
    let signed = 0
    await first.line((line) => line["msg"] === "payment signed" && ++signed > count)
    await first.stop("SIGKILL")
    assert.isAtLeast((await json("intents", "--treasury", treasuryName(0))).length, 1, "it is read without a daemon")
    const second = run()
    const { former, reason } = await lineOf(second, treasuryName(0), "taken over")
    assert.deepStrictEqual([String(former).split("/")[1], reason], [String(first.child.pid), "expired"])
    for (let n = 0; n < count; n++) await lineOf(second, treasuryName(n), "payment confirmed")
    // Another process, on a data directory of its own, reads and does not run it.
    const elsewhere = ["-c", files, "--treasury", treasuryName(1), "--data", join(dir, "elsewhere")]
    assert.match((await callCofferer(["status", ...elsewhere])).stdout, /t0001, mode live/)
    const left = readdirSync(join(files, ".data", treasuryName(0))).filter((name) => name.includes(".db"))
    assert.deepStrictEqual(left, [])
    for (let n = 0; n < count; n++) {
      // Further falls come meanwhile: both are asked until nothing is under way. One that was paid twice stays unequal.
      const isSettled = async () => {
        const intents: ReadonlyArray<{ state: string }> = await json("intents", "--treasury", treasuryName(n))
        const isOver = intents.length > 1 && intents.every(({ state }) => state === "confirmed")
        return isOver && (await executedBy(n)) === intents.length
      }
      const settled = Effect.promise(isSettled)
      await Effect.runPromise(waitUntil("each payment executed once", settled, Effect.sleep("200 millis")))
    }
    assert.strictEqual((await second.stop()).code, 0)
    for (let n = 0; n < count; n++) {
      const verified = await call("verify", "--treasury", treasuryName(n))
      assert.strictEqual(verified.code, 0, verified.stderr)
    }
  })

  it("is halted, paused and resumed from any process, by the one that runs it", async () => {
    const holder = run()
    for (let n = 0; n < count; n++) await lineOf(holder, treasuryName(n), "daemon ready")
    const standby = run("--data", join(dir, "standby"))
    const name = treasuryName(0)
    await lineOf(standby, name, "standing by")
    const there = ["--treasury", name, "-c", files, "--data", join(dir, "standby", name)]
    const list = await callCofferer(["status", "-c", files], { env: { COFFERER_DATA_DIR: join(dir, "standby") } })
    assert.match(list.stdout, /t0000 +\S+\/\d+\/\w+ runs it since 2/, list.stderr)
    const own = join(dir, "own")
    writeTreasuries(own, 1, network?.url ?? "")
    appendFileSync(join(own, `${name}.yaml`), "database: { postgres: { urlFile: ../address } }\n")
    assert.match((await callCofferer(["status", "-c", own])).stdout, /t0000 +\S+\/\d+\/\w+ runs it since 2/)
    assert.match((await callCofferer(["status", ...there])).stdout, /\/\d+\/\w+ runs it since 2.*\n.*mode live/)
    const sentence = async () => String((await json("status", "--treasury", name)).sentence.text)
    const says = (what: string, words: RegExp) =>
      Effect.runPromise(
        waitUntil(
          what,
          Effect.map(Effect.promise(sentence), (text) => words.test(text)),
          Effect.sleep("200 millis"),
        ),
      )
    standby.child.kill("SIGUSR2")
    for (let n = 0; n < count; n++) await lineOf(standby, treasuryName(n), "signing halted")
    await says("a halt by a signal", /the signal SIGUSR2/)
    const resumed = await callCofferer(["resume", "--reason", "a test", ...there])
    assert.strictEqual(resumed.code, 0, resumed.stderr)
    await says("no halt", /^(?!.*SIGUSR2)/)
    const halted = await callCofferer(["halt", "--reason", "from elsewhere", ...there])
    assert.match(halted.stdout, /^halted wherever it runs/, halted.stderr)
    await says("a halt by a command", /from elsewhere/)
    assert.deepStrictEqual(
      readdirSync(join(dir, "standby", name)).filter((file) => file === "HALT"),
      [],
    )
    assert.strictEqual((await call("resume", "--reason", "a test", "--treasury", name)).code, 0)
    const paused = await callCofferer(["pause", "--scope", "party:hot", "--reason", "from there", ...there])
    assert.match(paused.stdout, /^paused party:hot/, paused.stderr)
    const isPaused = async () => JSON.stringify(await json("status", "--treasury", name)).includes("from there")
    await Effect.runPromise(waitUntil("a pause", Effect.promise(isPaused), Effect.sleep("200 millis")))
    const cancelled = await callCofferer(["intents", "cancel", "any", "--reason", "from there", ...there])
    assert.match(cancelled.stderr, /t0000 is run by another process, \S+\/\d+\/\w+; use that one, or stop it/)
    for (const daemon of [standby, holder]) assert.strictEqual((await daemon.stop()).code, 0)
  })

  it("has one life where a SIGHUP comes between its lease and its first answer", async () => {
    const name = treasuryName(0)
    const held: Array<ServerResponse> = []
    const refuse = (response: ServerResponse) => response.writeHead(503).end()
    let take = (response: ServerResponse): unknown => held.push(response)
    const gateway = createServer((_, response) => take(response)).listen(0, "127.0.0.1")
    await once(gateway, "listening")
    const { port } = gateway.address() as AddressInfo
    writeFileSync(join(files, `${name}.yaml`), treasuryFile(name, `http://127.0.0.1:${port}`))
    // A question makes the tables of a new database.
    assert.strictEqual((await call("intents", "--treasury", name)).code, 0)
    const lease = (until: string) =>
      Effect.runPromise(
        asAdmin(
          database,
          `INSERT INTO leases (treasury, holder, epoch, until, since, transactions)
            VALUES ('${name}', 'another', 1, ${until}, 0, 0)
            ON CONFLICT (treasury) DO UPDATE SET holder = 'another', until = ${until}`,
        ),
      )
    await lease("9000000000000")
    const daemon = run()
    await lineOf(daemon, name, "standing by")
    await lease("0")
    assert.strictEqual((await lineOf(daemon, name, "taken over"))["reason"], "handed over")
    await lineOf(daemon, name, "daemon starting")
    daemon.child.kill("SIGHUP")
    daemon.child.kill("SIGUSR1")
    await Effect.runPromise(
      waitUntil(
        "a question",
        Effect.sync(() => held.length > 0),
        Effect.sleep("50 millis"),
      ),
    )
    take = refuse
    for (const response of held) refuse(response)
    const isLive = Effect.map(
      Effect.promise(() => call("status", "--live", "--treasury", name)),
      ({ code }) => code === 0,
    )
    await Effect.runPromise(waitUntil("an answer", isLive, Effect.sleep("200 millis")))
    const starts = daemon.lines.filter(({ msg, treasury }) => msg === "daemon starting" && treasury === name)
    assert.strictEqual(starts.length, 1)
    assert.strictEqual((await daemon.stop()).code, 0)
    gateway.close()
    gateway.closeAllConnections()
  })

  it.each([
    ["an address that is none", () => "harbor", /Invalid URL; .*correct its address in \S+address/],
    ["nobody who listens", () => "postgres://cofferer@127.0.0.1:1/x", /ECONNREFUSED.*; start the server, or correct/],
    [
      "an address that the client refuses",
      () => `${urlOf(serverUrl(), "x")}&sslmode=tls`,
      /"tls"; correct its address/,
    ],
    ["a database that is not there", () => urlOf(serverUrl(), "none"), /"none" does not exist; create that database/],
    ["a role that is not there", () => urlOf(serverUrl(), "postgres", "nobody"), /role "nobody".*; correct user and/],
    ["a role above row security", () => urlOf(serverUrl(), "postgres", "postgres"), /role is above row security; conn/],
    ["a role without tables of its own", () => urlOf(serverUrl(), "postgres"), /permission denied.*; make the user of/],
  ])("names place and remedy of %s", async (_, address, words) => {
    writeFileSync(join(dir, "address"), address())
    const { code, stderr } = await call("status", "--treasury", treasuryName(0), "--data", join(dir, "none"))
    assert.match(stderr, words)
    assert.strictEqual(code, 1)
  })
})
