import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Writable } from "node:stream"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"
import { startFakeDaemon } from "../walls/FakeDaemon.ts"

const dir = tempDir("history")
const header = "kind,at,party,asset,market,type,balance"
const rowOf = (party: string, balance: string, minute: number, asset = "USDT") =>
  `change,2026-11-21T10:${String(minute).padStart(2, "0")}:00Z,${party},${asset},,ACCOUNT_TYPE_GENERAL,${balance}`

/** Plays the demonstration's rules over a file of this content. */
const play = (name: string, ...lines: ReadonlyArray<string>) => {
  const file = join(dir, name)
  writeFileSync(file, `${lines.join("\n")}\n`)
  return callCofferer(["backtest", "-c", join(root, "config/sandbox.yaml"), "--history", file])
}

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
    const rows = Array.from({ length: 40 }, (_, minute) => rowOf("hot", `${30_000_000_000 - minute}`, minute))
    const file = join(dir, "progress.csv")
    writeFileSync(file, `${[header, rowOf("reserve", "90000000000", 0), ...rows].join("\n")}\n`)
    const args = ["backtest", "-c", join(root, "config/sandbox.yaml"), "--history", file]
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
})

describe("a file of balances", () => {
  const past = [rowOf("reserve", "90000000000", 0), rowOf("hot", "30000000000", 0), rowOf("hot", "1000000000", 1)]

  it("may call parties and assets by the names of the treasury file", async () => {
    const { code, stdout, stderr } = await play("names.csv", header, ...past)
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /^1 payment: 24,000.00 USDT/m)
  })

  it("keeps its last row where that ends in an empty cell, without a line end", async () => {
    const file = join(dir, "open.csv")
    const rows = [header, ...past].map(
      (row) => `${row.split(",").toSpliced(4, 1).join(",")},${row === header ? "market" : ""}`,
    )
    writeFileSync(file, rows.join("\n"))
    const { stdout, stderr } = await callCofferer([
      "backtest",
      "-c",
      join(root, "config/sandbox.yaml"),
      "--history",
      file,
    ])
    assert.match(stdout, /^1 payment: 24,000.00 USDT/m, stderr)
  })

  it("is refused where it names a party that nobody knows", async () => {
    const { code, stderr } = await play("mm1.csv", header, ...past, rowOf("mm1", "1", 2), rowOf("mm1", "2", 3))
    assert.strictEqual(code, 1)
    assert.match(stderr, /mm1\.csv:5: unknown party "mm1" \(2 rows\); write its publicKey, or a name .*: reserve, hot/)
  })

  it("names rows that are left out because their key is mistyped or unknown", async () => {
    const mistyped = "b194a7573835335c04cde1929e1ba3076500a58b4df90a97c85f3f85d0057cfd"
    const others = [rowOf(mistyped, "1", 2), rowOf(mistyped, "2", 3), rowOf("hot", "5", 3, "VOTE")]
    const { code, stdout, stderr } = await play("far.csv", header, ...past, ...others)
    assert.strictEqual(code, 0, stderr)
    assert.match(
      stdout,
      /^3 rows are left out, of no party or asset of the treasury: b194a757\.\.7cfd \(2\), VOTE \(1\)$/m,
    )
  })

  it("is refused where nothing in it is of the treasury", async () => {
    const { code, stderr } = await play(
      "other.csv",
      header,
      rowOf("ab".repeat(32), "1", 0),
      rowOf("hot", "1", 2, "USD"),
    )
    assert.strictEqual(code, 1)
    assert.match(stderr, /other\.csv: no row is of a party and an asset of the treasury; write their names/)
  })

  it("is refused by line and column where a row of it is wrong", async () => {
    const { code, stderr } = await play("row.csv", header, ...past, rowOf("hot", "4.50", 4), "move,,,,,,")
    assert.strictEqual(code, 1)
    assert.match(stderr, /row\.csv:5: balance is not a whole number of base units: \{"kind":"change"/)
    assert.match(stderr, /row\.csv:6: kind is none of change, opening, before, gap, quantum, parameter/)
    assert.match(stderr, /^a row has columns kind .*, at .*, party .*, asset .*, type .*, balance/m)
    const columns = await play("columns.csv", "time,balance", "2026-11-21T10:00:00Z,5")
    assert.match(columns.stderr, /columns\.csv:2: kind is none of/)
  })

  it("is refused with a remedy where it is of another form, or is none", async () => {
    const year = await play("year.txt", header, ...past)
    assert.strictEqual(year.code, 1)
    assert.match(year.stderr, /year\.txt:1: not a JSON object; end the file's name in \.csv if it is CSV/)
    const quotes = await play("quotes.csv", header, 'change,"a"b,c')
    assert.match(quotes.stderr, /quotes\.csv:2: not CSV; put a cell with quotes or commas in quotes/)
    const nope = await callCofferer(["backtest", "-c", join(root, "config/sandbox.yaml"), "--history", "nope.csv"])
    assert.strictEqual(nope.code, 1)
    assert.match(nope.stderr, /nope\.csv: no such file; "export --what balances"/)
    assert.notInclude(nope.stderr, "ENOENT")
  })

  it("separates conditions that held too briefly from those that never held", async () => {
    const rule = (name: string, below: string) => `  - name: ${name}
    notify: { when: { balance: { party: hot, asset: USDT, below: "${below}" } }, severity: page }
    for: 10m
policy: `
    const treasury = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
      .replace('below: "10_000"', 'below: "1"')
      .replace("policy: ", rule("hot-low", "10_000"))
      .replace("policy: ", rule("hot-dry", "10"))
    const file = join(dir, "treasury.yaml")
    writeFileSync(file, treasury)
    const again = [rowOf("hot", "30000000000", 5), rowOf("hot", "1000000000", 7), rowOf("hot", "30000000000", 9)]
    const rows = [header, ...past, ...again].join("\n")
    writeFileSync(join(dir, "short.csv"), rows)
    const { stdout } = await callCofferer(["backtest", "-c", file, "--history", join(dir, "short.csv")])
    assert.match(stdout, /hot-low {2}page {2}0 alerts {2}never long enough {2}true 2 times, never for 10 min$/m)
    assert.match(stdout, /hot-dry {2}page {2}0 alerts {2}never held$/m)
  })
})
