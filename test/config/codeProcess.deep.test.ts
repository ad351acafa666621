import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { assert, beforeEach, describe, it } from "vitest"
import { isCodeIsolated } from "../../src/config/code/codeProcess.ts"
import { loadRules } from "../../src/config/code/loadRules.ts"
import { root } from "../support/Cofferer.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime, waitUntil } from "../support/until.ts"

const dir = tempDir("code-process")
const file = join(dir, "rules.ts")
writeFileSync(file, "export const rules = []\n")

const of = (pid: number | string, name: string): string => readFileSync(`/proc/${pid}/${name}`, "latin1")
/** Processes that run rules of a process. */
const childrenOf = (parent: number): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((pid) => {
      try {
        const isOwn =
          Number(
            of(pid, "stat")
              .replace(/^.*\) /s, "")
              .split(" ")[1],
          ) === parent
        return isOwn && of(pid, "cmdline").includes("codeChild.ts") ? [Number(pid)] : []
      } catch {
        return []
      }
    })

/** A program of its own, whose event loop does nothing else, that loads a file of rules as `loaded`. */
const loading = (path: string, then: string) => {
  const text = `
    import { loadRules } from ${JSON.stringify(join(root, "src/config/code/loadRules.ts"))}
    const loaded = await loadRules(${JSON.stringify(path)})
    ${then}`
  return spawn(process.execPath, ["--input-type=module-typescript", "-e", text], {
    stdio: ["ignore", "pipe", "inherit"],
  })
}

describe("the process of rules in code", () => {
  beforeEach(({ skip }) => skip(!existsSync("/proc/self/task"), "needs /proc"))

  it("has no environment, memory image or foreign file, and its own network", async () => {
    assert.property(await loadRules(file), "rules")
    const [pid, ...others] = childrenOf(process.pid)
    assert.isDefined(pid)
    assert.lengthOf(others, 0)
    assert.match(of(pid!, "environ"), /^(PWD=\/\0)?$/)
    assert.match(of(pid!, "limits"), /^Max core file size +0 +0 /m)
    assert.match(of(pid!, "limits"), /^Max cpu time +600 +600 /m)
    const flags = of(pid!, "cmdline").split("\0")
    assert.includeMembers(flags, ["--permission", `--allow-fs-read=${root}src/config/code/`, "--no-addons"])
    assert.isFalse(flags.some((flag) => /--allow-(child|worker|addons|fs-write|wasi|inspector)/.test(flag)))
    const own = readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync("/proc/self/ns/net")
    assert.strictEqual(own, isCodeIsolated())
  })

  it("ends with the program, however that ends", async () => {
    const program = loading(file, 'console.log("loaded"); setInterval(() => {}, 1_000)')
    await inTime("a line", once(program.stdout, "data"))
    const [pid] = childrenOf(program.pid!)
    assert.isDefined(pid)
    const ended = inTime("the end of the program", once(program, "exit"))
    program.kill("SIGKILL")
    await ended
    await Effect.runPromise(waitUntil("the end of its code", () => !existsSync(`/proc/${pid}`)))
  })

  it("is known to have filled its heap", async () => {
    const greedy = join(dir, "greedy.ts")
    writeFileSync(greedy, "for (const all: Array<unknown> = []; ; ) all.push({})\nexport const rules = []\n")
    const [said] = await inTime("a line", once(loading(greedy, "console.log(loaded.problem.message)").stdout, "data"))
    assert.match(String(said), /^it takes more than 64 MB of heap, or 512 MB in all$/m)
  })
})
