import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { deskText } from "../support/Operators.ts"
import { demoRow, pastStore } from "../support/pastStore.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("compare")
const write = (name: string, text: string): string => {
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}
const sandbox = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
const plain = write("plain.yaml", sandbox)
const asked = write(
  "asked.yaml",
  `${sandbox.replace("transfersPer24h: 10 }", 'transfersPer24h: 10, approval: desk, approvalAbove: "15_000" }')}${deskText()}\n`,
)
const low = write("low.yaml", sandbox.replace('target: "25_000"', 'target: "20_000"'))

const row = (party: string, units: number, hour: number) => demoRow(party, units, Date.UTC(2026, 10, 20, hour))
/** Hot loses money every few hours, of two days. */
const spent = [0, 4_000, 9_000, 16_000, 22_000, 31_000].map((less, i) =>
  row("hot", 30_000 - less > 0 ? 30_000 - less : 500, i * 7),
)
const past = pastStore([row("reserve", 90_000, 0), ...spent])

const play = async (file: string, ...args: ReadonlyArray<string>) =>
  callCofferer(["backtest", "-c", file, "-d", await past, "--fee", "0.1%", ...args])

describe("payments that people must approve, over the past", () => {
  it("are counted as approved half an hour after their decision", async () => {
    const { code, stdout, stderr } = await play(asked)
    assert.strictEqual(code, 0, stderr)
    assert.match(
      stdout,
      /payments that people must approve, with --approved-after: approved 30 min after the decision\n {2}desk {2}(\d) waited {2}\1 approved {2}0 lapsed\n/,
    )
    const json = JSON.parse((await play(asked, "-o", "json")).stdout)
    const waited = json.payments.filter(({ approval }: { approval: string | null }) => approval === "desk")
    assert.isAbove(waited.length, 0)
    for (const { at, signedAt } of waited) assert.strictEqual(Date.parse(signedAt) - Date.parse(at), 1_800_000)
    assert.strictEqual(json.approvedAfterMillis, 1_800_000)
    assert.deepInclude(json.approvals[0], { group: "desk", asked: waited.length, lapsed: 0 })
  })

  it("lapse where people never approve, or only after the group's time", async () => {
    for (const flag of ["never", "5h"]) {
      const { code, stdout, stderr } = await play(asked, "--approved-after", flag, "-o", "json")
      assert.strictEqual(code, 0, stderr)
      const { approvals, payments, unsigned, days } = JSON.parse(stdout)
      assert.strictEqual(approvals[0].approved, 0)
      assert.isAbove(approvals[0].lapsed, 0)
      assert.lengthOf(unsigned, approvals[0].asked)
      for (const { approval } of payments) assert.isNull(approval)
      assert.strictEqual(
        days.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
        payments.length,
      )
    }
    const text = await play(asked, "--approved-after", "never")
    assert.match(
      text.stdout,
      /with --approved-after: nobody approves\n {2}desk {2}\d+ waited {2}0 approved {2}\d+ lapsed/,
    )
  })

  it("may be approved at once, and the flag takes nothing else", async () => {
    const { stdout } = await play(asked, "--approved-after", "0s", "-o", "json")
    const { payments } = JSON.parse(stdout)
    const free = JSON.parse((await play(plain, "-o", "json")).stdout)
    assert.lengthOf(payments, free.payments.length)
    const wrong = await play(asked, "--approved-after", "soon")
    assert.strictEqual(wrong.code, 2)
  })
})

describe("two sets of rules over one past", () => {
  it("are both reported, with what one of them alone pays", async () => {
    const { stdout } = await play(plain, "--against", low, "-o", "json")
    const { payments, against, difference } = JSON.parse(stdout)
    const { both, onlyHere, onlyThere } = difference
    assert.deepStrictEqual(
      [payments.length, against.payments.length],
      [both + onlyHere.length, both + onlyThere.length],
    )
    assert.isAbove(onlyHere.length, 0)
  })

  it("are both drawn, distinct by line and name, on light and dark pages", async () => {
    const svg = join(dir, "both.svg")
    const { code, stderr } = await play(plain, "--against", low, "--chart", svg)
    assert.strictEqual(code, 0, stderr)
    const drawn = readFileSync(svg, "utf8")
    assert.match(drawn, />A<\/text><text [^>]*>[^<]*plain\.yaml</)
    assert.match(drawn, />B<\/text><text [^>]*>[^<]*low\.yaml</)
    assert.lengthOf(drawn.match(/class="first first-line"/g) ?? [], 2, "two accounts")
    assert.lengthOf(drawn.match(/<path [^>]*class="second-line"[^>]*stroke-dasharray/g) ?? [], 2)
    assert.match(drawn, /A: \d received; B: \d received/)
    assert.include(drawn, "prefers-color-scheme: dark")
    await play(plain, "--chart", svg)
    assert.notInclude(readFileSync(svg, "utf8"), ">B</text>")
  })

  it("may have overlays, as the file that is compared has", async () => {
    const overlay = write("shadow.yaml", "mode: shadow\nnetwork: { maxAge: 10s }\n")
    const { code, stdout, stderr } = await play(plain, "--against", low, "--against", overlay)
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /^only by .*low\.yaml \+ .*shadow\.yaml: \d$/m)
    const wrong = await play(plain, "--against", low, "--against", join(dir, "none.yaml"))
    assert.match(wrong.stderr, /none\.yaml.*no such file/)
  })
})

describe("the quota of a network", () => {
  it("limits the transfers of a replay", async () => {
    const real = sandbox
      .slice(0, sandbox.indexOf("\nsandbox:"))
      .replace('target: "25_000"', 'target: "10_200"')
      .replace('min: { USDT: "500" }', 'min: { USDT: "100" }')
      .replace("transfersPer24h: 10", "transfersPer24h: 100")
    const hot = Array.from({ length: 24 }, (_, hour) => row("hot", 10_200 - 300 * hour, hour))
    const data = await pastStore([row("reserve", 90_000, 0), ...hot])
    const args = ["-c", write("real.yaml", real), "-d", data, "-o", "json"]
    const { stdout, stderr } = await callCofferer(["backtest", ...args])
    assert.lengthOf(JSON.parse(stdout || "{}").payments ?? [], 20, stderr)
  })
})

describe("an account with a floor", () => {
  it("is told by how much it was above or below it", async () => {
    const floor = (units: string) =>
      sandbox.replace("signer: { sandbox: reserve }", `signer: { sandbox: reserve }, floor: { USDT: "${units}" }`)
    const kept = await play(write("kept.yaml", floor("20_000")))
    assert.match(kept.stdout, /reserve\/USDT .* [1-9][0-9,]*\.00 above its floor of 20,000$/m, kept.stderr)
    const missed = await play(write("missed.yaml", floor("95_000")))
    assert.match(missed.stdout, /reserve\/USDT .* 5,000\.00 below its floor of 95,000$/m, missed.stderr)
  })
})
