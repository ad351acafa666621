import { assert, describe, it } from "vitest"
import { chart } from "../../src/backtest/chart.ts"

describe("a chart", () => {
  it.each([
    ["zero", 0, 0],
    ["ten million", 1e7, 1e7],
    ["a hundred million", 1e8, 1e8],
    ["a billion, one base unit apart", 1e9, 1e9 + 1e-6],
  ])("has an axis for a balance that stays at %s", (_, low, high) => {
    const none = { least: undefined, most: undefined, floor: undefined, paid: [], received: [], holds: [], alerts: [] }
    const line = { key: "k", name: "hot/USDT", lows: [low, low, low], highs: [low, high, high], ...none }
    const drawn = chart([{ drawing: { columns: 3, from: 0, to: 1, lines: [line] }, name: "rules" }], "title")
    assert.notInclude(drawn, "NaN")
    assert.isAtMost(drawn.match(/class="grid"/g)?.length ?? 0, 6)
  })
})
