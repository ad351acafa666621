import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { View } from "../../src/status/View.ts"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { fastSandbox } from "../support/fastSandbox.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-broken-"))
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const sound = fastSandbox()

const call = (...args: ReadonlyArray<string>) => callCofferer([...args, "-c", file, "--data", data])

describe("beside a broken file, where no daemon runs", () => {
  let id = ""
  beforeAll(async () => {
    writeFileSync(file, sound)
    const daemon: Here = startHere(["run", file, "--sandbox", "--data", data, "--output", "json"], {
      env: { COFFERER_LISTEN: "127.0.0.1:0" },
    })
    await daemon.line(({ msg }) => msg === "confirmed")
    const answer = await call("pause", "--reason", "audit")
    assert.strictEqual(answer.code, 0, answer.stderr)
    await daemon.line(({ msg, detail }) => msg === "hold" && String(detail).startsWith("paused"))
    await daemon.stop()
    const listed = await call("intents", "--output", "json")
    id = (JSON.parse(listed.stdout) as View["intents"])[0]?.id ?? ""
    writeFileSync(file, sound.replace("maxFee: 0.2%", "maxFees: 0.2%"))
  }, 60_000)
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const warned = (stderr: string) => {
    const lines = stderr.trimEnd().split("\n")
    assert.lengthOf(lines, 1, stderr)
    assert.match(
      lines[0] ?? "",
      /^warn .*treasury\.yaml:\d+:\d+ {2}unknown key "maxFees"; .*of the store .*\/data alone$/,
    )
  }

  it("status tells what the store knows: names, balances, last looks, and what stops payments", async () => {
    const { code, stdout, stderr } = await call("status")
    assert.strictEqual(code, 0, stderr)
    warned(stderr)
    assert.match(stdout, /^no daemon runs; this is what its database says\n! {3}Paused \(all\) by /)
    assert.match(stdout, /sandbox, mode live, /)
    assert.match(stdout, /^ {2}hot +[0-9,.]+ USDT/m)
    assert.match(stdout, /keep-hot-funded +hot\/USDT +.*at its last look silent: paused/)
    const view = JSON.parse((await call("status", "--output", "json")).stdout) as View
    assert.deepStrictEqual(view.accounts.map(({ party, asset }) => `${party}/${asset}`).toSorted(), [
      "hot/USDT",
      "reserve/USDT",
    ])
  })

  it("intents lists payments and tells the story of one", async () => {
    const list = await call("intents")
    assert.match(list.stdout, /confirmed +16,210\.00 USDT +reserve -> hot/)
    warned(list.stderr)
    const story = await call("intents", "show", id.slice(0, 12))
    assert.strictEqual(story.code, 0, story.stderr)
    assert.match(story.stdout, /confirmed {2}16,210\.00 USDT {2}reserve -> hot {3}\(keep-hot-funded\)/)
  })

  it("explain tells a rule's last decision, and how a payment came about", async () => {
    const rule = await call("explain", "keep-hot-funded")
    assert.strictEqual(rule.code, 0, rule.stderr)
    warned(rule.stderr)
    assert.match(rule.stdout, /keep-hot-funded hot\/USDT was silent at .*: paused/)
    const payment = await call("explain", id.slice(0, 12))
    assert.match(payment.stdout, /was decided by keep-hot-funded: /, payment.stderr)
    const unknown = await call("explain", "no-such-rule")
    assert.strictEqual(unknown.code, 4, unknown.stderr)
  })

  it("verify recomputes the journal", async () => {
    const { code, stdout, stderr } = await call("verify")
    assert.strictEqual(code, 0, stderr)
    warned(stderr)
    assert.match(stdout, /^journal whole: \d+ entries/)
  })

  it("a file that is not there is as good as a broken one", async () => {
    const { code, stdout, stderr } = await callCofferer(["intents", "-c", join(dir, "gone.yaml"), "--data", data])
    assert.strictEqual(code, 0, stderr)
    assert.match(stderr, /^warn .*gone\.yaml .*of the store .*\/data alone\n$/)
    assert.match(stdout, /confirmed/)
  })

  it("what changes something still needs the file", async () => {
    const { code, stderr } = await call("intents", "cancel", id.slice(0, 12), "--reason", "x")
    assert.strictEqual(code, 3, stderr)
  })
})
