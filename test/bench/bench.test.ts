import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { figure, median, type Run, regressions, report } from "./Benchmark.ts"
import { baselineFile, chartFile, chartOf, pageFile, pageOf } from "./page.ts"

describe("the bench runner", () => {
  it("judges by the median", () => {
    assert.strictEqual(figure("", [900, 1200, 1100], { unit: "per second", better: "higher" }).value, 1100)
    assert.strictEqual(median([4, 1, 3, 2]), 2)
    assert.isNaN(median([]))
  })

  it("shows median, extremes and goal in a row each", () => {
    const one = figure("pow one thread", [6, 8, 7], { unit: "MH/s", better: "higher" })
    const late = figure("pow event loop delay p99", [30, 50, 40], { unit: "ms", better: "lower" })
    const rows = report([one, late]).split("\n")
    assert.match(rows[1] ?? "", /^pow one thread +7 MH\/s +6 to 8 +5$/)
    assert.match(rows[2] ?? "", /^pow event loop delay p99 +40 ms +30 to 50 +20, missed$/)
  })

  it("names figures that became more than a tenth worse", () => {
    const at = (fast: number, late: number) => [
      figure("fast", [fast], { unit: "per second", better: "higher" }),
      figure("late", [late], { unit: "ms", better: "lower" }),
    ]
    assert.deepStrictEqual(regressions(at(90, 110), at(100, 100)), [])
    assert.deepStrictEqual(regressions(at(89, 111), at(100, 100)), [
      "fast: 89 per second, before 100",
      "late: 111 ms, before 100",
    ])
    assert.deepStrictEqual(regressions(at(1, 1), []), [])
  })

  it("wrote the page and its chart from the run that is kept", () => {
    const text = (file: string) => readFileSync(join(root, file), "utf8")
    const run = JSON.parse(text(baselineFile)) as Run
    assert.strictEqual(text(pageFile), pageOf(run))
    assert.strictEqual(text(chartFile), chartOf(run))
    assert.isBelow(Buffer.byteLength(text(pageFile)), 12_288)
  })
})
