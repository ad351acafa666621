import { renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { afterAll, beforeAll, it as plainIt } from "vitest"
import { reloadOnHangup } from "../../src/cli/run/signals.ts"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { haltFile } from "../../src/config/files.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { it } from "../support/it.ts"
import { lineWith, type SteppedDaemon, startStepped, steppedSandbox } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"
import { soon, waitUntil } from "../support/until.ts"

describe("SIGHUP", () => {
  it.effect("is heard again after a reload that failed by a defect", function* () {
    const reloads = yield* Queue.unbounded<number>()
    let count = 0
    const config = {
      reloading: () => Effect.andThen(Queue.offer(reloads, ++count), Effect.die(new Error("no such case"))),
    } as unknown as ConfigInForce["Service"]
    // Whatever else a reload needs is not come to.
    const listening = reloadOnHangup as Effect.Effect<void, never, ConfigInForce>
    const before = process.listenerCount("SIGHUP")
    const fiber = yield* Effect.forkChild(Effect.provideService(listening, ConfigInForce, config))
    yield* waitUntil("a listener", () => process.listenerCount("SIGHUP") > before)
    process.emit("SIGHUP", "SIGHUP")
    assert.strictEqual(yield* soon("a reload", Queue.take(reloads)), 1)
    process.emit("SIGHUP", "SIGHUP")
    assert.strictEqual(yield* soon("a reload", Queue.take(reloads)), 2)
    yield* Fiber.interrupt(fiber)
    assert.strictEqual(process.listenerCount("SIGHUP"), before)
  })
})

describe("a daemon that runs", () => {
  const dir = tempDir("signals")
  const file = join(dir, "treasury.yaml")
  const data = join(dir, "data")
  let daemon: SteppedDaemon

  beforeAll(async () => {
    const vega = "d1984e3d365faa05bcafbe41f50f90e3663ee7c0da22bb1e24b164e9532691b2"
    const text = steppedSandbox().replace("\nparties:", `\n  VEGA: { id: ${vega}, decimals: 18 }\nparties:`)
    writeFileSync(file, text.replace(/(hot: +{ publicKey: "[0-9a-f]+") }/, '$1, floor: { VEGA: "1" } }'))
    daemon = startStepped(file, data)
    await daemon.line(lineWith("rule idle", "24,310.00"))
  })

  afterAll(async () => {
    await daemon.stop()
    assert.strictEqual(process.listenerCount("SIGUSR1") + process.listenerCount("SIGUSR2"), 0, "nothing is left behind")
    rmSync(dir, { recursive: true, force: true })
  })

  plainIt("logs one line for each subject of its state at SIGUSR1", async () => {
    process.emit("SIGUSR1", "SIGUSR1")
    await daemon.line((line) => line["about"] === "process")
    const lines = daemon.lines.filter((line) => line["msg"] === "state reported")
    const subjects = lines.map((line) => `${line["about"]} ${line["subject"]}`)
    for (const subject of ["treasury sandbox", "gateway sandbox", "account hot/USDT", "limit line 1", "loop engine"]) {
      assert.include(subjects, subject)
    }
    assert.strictEqual(new Set(subjects).size, subjects.length, "each subject once")
    const hot = lines.find((line) => line["subject"] === "hot/USDT")
    assert.deepInclude(hot?.["facts"], { balance: "24,310.00", inBand: true })
    assert.strictEqual(lines.find((line) => line["subject"] === "hot/VEGA")?.["detail"], "unknown")
  })

  plainIt("halts at SIGUSR2, and goes on after resume", async () => {
    process.emit("SIGUSR2", "SIGUSR2")
    const halted = await daemon.line(lineWith("signing halted", "the signal SIGUSR2"))
    assert.deepInclude(halted, { level: "error", scope: "halt_file" })
    const resumed = await callCofferer(["resume", "--reason", "a drill", "--data", data])
    assert.strictEqual(resumed.code, 0, resumed.stderr)
    assert.notInclude(resumed.stdout, "still halted")
    assert.throws(() => rmSync(haltFile(data)), /ENOENT/)
  })

  plainIt("halts while its data directory is elsewhere, where no HALT file stops it", async () => {
    renameSync(data, `${data}-moved`)
    await daemon.line(lineWith("signing halted", `${data} is gone`))
    renameSync(`${data}-moved`, data)
    const isHalted = async () => (await callCofferer(["status", "--data", data])).stdout.includes(`${data} is gone`)
    while (await isHalted()) await daemon.blocks(1)
  })
})
