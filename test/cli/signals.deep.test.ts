import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Daemon, get, root, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { fastSandbox } from "../support/fastSandbox.ts"
import { lineWith, urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("signals-deep")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const startDaemon = () =>
  start(["run", file, "--sandbox", "--data", data, "--output", "json"], {
    cwd: dir,
    env: { COFFERER_LISTEN: "0.0.0.0:0" },
  })

const health = () =>
  spawnSync(join(root, "src/health.sh"), [data], { encoding: "utf8", env: { PATH: "" }, timeout: 120_000 })

afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe("a daemon in its own process", () => {
  let daemon: Daemon

  beforeAll(async () => {
    writeFileSync(file, fastSandbox())
    daemon = startDaemon()
    await daemon.line(lineWith("daemon ready"))
  })

  afterAll(async () => {
    await daemon.stop("SIGKILL")
  })

  it("is found alive by the health check, which starts no program", () => {
    const { status, stdout, stderr } = health()
    assert.deepStrictEqual([status, stdout, stderr], [0, "", ""])
  })

  it("logs its state at SIGUSR1, opens no inspector, and goes on", async () => {
    daemon.child.kill("SIGUSR1")
    await daemon.line((line) => line["about"] === "process")
    assert.strictEqual(health().status, 0)
  })

  it("reads its files again at SIGHUP", async () => {
    writeFileSync(file, fastSandbox().replace("cooldown: 500ms", "cooldown: 600ms"))
    daemon.child.kill("SIGHUP")
    await daemon.line(lineWith("configuration reloaded"))
  })

  it("halts at SIGUSR2", async () => {
    daemon.child.kill("SIGUSR2")
    await daemon.line(lineWith("signing halted", "the signal SIGUSR2"))
    const resumed = await callCofferer(["resume", "--reason", "a drill", "--data", data])
    assert.strictEqual(resumed.code, 0, resumed.stderr)
  })

  it("is found dead while it is frozen, and once it is gone", async () => {
    daemon.child.kill("SIGSTOP")
    const frozen = health()
    assert.strictEqual(frozen.status, 1)
    assert.match(frozen.stdout, /^no answer on 127\.0\.0\.1 port \d+ within 5 s\n$/)
    daemon.child.kill("SIGCONT")
    assert.strictEqual(health().status, 0)
    assert.deepStrictEqual(await daemon.stop("SIGINT"), { code: 0, signal: null })
    assert.match(health().stdout, /^nothing listens on 127\.0\.0\.1 port \d+\n$/)
    rmSync(join(data, "page-address"))
    assert.match(health().stdout, /^no daemon has written .*page-address: name the directory of --data\n$/)
  })
})

/** Code that needs a moment to load, and no rule. */
const slowRules = "for (let n = 0; n < 300_000_000; n++);\nexport const rules = []\n"

/** True once it is the program, and not the shell that starts it, and has begun the process that loads code. */
const isLoading = (pid: number): boolean =>
  basename(readlinkSync(`/proc/${pid}/exe`)) === "node" &&
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8") !== ""

describe("SIGUSR2 while the rules are loaded", () => {
  it("halts the daemon once it runs", async () => {
    const slow = join(dir, "slow")
    mkdirSync(slow)
    writeFileSync(join(slow, "slow.ts"), slowRules)
    writeFileSync(join(slow, "treasury.yaml"), fastSandbox().replace("rules:\n", "rules:\n  - slow.ts\n"))
    const daemon = start(["run", "treasury.yaml", "--sandbox", "--output", "json"], { cwd: slow })
    while (!isLoading(daemon.child.pid!)) await setImmediate()
    daemon.child.kill("SIGUSR2")
    await daemon.line(lineWith("signing halted", "the signal SIGUSR2"))
    assert.deepStrictEqual(await daemon.stop(), { code: 0, signal: null })
  })
})

describe("a second SIGINT", () => {
  it("ends the daemon at once while an answer is awaited, and the payment executes once", async () => {
    writeFileSync(file, fastSandbox())
    rmSync(data, { recursive: true })
    const first = startDaemon()
    await first.line(lineWith("daemon ready"))
    const armed = ["delay", "--operation", "submit", "--count", "1", "--delay", "20s"]
    const { code, stderr } = await callCofferer(["sandbox", "fault", "arm", ...armed, "--data", data])
    assert.strictEqual(code, 0, stderr)
    const url = urlOf(await first.line(lineWith("gateways configured")))
    const isSent = async () => {
      const { faults } = JSON.parse((await get(`${url}/sandbox/faults`)).body) as { faults: ReadonlyArray<object> }
      return !JSON.stringify(faults).includes('"delay"')
    }
    while (!(await isSent())) await setImmediate()
    first.child.kill("SIGINT")
    await first.line(lineWith("daemon stopping", '"count":1,"seconds":5'))
    assert.deepStrictEqual(await first.stop("SIGINT"), { code: 1, signal: null })
    // After a drain that was not cut short it says so, and exits with 0.
    assert.isUndefined(first.lines.find(lineWith("daemon stopped")))
    const again = startDaemon()
    await again.line(lineWith("payment confirmed", "16210.00"))
    const network = urlOf(await again.line(lineWith("gateways configured")))
    const { executed } = JSON.parse((await get(`${network}/sandbox/ledger`)).body) as {
      executed: ReadonlyArray<{ transferId: string; code: number }>
    }
    const paid = executed.filter((tx) => tx.code === 0).map((tx) => tx.transferId)
    assert.strictEqual(paid.length, new Set(paid).size)
    assert.isAtLeast(paid.length, 1)
    assert.deepStrictEqual(await again.stop(), { code: 0, signal: null })
    const verified = await callCofferer(["verify", "-c", file, "--data", data])
    assert.strictEqual(verified.code, 0, verified.stderr)
  })
})
