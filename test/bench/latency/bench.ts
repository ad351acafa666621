import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { root, start } from "../../support/Cofferer.ts"
import { type Benchmark, figure, percentile, rounded } from "../Benchmark.ts"
import { startScript } from "../programs.ts"

/** No fall may hang the run. */
const fallMillisMax = 15_000

/** What became of a payment, in Unix milliseconds. */
const paymentsSql = `SELECT created_at AS decided, updated_at AS confirmed, settled_at / 1000000 AS included,
  (SELECT max(at) FROM decisions WHERE decisions.rule = intents.rule AND reason = 'pending'
    AND at <= intents.created_at) AS noticed,
  (SELECT min(created_at) FROM attempts WHERE intent_id = intents.id) AS signed,
  (SELECT min(started_at) FROM sends WHERE intent_id = intents.id) AS sent,
  (SELECT min(ended_at) FROM sends WHERE intent_id = intents.id) AS taken
  FROM intents WHERE state = 'confirmed' ORDER BY created_at`

interface Payment {
  readonly noticed: number
  readonly decided: number
  readonly signed: number
  readonly sent: number
  readonly taken: number
  readonly included: number
  readonly confirmed: number
}
type Moments = Payment & { readonly visible: number }

const paymentsOf = (dataDir: string): ReadonlyArray<Payment> => {
  const db = new DatabaseSync(join(dataDir, "cofferer.db"))
  try {
    return db.prepare(paymentsSql).all() as unknown as ReadonlyArray<Payment>
  } finally {
    db.close()
  }
}

/** One treasury before a network of its own, until all of its falls are paid for; the first one warms it up. */
const runTreasury = async (falls: number): Promise<ReadonlyArray<Moments>> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-latency-"))
  const network = startScript("latency/network.ts", dir, `${falls}`, "0")
  try {
    await network.line((one) => "url" in one)
    const daemon = start(["run", join(dir, "treasury.yaml"), "--data", join(dir, "data")], { cwd: root })
    try {
      const fallsSeen = () => network.lines.flatMap(({ visible }) => (typeof visible === "number" ? [visible] : []))
      const paid = () => daemon.lines.filter(({ msg }) => msg === "payment confirmed").length
      const end = Date.now() + 60_000 + falls * fallMillisMax
      while (paid() < falls) {
        if (Date.now() > end) throw new Error(`a fall was not paid for: ${JSON.stringify(daemon.lines.slice(-5))}`)
        await sleep(200)
      }
      await daemon.stop("SIGKILL")
      const payments = paymentsOf(join(dir, "data"))
      return fallsSeen()
        .map((visible, n) => ({ visible, ...payments[n]! }))
        .slice(1)
    } finally {
      daemon.child.kill("SIGKILL")
    }
  } finally {
    await network.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Parts of the way, each from one moment to another. */
const parts = [
  ["visible", "noticed"],
  ["noticed", "decided"],
  ["decided", "signed"],
  ["signed", "sent"],
  ["sent", "taken"],
  ["taken", "included"],
  ["included", "confirmed"],
  ["visible", "confirmed"],
] as const

const run: Benchmark["run"] = async (say, { count = 50 }) => {
  say(`one treasury, ${count} falls, about ${30 + count * 10} s`)
  const all = await runTreasury(count + 1)
  const millis = (from: keyof Moments, to: keyof Moments) => all.map((one) => one[to] - one[from])
  for (const [from, to] of parts) {
    const took = millis(from, to)
    say(`${from} to ${to}: p50 ${percentile(took, 0.5)} ms, p99 ${percentile(took, 0.99)} ms`)
  }
  const lower = { unit: "ms", better: "lower" } as const
  const at = (name: string, share: number, samples: ReadonlyArray<number>) => ({
    ...figure(name, samples, lower),
    value: rounded(percentile(samples, share)),
  })
  return [
    at("latency fall visible to decision p50", 0.5, millis("visible", "decided")),
    at("latency fall visible to decision p99", 0.99, millis("visible", "decided")),
    at("latency decision to mempool p50", 0.5, millis("decided", "taken")),
    at("latency decision to confirmed p50", 0.5, millis("decided", "confirmed")),
  ]
}

export const latency: Benchmark = {
  name: "latency",
  about: "from a fall that can be read to its payment: blocks each second, rows 0.2 to 1.0 s later, default pace",
  limits:
    "A rule acts on two observations in two blocks. Rows of a block are visible 0.2 to 1.0 s after it, and " +
    "final once the rows of the next block are visible. An idle daemon reads balances every 2 s; after a fall " +
    "it waits for two more blocks. The worst case is 4 s: the idle pause and the longest time between two " +
    "visible blocks. A confirmation waits for the next block and its rows. The way to the mempool is three " +
    "commits, code that runs too seldom to be compiled, and the network's own check; the proof of work is " +
    "searched for meanwhile.",
  run,
}
