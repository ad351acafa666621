import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { figure, holds, judge, median, report } from "./Benchmark.ts"

const fast = figure("fast", [900, 1200, 1100], { unit: "per second", better: "higher" })
const late = figure("late", [9, 11, 10], { unit: "ms", better: "lower" })

const bench = (...args: ReadonlyArray<string>) =>
  new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ["test/bench/main.ts", ...args],
      { cwd: root, timeout: 50_000 },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
  })

describe("the bench runner", () => {
  it("judges by the median", () => {
    assert.strictEqual(fast.value, 1100)
    assert.strictEqual(median([4, 1, 3, 2]), 2)
    assert.isNaN(median([]))
  })

  it.each([
    ["a higher figure above its floor", fast, { goal: 2000, floor: 1100 }, true],
    ["a higher figure below its floor", fast, { goal: 2000, floor: 1101 }, false],
    ["a lower figure below its bound", late, { goal: 5, floor: 10 }, true],
    ["a lower figure above its bound", late, { goal: 5, floor: 9 }, false],
    ["a figure without samples", { ...fast, value: Number.NaN }, { goal: 1, floor: 1 }, false],
  ])("lets %s pass, or not", (_, one, goal, passes) => {
    const [judged = assert.fail()] = judge([one], { [one.name]: goal })
    assert.strictEqual(holds(judged), passes)
  })

  it("lets no figure pass for which no floor is written", () => {
    const [judged = assert.fail()] = judge([fast], {})
    assert.isFalse(holds(judged))
    assert.include(report([judged]), "no floor is written")
  })

  it("shows median, extremes, goal, floor and verdict in a row each", () => {
    const rows = report(judge([fast, late], { fast: { goal: 1000, floor: 500 }, late: { goal: 8, floor: 9 } })).split(
      "\n",
    )
    assert.match(rows[1] ?? "", /^fast +1,100 per second +900 to 1,200 +1,000 +500 +goal reached$/)
    assert.match(rows[2] ?? "", /^late +10 ms +9 to 11 +8 +9 +BELOW THE FLOOR$/)
  })

  it.each([["nothing-like-it"], ["--no-such-flag"]])("refuses %s with what it could be", async (argument) => {
    const { code, stdout, stderr } = await bench(argument)
    assert.deepStrictEqual({ code, stdout }, { code: 2, stdout: "" })
    assert.match(
      stderr,
      /^bench: .*\nusage: npm run bench -- \[--json\] \[--check\] \[--minutes N\] \[--count N\] \[NAME \.\.\.\]/,
    )
  })

  it("names every benchmark and has a sound goal for each figure", async () => {
    const { code, stdout } = await bench("--help")
    assert.strictEqual(code, 0)
    for (const name of ["sandbox", "poller"]) assert.match(stdout, new RegExp(`^ {2}${name} +measures`, "m"))
    const goals = JSON.parse(readFileSync(new URL("goals.json", import.meta.url), "utf8")) as Record<
      string,
      { goal: number; floor: number }
    >
    assert.includeMembers(Object.keys(goals), ["sandbox reads", "poller rows compared", "poller rows stored"])
  })
})
