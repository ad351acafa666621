import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { get } from "../support/Cofferer.ts"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { fastSandbox } from "../support/fastSandbox.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("reload")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const gateways = (...names: ReadonlyArray<string>): string =>
  `gateways: { ${names.map((name) => `${name}: "http://127.0.0.1:${name === "main" ? 1 : 2}"`).join(", ")} }\n  quorum: 1`

const good = fastSandbox()
  .replace('perTransfer: "25_000"', 'perTransfer: "30_000"')
  .replace(/gateways: \{[^}]*\}/, gateways("main", "spare"))

const changed = (from: string, to: string): string => {
  assert.include(good, from)
  return good.replace(from, to)
}

const reload = (...more: ReadonlyArray<string>) =>
  callCofferer(["reload", "--reason", "a test", "--data", data, "-c", file, ...more])

describe("a daemon whose treasury file is changed", () => {
  let daemon: Here
  let page = ""

  const metric = async (name: string): Promise<string> => {
    const { body } = await get(`${page}/metrics`)
    return body.split("\n").find((line) => line.startsWith(name)) ?? ""
  }
  const word =
    (msg: string, accept: (line: Readonly<Record<string, unknown>>) => boolean = () => true) =>
    (line: Readonly<Record<string, unknown>>) =>
      line["msg"] === msg && accept(line)

  beforeAll(async () => {
    writeFileSync(file, good)
    const args = ["run", file, "--sandbox", "--data", data, "--output", "json"]
    daemon = startHere(args, { env: { COFFERER_LISTEN: "127.0.0.1:0" } })
    page = urlOf(await daemon.line(word("page listening")))
    await daemon.line(word("daemon ready"))
  }, 60_000)

  afterAll(async () => {
    await daemon.stop()
  })

  it("says that nothing changed where nothing did", async () => {
    const { code, stdout, stderr } = await reload()
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /^nothing changed in \/\S+\.yaml: [0-9a-f]{12} is in force/)
  })

  it("keeps the last good one and alerts when the file is broken", async () => {
    writeFileSync(file, changed("for: 100ms", "for: 3"))
    const { code, stderr } = await reload()
    assert.strictEqual(code, 3, stderr)
    assert.match(stderr, /treasury\.yaml:\d+:\d+ {2}rules #\d+ for: "3" is not valid; write a duration/)
    assert.include(stderr, "what was in force stays in force")
    assert.match(await metric("cofferer_config_last_reload_successful"), / 0$/)
    const alert = await daemon.line(
      word("alert raised", (line) => String(line["detail"]).includes("a new configuration")),
    )
    assert.include(String(alert["detail"]), "was refused")
  })

  it("refuses what the policy did not permit before, by command and by signal", async () => {
    writeFileSync(file, changed('per24h: "100_000"', 'per24h: "200_000"'))
    const { code, stderr } = await reload()
    assert.strictEqual(code, 6, stderr)
    assert.match(stderr, /policy line 1, reserve -> hot, USDT: 200,000 in 24 h, before 100,000/)
    assert.include(stderr, "cofferer reload --allow-weaker --reason TEXT")
    const { stdout: status } = await callCofferer(["status", "--data", data])
    assert.match(
      status,
      /before 100,000; if it is meant, "cofferer reload --allow-weaker --reason TEXT[^"]*"; if not, /,
    )
    const planned = await callCofferer(["plan", file, "--data", data])
    assert.deepStrictEqual([planned.code, planned.stderr], [8, "cofferer: a restart with this file would halt\n"])
    assert.match(planned.stdout, /^HALT +a restart with this file halts all signing/m)
    assert.match(planned.stdout, /If it is meant: "cofferer reload --allow-weaker/)
    const other = file.replace(/\.yaml$/, ".other.yaml")
    writeFileSync(other, changed('per24h: "100_000"', 'per24h: "200_000"'))
    const { stdout: beside } = await callCofferer(["plan", other, "--data", data])
    assert.include(beside, `the same change in ${file}, then "cofferer reload --allow-weaker`)
    process.emit("SIGHUP", "SIGHUP")
    await daemon.line(word("configuration refused", ({ author }) => author === "SIGHUP"))
    assert.match(await metric("cofferer_config_last_reload_successful"), / 0$/)
  })

  it("refuses what only a start can change, with its line", async () => {
    writeFileSync(file, changed("chainId: sandbox-1", "chainId: sandbox-2"))
    const { code, stderr } = await reload()
    assert.strictEqual(code, 6, stderr)
    assert.match(
      stderr,
      /:\d+:\d+ {2}network\.chainId cannot change while it runs: .*; restart the daemon to change it\n?; until then/,
    )
    assert.notInclude(stderr, "cofferer reload")
  })

  it("refuses gateways in another order, since the first one is preferred", async () => {
    writeFileSync(file, changed(gateways("main", "spare"), gateways("spare", "main")))
    const { code, stderr } = await reload()
    assert.strictEqual(code, 6, stderr)
    assert.match(stderr, /network\.gateways cannot change while it runs: they are connected at the start; restart/)
  })

  it("refuses another signer, even of the same key, until a restart opens it", async () => {
    const key = `signer: { file: ${join(data, "sandbox/keys/reserve")} }`
    const weaker = changed("signer: { sandbox: reserve }", key).replace('per24h: "100_000"', 'per24h: "200_000"')
    writeFileSync(file, weaker)
    const { code, stderr } = await reload("--allow-weaker")
    assert.strictEqual(code, 6, stderr)
    assert.match(
      stderr,
      /treasury\.yaml:\d+:\d+ {2}parties\.reserve\.signer cannot change while it runs: keys are opened/,
    )
    assert.match(stderr, /; restart the daemon to change it; until then what was in force stays in force\n$/)
    process.emit("SIGHUP", "SIGHUP")
    await daemon.line(word("configuration refused", ({ reason }) => String(reason).includes("parties.reserve.signer")))
    await daemon.line(word("alert raised", ({ detail }) => String(detail).includes("parties.reserve.signer cannot")))
    const { stdout } = await callCofferer(["status", "--data", data])
    assert.include(stdout, "of 100,000 USDT")
    assert.match(stdout, /^! .*; restart the daemon to change it; or put the former files back, then "cofferer reload /)
  })

  it("applies a stricter one on SIGHUP and shows its hash", async () => {
    const hash = await metric('cofferer_config_hash{treasury="sandbox",part="policy"}')
    writeFileSync(file, changed('perTransfer: "30_000"', 'perTransfer: "25_000"'))
    process.emit("SIGHUP", "SIGHUP")
    const said = await daemon.line(word("configuration reloaded"))
    assert.deepInclude(said, { parts: ["policy"], author: "SIGHUP" })
    assert.match(await metric("cofferer_config_last_reload_successful"), / 1$/)
    assert.notStrictEqual(await metric('cofferer_config_hash{treasury="sandbox",part="policy"}'), hash)
    const status = JSON.parse((await callCofferer(["status", "--data", data, "-o", "json"])).stdout) as {
      readonly policy: ReadonlyArray<{ readonly text: string }>
    }
    assert.include(status.policy[0]?.text, "25,000 each")
  })

  it("takes a weaker one where that is asked for, and journals both hashes", async () => {
    writeFileSync(file, good)
    const { code, stdout, stderr } = await reload("--allow-weaker")
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /^in force: policy changed, [0-9a-f]{12}\nnow permitted: policy line 1/)
    const journal = (await callCofferer(["export", "--what", "journal", "--format", "jsonl", "--data", data])).stdout
    const entries = journal.split("\n").filter((line) => line.includes('"kind":"config","subject":"sandbox"'))
    assert.lengthOf(entries, 3, entries.join("\n"))
    assert.include(entries[0], "the first configuration")
    assert.include(entries[2], "a test")
    assert.match(entries[2] ?? "", /before.*[0-9a-f]{64}.*after.*[0-9a-f]{64}/)
  })

  it("decides and pays by a changed rule from the next round on", async () => {
    const raised = changed('below: "10_000", target: "25_000"', 'below: "26_000", target: "26_500"')
    writeFileSync(file, raised.replace("for: 100ms", "for: 0s"))
    const { code, stdout, stderr } = await reload()
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /^in force: rules changed/)
    const proposed = await daemon.line(
      word("payment proposed", ({ reason }) => String(reason).includes("is below 26,000")),
    )
    await daemon.line(word("payment confirmed", ({ intent }) => intent === proposed["intent"]))
  }, 60_000)

  it("was not stopped by any of it", async () => {
    assert.isFalse(daemon.lines.some(word("daemon stopped")))
    assert.deepStrictEqual(await daemon.stop(), { code: 0, signal: null })
  })
})
