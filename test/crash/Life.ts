import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { compiledDir, root } from "../support/Cofferer.ts"
import { inTime } from "../support/until.ts"

const node = join(root, "node_modules/.bin/node")

/** Milliseconds that a line is awaited: a busy machine may take a tenth of it. */
const lineMillisMax = 300_000

export type Line = Readonly<Record<string, unknown>>

/** One of our processes. It is never left behind: its end is waited for by whoever began it. */
export interface Process {
  readonly child: ChildProcess
  /** The first line to come that is accepted; undefined where the process ends before it. */
  readonly line: (accept: (line: Line) => boolean) => Promise<Line | undefined>
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** What it said on standard error. */
  readonly complaint: () => string
}

export interface ProcessOptions {
  /** File of the checkout. */
  readonly entry: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly nodeArgs?: ReadonlyArray<string>
  readonly hear?: (line: Line) => void
}

const parsed = (text: string): Line | undefined => {
  try {
    return JSON.parse(text) as Line
  } catch {
    // The last line of a killed process may be half a line.
    return undefined
  }
}

export const startProcess = (options: ProcessOptions): Process => {
  const flags = ["--disable-warning=ExperimentalWarning", ...(options.nodeArgs ?? [])]
  const child = spawn(node, [...flags, join(root, options.entry), ...options.args, "--output", "json"], {
    cwd: options.cwd,
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compiledDir, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const waiting: Array<{ accept: (line: Line) => boolean; resolve: (line: Line | undefined) => void }> = []
  let rest = ""
  let complaint = ""
  child.stdout.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n")
    rest = lines.pop() ?? ""
    for (const text of lines) {
      const line = parsed(text)
      if (line === undefined) continue
      options.hear?.(line)
      for (const { accept, resolve } of waiting) if (accept(line)) resolve(line)
    }
  })
  child.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-4_000)
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on("close", (code, signal) => {
      for (const waiter of waiting) waiter.resolve(undefined)
      resolve({ code, signal })
    })
  })
  return {
    child,
    ended,
    complaint: () => complaint,
    line: (accept) => {
      const next = new Promise<Line | undefined>((resolve) => waiting.push({ accept, resolve }))
      return inTime(`a line of ${options.entry} ${options.args[0]}`, next, lineMillisMax)
    },
  }
}
