import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cofferer } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { headOf, headPath } from "../support/HistoryServer.ts"
import { tempDir } from "../support/tempDir.ts"

const id = (letter: string) => letter.repeat(64)
const asset = (letter: string, symbol: string, decimals: number, status = "STATUS_ENABLED") => ({
  cursor: letter,
  node: { id: id(letter), status, details: { name: `${symbol} ${letter}`, symbol, decimals: String(decimals) } },
})

const fileText = (url: string) => `# ours
version: 1
mode: live
network: { chainId: c-1, gateways: { node: "${url}" } }
# people
parties:
  a: { publicKey: "${id("1")}", signer: { sandbox: a } }
  b: { publicKey: "${id("2")}" }
rules:
  - name: fill
    topUp: { from: a, levels: [{ party: b, asset: USDT, below: "1", target: "2" }] }   # often
policy:
  allow:
    - { from: a, to: [b], asset: USDT, perTransfer: "5", per24h: "50", transfersPer24h: 10 }
`

describe("cofferer assets --pin", () => {
  const dir = tempDir("pin")
  const file = join(dir, "treasury.yaml")
  const edges = [asset("a", "USDT", 6), asset("b", "VEGA", 18), asset("c", "TWO", 5), asset("d", "TWO", 18)]
  const listing = { assets: { edges, pageInfo: { hasNextPage: false, endCursor: "d" } } }
  const tokens = new Set<unknown>()
  const server = createServer(({ url, headers }, response) => {
    tokens.add(headers["x-token"])
    response.end(JSON.stringify(url === headPath ? headOf("c-1") : listing))
  })
  let text = ""
  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve)
    })
    text = fileText(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    writeFileSync(file, text)
  })
  afterAll(() => {
    server.close()
  })
  const pinned = (...args: ReadonlyArray<string>) => callCofferer(["assets", "--pin", file, ...args])

  it("shows the pins of what the file uses, and those asked for", async () => {
    // The launcher itself, in the folder of the file.
    const { code, stdout, stderr } = await cofferer(["assets", "--pin"], { cwd: dir })
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.strictEqual(stdout, `assets:\n  USDT: { id: "${id("a")}", decimals: 6 }\n`)
    const asked = await pinned("--symbol", "VEGA", "--output", "json")
    assert.deepStrictEqual(JSON.parse(asked.stdout), { assets: { VEGA: { id: id("b"), decimals: 18 } } })
    assert.strictEqual(readFileSync(file, "utf8"), text)
  })

  it("refuses a symbol of two, naming both, until it is told which", async () => {
    const { code, stderr } = await pinned("--symbol", "TWO")
    assert.strictEqual(code, 6)
    assert.include(stderr, `--asset-id ${id("c")}   TWO c, enabled, 5 decimals`)
    assert.include(stderr, id("d"))
    const chosen = await pinned("--asset-id", id("d"))
    assert.strictEqual(chosen.stdout, `assets:\n  TWO: { id: "${id("d")}", decimals: 18 }\n`)
    assert.strictEqual((await pinned("--symbol", "NONE")).code, 4)
  })

  it("pins what a rule of any kind names, without a policy that names it too", async () => {
    const rules = [
      'sweep: { from: a, to: b, asset: USDT, above: "2", target: "1" }',
      'rebalance: { asset: USDT, weights: { a: 1, b: 1 }, tolerance: "10%" }',
      'split: { from: a, asset: USDT, above: "2", to: { b: 1 } }',
      'payout: { from: a, to: b, asset: USDT, amount: "1" }, schedule: { cron: "0 9 * * 1" }',
      'request: { from: b, to: a, asset: USDT, below: "1", target: "2" }',
      'withdraw: { from: a, asset: USDT, above: "2", target: "1", to: b }',
      "notify: { asset: USDT, becomes: [enabled] }",
      'notify: { when: { rate: { party: a, asset: USDT, above: "1" } } }',
      'topUp: { from: a, levels: [{ party: b, asset: USDT, below: "1", target: "2" }] }',
    ]
    for (const rule of rules) {
      writeFileSync(file, text.replace(/rules:.*/s, `rules: [{ name: r, ${rule}, floor: { VEGA: "1" } }]\n`))
      const { code, stdout, stderr } = await pinned("--output", "json")
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" }, rule)
      const { assets } = JSON.parse(stdout) as { readonly assets: object }
      assert.deepStrictEqual(Object.keys(assets), ["USDT", "VEGA"], rule)
    }
    writeFileSync(file, text)
  })

  it("sends the headers of a gateway to that gateway alone", async () => {
    writeFileSync(join(dir, "token"), "secret-of-node")
    const url = /"(http[^"]*)"/.exec(text)![1]!
    const withHeaders = `{ node: { url: "${url}", headers: { X-Token: { file: token } } } }`
    writeFileSync(file, text.replace(/gateways: \{[^}]*\}/, `gateways: ${withHeaders}`))
    const tokensAt = async (...args: ReadonlyArray<string>) => {
      tokens.clear()
      const { code, stderr } = await pinned(...args)
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
      return [...tokens]
    }
    for (const own of [[], ["--gateway", "node"], ["--gateway", url]]) {
      assert.deepStrictEqual(await tokensAt(...own), ["secret-of-node"])
    }
    assert.deepStrictEqual(await tokensAt("--gateway", url.replace("127.0.0.1", "localhost")), [undefined])
    writeFileSync(file, text)
  })

  it("lists without --pin, and refuses a pin that the listing contradicts", async () => {
    const pinnedAt = (decimals: number) =>
      text.replace("# people", `assets: { USDT: { id: "${id("a")}", decimals: ${decimals} } }`)
    writeFileSync(file, pinnedAt(6))
    const listed = await callCofferer(["assets", file])
    assert.deepStrictEqual([listed.code, listed.stderr], [0, ""])
    assert.match(listed.stdout, /^symbol +status +decimals.*\nUSDT +enabled +6 .*\n4 assets\n$/s)
    writeFileSync(file, pinnedAt(7))
    const other = await pinned()
    assert.strictEqual(other.code, 6)
    assert.include(other.stderr, "remove the pin if it is wrong")
  })
})
