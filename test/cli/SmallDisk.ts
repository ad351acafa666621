import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync } from "node:fs"
import type { Readable } from "node:stream"
import { inTime } from "../support/until.ts"

/** Milliseconds that a command may take. */
const timeout = 120_000

export interface Started {
  readonly stdout: Readable
  readonly exit: Promise<number | null>
  readonly kill: (signal: NodeJS.Signals) => void
}

/** A disk that can be full and have room again, for the one process that is started on it. */
export interface SmallDisk {
  readonly dir: string
  /** Copies a folder to it. */
  readonly take: (from: string, name: string) => void
  readonly start: (command: string, env: Readonly<Record<string, string>>) => Started
  /** Runs a command that sees it, and gives what it printed. */
  readonly run: (command: string) => string
  /** Takes all but so many KiB; of a limit all. */
  readonly fill: (spareKibibytes?: number) => void
  readonly empty: () => void
  readonly end: () => void
}

const follow = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } })
  const exit = new Promise<number | null>((resolve) => child.on("exit", resolve))
  return { pid: child.pid ?? 0, stdout: child.stdout, exit, kill: (signal: NodeJS.Signals) => void child.kill(signal) }
}

const runs = (command: string, args: ReadonlyArray<string>): boolean => {
  try {
    execFileSync(command, args, { stdio: "ignore", timeout })
    return true
  } catch {
    return false
  }
}

/** Whether the machine can bound the files of a process. */
export const canLimit = (): boolean => runs("prlimit", ["--version"])

/** The file system takes all, but files of the process may not grow: works for every user of Linux. */
export const limitedDisk = (dir: string): SmallDisk => {
  mkdirSync(dir, { recursive: true })
  let pid = 0
  const limit = (bytes: string) =>
    execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`], { timeout })
  return {
    dir,
    take: (from, name) => cpSync(from, `${dir}/${name}`, { recursive: true }),
    start: (command, env) => {
      const started = follow("sh", ["-c", `exec ${command}`], env)
      pid = started.pid
      return started
    },
    run: (command) => execFileSync("sh", ["-c", command], { encoding: "utf8", timeout }),
    fill: () => void limit("1"),
    empty: () => void limit("unlimited"),
    end: () => {},
  }
}

const isRoot = process.getuid?.() === 0
const namespace = isRoot ? ["-m"] : ["-rm"]
const mounting = (dir: string) => `mount -t tmpfs -o size=48m tmpfs '${dir}'`

/** Whether this user may mount a file system where nobody else sees it. */
export const canMount = (dir: string): boolean => {
  mkdirSync(dir, { recursive: true })
  return runs("unshare", [...namespace, "sh", "-c", mounting(dir)])
}

/** A file system of 48 MiB that only the commands that are started here see. It is gone with `end`. */
export const mountedDisk = async (dir: string): Promise<SmallDisk> => {
  mkdirSync(dir, { recursive: true })
  const holder = spawn("unshare", [...namespace, "sh", "-c", `${mounting(dir)} && echo mounted && exec cat`], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  await inTime("the mount", once(holder.stdout, "data"))
  const inside = ["-t", String(holder.pid), "-m", ...(isRoot ? [] : ["-U", "--preserve-credentials"]), "sh", "-c"]
  const run = (command: string) => execFileSync("nsenter", [...inside, command], { encoding: "utf8", timeout })
  return {
    dir,
    take: (from, name) => void run(`cp -r '${from}' '${dir}/${name}'`),
    start: (command, env) => follow("nsenter", [...inside, `exec ${command}`], env),
    run,
    // It takes what is left, and fails by that.
    fill: (spare = 0) => {
      run(`dd if=/dev/zero bs=4096 2>/dev/null >>'${dir}/ballast' || true`)
      run(`truncate -s -${spare}K '${dir}/ballast'`)
    },
    empty: () => void run(`rm '${dir}/ballast'`),
    end: () => void holder.kill(),
  }
}
