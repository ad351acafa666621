import { spawn } from "node:child_process"
import { appendFileSync, existsSync, readFileSync } from "node:fs"

export interface Step {
  readonly name: string
  readonly command: ReadonlyArray<string>
}

/** A line of the figures file: a step that has ended. */
export interface Finished {
  readonly step: string
  readonly command: string
  /** Exit code; null if a signal ended the program. */
  readonly exit: number | null
  readonly seconds: number
  /** Last line of its output. */
  readonly last: string
  readonly commit: string
  readonly date: string
}

export interface Options {
  readonly figures: string
  /** Commit of the checkout; undefined if it differs from every commit, and no step counts as done. */
  readonly commit: string | undefined
  readonly cwd: string
  readonly print: (text: string) => void
}

/** Milliseconds after which a step is ended: six times what it should take. */
const stepMillisMax = 7_200_000

const finishedIn = (file: string): ReadonlyArray<Finished> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Finished)
    : []

const run = ({ command }: Step, { cwd, print }: Options) =>
  new Promise<Pick<Finished, "exit" | "last">>((resolve) => {
    const [program = "", ...args] = command
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "inherit"], timeout: stepMillisMax })
    let text = ""
    let last = ""
    const see = (lines: ReadonlyArray<string>) => {
      for (const line of lines) {
        print(line)
        if (line.trim() !== "") last = line.trim()
      }
    }
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (text + chunk).split("\n")
      text = lines.pop() ?? ""
      see(lines)
    })
    child.on("error", ({ message }) => resolve({ exit: null, last: message }))
    child.on("close", (exit) => {
      if (text !== "") see([text])
      resolve({ exit, last })
    })
  })

/** Runs each step that has not passed at this commit, notes how it ends, and returns how many passed and failed. */
export const runSteps = async (steps: ReadonlyArray<Step>, options: Options) => {
  const { figures, commit, print } = options
  const passed = new Set(
    finishedIn(figures).flatMap(({ step, exit, commit: of }) => (exit === 0 && of === commit ? [step] : [])),
  )
  const count = { done: 0, failed: 0, skipped: 0 }
  for (const step of steps) {
    if (passed.has(step.name)) {
      count.skipped++
      continue
    }
    print(`== ${step.name}: ${step.command.join(" ")}`)
    const began = performance.now()
    const { exit, last } = await run(step, options)
    const finished: Finished = {
      step: step.name,
      command: step.command.join(" "),
      exit,
      seconds: Math.round((performance.now() - began) / 1_000),
      last,
      commit: commit ?? "changed",
      date: new Date().toISOString(),
    }
    appendFileSync(figures, `${JSON.stringify(finished)}\n`)
    count[exit === 0 ? "done" : "failed"]++
    if (exit !== 0) print(`FAILED: ${step.name}: ${last}`)
  }
  return count
}
