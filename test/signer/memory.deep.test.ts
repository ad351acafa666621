import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { compiledDir, type Daemon, root, start } from "../support/Cofferer.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { usdt } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime } from "../support/until.ts"

const seed = "memory"
const dir = tempDir("memory")
const shown = join(dir, "shown")
const file = join(dir, "treasury.yaml")

const treasury = (url: string, key: string) => `version: 1
name: memory
mode: live
network: { chainId: memory-1, gateways: { only: "${url}" }, poll: { busy: 100ms, idle: 200ms } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${publicKeyOf(seed, "reserve")}", signer: { ${key} } }
  hot: { publicKey: "${publicKeyOf(seed, "hot")}" }
rules:
  - { name: keep, topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "25_000" }] } }
policy:
  allow:
    - { from: reserve, to: [hot], asset: USDT, perTransfer: "25_000", per24h: "25_000", transfersPer24h: 1 }
daemon: { listen: "127.0.0.1:0" }
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  # Its one payment has a window of 500 blocks, which may not end while the machine is busy.
  blockInterval: 400ms
  pow: { difficulty: 4, pastBlocks: 500, txPerBlock: 2, increaseDifficulty: true }
  parties: [hot, reserve]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: { maxFaucetAmountMint: "1_000_000_000" }, status: { enabled: 0 } }
  deposits:
    - { party: reserve, asset: USDT, amount: "100_000_000" }
    - { party: hot, asset: USDT, amount: "5_000" }
`

/** What a private key looks like wherever it is written: text in both byte widths of a string. */
const formsOf = (key: Buffer): ReadonlyMap<string, Buffer> => {
  const back = Buffer.from(key).reverse()
  const texts: ReadonlyArray<readonly [string, string]> = [
    ["hex", key.toString("hex")],
    ["HEX", key.toString("hex").toUpperCase()],
    ["hex, reversed", back.toString("hex")],
    ["base64", key.toString("base64").replace(/=+$/, "")],
    ["base64url", key.toString("base64url")],
    ["base64, reversed", back.toString("base64").replace(/=+$/, "")],
    ["decimal", BigInt(`0x${key.toString("hex")}`).toString()],
    ["list of bytes", [...key].join(",")],
  ]
  return new Map([
    ["bytes", key],
    ["bytes, reversed", back],
    ...texts.flatMap(([name, text]) => [
      [name, Buffer.from(text, "latin1")] as const,
      [`${name}, two bytes each`, Buffer.from(text, "utf16le")] as const,
    ]),
  ])
}

const overlap = 1_024
const chunkBytes = 8 << 20

/** Names of the forms that a file holds; it may be larger than one buffer. */
const foundIn = (path: string, forms: ReadonlyMap<string, Buffer>): ReadonlyArray<string> => {
  const fd = openSync(path, "r")
  const found = new Set<string>()
  const buffer = Buffer.alloc(chunkBytes + overlap)
  let kept = 0
  try {
    for (let read = 1; read > 0; ) {
      read = readSync(fd, buffer, kept, chunkBytes, null)
      const chunk = buffer.subarray(0, kept + read)
      for (const [name, form] of forms) if (chunk.includes(form)) found.add(name)
      kept = Math.min(overlap, chunk.length)
      chunk.copy(buffer, 0, chunk.length - kept)
    }
  } finally {
    closeSync(fd)
  }
  return [...found]
}

/** A daemon whose memory can be shown. */
const startShown = (args: ReadonlyArray<string>): ChildProcess =>
  spawn(
    join(root, "node_modules/.bin/node"),
    [
      "--disable-warning=ExperimentalWarning",
      "--report-exclude-env",
      join(root, "test/signer/memory/entry.ts"),
      ...args,
    ],
    {
      cwd: dir,
      env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compiledDir, COFFERER_TEST_SHOW: shown },
      stdio: ["ignore", "pipe", "inherit"],
    },
  )

const said = (child: ChildProcess, word: string) => inTime(`the line "${word}"`, lineOf(child, word), 120_000)

const lineOf = (child: ChildProcess, word: string) =>
  new Promise<void>((resolve, reject) => {
    let text = ""
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes(`"msg":"${word}"`)) resolve()
    })
    child.on("exit", (code) => reject(new Error(`ended with ${code} before "${word}": ${text}`)))
  })

describe("a daemon that has signed and paid", () => {
  let network: Daemon | undefined
  let daemon: ChildProcess | undefined
  let key: Buffer

  beforeAll(async () => {
    mkdirSync(shown)
    writeFileSync(file, treasury("http://127.0.0.1:1", "sandbox: reserve"))
    network = start(["sandbox", file, "--data", join(dir, "network"), "--output", "json"], { cwd: dir })
    const url = urlOf(await network.line((line) => line["urls"] !== undefined))
    const keyFile = join(dir, "network/sandbox/keys/reserve")
    const written = readFileSync(keyFile)
    key = written.length === 32 ? written : Buffer.from(written.toString().trim(), "hex")
    writeFileSync(file, treasury(url, `file: ${keyFile}`))
    daemon = startShown(["run", file, "--data", join(dir, "data"), "--output", "json"])
    await said(daemon, "payment confirmed")
    const told = said(daemon, "shown")
    daemon.kill("SIGUSR2")
    await told
  })

  afterAll(async () => {
    daemon?.kill("SIGKILL")
    await network?.stop()
  })

  it("holds its key in no form that a report or snapshot shows", () => {
    const forms = formsOf(key)
    assert.deepStrictEqual(foundIn(join(shown, "pool"), forms), [], "the pool of buffers")
    assert.deepStrictEqual(foundIn(join(shown, "report"), forms), [], "the diagnostic report")
    assert.deepStrictEqual(foundIn(join(shown, "heap"), forms), [], "the heap snapshot")
  })

  it("has it in memory only as the bytes that OpenSSL uses", () => {
    assert.deepStrictEqual(foundIn(join(shown, "memory"), formsOf(key)), ["bytes"])
  })
})
