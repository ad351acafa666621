import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cofferer, type Daemon, root, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-backtest-"))
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

/** The demonstration at five blocks a second, on ports of its own. */
const faster = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
  .replaceAll('"http://127.0.0.1:3008"', '"http://127.0.0.1:1"')
  .replace('listen: "127.0.0.1:3008"', 'listen: "127.0.0.1:0"')
  .replace("blockInterval: 1s", "blockInterval: 200ms")
  .replace("rateLimit: on", "rateLimit: off")
  .replace("poll: { busy: 1s, idle: 1s }", "poll: { busy: 100ms, idle: 100ms }")
  .replace("requestDeadline: 2s", "requestDeadline: 500ms")
  .replace("for: 3s", "for: 200ms")
  .replace("cooldown: 20s", "cooldown: 1s")
  .replace("difficulty: 15", "difficulty: 6")

interface Payment {
  readonly rule: string
  readonly from: string
  readonly to: string
  readonly amount: string
  readonly fee: string
}
const contentOf = ({ rule, from, to, amount, fee }: Payment) => ({
  rule,
  from,
  to,
  amount: amount.replaceAll(",", ""),
  fee,
})

const confirmed = (line: object) => (line as { readonly msg?: string }).msg === "confirmed"

describe("backtest", () => {
  let real: ReadonlyArray<Payment> = []

  beforeAll(async () => {
    writeFileSync(file, faster)
    const daemon: Daemon = start(["run", file, "--sandbox", "--data", data, "--output", "json"], {
      cwd: dir,
      env: { COFFERER_LISTEN: "127.0.0.1:0" },
    })
    const first = await daemon.line(confirmed)
    await daemon.line((line) => confirmed(line) && line !== first)
    await daemon.stop()
    const { stdout } = await cofferer(["export", "--format", "jsonl", "-c", file, "-d", data])
    real = stdout
      .trim()
      .split("\n")
      .map((line) => contentOf(JSON.parse(line)))
  }, 60_000)

  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it("pays in the past what the rules in force paid", async () => {
    const { code, stdout, stderr } = await callCofferer(["backtest", "-c", file, "-d", data, "-o", "json"])
    assert.strictEqual(code, 0, stderr)
    const { payments, past } = JSON.parse(stdout)
    assert.strictEqual(past.taken, 2)
    assert.lengthOf(real, 2)
    assert.deepStrictEqual(payments.map(contentOf), real)
  })

  it("says the same of files that export wrote", async () => {
    const balances = await cofferer(["export", "--what", "balances", "-c", file, "-d", data])
    const payments = await cofferer(["export", "--what", "payments", "--format", "jsonl", "-c", file, "-d", data])
    writeFileSync(join(dir, "past.csv"), balances.stdout)
    writeFileSync(join(dir, "payments.jsonl"), payments.stdout)
    const files = ["--history", join(dir, "past.csv"), "--payments", join(dir, "payments.jsonl")]
    const stored = await callCofferer(["backtest", "-c", file, "-d", data])
    const told = await callCofferer(["backtest", "-c", file, ...files])
    assert.strictEqual(told.stdout, stored.stdout)
    assert.match(told.stdout, /^2 payments: 33,230.00 USDT, fees 2.00 USDT; 0 alerts$/m)
    assert.match(told.stdout, /line 1 {2}33,230 of 100,000 USDT \(33 %\) {2}2 of 10 transfers/)
  })

  it("compares another file's rules over the same past, and draws", async () => {
    const other = join(dir, "other.yaml")
    writeFileSync(other, faster.replace('target: "25_000"', 'target: "20_000"'))
    const svg = join(dir, "chart.svg")
    const { stdout } = await callCofferer(["backtest", "-c", file, "-d", data, "--against", other, "--chart", svg])
    assert.match(stdout, /payments of both: 1\nonly by .*treasury.yaml: 1\n(?:.*\n)+only by .*other.yaml: 1/)
    assert.match(readFileSync(svg, "utf8"), /^<svg [\s\S]*hot\/USDT[\s\S]*2 received[\s\S]*<\/svg>\n$/)
  })
})
