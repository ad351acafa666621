import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { pinInto } from "../../src/config/pinInto.ts"
import { cofferer } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { headOf, headPath } from "../support/HistoryServer.ts"

const id = (letter: string) => letter.repeat(64)
const pin = { symbol: "NEW", id: id("e"), decimals: 18 }
const line = `NEW: { id: "${id("e")}", decimals: 18 }`

describe("a pin put into a treasury file", () => {
  const forms: ReadonlyArray<readonly [title: string, before: string, after: string]> = [
    [
      "stands behind the last one, whatever comments are there",
      '# top\nassets:   # pinned\n    # the dollar\n    A: { id: "1", decimals: 6 }  # trailing\n# people\nparties: {}\n',
      `# top\nassets:   # pinned\n    # the dollar\n    A: { id: "1", decimals: 6 }  # trailing\n    ${line}\n# people\nparties: {}\n`,
    ],
    [
      "stands behind one written over several lines",
      "assets:\n  A:\n    id: 'x'\n    decimals: 6\n\nrules: []\n",
      `assets:\n  A:\n    id: 'x'\n    decimals: 6\n  ${line}\n\nrules: []\n`,
    ],
    [
      "stands inside braces",
      'assets: { A: { id: "1", decimals: 6 } }\n',
      `assets: { A: { id: "1", decimals: 6 }, ${line} }\n`,
    ],
    ["fills empty braces", "assets: {}\nrules: []\n", `assets: { ${line} }\nrules: []\n`],
    [
      "brings its own block, above the comments of the next part",
      "version: 1\n\n# who is who\n# and where\nparties: {}\n",
      `version: 1\n\nassets:\n  ${line}\n\n# who is who\n# and where\nparties: {}\n`,
    ],
    ["brings its own block at the end", "version: 1", `version: 1\n\nassets:\n  ${line}\n`],
    ["ends a file without a line end", "assets:\n  A: { id: a }", `assets:\n  A: { id: a }\n  ${line}\n`],
  ]
  for (const [title, before, after] of forms) {
    it(title, () => assert.strictEqual(pinInto(before, [pin]), after))
  }

  it("is refused where the file is written as no edit can keep it", () => {
    for (const text of ["[]", "{ version: 1 }", "assets:\n", "assets: text\n"]) {
      assert.isUndefined(pinInto(text, [pin]), text)
    }
  })
})

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
  const dir = mkdtempSync(join(tmpdir(), "cofferer-pin-"))
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
    chmodSync(file, 0o640)
  })
  afterAll(() => {
    server.close()
    rmSync(dir, { recursive: true, force: true })
  })
  /** In the folder of the file, as what is shown without naming the file is written nowhere. */
  const shown = (...args: ReadonlyArray<string>) => cofferer(["assets", "--pin", ...args], { cwd: dir })
  const pinned = (...args: ReadonlyArray<string>) => callCofferer(["assets", "--pin", file, ...args])

  it("shows the pins of what the file uses, and those asked for", async () => {
    const { code, stdout, stderr } = await shown()
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.strictEqual(stdout, `assets:\n  USDT: { id: "${id("a")}", decimals: 6 }\n`)
    const asked = await shown("--symbol", "VEGA", "--output", "json")
    assert.deepStrictEqual(JSON.parse(asked.stdout), { assets: { VEGA: { id: id("b"), decimals: 18 } } })
    assert.strictEqual(readFileSync(file, "utf8"), text)
  })

  it("refuses a symbol of two, naming both, until it is told which", async () => {
    const { code, stderr } = await pinned("--symbol", "TWO")
    assert.strictEqual(code, 6)
    assert.include(stderr, `--asset-id ${id("c")}   TWO c, enabled, 5 decimals`)
    assert.include(stderr, id("d"))
    const chosen = await shown("--asset-id", id("d"))
    assert.strictEqual(chosen.stdout, `assets:\n  TWO: { id: "${id("d")}", decimals: 18 }\n`)
    assert.strictEqual((await pinned("--symbol", "NONE")).code, 4)
  })

  it("writes pins into the file and refuses one that the listing contradicts", async () => {
    const written = await pinned()
    assert.strictEqual(written.stdout, `${file}  pinned USDT\n`)
    assert.strictEqual(
      readFileSync(file, "utf8"),
      text.replace("# people", `assets:\n  USDT: { id: "${id("a")}", decimals: 6 }\n\n# people`),
    )
    assert.strictEqual(statSync(file).mode & 0o777, 0o640)
    assert.strictEqual((await callCofferer(["check", file])).code, 0)
    assert.include((await pinned()).stdout, "all pinned already")
    const listed = await callCofferer(["assets", file])
    assert.deepStrictEqual([listed.code, listed.stderr], [0, ""], "without --pin it lists")
    assert.match(listed.stdout, /^symbol +status +decimals.*\nUSDT +enabled +6 .*\n4 assets\n$/s)
    writeFileSync(file, readFileSync(file, "utf8").replace("decimals: 6", "decimals: 7"))
    const other = await pinned()
    assert.strictEqual(other.code, 6)
    assert.include(other.stderr, "take the pin away if it is wrong")
  })
})
