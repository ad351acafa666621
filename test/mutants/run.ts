import { spawn } from "node:child_process"
import { root } from "../support/Cofferer.ts"

/** Of what a program says, its end is kept. */
const charsMax = 1_000_000

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  readonly isLate: boolean
}

/** Runs a program with all that it starts in a group of its own, which ends once it is late. */
export const run = (
  command: string,
  args: ReadonlyArray<string>,
  options: {
    readonly input?: string
    readonly env?: NodeJS.ProcessEnv
    readonly isLate: () => boolean
    /** How often it is asked whether it is late. */
    readonly lookMillis: number
  },
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env: { ...process.env, ...options.env }, detached: true })
    const said = { stdout: "", stderr: "" }
    let isLate = false
    const look = setInterval(() => {
      if (isLate || child.exitCode !== null || !options.isLate()) return
      isLate = true
      process.kill(-child.pid!, "SIGKILL")
    }, options.lookMillis)
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] = (said[name] + text).slice(-charsMax)
      })
    }
    child.on("error", reject)
    child.on("close", (status) => {
      clearInterval(look)
      resolve({ ...said, status, isLate })
    })
    child.stdin.end(options.input)
  })

/** Late after so long. */
export const within = (millisMax: number) => {
  const began = performance.now()
  return { isLate: () => performance.now() - began > millisMax, lookMillis: 500 }
}
