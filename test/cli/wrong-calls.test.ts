import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Exit } from "effect"
import { assert, describe, it } from "vitest"
import { exitCodeOf } from "../../src/cli/root.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { writeTreasuries } from "../support/Treasuries.ts"
import { tempDir } from "../support/tempDir.ts"

describe("a wrong call is told in one line", () => {
  const calls: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
    [
      ["halt", "--reason", "x", "--for", "2h"],
      /^cofferer: Unrecognized flag: --for; .*"pause --for 2h" ends by itself$/,
    ],
    [
      ["object", "0123abcd", "--reason", "x"],
      /^cofferer: object is gone; weaker terms halt a start at once now; "halt" stops/,
    ],
    [["rules", "-c", "x", "--data", "y"], /^cofferer: Unknown subcommand "rules" for "cofferer"$/],
    [
      ["alerts", "-c", "x.yaml"],
      /^cofferer: "alerts" is followed by one of list, show, .*, test; "x\.yaml" is none of them$/,
    ],
    [["halt", "--reasn", "x"], /^cofferer: Unrecognized flag: --reasn.*; did you mean --reason\?$/],
    [["approve", "terms", "xyz"], /^cofferer: Invalid value for argument <hash>: "xyz"\. Expected 8 to 64 hex/],
    [["pause", "--reason", "x", "--for", "soon"], /^cofferer: Invalid value for flag --for: "soon"\. Expected/],
    [
      ["alerts", "list", "--limit", "0"],
      /^cofferer: Invalid value for flag --limit: "0"\. Expected: a number from 1 to 10000$/,
    ],
    [
      ["intents", "--limit", "1001"],
      /^cofferer: Invalid value for flag --limit: "1001"\. Expected: a number from 1 to 1000$/,
    ],
    [["intents", "--limit", "ten"], /^cofferer: Invalid value for flag --limit: "ten"\. Expected a number$/],
    [["alerts", "ack", "x"], /^cofferer: Invalid value for argument <number>: "x"\. Expected a number$/],
    [["explain", "x", "--at", "5"], /^cofferer: Invalid value for flag --at: "5"\. Expected a duration back from now/],
    [["explain", "x", "--at", "2026-11-21T10:00"], /^cofferer: Invalid value for flag --at: .*or a time with its zone/],
    [
      ["balances", "--start", "2026-11-21T10:00"],
      /^cofferer: Invalid value for flag --start: .*or a time with its zone/,
    ],
  ]
  it.each(calls)("%j", async (args, says) => {
    const { code, stdout, stderr } = await callCofferer(args)
    assert.deepStrictEqual([code, stdout], [2, ""])
    const lines = stderr.trimEnd().split("\n")
    assert.lengthOf(lines, 2, stderr)
    assert.match(lines[0] ?? "", says, stderr)
    assert.notInclude(stderr, "Schema validation")
    assert.match(lines.at(-1) ?? "", /^see: cofferer .*--help$/)
  })

  it("and help says what is stopped and tested where no flag says it", async () => {
    const help = async (command: string) => (await callCofferer([command, "--help"])).stdout.replaceAll(/\s+/g, " ")
    assert.include(await help("pause"), "default all: everything")
    assert.include(await help("test"), "instead of the one that the test file names")
    assert.notInclude(await help("test"), "default treasury.yaml")
    for (const group of ["alerts list", "terms accept", "keys new"]) {
      assert.include(await help(group.split(" ")[0]!), `cofferer ${group}`)
    }
  })
})

it("a command that is stopped before its answer failed; a daemon is stopped so", () => {
  const codes = ["status", "run", "sandbox"].map((command) => exitCodeOf(Exit.interrupt(1), [command]))
  assert.deepStrictEqual(codes, [1, 0, 0])
})

describe("a verb with --treasury", () => {
  const dir = tempDir("several")
  const files = join(dir, "files")
  writeTreasuries(files, 2, "http://127.0.0.1:1")
  const payment = join(dir, "payment.yaml")
  writeFileSync(payment, 'idempotencyKey: one\ntransfer: { from: reserve, to: hot, asset: A, amount: "1" }\n')
  const calls: ReadonlyArray<ReadonlyArray<string>> = [
    ["approve", "1at3", "--print"],
    ["approve", "1at3", "--signature", "0".repeat(128)],
    ["receipt", "1at3"],
    ["intents", "show", "1at3"],
    ["alerts", "list"],
    ["export"],
    ["reload", "--reason", "x"],
    // It makes the database.
    ["submit", payment],
  ]
  it.each(calls)("is for that one of a folder's treasuries: %j", async (...args) => {
    const { code, stderr } = await callCofferer([...args, "-c", files, "--treasury", "t0001"])
    assert.match(stderr, /no daemon runs in \S+t0001|gateway node/, stderr)
    assert.strictEqual(code, 4)
  })
})
