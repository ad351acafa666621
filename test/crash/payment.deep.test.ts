import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import * as Database from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { verifyChain } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { compiledDir, get, root } from "../support/Cofferer.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime } from "../support/until.ts"

const seed = "crash"
const node = join(root, "node_modules/.bin/node")

/** Each payment passes all of these; the daemon dies once at each. */
const moments = [
  "Outbox.record:end:1",
  "Signer.sign:start:1",
  "Signer.sign:end:1",
  "Outbox.persist:end:1",
  "Submitter.solve:end:1",
  "Outbox.beginSend:end:1",
  "GatewayWriter.submit:start:1",
  "GatewayWriter.submit:end:2",
  "Outbox.endSend:end:2",
  "Outbox.settle:start:1",
]

const usdt = "ab".repeat(32)
const intentsMin = 3

/** What moves the treasury to pay, again and again. */
interface Plan {
  readonly moments: ReadonlyArray<string>
  readonly rules: string
  readonly allow: string
  readonly more: string
  readonly spender: string
}

const plans: Readonly<Record<string, Plan>> = {
  payments: {
    moments,
    rules: `
  - name: keep
    topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "25_000" }] }`,
    allow: `{ from: reserve, to: [hot], asset: USDT, perTransfer: "25_000", per24h: "100_000_000", transfersPer24h: 5000 }`,
    more: "",
    spender: `{ from: hot, to: spender, asset: USDT, at: [{ block: 3, amount: "16_000" }], every: { blocks: 6, amount: "16_000" } }`,
  },
  // What differs from a payment lies between its signature and its answer.
  withdrawals: {
    moments: ["Signer.sign:end:1", "Outbox.persist:end:1", "GatewayWriter.submit:end:2", "Outbox.settle:start:1"],
    rules: `
  - name: skim
    withdraw: { from: reserve, asset: USDT, above: "100_000_000", target: "99_990_000", to: vault }`,
    allow: `{ from: reserve, to: [vault], asset: USDT, perTransfer: "1_000_000", per24h: "100_000_000", transfersPer24h: 5000 }`,
    more: `addresses: { vault: "0x${"12".repeat(20)}" }`,
    spender: `{ from: hot, to: reserve, asset: USDT, at: [{ block: 3, amount: "16_000" }], every: { blocks: 6, amount: "16_000" } }`,
  },
}

const treasury = (url: string, { rules, allow, more, spender }: Plan) => `
version: 1
name: crash
mode: live
network: { chainId: crash-1, gateways: { sandbox: "${url}" }, requestDeadline: 2s, poll: { busy: 50ms, idle: 100ms } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${publicKeyOf(seed, "reserve")}", signer: { sandbox: reserve } }
  hot: { publicKey: "${publicKeyOf(seed, "hot")}" }
rules:${rules}
policy:
  allow:
    - ${allow}
${more}
daemon: { listen: "127.0.0.1:0" }
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  # A payment outlives five starts of a busy machine: its window of 500 blocks may not end meanwhile.
  blockInterval: 400ms
  rateLimit: off
  pow: { difficulty: 4, pastBlocks: 500, txPerBlock: 2, increaseDifficulty: true }
  transfersPerEpoch: 1000
  parties: [hot, reserve, spender]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: { maxFaucetAmountMint: "1_000_000_000" }, status: { enabled: 0 } }
  deposits:
    - { party: hot, asset: USDT, amount: "${more === "" ? "24_000" : "24_000_000"}" }
    - { party: reserve, asset: USDT, amount: "100_000_000" }
  spenders:
    - ${spender}
`

const start = (
  dir: string,
  entry: string,
  args: ReadonlyArray<string>,
  env: Record<string, string> = {},
): ChildProcess =>
  spawn(node, ["--disable-warning=ExperimentalWarning", join(root, entry), ...args, "--output", "json"], {
    cwd: dir,
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compiledDir, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  })

const ended = async (child: ChildProcess) => {
  const [code, signal] = await inTime("the end of a process", once(child, "exit"), 120_000)
  return { code, signal } as { readonly code: number | null; readonly signal: string | null }
}

/** The first line of a child that a test function accepts, or the one that is so many. */
const line = (child: ChildProcess, accept: (said: Record<string, unknown>) => boolean, which = 1) =>
  inTime("a line of a process", lineOf(child, accept, which), 120_000)

const lineOf = (child: ChildProcess, accept: (said: Record<string, unknown>) => boolean, which: number) =>
  new Promise<Record<string, unknown>>((resolve, reject) => {
    let rest = ""
    let accepted = 0
    child.stdout?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n")
      rest = lines.pop() ?? ""
      for (const text of lines) {
        const said = JSON.parse(text) as Record<string, unknown>
        if (accept(said) && ++accepted === which) resolve(said)
      }
    })
    child.on("exit", (code) => reject(new Error(`ended with ${code} before the line came`)))
  })

const getJson = async (url: string): Promise<unknown> => JSON.parse((await get(url)).body)

describe.each(Object.entries(plans))("a daemon that is killed at moments of its %s", (_, plan) => {
  const { moments } = plan
  const dir = tempDir("crash")
  const file = join(dir, "treasury.yaml")
  const networkDir = join(dir, "network")
  const dataDir = join(dir, "data")
  let network: ChildProcess | undefined
  let url = ""

  beforeAll(async () => {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(file, treasury("http://127.0.0.1:1", plan))
    network = start(dir, "src/main.ts", ["sandbox", file, "--data", networkDir])
    url = urlOf(await line(network, (said) => said["urls"] !== undefined))
    writeFileSync(file, treasury(url, plan))
    cpSync(join(networkDir, "sandbox", "keys"), join(dataDir, "sandbox", "keys"), { recursive: true })
  })

  afterAll(async () => {
    if (network !== undefined && network.exitCode === null) {
      const gone = ended(network)
      network.kill("SIGTERM")
      await gone
    }
  })

  it("pays each decided payment exactly once", async () => {
    for (const moment of moments) {
      const daemon = start(dir, "test/crash/entry.ts", ["run", file, "--data", dataDir], { COFFERER_TEST_KILL: moment })
      daemon.stdout?.resume()
      assert.strictEqual((await ended(daemon)).signal, "SIGKILL", `killed at ${moment}`)
    }
    const last = start(dir, "src/main.ts", ["run", file, "--data", dataDir])
    // All may have hit one and the same.
    await line(last, (said) => said["msg"] === "payment confirmed", intentsMin)
    const stopped = ended(last)
    last.kill("SIGTERM")
    assert.deepStrictEqual(await stopped, { code: 0, signal: null })
    const once = start(dir, "src/main.ts", ["run", file, "--data", dataDir, "--once"])
    once.stdout?.resume()
    assert.strictEqual((await ended(once)).code, 0)

    const stored = await Effect.gen(function* () {
      const outbox = yield* Outbox
      const intents = yield* outbox.recent(1_000)
      const attempts = yield* Effect.forEach(intents, (intent) => outbox.attempts(intent.id))
      return { intents, attempts: attempts.flat(), broken: (yield* verifyChain()).problem }
    }).pipe(
      Effect.provide(
        Outbox.layerNoDeps.pipe(
          Layer.provideMerge(Journal.layer("crash")),
          Layer.provideMerge(Settings.layer),
          Layer.provideMerge(Database.layer({ filename: join(dataDir, Database.databaseFile) })),
        ),
      ),
      Effect.runPromise,
    )
    const ledger = (await getJson(`${url}/sandbox/ledger`)) as {
      executed: ReadonlyArray<{ transferId: string; party: string; code: number }>
    }
    const executed = ledger.executed.filter((tx) => tx.party === publicKeyOf(seed, "reserve"))
    assert.isNull(stored.broken, "the journal's chain is whole")
    assert.isAtLeast(stored.intents.length, intentsMin, "several payments were hit")
    for (const intent of stored.intents) {
      const own = stored.attempts.filter((a) => a.intentId === intent.id).map((a) => a.transferId as string)
      const found = executed.filter((tx) => own.includes(tx.transferId) && tx.code === 0)
      assert.strictEqual(intent.state, "confirmed", intent.detail)
      assert.strictEqual(found.length, 1, `intent ${intent.id} was executed ${found.length} times`)
    }
    const known = new Set(stored.attempts.map((a) => a.transferId as string))
    assert.deepStrictEqual(
      executed.filter((tx) => !known.has(tx.transferId)),
      [],
      "the ledger holds no payment that the journal does not know",
    )
    console.log(`killed ${moments.length} times; ${stored.intents.length} intents, ${executed.length} executed`)
  }, 600_000)
})
