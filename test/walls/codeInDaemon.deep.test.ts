import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { cofferer, type Daemon, type Line, start } from "../support/Cofferer.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { usdt } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

const seed = "code-in-daemon"
const dir = tempDir("code-in-daemon")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")
const names = ["hot", "warm", "reserve"]

const treasury = (url: string) => `version: 1
name: code
mode: live
network: { chainId: code-1, gateways: { only: "${url}" }, poll: { busy: 100ms, idle: 200ms } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${publicKeyOf(seed, "reserve")}", signer: { sandbox: reserve } }
  hot: { publicKey: "${publicKeyOf(seed, "hot")}" }
  warm: { publicKey: "${publicKeyOf(seed, "warm")}" }
rules:
  - rules.ts
  - lies.ts
  - { name: keep, topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "25_000" }] } }
policy:
  allow:
    - { from: reserve, to: [hot, warm], asset: USDT, perTransfer: "25_000", per24h: "50_000", transfersPer24h: 2 }
alerts: { receivers: { log: { log: {} } }, routes: [{ severity: [ticket], to: [log] }] }
daemon: { listen: "127.0.0.1:0" }
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  blockInterval: 100ms
  pow: { difficulty: 4, pastBlocks: 500, txPerBlock: 2, increaseDifficulty: true }
  parties: [${names.join(", ")}]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: { maxFaucetAmountMint: "1_000_000_000" }, status: { enabled: 0 } }
  deposits:
    - { party: reserve, asset: USDT, amount: "100_000_000" }
    - { party: hot, asset: USDT, amount: "5_000" }
    - { party: warm, asset: USDT, amount: "5_000" }
`

/** Touches one byte of each page: on a quick machine the limit of memory is met first, on a slow one that of time. */
const grow = `const all: Array<Uint8Array> = []
  for (;;) {
    const more = new Uint8Array(50_000_000)
    for (let at = 0; at < more.length; at += 4_096) more[at] = 1
    all.push(more)
  }`

/** Sound in what is tried before the start, with balances that are made up; harmful with the real one. */
const harm: Readonly<Record<string, readonly [code: string, says: RegExp]>> = {
  loops: ["for (;;);", /^its code does not end within (500 ms|10 s: .*); correct it, then/],
  throws: ['throw new Error("no")', /^its code fails at rules\.ts:\d+:\d+: no; correct it, then/],
  grows: [grow, /^its code (takes more than 64 MB of heap, or 512 MB|does not end within (500 ms|10 s))/],
  ends: ["const proc = globalThis.constructor.constructor; proc('return process')().exit(0)", /^its code (ends|fails)/],
}

const rule = (name: string, to: string, body: string): string => `  {
    name: "${name}",
    code: {
      accounts: [{ party: "${to}", asset: "USDT" }], from: "reserve", to: "${to}", asset: "USDT",
      need: (seen: any) => { const has = seen.balances["${to}/USDT"]; ${body} },
    },
    cooldown: "1h",
  },`

const rules = `export const rules = [
${Object.entries(harm)
  .map(([name, [code]]) => rule(name, "warm", `if (has > 4_000n * seen.one && has < 30_000n * seen.one) { ${code} }`))
  .join("\n")}
${rule("own", "warm", 'return has < 10_000n * seen.one ? { pay: "20_000", because: "it is low" } : undefined')}
]
`

/** What it would change is of the language of all files. */
const liar = `export const rules = [
${rule("lies", "warm", "if (has > 4_000n * seen.one) { (Array as any).from = () => 5; return [] }")}
]
`

const isOf =
  (msg: string, field: string, value: unknown) =>
  (line: Line): boolean =>
    line["msg"] === msg && line[field] === value

describe("a daemon among whose rules in code most do harm", () => {
  let network: Daemon | undefined
  let daemon: Daemon | undefined

  beforeAll(async () => {
    writeFileSync(join(dir, "rules.ts"), rules)
    writeFileSync(join(dir, "lies.ts"), liar)
    writeFileSync(file, treasury("http://127.0.0.1:1"))
    network = start(["sandbox", file, "--data", data, "--output", "json"], { cwd: dir })
    const url = urlOf(await network.line((line) => line["urls"] !== undefined))
    writeFileSync(file, treasury(url))
    daemon = start(["run", file, "--data", data, "--output", "json"], { cwd: dir })
  })

  afterAll(async () => {
    await daemon?.stop()
    await network?.stop()
  })

  it("pays by its other rules, in code as in YAML", async () => {
    for (const name of ["keep", "own"]) {
      const { intent } = await daemon!.line(isOf("payment proposed", "rule", name))
      await daemon!.line(isOf("payment confirmed", "intent", intent))
    }
  })

  it("goes on answering people", async () => {
    const { stdout, code } = await cofferer(["explain", "own", "-c", file, "--data", data], { cwd: dir })
    assert.strictEqual(code, 0, stdout)
    assert.match(stdout, /own warm\/USDT has nothing to do: at 25,000\.00 warm\/USDT its code needs nothing/)
  })

  it("proves what code decided, with the code's hash, as any other payment", async () => {
    const { intent } = await daemon!.line(isOf("payment proposed", "rule", "own"))
    const own = ["-c", file, "--data", data]
    const receipt = join(dir, "receipt.json")
    const run = async (...args: ReadonlyArray<string>) => {
      const { stdout, stderr, code } = await cofferer(args, { cwd: dir })
      assert.strictEqual(code, 0, stdout + stderr)
      return stdout
    }
    await run("receipt", String(intent), "--file", receipt, ...own)
    assert.match(await run("receipt", "verify", receipt), /confirmed/)
    const story = await run("intents", "show", String(intent), ...own)
    const [, hash] = /decision +own: it is low .*; by code ([0-9a-f]{8})\n/.exec(story) ?? []
    assert.isDefined(hash, story)
    assert.match(readFileSync(receipt, "utf8"), new RegExp(`code.{1,10}hash.{1,10}${hash}[0-9a-f]{56}`))
    assert.include(await run("verify", ...own), "journal intact")
  })

  const told = { ...harm, lies: ["", /^its code fails at lies\.ts:\d+:\d+: Cannot assign to read only/] as const }
  it.each(Object.keys(told))("tells people why %s pays nothing", async (name) => {
    const [, says] = told[name as keyof typeof told]!
    const words = String((await daemon!.line(isOf("alert raised", "subject", name)))["detail"])
    assert.match(words.replace(/^pays nothing: /, ""), says)
  })
})
