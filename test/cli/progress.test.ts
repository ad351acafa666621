import { readFileSync, writeFileSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { Writable } from "node:stream"
import { assert, describe, it, vi } from "vitest"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { demoRow, pastStore } from "../support/pastStore.ts"
import { tempDir } from "../support/tempDir.ts"
import { startFakeDaemon } from "../walls/FakeDaemon.ts"

const rowOf = (party: string, units: number, minute: number) =>
  demoRow(party, units, Date.UTC(2026, 10, 21, 10, minute))

const cleared = `\r${String.fromCharCode(27)}[K`

/** Calls the program with a terminal behind standard error; returns what it draws there too. */
const onTerminal = async (args: ReadonlyArray<string>) => {
  let drawn = ""
  const progress = new Writable({
    write: (chunk: Buffer, _, done) => {
      drawn += chunk.toString()
      done()
    },
  })
  return [await callCofferer(args, { progress }), drawn] as const
}

describe("the progress of a backtest", () => {
  it("is shown on a terminal alone, and taken away at the end", async () => {
    const rows = Array.from({ length: 40 }, (_, minute) => rowOf("hot", 30_000 - minute, minute))
    const data = await pastStore([rowOf("reserve", 90_000, 0), ...rows])
    const args = ["backtest", "-c", join(root, "config/sandbox.yaml"), "-d", data]
    const [shown, drawn] = await onTerminal(args)
    assert.match(drawn, /backtest \[#+ +\] [1-9]\d? %/)
    assert.isTrue(drawn.endsWith(cleared))
    const plain = await callCofferer(args)
    assert.deepStrictEqual([shown.stdout, shown.stderr], [plain.stdout, ""])
  })
})

describe("long work with a daemon, on a terminal", () => {
  it("shows how far it is, and takes that away at the end", async () => {
    const home = tempDir("progress")
    const daemon = await startFakeDaemon(home)
    const shares = [0.25]
    const range = { since: "2026-11-10T00:00:00.000Z", until: "2026-11-20T00:00:00.000Z" }
    daemon.become((path) => {
      if (path === "/api/v1/verify") return { problem: null, entries: 7, intents: 1, head: "ab".repeat(32) }
      if (path === "/api/v1/backfill") return range
      const share = shares.shift()
      return { backfills: share === undefined ? [] : [{ since: range.since, share }] }
    })
    try {
      const [backfill, filled] = await onTerminal(["backfill", "--since", "2026-11-10T00:00:00Z", "--data", home])
      assert.match(backfill.stdout, /^the daemon has read the balance changes from 2026-11-10T\S+ to 2026-11-20T\S+$/m)
      assert.match(filled, /backfill \[#+ +\] 25 %/)
      const [, verified] = await onTerminal(["verify", "--data", home])
      assert.match(verified, /verify 0 s/)
      for (const drawn of [filled, verified]) assert.isTrue(drawn.endsWith(cleared))
    } finally {
      await daemon.close()
    }
  })

  it("says that a daemon which stopped has not read the past yet", async () => {
    const home = tempDir("progress")
    const daemon = await startFakeDaemon(home)
    const range = { since: "2026-11-10T00:00:00.000Z", until: "2026-11-20T00:00:00.000Z" }
    daemon.become((path) => {
      if (path === "/api/v1/backfill") return range
      void daemon.close()
      return { backfills: [{ since: range.since, share: 0.25 }] }
    })
    const [{ code, stdout }] = await onTerminal(["backfill", "--since", "2026-11-10T00:00:00Z", "--data", home])
    assert.match(stdout, /^the next daemon reads the balance changes from 2026-11-10T\S+ to 2026-11-20T/)
    assert.strictEqual(code, 0)
  })

  it.each([
    "adopt --reason looked",
    "recover --reason looked",
    "balances rebase hot USDT --reason looked",
    "reconcile",
  ])("waits longer for %s than its daemon reads the ledger for it", async (verb) => {
    const home = tempDir("progress")
    const daemon = await startFakeDaemon(home)
    const waits = vi.spyOn(Socket.prototype, "setTimeout")
    try {
      await callCofferer([...verb.split(" "), "--data", home])
      assert.isAbove(Math.max(...waits.mock.calls.map(([millis]) => millis)), 3_000_000)
    } finally {
      waits.mockRestore()
      await daemon.close()
    }
  })
})

describe("the conditions of a backtest", () => {
  it("separates conditions that held too briefly from those that never held", async () => {
    const rule = (name: string, below: string) => `  - name: ${name}
    notify: { when: { balance: { party: hot, asset: USDT, below: "${below}" } }, severity: page }
    for: 10m
policy: `
    const treasury = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
      .replace('below: "10_000"', 'below: "1"')
      .replace("policy: ", rule("hot-low", "10_000"))
      .replace("policy: ", rule("hot-dry", "10"))
    const file = join(tempDir("history"), "treasury.yaml")
    writeFileSync(file, treasury)
    const units = [30_000, 1_000, 30_000, 1_000, 30_000]
    const minutes = [0, 1, 5, 7, 9]
    const hot = units.map((one, i) => rowOf("hot", one, minutes[i]!))
    const { stdout } = await callCofferer([
      "backtest",
      ...["-c", file, "-d", await pastStore([rowOf("reserve", 90_000, 0), ...hot])],
    ])
    assert.match(stdout, /hot-low {2}page {2}0 alerts {2}never long enough {2}true 2 times, never for 10 min$/m)
    assert.match(stdout, /hot-dry {2}page {2}0 alerts {2}never true$/m)
  })
})
