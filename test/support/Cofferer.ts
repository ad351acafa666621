import { type ChildProcess, execFile, spawn } from "node:child_process"
import { request } from "node:http"
import { join } from "node:path"

/** Root of the checkout. */
export const root: string = new URL("../../", import.meta.url).pathname
const launcher = join(root, "src/cofferer.sh")

export interface Ended {
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
  NODE_COMPILE_CACHE: compiledDir,
  ...env,
})

/** Runs the command line to its end, as an operator does. */
export const cofferer = (
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = execFile(
      "sh",
      [launcher, ...args],
      { cwd: options.cwd ?? root, env: environment(options.env ?? {}) },
      (_, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
    )
  })

export type Line = Readonly<Record<string, unknown>>

/** A daemon or a sandbox in its own process, whose JSON lines can be awaited. */
export interface Daemon {
  readonly child: ChildProcess
  readonly lines: ReadonlyArray<Line>
  /** The first line, past or to come, that is accepted. Fails when the process ends before it. */
  readonly line: (accept: (line: Line) => boolean) => Promise<Line>
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
    stdio: ["ignore", "pipe", "inherit"],
  })
  const lines: Array<Line> = []
  const waiting: Array<{ accept: (line: Line) => boolean; resolve: (line: Line) => void; reject: (e: Error) => void }> =
    []
  let rest = ""
  child.stdout.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split("\n")
    rest = parts.pop() ?? ""
    for (const text of parts) {
      const line = JSON.parse(text) as Line
      lines.push(line)
      for (const waiter of waiting) if (waiter.accept(line)) waiter.resolve(line)
    }
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on("exit", (code, signal) => {
      for (const { reject } of waiting) reject(new Error(`ended with ${code ?? signal} before the line came`))
      resolve({ code, signal })
    })
  })
  return {
    child,
    lines,
    ended,
    line: (accept) => {
      const past = lines.find(accept)
      if (past !== undefined) return Promise.resolve(past)
      return new Promise((resolve, reject) => waiting.push({ accept, resolve, reject }))
    },
    stop: (signal = "SIGTERM") => {
      child.kill(signal)
      return ended
    },
  }
}

/** GET over HTTP: status and body. */
export const get = (url: string): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    request(url, { agent: false }, (response) => {
      let body = ""
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on("error", reject)
      .end()
  })
