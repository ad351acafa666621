import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { decodeScenario } from "../../src/sandbox/Scenario.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const good = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
const unlistened = good.replace(/^ {2}listen: .*\n/m, "")
const dir = tempDir("network")
const checked = (text: string) => {
  const file = join(dir, "treasury.yaml")
  writeFileSync(file, text)
  return callCofferer(["check", file])
}

const listenOf = (text: string) =>
  Effect.runPromise(
    parseYaml("t.yaml", text).pipe(
      Effect.flatMap((document) => decodeScenario(document, "sandbox-1")),
      Effect.map(({ listen }) => listen),
    ),
  )

describe("the address of the embedded network", () => {
  it.each([
    ["http://127.0.0.1:3018", { host: "127.0.0.1", port: 3018 }],
    ["http://localhost:3018/", { host: "localhost", port: 3018 }],
    ["http://[::1]:3018", { host: "::1", port: 3018 }],
    ["https://gateway.example", { host: "127.0.0.1", port: 3008 }],
  ])("is where the file's gateway %s says, as long as it is this machine", async (url, listen) => {
    assert.deepStrictEqual(await listenOf(unlistened.replace("http://127.0.0.1:3008", url)), listen)
  })

  it("is what sandbox.listen says where it says something", async () => {
    const moved = good.replace('{ sandbox: "http://127.0.0.1:3008" }', '{ sandbox: "http://127.0.0.1:3018" }')
    assert.deepStrictEqual(await listenOf(moved), { host: "127.0.0.1", port: 3008 })
  })
})

describe("the network's fee in a file", () => {
  const written = good.replace(/^network:\n/m, '$&  fee: { factor: "0.001", maxQuantum: "1" }\n')
  const bare = (text: string) => text.replace(/^ {2}profile: .*$/m, "  profile: specification")

  it("is said to be the configured one, and whether maxFee permits it", async () => {
    const { code, stdout } = await checked(written)
    assert.strictEqual(code, 0)
    assert.match(stdout, /transfers are signed with this configured fee; remove it/)
    const high = await checked(written.replace('"0.001"', '"0.9"'))
    assert.match(high.stdout, /configured fee; it is above policy\.maxFee/)
    assert.notInclude((await checked(good)).stdout, "configured one")
  })

  it("is missed where the embedded network has no parameters", async () => {
    assert.include(bare(good), "profile: specification")
    assert.match((await checked(bare(good))).stdout, /no transfer would be signed; write fee: \{ factor/)
    assert.notInclude((await checked(bare(written))).stdout, "no transfer would be signed")
  })
})

describe("check", () => {
  it("refuses a pin with wrong decimals and names the right ones", async () => {
    const { code, stderr } = await checked(good.replace("8b83802bba, decimals: 6", "8b83802bba, decimals: 8"))
    assert.strictEqual(code, 3)
    assert.match(stderr, /:12:\d+ {2}USDT has 8 decimals here and 6 under sandbox\.assets: .*; write 6/)
  })

  it.each([
    [
      "of knowledge that is always too old",
      "maxAge: 30s",
      "maxAge: 10ms",
      /maxAge 10 ms is shorter than the 1 s between two readings .*; raise maxAge/,
    ],
    [
      "of a rule for which it is",
      "cooldown: 20s",
      "maxAge: 500ms",
      /maxAge 500 ms is shorter than the 1 s between two readings/,
    ],
  ])("warns %s", async (_, from, to, says) => {
    const { code, stdout } = await checked(good.replace(from, to))
    assert.strictEqual(code, 0)
    assert.match(stdout, says)
  })
})
