import { type ChildProcess, execFile, spawn } from "node:child_process"
import { request } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { inTime, waitMillisMax } from "./until.ts"

/** Root of the checkout. */
export const root: string = fileURLToPath(new URL("../../", import.meta.url))
/** Folder of the program that a run of tests bundled; processes outside of one start from the sources. */
export const programKey = "COFFERER_TEST_PROGRAM"
const program = process.env[programKey]
const launcher = join(program ?? root, "src/cofferer.sh")

interface Ended {
  readonly code: number | null
  readonly signal: string | null
}

export interface Outcome extends Ended {
  readonly stdout: string
  readonly stderr: string
}

/** Compiled code that the processes of tests leave to each other: compiling is half of what a start costs. */
export const compiledDir: string = join(root, "node_modules/.cache/compiled")

const environment = (env: Record<string, string>) => ({
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: program === undefined ? compiledDir : join(program, "compiled"),
  ...env,
})

/** Milliseconds of a program until its end or a line: beside a load of 24, a start and its first payment took 45 s. */
export const programMillisMax = 120_000

/** Milliseconds of a command: a check runs rules that loop for up to a minute. */
const commandMillisMax = 240_000

/** Runs the command line to its end, as an operator does; fails if it takes four minutes. */
export const cofferer = (
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      "sh",
      [launcher, ...args],
      { cwd: options.cwd ?? root, env: environment(options.env ?? {}), timeout: commandMillisMax },
      (_, stdout, stderr) => {
        if (child.killed) reject(new Error(`cofferer ${args.join(" ")} did not end in ${commandMillisMax} ms`))
        else resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr })
      },
    )
  })

export type Line = Readonly<Record<string, unknown>>

/** A daemon or a sandbox in its own process, whose JSON lines can be awaited. */
export interface Daemon {
  readonly child: ChildProcess
  readonly lines: ReadonlyArray<Line>
  /** The first line, past or to come, that is accepted. Fails when the process ends before it, or after two minutes. */
  readonly line: (accept: (line: Line) => boolean) => Promise<Line>
  /** What it wrote on standard error. */
  readonly errors: () => string
  readonly ended: Promise<Ended>
  /** Sends the signal and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Ended>
}

export const start = (
  args: ReadonlyArray<string>,
  options: {
    readonly cwd: string
    readonly env?: Record<string, string>
    /** Files and connections that it may have open; default what this process may. */
    readonly descriptors?: number
  },
): Daemon => {
  const { descriptors } = options
  const bounded = descriptors === undefined ? [] : ["-c", `ulimit -n ${descriptors}; exec sh "$0" "$@"`]
  const child = spawn("sh", [...bounded, launcher, ...args], {
    cwd: options.cwd,
    env: environment(options.env ?? {}),
    stdio: ["ignore", "pipe", "pipe"],
  })
  let errors = ""
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString()
    process.stderr.write(chunk)
  })
  const reader = readLines()
  child.stdout.on("data", (chunk: Buffer) => reader.read(chunk.toString()))
  const ended = new Promise<Ended>((resolve) => {
    child.on("exit", (code, signal) => {
      reader.end(`ended with ${code ?? signal}`)
      resolve({ code, signal })
    })
  })
  return {
    child,
    lines: reader.lines,
    errors: () => errors,
    ended,
    line: reader.line,
    stop: (signal = "SIGTERM") => {
      child.kill(signal)
      return inTime("the end of the process", ended, programMillisMax)
    },
  }
}

/** JSON lines of a program as they come. */
export const readLines = () => {
  const lines: Array<Line> = []
  const waiting = new Set<{ readonly accept: (line: Line) => boolean; readonly settle: (end: Line | Error) => void }>()
  let rest = ""
  let endedBy: string | undefined
  const line: Daemon["line"] = (accept) => {
    const past = lines.find(accept)
    if (past !== undefined) return Promise.resolve(past)
    if (endedBy !== undefined) return Promise.reject(new Error(`${endedBy} before the line came`))
    return new Promise((resolve, reject) => {
      const late = () =>
        settle(new Error(`no such line in ${programMillisMax} ms; the last: ${JSON.stringify(lines.at(-1))}`))
      const timer = setTimeout(late, programMillisMax)
      const settle = (end: Line | Error) => {
        clearTimeout(timer)
        waiting.delete(waiter)
        if (end instanceof Error) reject(end)
        else resolve(end)
      }
      const waiter = { accept, settle }
      waiting.add(waiter)
    })
  }
  return {
    lines,
    line,
    read: (text: string) => {
      const parts = (rest + text).split("\n")
      rest = parts.pop() ?? ""
      for (const part of parts) {
        const line = JSON.parse(part) as Line
        lines.push(line)
        for (const waiter of [...waiting]) if (waiter.accept(line)) waiter.settle(line)
      }
    },
    /** What is still awaited fails with the reason. */
    end: (reason: string) => {
      endedBy = reason
      for (const waiter of [...waiting]) waiter.settle(new Error(`${reason} before the line came`))
    },
  }
}

/** GET over HTTP: status and body. */
export const get = (url: string): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    request(url, { agent: false, signal: AbortSignal.timeout(waitMillisMax) }, (response) => {
      let body = ""
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on("error", reject)
      .end()
  })
