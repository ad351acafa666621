import { spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { root } from "../support/Cofferer.ts"
import { type Fail, readFlags } from "../support/Flags.ts"
import { runSteps } from "./runSteps.ts"
import { stepsOf } from "./steps.ts"

const usage = `usage: npm run proof -- [--only NAME] [--figures FILE] [--list]

Runs every long proof, one after the other. A step that passed at this commit is not run again.

  --only     steps whose name begins with this
  --figures  a file that gets a line of JSON for each step; default proof.jsonl
  --list     prints the steps with their commands, and runs none`

const flags = readFlags("proof", usage, {
  only: "",
  figures: "proof.jsonl",
  list: false,
})
const { values } = flags
const fail: Fail = flags.fail
const git = (...args: ReadonlyArray<string>) => {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8", timeout: 60_000 })
  return status === 0 ? stdout.trim() : undefined
}
const commit = git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : undefined
const dir = join("node_modules/.cache/proof", commit ?? `changed-${Date.now()}`)
const steps = stepsOf(dir).filter(({ name }) => name.startsWith(values.only))
if (steps.length === 0) fail(`no step begins with ${values.only}`)
if (values.list) {
  for (const { name, command } of steps) console.log(`${name.padEnd(20)}${command.join(" ")}`)
  process.exit(0)
}
if (commit === undefined) console.error("proof: uncommitted changes: every step runs, and none counts for a later run")
mkdirSync(join(root, dir), { recursive: true })
const print = (text: string) => console.log(text)
const { done, failed, skipped } = await runSteps(steps, { figures: resolve(values.figures), commit, cwd: root, print })
console.log(`${done} done, ${failed} failed, ${skipped} skipped`)
process.exitCode = failed > 0 ? 1 : 0
