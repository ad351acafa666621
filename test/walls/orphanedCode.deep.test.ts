import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { assert, beforeEach, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime, waitUntil } from "../support/until.ts"

const dir = tempDir("orphan")

const isAlive = (pid: string): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

describe("the process of rules in code", () => {
  beforeEach(({ skip }) => skip(!existsSync("/proc/self/task"), "needs /proc"))

  it("ends with a program that is killed while its code loops", async () => {
    const rules = join(dir, "rules.ts")
    writeFileSync(rules, 'export const rules = [{ name: "own", code: { need: () => { for (;;) {} } } }]\n')
    const program = [
      `import { loadRules } from ${JSON.stringify(join(root, "src/config/code/loadRules.ts"))}`,
      'import { readdirSync, readFileSync } from "node:fs"',
      `const { rules } = await loadRules(${JSON.stringify(rules)})`,
      'const told = (task) => readFileSync(["/proc", process.pid, "task", task, "children"].join("/"), "utf8").trim()',
      'const all = readdirSync("/proc/self/task").flatMap((task) => told(task).split(" ").filter(Boolean))',
      "const seen = { balances: {}, one: 1n, assets: {}, time: 0 }",
      'process.stdout.write(all.join(" "), () => { void (async () => { for (;;) await rules[0].code.need.ask(seen) })() })',
    ].join("\n")
    const parent = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", program])
    const [data] = await inTime("a line", once(parent.stdout, "data"))
    const line = String(data)
    const pids = line.trim().split(" ")
    assert.isTrue(pids.length > 0 && pids.every(isAlive), line)
    // Killed while it runs its code, which then reads no more of what would tell it so.
    const used = () =>
      Number(
        readFileSync(`/proc/${pids[0]}/stat`, "latin1")
          .replace(/^.*\) /s, "")
          .split(" ")[11],
      )
    const before = used()
    const works = waitUntil("its code to run", () => !isAlive(pids[0]!) || used() - before >= 20)
    await Effect.runPromise(works)
    assert.isNull(parent.exitCode, "it asks its code")
    parent.kill("SIGKILL")
    await Effect.runPromise(waitUntil("the end of its code", () => !pids.some(isAlive)))
  })
})
