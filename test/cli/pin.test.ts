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
  const server = createServer(({ url }, response) =>
    response.end(JSON.stringify(url === headPath ? headOf("c-1") : listing)),
  )
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
