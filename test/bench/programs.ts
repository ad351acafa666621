import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { readLines, root } from "../support/Cofferer.ts"

export const quiet = "--disable-warning=ExperimentalWarning"

/** Starts a program whose lines of JSON can be awaited. */
export const startProgram = (command: string, args: ReadonlyArray<string>) => {
  const child = spawn(command, args, {
    cwd: root,
    // An image has its Node in its path: here it is the one of this process.
    env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, COFFERER_LISTEN: "127.0.0.1:0" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const { read, end, line, lines } = readLines()
  child.stdout.on("data", (chunk: Buffer) => read(chunk.toString()))
  child.on("exit", (code, signal) => end(`ended with ${code ?? signal}`))
  return {
    pid: child.pid!,
    line,
    lines,
    stop: async (signal: "SIGKILL" | "SIGTERM" = "SIGKILL") => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill(signal)
      await once(child, "exit")
    },
  }
}

export const startScript = (script: string, ...args: ReadonlyArray<string>) =>
  startProgram(process.execPath, [quiet, join("test/bench", script), ...args])

/** Uses a folder of its own and both launchers: the image's, whose program is bundled there, and this checkout's. */
export const withLaunchers = async <A>(
  use: (launchers: { readonly image: string; readonly sources: string }, dir: string) => Promise<A>,
): Promise<A> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  try {
    execFileSync(process.execPath, [quiet, ".ci/bundle.ts", join(dir, "image")], { cwd: root })
    return await use({ image: join(dir, "image/src/cofferer.sh"), sources: "src/cofferer.sh" }, dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Fields of a process in /proc, such as "VmRSS: 1 kB" of its status. */
export const procText = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, "utf8")
