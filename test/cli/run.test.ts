import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { get } from "../support/Cofferer.ts"
import { callCofferer, startHere } from "../support/CommandLine.ts"
import { lineWith, type SteppedDaemon, startStepped, steppedSandbox, urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("run")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")
const ofData = ["--data", data]

const stepped = steppedSandbox()

describe("a daemon beside its embedded network", () => {
  let daemon: SteppedDaemon
  let page = ""

  beforeAll(async () => {
    writeFileSync(file, stepped)
    daemon = startStepped(file, data)
    page = urlOf(await daemon.line(lineWith("page listening")))
  })

  afterAll(async () => {
    await daemon.stop()
  })

  it("says first what the treasury may pay at most", async () => {
    const { time: _, ...said } = await daemon.line(lineWith("payments permitted"))
    assert.deepStrictEqual(said, {
      level: "info",
      msg: "payments permitted",
      treasury: "sandbox",
      from: "reserve",
      to: "hot",
      asset: "USDT",
      perTransfer: "25000",
      per24h: "100000",
      transfersPer24h: 10,
    })
  })

  it("tops the hot account up, and tells amount and transaction hash", async () => {
    const said = await daemon.payFirst()
    const { amount, asset, fee, from, to, attempt, loop, treasury, level } = said
    assert.deepStrictEqual(
      { amount, asset, fee, from, to, attempt, loop, treasury, level },
      {
        ...{ amount: "16210.00", asset: "USDT", fee: "1.00", from: "reserve", to: "hot", attempt: 1 },
        ...{ loop: "confirm", treasury: "sandbox", level: "info" },
      },
    )
    assert.match(String(said["intent"]), /^[0-9a-f]{64}$/)
    assert.isAbove(Number(said["cycle"]), 0)
    assert.match(String(said["txHash"]), /^[0-9A-F]{64}$/)
  })

  it("alerts people of the newly enabled asset", async () => {
    const said = await daemon.line(lineWith("alert raised"))
    assert.strictEqual(said["subject"], "sDAI")
    assert.match(String(said["detail"]), /^pending listing -> enabled \(18 decimals, quantum 1\)/)
  })

  it("pays once where the answer was lost after the network took the payment", async () => {
    const done = await daemon.paySecond()
    assert.strictEqual((await daemon.line(lineWith("attempt unanswered")))["intent"], done["intent"])
    assert.strictEqual(done["resent"], true)
    const network = urlOf(await daemon.line(lineWith("gateways configured")))
    const ledger = JSON.parse((await get(`${network}/sandbox/ledger`)).body) as {
      executed: ReadonlyArray<{ transferId: string; code: number }>
    }
    const executed = ledger.executed.filter((tx) => tx.code === 0)
    assert.strictEqual(executed.length, 2)
    assert.strictEqual(new Set(executed.map((tx) => tx.transferId)).size, 2)
  })

  it("serves the page, its probes and its metrics", async () => {
    assert.include((await get(`${page}/`)).body, '<div id="app">')
    assert.include((await get(`${page}/page/page.js`)).body, "./html.js")
    assert.deepStrictEqual(await get(`${page}/livez`), { status: 200, body: "ok\n" })
    assert.deepStrictEqual(await get(`${page}/readyz`), { status: 200, body: "{}" })
    const { body } = await get(`${page}/metrics`)
    assert.include(
      body,
      'cofferer_mempool_submissions_total{treasury="sandbox",gateway="sandbox",send="first",outcome="accepted",code="0"} 1',
    )
    assert.include(
      body,
      'cofferer_mempool_submissions_total{treasury="sandbox",gateway="sandbox",send="first",outcome="framing",code="60"} 1',
    )
    assert.include(body, 'cofferer_mempool_acceptance_ratio{treasury="sandbox"} 1')
    assert.include(body, 'cofferer_intents_finished_total{treasury="sandbox",outcome="confirmed"} 2')
  })

  it("is asked and steered by the command line over a socket of its own", async () => {
    assert.strictEqual(statSync(join(data, "cofferer.sock")).mode & 0o777, 0o600)
    const live = await callCofferer(["status", "--live", ...ofData])
    assert.deepStrictEqual([live.code, live.stdout], [0, "live\n"])
    const status = await callCofferer(["status", "--output", "json", ...ofData])
    const view = JSON.parse(status.stdout) as { intents: ReadonlyArray<{ id: string; state: string }> }
    assert.deepStrictEqual(
      view.intents.map((i) => i.state),
      ["confirmed", "confirmed"],
    )
    const story = await callCofferer(["intents", "show", view.intents[0]?.id.slice(0, 12) ?? "", ...ofData])
    assert.include(story.stdout, "executed")
    assert.strictEqual((await callCofferer(["pause", "--reason", "lunch", ...ofData])).code, 0)
    const paused = await callCofferer(["status", "--fail", ...ofData])
    assert.strictEqual(paused.code, 8)
    assert.include(paused.stdout, "Paused (all)")
    assert.strictEqual((await callCofferer(["resume", "--reason", "back", ...ofData])).code, 0)
  })

  it("takes a payment of a person once, and refuses one beyond the policy", async () => {
    const payment = join(dir, "payment.yaml")
    const submit = () => callCofferer(["submit", payment, "--config", file, "--data", data])
    writeFileSync(payment, 'idempotencyKey: "a"\ntransfer: { from: reserve, to: hot, asset: USDT, amount: "100" }\n')
    const taken = /^queued as ([0-9a-z]{4})[0-9a-z]{4}; "cofferer intents show [0-9a-z]{8}"/.exec(
      (await submit()).stdout,
    )
    assert.isDefined(taken)
    const { intent } = await daemon.line(lineWith("payment submitted", '"idempotencyKey":"a"'))
    await daemon.line(lineWith("attempt accepted", String(intent)))
    await daemon.blocks(1)
    await daemon.line(lineWith("payment confirmed", '"100.00"'))
    assert.match((await submit()).stdout, /^already known as [0-9a-z]{8}: confirmed/)
    writeFileSync(payment, 'idempotencyKey: "b"\ntransfer: { from: reserve, to: hot, asset: USDT, amount: "25_001" }\n')
    const refused = await submit()
    assert.strictEqual(refused.code, 6, refused.stderr)
    assert.include(refused.stderr, "policy refuses it")
  })

  it("is verified, exported and put in receipts while it runs", async () => {
    assert.match(
      (await callCofferer(["verify", ...ofData])).stdout,
      /^journal intact: \d+ entries, head [0-9a-f]{16}\n$/,
    )
    const exported = await callCofferer(["export", "--format", "jsonl", ...ofData])
    const [first] = exported.stdout.split("\n").map((line) => JSON.parse(line || "{}") as Record<string, unknown>)
    assert.containSubset(first, { state: "confirmed", amount: "16210.00", asset: "USDT", fee: "1.00" })
    const receipt = join(dir, "receipt.json")
    const written = await callCofferer(["receipt", String(first?.["id"]), "--file", receipt, ...ofData])
    assert.strictEqual(written.code, 0, written.stderr)
    const whole = await callCofferer(["receipt", "verify", receipt])
    assert.match(whole.stdout, /^receipt intact: 1 signed command of [0-9a-f]{64}\n/, whole.stderr)
    const [proven = "", recorded = "", claimed = ""] = whole.stdout.split(/\n(?=recorded by|claimed by)/)
    assert.match(proven, /transfers 16210000000 base units of asset [0-9a-f]{64} to [0-9a-f]{64} on chain /)
    assert.include(proven, String(first?.["transferId"]))
    assert.match(recorded, /permitted by line 1 of policy [0-9a-f]{8}, no approval needed; entry \d+$/m)
    assert.include(recorded, "its configuration calls that 16,210.00 USDT (6 decimals) reserve -> hot")
    assert.include(claimed, " is confirmed\n")
    assert.notMatch(`${proven}${recorded}`, /confirmed|rule|\d{4}-\d\d-\d\d/)
    const late = await callCofferer(["intents", "cancel", String(first?.["id"]), "--reason", "too late", ...ofData])
    assert.deepStrictEqual([late.code, late.stdout], [6, ""])
    assert.strictEqual(late.stderr, "cofferer: it is confirmed already; there is nothing to do\n")
  })

  it("refuses a gateway on another chain and names the line", async () => {
    const network = urlOf(await daemon.line(lineWith("gateways configured")))
    const other = join(dir, "other.yaml")
    writeFileSync(
      other,
      stepped.replace("chainId: sandbox-1", "chainId: sandbox-2").replace("http://127.0.0.1:1", network),
    )
    const env = { COFFERER_LISTEN: "127.0.0.1:0", COFFERER_MODE: "observe" }
    const { code, stderr } = await callCofferer(["run", other, "--data", join(dir, "other")], { env })
    assert.strictEqual(code, 3, stderr)
    const line = stepped.slice(0, stepped.indexOf("chainId")).split("\n").length
    assert.include(stderr, `other.yaml:${line}:`)
    assert.include(stderr, 'is on chain "sandbox-1", the file says "sandbox-2"; name the chain that you mean')
  })

  it("refuses a second process on the same data directory", async () => {
    const second = await callCofferer(["run", file, "--sandbox", "--data", data], {
      env: { COFFERER_LISTEN: "127.0.0.1:0" },
    })
    assert.strictEqual(second.code, 1)
    assert.include(second.stderr, "in use by another process")
  })

  it("ends at SIGTERM with exit 0, and goes on with the same data", async () => {
    assert.deepStrictEqual(await daemon.stop(), { code: 0, signal: null })
    const stopped = daemon.lines.at(-1)
    assert.deepInclude(stopped, { msg: "daemon stopped", open: 0 })
    assert.match(String(stopped?.["journalHead"]), /^[0-9a-f]{64}$/)
    const stored = await callCofferer(["intents", "--config", file, "--data", data, "--output", "json"])
    assert.isAtLeast((JSON.parse(stored.stdout) as ReadonlyArray<unknown>).length, 3, "told by the database itself")
    daemon = startStepped(file, data)
    const ready = await daemon.line(lineWith("daemon ready"))
    assert.notInclude(JSON.stringify(ready["accounts"]), "24310.00", "the ledger went on where it was")
    assert.deepStrictEqual(await daemon.stop(), { code: 0, signal: null })
  })
})

describe("a daemon whose gateway is not there", () => {
  it("shows that as a state and stays up", async () => {
    const home = mkdtempSync(join(tmpdir(), "cofferer-alone-"))
    const alone = join(home, "treasury.yaml")
    const keyed = stepped.replace("http://127.0.0.1:1", "http://127.0.0.1:1/v1/key-of-the-provider")
    writeFileSync(alone, keyed.replace("mode: live", "mode: observe"))
    const daemon = startHere(["run", alone, "--data", join(home, "data"), "--output", "json"], {
      env: { COFFERER_LISTEN: "127.0.0.1:0" },
    })
    const page = urlOf(await daemon.line(lineWith("page listening")))
    await daemon.line(lineWith("balances not read"))
    assert.strictEqual((await get(`${page}/readyz`)).status, 200)
    const view = JSON.parse((await get(`${page}/api/v1/status`)).body) as {
      sentence: { severity: string; text: string }
    }
    // Which of the two comes first is a matter of how quickly it was asked.
    assert.match(view.sentence.text, /^No (balance|usable answer) .*nothing is signed; check (the node of )?gateway /)
    assert.deepStrictEqual(await daemon.stop(), { code: 0, signal: null })
    assert.deepInclude(daemon.lines.find(lineWith("gateways configured")), { urls: ["http://127.0.0.1:1/..."] })
    assert.notInclude(
      JSON.stringify([daemon.lines, view]),
      "key-of-the-provider",
      "a provider's key stands in its path",
    )
    rmSync(home, { recursive: true, force: true })
  })
})
