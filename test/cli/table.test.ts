import { Writable } from "node:stream"
import { assert, it } from "vitest"
import { table, treasuryFlagsOf } from "../../src/cli/common/output.ts"
import { terminalColumns } from "../../src/config/Environment.ts"
import { fitted, wrapped } from "../../src/domain/text.ts"
import { withFlags } from "../../src/telemetry/commandFlags.ts"

it("shows a line break of a gateway's text as a symbol", () => {
  const forged = "JUNK\nUSDT    enabled  6\u2028x"
  const rows = table([
    ["symbol", "status"],
    [forged, "proposed"],
  ]).split("\n")
  assert.strictEqual(rows.length, 2)
  assert.include(rows[1], "JUNK\\u{a}USDT    enabled  6\\u{2028}x  proposed")
})

it("goes on below its last cell with room where a terminal is too narrow", () => {
  const hash = "5e".repeat(32)
  const row = `  1  confirmed  window ends at block 115  transfer ${hash}  it was seen in the listing of two gateways`
  assert.deepStrictEqual(fitted(row, 80).split("\n"), [
    "  1  confirmed  window ends at block 115",
    "                transfer",
    `                ${hash}`,
    "                it was seen in the listing of two gateways",
  ])
  assert.deepStrictEqual(fitted(`${hash}: ${hash}${hash}`, 80).split("\n"), [`${hash}:`, `    ${hash}${hash}`])
  for (const columns of [undefined, row.length]) assert.strictEqual(fitted(row, columns), row)
})

it("breaks no command, which would run in part when it is pasted", () => {
  const lines = ["once a person ends the pause:", '"cofferer resume --scope all --reason TEXT";', "then it pays"]
  assert.deepStrictEqual(wrapped(lines.join(" "), 46), lines)
})

it("is as wide as the terminal, and 80 where that names no width", () => {
  const output = (more: object) => Object.assign(new Writable(), more)
  const widths = [{}, { isTTY: true }, { isTTY: true, columns: 0 }, { isTTY: true, columns: 100 }].map(output)
  assert.deepStrictEqual(widths.map(terminalColumns), [undefined, 80, 80, 100])
})

it("names the treasury in each printed command as the call named it", () => {
  const flags = treasuryFlagsOf(["status", "-c", "files", "--treasury=north", "--fail"])
  const text = '"cofferer plan" says more; "cofferer resume --reason TEXT"; "cofferer run files"'
  const named =
    '"cofferer plan -c files --treasury=north" says more; "cofferer resume --reason TEXT -c files --treasury=north"'
  assert.strictEqual(withFlags(text, flags), `${named}; "cofferer run files"`)
  assert.strictEqual(withFlags(named, "-c others --treasury south"), named)
  assert.strictEqual(treasuryFlagsOf(["status", "-c", "a b.yaml", "-d", "x"]), "-c 'a b.yaml' -d x")
  assert.strictEqual(withFlags(text, treasuryFlagsOf(["status"])), text)
})
