import { appendFileSync } from "node:fs"
import { relative } from "node:path"
import { type RunnerTestCase, type RunnerTestFile, TestRunner, type TestTryOptions } from "vitest"
import { root } from "../support/Cofferer.ts"
import { type Event, readPlan } from "./Plan.ts"
import { mutantSwitch } from "./Switch.ts"

const plan = readPlan()
const say = (event: Event) => appendFileSync(plan.journal, `${JSON.stringify(event)}\n`)

/** Each try of a mutant may take three runs: with it, without it, with it again. */
const runsOfTry = 3
const wordsMax = 300

const caught = new Set<number>()
let isSpoiled = false

interface Run {
  readonly mutant: number
  readonly step: "with" | "without" | "again"
}

/** The runs of one test that are still to be made, the next one first. */
let runs: Array<Run> = []
let running: Run | undefined
/** When the run began, and when the try did that it belongs to. */
let began = 0
let begun = 0
const recorded: { millis: number; first: ReadonlyArray<readonly [number, number]>; passed: number; runs: number } = {
  millis: 0,
  first: [],
  passed: 0,
  runs: 0,
}

const fileOf = ({ filepath }: RunnerTestFile): string => relative(root, filepath)

/** Names of tests that stand twice in their file are told apart by their order. */
const idsOf = (file: RunnerTestFile): ReadonlyMap<string, string> => {
  const seen = new Map<string, number>()
  const ids = new Map<string, string>()
  const visit = (tasks: RunnerTestFile["tasks"], before: string) => {
    for (const task of tasks) {
      const name = `${before} > ${task.name}`
      if (task.type === "suite") visit(task.tasks, name)
      else {
        const count = (seen.get(name) ?? 0) + 1
        seen.set(name, count)
        ids.set(task.id, count === 1 ? name : `${name} (${count})`)
      }
    }
  }
  visit(file.tasks, fileOf(file))
  return ids
}
const idsByFile = new WeakMap<RunnerTestFile, ReadonlyMap<string, string>>()
const idOf = (test: RunnerTestCase): string => {
  const ids = idsByFile.get(test.file) ?? idsOf(test.file)
  idsByFile.set(test.file, ids)
  return ids.get(test.id) ?? test.id
}

const sayOutside = (file: RunnerTestFile) => {
  const reached = [...mutantSwitch.reached]
  mutantSwitch.reached.clear()
  if (reached.length === 0) return
  say({ _tag: "Recorded", test: fileOf(file), millis: 0, passed: true, repeats: false, reached })
}

const record = (test: RunnerTestCase, isLast: boolean) => {
  const { state } = test.result!
  recorded.runs++
  if (state !== "fail") recorded.passed++
  if (recorded.runs === 1) {
    recorded.first = [...mutantSwitch.reached]
    recorded.millis = performance.now() - began
  }
  mutantSwitch.reached.clear()
  if (!isLast) return
  const [passed, repeats] = [recorded.runs > 0 && recorded.passed > 0, recorded.passed === 2]
  const millis = Math.round(recorded.millis)
  say({ _tag: "Recorded", test: idOf(test), millis, passed, repeats, reached: recorded.first })
}

const wordsOf = (test: RunnerTestCase): string =>
  `${idOf(test)}: ${test.result?.errors?.at(-1)?.message ?? ""}`.replaceAll(/\s+/g, " ").slice(0, wordsMax)

/** What a run with or without a mutant showed, and what is to be run next. */
const judge = (test: RunnerTestCase, { mutant, step }: Run, failed: boolean) => {
  const about = { test: idOf(test), mutant, pid: process.pid, millis: Math.round(performance.now() - begun) }
  if (step === "with") {
    if (failed) runs.unshift({ mutant, step: "without" })
    else say({ _tag: "Passed", ...about })
  } else if (step === "without") {
    if (!failed) return runs.unshift({ mutant, step: "again" })
    isSpoiled = true
    runs = []
    say({ _tag: "Spoiled", ...about })
  } else if (failed) {
    caught.add(mutant)
    say({ _tag: "Caught", ...about, words: wordsOf(test) })
  } else say({ _tag: "Passed", ...about })
}

/** Ends the run that is under way. One that the runner has not ended by itself failed in a hook of its test. */
const endRun = (test: RunnerTestCase, failed: boolean) => {
  const run = running
  running = undefined
  mutantSwitch.on = 0
  if (run !== undefined) judge(test, run, failed)
}

/** Runs each test with one mutant after the other, by the runner's own repeats: hooks and all. */
export default class MutantRunner extends TestRunner {
  onBeforeRunFiles(): void {
    mutantSwitch.on = 0
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test)
    if (plan.tries === undefined) {
      sayOutside(test.file)
      Object.assign(recorded, { runs: 0, passed: 0, first: [], millis: 0 })
      test.repeats = 1
      return
    }
    const mutants = (plan.tries[idOf(test)] ?? []).filter((mutant) => !caught.has(mutant))
    runs = mutants.map((mutant) => ({ mutant, step: "with" }))
    if (runs.length === 0 || isSpoiled) test.mode = "skip"
    test.repeats = runsOfTry * runs.length - 1
  }

  override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options)
    began = performance.now()
    endRun(test, true)
    const run = runs.shift()
    if (run === undefined) return
    running = run
    if (run.step === "with") {
      begun = began
      say({ _tag: "Begun", test: idOf(test), mutant: run.mutant, pid: process.pid, millis: 0 })
    }
    mutantSwitch.on = run.step === "without" ? 0 : run.mutant
  }

  /** Replaces the test's function: once all runs are made, what is left of the repeats does nothing. */
  async runTask(test: RunnerTestCase): Promise<void> {
    if (plan.tries === undefined || running !== undefined) await TestRunner.getTestFn(test)()
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options)
    if (plan.tries === undefined) record(test, options.repeats === 1)
    else endRun(test, test.result!.state === "fail")
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    super.onAfterRunTask(test)
    endRun(test, true)
  }

  override onAfterRunFiles(files: Array<RunnerTestFile>): void {
    super.onAfterRunFiles(files)
    if (plan.tries === undefined) for (const file of files) sayOutside(file)
  }
}
