import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../support/Cofferer.ts"
import type { Event, Plan } from "./Plan.ts"
import { run } from "./run.ts"

/** A process says nothing for so long only where something is wrong with it: loading takes seconds. */
const silentMillisMax = 300_000
const lookMillis = 500

export interface Done {
  readonly events: ReadonlyArray<Event>
  /** A try that did not end in its time, or that took the process with it. */
  readonly broken: { readonly test: string; readonly mutant: number; readonly words: string } | undefined
  /** End of what the test runner printed. */
  readonly output: string
}

const eventsIn = (journal: string): ReadonlyArray<Event> =>
  existsSync(journal)
    ? readFileSync(journal, "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Event)
    : []

/** What each worker has begun and not ended, oldest first. */
const openIn = (events: ReadonlyArray<Event>) => {
  const open = new Map<number, Event & { readonly _tag: "Begun" }>()
  for (const event of events) {
    if (event._tag === "Begun") open.set(event.pid, event)
    else if (event._tag !== "Recorded") open.delete(event.pid)
  }
  return [...open.values()]
}

/** Runs the plan in one process of the test runner, and ends it where one try takes longer than it may. */
export const runPlan = async (
  plan: Omit<Plan, "journal">,
  millisMaxOf: (test: string) => number = () => silentMillisMax,
): Promise<Done> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-mutants-"))
  const [journal, file] = [join(dir, "journal.jsonl"), join(dir, "plan.json")]
  writeFileSync(file, JSON.stringify({ ...plan, journal }))
  const args = ["run", "--config", "test/mutants/vitest.switched.ts", "--reporter", "dot"]
  let late: Done["broken"]
  let changed = { count: 0, at: performance.now() }
  const since = new Map<string, number>()
  const isLate = (): boolean => {
    const events = eventsIn(journal)
    const now = performance.now()
    if (events.length > changed.count) changed = { count: events.length, at: now }
    for (const { test, mutant } of openIn(events)) {
      const key = `${mutant} ${test}`
      const begun = since.get(key) ?? now
      since.set(key, begun)
      if (now - begun <= millisMaxOf(test)) continue
      late = { test, mutant, words: `${test}: does not end within ${Math.round(millisMaxOf(test) / 1_000)} s` }
      return true
    }
    return now - changed.at > silentMillisMax
  }
  const ran = await run(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args], {
    env: { MUTANT_PLAN: file, NO_COLOR: "1" },
    isLate,
    lookMillis,
  })
  const events = eventsIn(journal)
  rmSync(dir, { recursive: true, force: true })
  const output = `${ran.stdout}${ran.stderr}`
  if (ran.isLate && late === undefined) throw new Error(`the tests say nothing for minutes: ${output.slice(-2_000)}`)
  const [crashed] = openIn(events)
  const ended = crashed && { ...crashed, words: `${crashed.test}: ends the process` }
  return { events, broken: late ?? ended, output: output.slice(-4_000) }
}
