import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, beforeAll, describe, it } from "vitest"
import { databaseFile } from "../../src/store/database/Database.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { deskText } from "../support/Operators.ts"
import { startStepped, steppedSandbox } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("backtest")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const stepped = steppedSandbox()

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

describe("backtest", () => {
  let real: ReadonlyArray<Payment> = []

  beforeAll(async () => {
    writeFileSync(file, stepped)
    const daemon = startStepped(file, data)
    await daemon.payFirst()
    await daemon.paySecond()
    await daemon.stop()
    const { stdout } = await callCofferer(["export", "--format", "jsonl", "-c", file, "-d", data])
    real = stdout
      .trim()
      .split("\n")
      .map((line) => contentOf(JSON.parse(line)))
  })
  it("pays in the past what the rules in force paid", async () => {
    const { code, stdout, stderr } = await callCofferer(["backtest", "-c", file, "-d", data, "-o", "json"])
    assert.strictEqual(code, 0, stderr)
    const { payments, past } = JSON.parse(stdout)
    assert.strictEqual(past.taken, 2)
    assert.lengthOf(real, 2)
    assert.deepStrictEqual(payments.map(contentOf), real)
  })

  /** A copy of the data directory in which each payment was decided earlier. */
  const decidedEarlier = (name: string, millis: number) => {
    const old = join(dir, name)
    cpSync(data, old, { recursive: true, filter: (path) => !path.endsWith(".sock") })
    const db = new DatabaseSync(join(old, databaseFile))
    const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'intents'").all()
    for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`)
    const [first] = db.prepare("SELECT min(created_at) AS at FROM intents").all()
    db.exec(`UPDATE intents SET created_at = created_at - ${millis}`)
    db.close()
    return { old, from: new Date(Number(first?.["at"]) - 60_000).toISOString() }
  }

  it("takes out payments that were decided days before its span", async () => {
    const { old, from } = decidedEarlier("old", 3 * 86_400_000)
    const { stdout, stderr } = await callCofferer(["backtest", "-c", file, "-d", old, "-o", "json", "--from", from])
    assert.strictEqual(JSON.parse(stdout || "{}").past?.taken, 2, stderr)
  })

  it("begins with the first known balance, before which no planned time counts", async () => {
    const planned = join(dir, "planned.yaml")
    const rule = `  - name: rent
    payout: { from: reserve, to: hot, asset: USDT, amount: "1" }
    schedule: { cron: "* * * * *", location: UTC, missed: skip, late: 30m }
`
    writeFileSync(planned, stepped.replace("policy: ", `${rule}policy: `))
    const asked = ["backtest", "-c", planned, "-d", data, "-o", "json"]
    const alone = JSON.parse((await callCofferer(asked)).stdout)
    const from = new Date(Date.parse(alone.from) - 3_600_000).toISOString()
    const { stdout, stderr } = await callCofferer([...asked, "--from", from])
    assert.deepStrictEqual(JSON.parse(stdout || "{}"), alone, stderr)
  })

  it("takes no time of approvals for the network's", async () => {
    const { old } = decidedEarlier("approved", 6 * 3_600_000)
    const joint = join(dir, "joint.yaml")
    const payer = "{ from: reserve, to: [hot]"
    assert.include(stepped, payer)
    writeFileSync(joint, `${stepped.replace(payer, `${payer}, approval: desk`)}\n${deskText()}\n`)
    const asked = ["-c", joint, "-d", old, "--approved-after", "0s", "-o", "json"]
    const { stdout, stderr } = await callCofferer(["backtest", ...asked])
    const { payments } = JSON.parse(stdout || "{}")
    assert.deepStrictEqual(payments?.map(contentOf), real, stderr)
  })

  it("prints sums and the use of limits, and names where a past may come from", async () => {
    const { stdout } = await callCofferer(["backtest", "-c", file, "-d", data])
    assert.match(stdout, /^2 payments: 33,230.00 USDT, fees 2.00 USDT; 0 alerts$/m)
    assert.match(stdout, /line 1 {2}33,230 of 100,000 USDT \(33 %\) {2}2 of 10 transfers/)
    const two = join(dir, "two-lines.yaml")
    const line = "{ from: reserve, to: [hot], asset: USDT, perTransfer"
    writeFileSync(
      two,
      stepped.replace(line, `${line}: "50_000", per24h: "200_000", transfersPer24h: 9 }\n    - ${line}`),
    )
    const both = await callCofferer(["backtest", "-c", two, "-d", data])
    assert.match(both.stdout, /line 1 {2}33,230 of 200,000 USDT \(17 %\) /, both.stderr)
    assert.match(both.stdout, /line 2 {2}33,230 of 100,000 USDT \(33 %\) /, "which line 1 permitted")
    const gone = await callCofferer(["backtest", "-c", file, "--payments", "payments.jsonl"])
    assert.match(gone.stderr, /Unrecognized flag: --payments; payments come with the past of a data directory/)
    const past = await callCofferer(["backtest", "-c", file, "--history", "past.csv"])
    assert.match(past.stderr, /--history.*"gateway"/)
  })

  it("compares another file's rules over the same past, and draws", async () => {
    const other = join(dir, "other.yaml")
    writeFileSync(other, stepped.replace('target: "25_000"', 'target: "20_000"'))
    const svg = join(dir, "chart.svg")
    const { stdout } = await callCofferer(["backtest", "-c", file, "-d", data, "--against", other, "--chart", svg])
    assert.match(stdout, /payments of both: 1\nonly by .*treasury.yaml: 1\n(?:.*\n)+only by .*other.yaml: 1/)
    assert.notInclude(stdout, "alerts of both", "no alert was raised")
    assert.match(readFileSync(svg, "utf8"), /^<svg [\s\S]*hot\/USDT[\s\S]*2 received[\s\S]*<\/svg>\n$/)
  })

  it("shows its figures where the chart cannot be written", async () => {
    const nowhere = join(dir, "nowhere", "chart.svg")
    const { code, stdout, stderr } = await callCofferer(["backtest", "-c", file, "-d", data, "--chart", nowhere])
    assert.strictEqual(code, 1)
    assert.include(stdout, "payments")
    assert.match(stderr, /^cofferer: the chart is not written: .*nowhere.*; name a file in a folder of yours\n$/)
  })

  it("counts and lists what people would have been told, compares it, and draws it", async () => {
    const told = (name: string, below: string) => {
      const rule = `  - name: hot-low
    notify: { when: { balance: { party: hot, asset: USDT, below: "${below}" } }, severity: page }
`
      const path = join(dir, name)
      writeFileSync(path, stepped.replace("policy: ", `${rule}policy: `))
      return path
    }
    const one = told("one.yaml", "10_000")
    const two = told("two.yaml", "1")
    const svg = join(dir, "alerts.svg")
    const text = await callCofferer(["backtest", "-c", one, "-d", data, "--against", two, "--chart", svg])
    assert.strictEqual(text.code, 0, text.stderr)
    assert.match(text.stdout, /conditions that alert\n {2}hot-low {2}page {2}2 alerts {2}true 2 times {2}\d+/)
    assert.match(text.stdout, /alerts\n {2}.* page {2}firing {2}hot-low {2}hot\/USDT: .* is below 10,000\n/)
    assert.match(text.stdout, /alerts of both: 0\nonly by .*one.yaml: 4\n(?:.*\n)+only by .*two.yaml: 0/)
    assert.match(readFileSync(svg, "utf8"), /<title>hot-low<\/title>/)
    const json = await callCofferer(["backtest", "-c", one, "-d", data, "--against", two, "-o", "json"])
    const { alerts, conditions, difference, against } = JSON.parse(json.stdout)
    assert.deepStrictEqual(
      alerts.map(({ rule, kind }: { rule: string; kind: string }) => `${rule} ${kind}`),
      ["hot-low firing", "hot-low cleared", "hot-low firing", "hot-low cleared"],
    )
    assert.deepInclude(conditions[0], { rule: "hot-low", severity: "page", alerts: 2, times: 2 })
    assert.lengthOf(difference.alerts.onlyHere, 4)
    assert.deepInclude(against.conditions[0], { alerts: 0, times: 0, millis: 0 })
  })
})
