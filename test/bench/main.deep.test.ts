import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { benchmarks } from "./benchmarks.ts"

const bench = (...args: ReadonlyArray<string>) =>
  new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ["test/bench/main.ts", ...args],
      { cwd: root, timeout: 120_000 },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
  })

describe("the command of the benchmarks", () => {
  it.each([["nothing-like-it"], ["--no-such-flag"], ["--against=nowhere.json"]])("refuses %s", async (argument) => {
    const { code, stdout, stderr } = await bench(argument)
    assert.deepStrictEqual({ code, stdout }, { code: 2, stdout: "" })
    assert.match(stderr, /^bench: /)
  })

  it("names every benchmark, each with a goal", async () => {
    const { code, stdout } = await bench("--help")
    assert.strictEqual(code, 0)
    const goals = Object.keys(JSON.parse(readFileSync(new URL("goals.json", import.meta.url), "utf8")))
    for (const { name } of benchmarks) {
      assert.match(stdout, new RegExp(`^ {2}${name} +measures`, "m"))
      assert.isTrue(goals.some((goal) => goal.startsWith(`${name} `)))
    }
  })
})
