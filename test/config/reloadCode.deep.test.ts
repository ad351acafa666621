import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { fastSandbox } from "../support/fastSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("reload-code")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const good = fastSandbox().replace('perTransfer: "25_000"', 'perTransfer: "30_000"')

const reload = (...more: ReadonlyArray<string>) =>
  callCofferer(["reload", "--reason", "a test", "--data", data, "-c", file, ...more])

const word =
  (msg: string, accept: (line: Readonly<Record<string, unknown>>) => boolean = () => true) =>
  (line: Readonly<Record<string, unknown>>) =>
    line["msg"] === msg && accept(line)

describe("a daemon whose rules become code", () => {
  let daemon: Here

  beforeAll(async () => {
    writeFileSync(file, good)
    const args = ["run", file, "--sandbox", "--data", data, "--output", "json"]
    daemon = startHere(args, { env: { COFFERER_LISTEN: "127.0.0.1:0" } })
    await daemon.line(word("daemon ready"))
  })

  afterAll(async () => {
    await daemon.stop()
  })

  it("decides by code, and by new code after a reload", async () => {
    const codeFile = join(dir, "rules.ts")
    const withRules = good.replace(/^rules:\n(?: .*\n)*/m, "rules: ./rules.ts\n")
    assert.notStrictEqual(withRules, good)
    const write = (level: string) => {
      const need = `({ balances, one }: Seen) =>
        balances["hot/USDT"] < ${level}n * one ? { pay: one, because: "under ${level}" } : undefined`
      const code = `{ accounts: [{ party: "hot", asset: "USDT" }], from: "reserve", to: "hot", asset: "USDT", need }`
      const rules = `[{ name: "drip", code: ${code}, cooldown: "1h" }]`
      const types = 'import type { Rules, Seen } from "cofferer/rules"'
      writeFileSync(codeFile, `${types}\nconst need = ${need}\nexport const rules: Rules = ${rules}\n`)
    }
    write("1")
    writeFileSync(file, withRules)
    const first = await reload("--allow-weaker")
    assert.strictEqual(first.code, 0, first.stderr)
    assert.match(first.stdout, /^in force: rules changed/)
    assert.match((await reload()).stdout, /^nothing changed/)
    write("1_000_000")
    assert.strictEqual((await reload()).code, 6, "other code is other terms")
    const second = await reload("--allow-weaker")
    assert.match(second.stdout, /^in force: rules changed/, second.stderr)
    const proposed = await daemon.line(
      word("payment proposed", ({ reason }) => String(reason).includes("under 1_000_000")),
    )
    await daemon.line(word("payment confirmed", ({ intent }) => intent === proposed["intent"]))
    write("1_000_000n ? {")
    const third = await reload("--allow-weaker")
    assert.strictEqual(third.code, 3, third.stdout)
    assert.match(third.stderr, /rules\.ts:\d+:\d+ {2}.*; correct it/)
  })
})
