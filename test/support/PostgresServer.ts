import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = "/usr/lib/postgresql"

/** PostgreSQL refuses to run as root: Debian's own user starts it then. */
const asServer =
  process.getuid?.() === 0
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--inh-caps=-all"]
    : []

const run = (program: string, args: ReadonlyArray<string>) => {
  const [first = program, ...more] = [...asServer, program, ...args]
  const { status, stderr, error } = spawnSync(first, more, {
    encoding: "utf8",
    timeout: 120_000,
    stdio: ["ignore", "ignore", "pipe"],
  })
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`)
}

/** Starts a server of its own on a socket in a folder of its own. */
export const startServer = (options: ReadonlyArray<string> = []) => {
  const [version] = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  if (version === undefined) return undefined
  const bin = join(root, version, "bin")
  if (!existsSync(join(bin, "initdb"))) return undefined
  const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()
  const dir = mkdtempSync(join(base, "cofferer-pg-"))
  const data = join(dir, "data")
  chmodSync(dir, 0o777)
  run(join(bin, "initdb"), [
    "-D",
    data,
    "-U",
    "postgres",
    "--auth=trust",
    "--no-sync",
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
  ])
  const settings = ["listen_addresses=", "max_connections=200", "shared_buffers=32MB", ...options]
  const control = (...args: ReadonlyArray<string>) => run(join(bin, "pg_ctl"), ["-D", data, "-w", "-s", ...args])
  const start = () =>
    control(
      "-l",
      join(dir, "log"),
      "-o",
      [`-k ${dir}`, ...settings.map((setting) => `-c ${setting}`)].join(" "),
      "start",
    )
  start()
  return {
    url: `postgres://postgres@localhost/postgres?host=${dir}`,
    dir,
    restart: () => {
      control("-m", "fast", "stop")
      start()
    },
    /** As a standby that was promoted: it has what reached it, and has written no checkpoint yet. */
    promote: () => {
      control("-m", "immediate", "stop")
      writeFileSync(join(data, "standby.signal"), "")
      start()
      control("promote")
    },
    stop: () => {
      control("-m", "immediate", "stop")
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
