import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { readNetworkState } from "../../src/sandbox/state/NetworkState.ts"
import { get, root } from "../support/Cofferer.ts"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { scenarioOf, scenarioText } from "../support/TestSandbox.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-state-"))
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

const usdt = "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba"
const euro = "e0".repeat(32)
const [hot, reserve] = ["hot", "reserve"].map((name) => publicKeyOf("first-minute", name))

const account = (party: string | undefined, asset: string, balance: string) => {
  return { asset, party, market: "", type: "ACCOUNT_TYPE_GENERAL", balance }
}

/** A network after 40 blocks: two assets, of which the scenario knows one, and money where it never was by script. */
const state = {
  chainId: "elsewhere-7",
  height: 40,
  time: "1795000000123456789",
  genesisTime: "1794999960000000000",
  parameters: { "spam.pow.difficulty": "9", "reward.asset": usdt },
  epoch: { seq: 12, startTime: "1794999990000000000", firstBlock: 31, transfers: { [hot ?? ""]: 3 } },
  hashes: { 40: "40".repeat(32), 41: "41".repeat(32) },
  assets: [
    {
      id: euro,
      name: "Euro",
      symbol: "EUR",
      decimals: 2,
      quantum: "1",
      source: { kind: "builtin", maxFaucetAmountMint: "" },
      status: "STATUS_ENABLED",
    },
  ],
  accounts: [account(hot, usdt, "12345678"), account(hot, euro, "900"), account(reserve, usdt, "5000000000")],
}

const write = (name: string, text: string): string => {
  const path = join(dir, name)
  writeFileSync(path, text)
  return path
}
const stateFile = join(dir, "state.json")
const args = (from: string) => ["sandbox", file, "--state", from, "--data", data, "--output", "json"]

beforeAll(() => {
  const example = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
  // Blocks come by hand: what is read stands still.
  writeFileSync(
    file,
    example.replace('listen: "127.0.0.1:3008"', 'listen: "127.0.0.1:0"').replace("Interval: 1s", "Interval: 1h"),
  )
  write("state.json", JSON.stringify(state))
})

afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe("a sandbox that begins with a network's state", () => {
  let sandbox: Here
  let url = ""
  const open = async () => {
    sandbox = startHere(args(stateFile))
    const said = await sandbox.line((line) => line["msg"] === "sandbox")
    url = String(said["url"])
    return String(said["detail"])
  }
  const json = async (path: string): Promise<unknown> => JSON.parse((await get(url + path)).body)
  const head = { spamPowHashFunction: "sha3_24_rounds", spamPowNumberOfPastBlocks: 100, spamPowNumberOfTxPerBlock: 2 }

  afterAll(async () => {
    await sandbox.stop()
  })

  it("says whose network it is", async () => {
    assert.match(await open(), /^network elsewhere-7 at http:/)
  })

  it("stands at its height, with its block hash, chain and parameters", async () => {
    assert.deepStrictEqual(await json("/blockchain/height"), {
      height: "40",
      hash: "40".repeat(32),
      ...head,
      spamPowDifficulty: 9,
      spamPowIncreasingDifficulty: true,
      chainId: "elsewhere-7",
    })
    assert.deepStrictEqual(await json("/api/v2/network/parameters/reward.asset"), {
      networkParameter: { key: "reward.asset", value: usdt },
    })
    assert.deepStrictEqual(await json("/time"), { timestamp: state.time })
    assert.containSubset(await json("/api/v2/epoch"), { epoch: { seq: "12" } })
    assert.containSubset(await json(`/statistics/spam/${hot}`), { statistics: { transfers: { countForEpoch: "3" } } })
  })

  it("holds its money and assets, and nothing planned for earlier blocks", async () => {
    const edges = (list: unknown, name: string) =>
      (list as Record<string, { readonly edges: ReadonlyArray<{ readonly node: Record<string, unknown> }> }>)[name]
        ?.edges
    const accounts = edges(await json("/api/v2/accounts"), "accounts")?.map(({ node }) => node)
    const held = accounts?.map(({ owner, asset, balance }) => [owner, asset, balance].join(" ")).sort()
    const given = state.accounts.map(({ party, asset, balance }) => [party, asset, balance].join(" ")).sort()
    assert.deepStrictEqual(held, given)
    assert.containSubset(await json(`/api/v2/asset/${euro}`), { asset: { details: { symbol: "EUR", decimals: "2" } } })
    const listed = edges(await json("/api/v2/assets"), "assets")?.map(({ node }) => node["status"])
    assert.deepStrictEqual(
      listed,
      Array.from({ length: 4 }, () => "STATUS_ENABLED"),
    )
  })

  it("goes on from there after a restart, and does not begin anew", async () => {
    const made = await fetch(`${url}/sandbox/blocks`, { method: "POST", body: '{"count":2}' })
    assert.containSubset(await made.json(), { height: 42 })
    assert.containSubset(await json("/statistics"), { statistics: { blockHeight: "42" } })
    assert.deepStrictEqual(await sandbox.stop(), { code: 0, signal: null })
    await open()
    assert.containSubset(await json("/blockchain/height"), { height: "42", chainId: "elsewhere-7" })
    assert.deepStrictEqual(await sandbox.stop(), { code: 0, signal: null })
  })
})

describe("a state that is none", () => {
  const foreign = { bytes: "00", height: 40, index: 0, time: "1", code: 0, error: "" }
  const broken: ReadonlyArray<readonly [string, string, RegExp]> = [
    [
      "is no JSON",
      '{\n  "chainId": "x"\n  "height": 3 }',
      /:3:3 {2}no JSON: Expected ',' or '\}'.*; src\/sandbox\/SCENARIO/,
    ],
    ["lacks its height", JSON.stringify({ ...state, height: undefined }), / {2}no state.*\["height"\]; /],
    [
      "holds a transaction of another chain",
      JSON.stringify({ ...state, transactions: [foreign] }),
      / {2}transactions\[0\]: it is none of this chain: .*; src\/sandbox\/SCENARIO/,
    ],
  ]
  it.each(broken)("that %s ends the command with one line and exit 3", async (title, text, says) => {
    const path = write(`${title.replaceAll(" ", "-")}.json`, text)
    const { code, stdout, stderr } = await callCofferer([...args(path).slice(0, 4), "--data", join(dir, title)])
    assert.deepStrictEqual([code, stdout], [3, ""], stderr)
    const lines = stderr.trimEnd().split("\n")
    assert.lengthOf(lines, 1, stderr)
    assert.include(lines[0], path)
    assert.match(lines[0] ?? "", says)
  })

  const unread: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["is empty", "", /:1:1 {2}no JSON: Unexpected end of JSON input; /],
    ["has a key too many", JSON.stringify({ ...state, hieght: 3 }), / {2}no state.*\["hieght"\]; /],
    [
      "has an amount that is none",
      JSON.stringify({ ...state, accounts: [account(hot, usdt, "1.5")] }),
      / {2}no state.*\["accounts"\]\[0\]\["balance"\]; /,
    ],
  ]
  it.each(unread)("that %s is told with its place and a remedy", async (title, text, says) => {
    const path = write(`${title.replaceAll(" ", "-")}.json`, text)
    assert.match((await Effect.runPromise(Effect.flip(readNetworkState(path)))).message, says)
  })

  it("that is a pipe is not waited for", async () => {
    const pipe = join(dir, "pipe.json")
    execFileSync("mkfifo", [pipe])
    const { message } = await Effect.runPromise(Effect.flip(readNetworkState(pipe)))
    assert.match(message, /pipe\.json {2}the state is no file; name the file/)
  })

  it("that is not there is told by its name", async () => {
    const { message } = await Effect.runPromise(Effect.flip(readNetworkState(join(dir, "nowhere.json"))))
    assert.match(message, /nowhere\.json {2}the state cannot be read \(ENOENT\); name the file/)
  })

  it("and lacks the hash of its newest block is not begun with", async () => {
    const scenario = await Effect.runPromise(scenarioOf(scenarioText()))
    const given = await Effect.runPromise(
      readNetworkState(write("bare.json", JSON.stringify({ ...state, hashes: {} }))),
    )
    const layer = Sandbox.layer({ scenario, state: given, dir: undefined, portBusy: "error", clock: "manual" })
    const error = await Effect.runPromise(Effect.flip(Effect.provide(Sandbox, layer)))
    assert.strictEqual(error.message, "the network's state is wrong at hashes: the newest block, 40, has none")
  })
})
