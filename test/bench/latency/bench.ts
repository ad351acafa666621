import { execFile, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Benchmark, figure } from "../Benchmark.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const payments = 30
/** No payment may hang the run. */
const patienceMillis = 120_000

/** The sandbox that "npm start" runs, on a port of its own and with room for the payments. */
const treasuryText = () =>
  readFileSync(join(root, "config", "sandbox.yaml"), "utf8")
    .replace("127.0.0.1:3008", "127.0.0.1:0")
    .replace("transfersPerEpoch: 20", "transfersPerEpoch: 1000")
    .replace("transfersPer24h: 10", "transfersPer24h: 1000")

const settledSql = `SELECT created_at AS decided, updated_at AS confirmed FROM intents
  WHERE rule = 'submit' AND state = 'confirmed' ORDER BY created_at`

/** Hands in one payment after the other, each once the daemon has told that the one before is confirmed. */
const pay = async (file: string, dir: string, told: () => number, say: (text: string) => void) => {
  const before = told()
  for (let n = 0; n < payments; n++) {
    const payment = join(dir, `payment-${n}.yaml`)
    writeFileSync(payment, `idempotencyKey: "${n}"\ntransfer: { from: reserve, to: hot, asset: USDT, amount: "1" }\n`)
    const args = ["src/cofferer.sh", "submit", payment, "-c", file, "--data", join(dir, "data")]
    await promisify(execFile)("sh", args, { cwd: root })
    const end = Date.now() + patienceMillis
    while (told() - before <= n) {
      if (Date.now() > end) throw new Error(`payment ${n} was not confirmed within ${patienceMillis / 1_000} s`)
      await sleep(20)
    }
    if (n % 10 === 9) say(`${n + 1} of ${payments}`)
  }
}

/** Seconds from each decision to its confirmation, ascending. */
const measured = (dataDir: string): ReadonlyArray<number> => {
  const db = new DatabaseSync(join(dataDir, "cofferer.db"))
  try {
    const rows = db.prepare(settledSql).all() as Array<{ readonly decided: number; readonly confirmed: number }>
    return rows.map(({ decided, confirmed }) => (confirmed - decided) / 1_000).sort((a, b) => a - b)
  } finally {
    db.close()
  }
}

const percentile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN

const run: Benchmark["run"] = async (say) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-latency-"))
  const file = join(dir, "treasury.yaml")
  const dataDir = join(dir, "data")
  writeFileSync(file, treasuryText())
  const daemon = spawn("sh", ["src/cofferer.sh", "run", "--sandbox", file, "--data", dataDir], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  })
  let said = ""
  daemon.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString()
  })
  const told = () => said.split("\n").filter((line) => line.includes(`"msg":"confirmed"`)).length
  const ended = new Promise<void>((resolve) => daemon.on("exit", () => resolve()))
  try {
    const end = Date.now() + patienceMillis
    while (told() === 0) {
      if (Date.now() > end || daemon.exitCode !== null) throw new Error(`the daemon confirmed nothing: ${said}`)
      await sleep(100)
    }
    await pay(file, dir, told, say)
    daemon.kill("SIGKILL")
    await ended
    const seconds = measured(dataDir)
    const how = { unit: "s", better: "lower" } as const
    return [
      figure("latency decision to confirmed p50", [percentile(seconds, 0.5)], how),
      figure("latency decision to confirmed p99", [percentile(seconds, 0.99)], how),
    ]
  } finally {
    daemon.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  }
}

export const latency: Benchmark = {
  name: "latency",
  about: `the way of ${payments} payments on the sandbox with a block a second, one after the other`,
  run,
}
