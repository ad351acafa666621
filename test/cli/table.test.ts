import { assert, it } from "vitest"
import { table } from "../../src/cli/common/output.ts"

it("shows a line break of a gateway's text as a symbol", () => {
  const forged = "JUNK\nUSDT    enabled  6\u2028x"
  const rows = table([
    ["symbol", "status"],
    [forged, "proposed"],
  ]).split("\n")
  assert.strictEqual(rows.length, 2)
  assert.include(rows[1], "JUNK\\u{a}USDT    enabled  6\\u{2028}x  proposed")
})
