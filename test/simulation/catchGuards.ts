import { spawnSync } from "node:child_process"
import { root } from "../support/Cofferer.ts"
import { guards, type PlantedGuard } from "./guards.ts"

/** Whether the tests that the mistake names fail with it; fails itself where none of them ran. */
const isNoticed = (one: PlantedGuard): boolean => {
  const args = ["vitest", "run", "--config", "test/simulation/vitest.planted.ts"]
  const { stdout, stderr } = spawnSync("npx", [...args, "--reporter", "./test/support/PlainReporter.ts"], {
    cwd: root,
    env: { ...process.env, PLANTED: one.name },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
  const [, passed, failed] = /([0-9]+) passed, ([0-9]+) failed/.exec(stdout) ?? []
  if (Number(passed ?? 0) + Number(failed ?? 0) === 0)
    throw new Error(`no test of ${one.test} ran: ${stderr.slice(0, 2_000)}${stdout.slice(0, 2_000)}`)
  return Number(failed) > 0
}

/** Plants each mistake in turn, and runs the test that must notice it. Whether all were noticed. */
export const catchGuards = (): boolean => {
  const missed = guards.filter((one) => {
    const noticed = isNoticed(one)
    console.log(`${noticed ? "noticed by" : "NOT NOTICED by"} ${one.test}: ${one.name}`)
    return !noticed
  })
  console.log(`planted ${guards.length} noticed ${guards.length - missed.length}`)
  return missed.length === 0
}
