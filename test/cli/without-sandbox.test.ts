import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("without")
const example = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
const written = (name: string, text: string): string => {
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}
const file = written("treasury.yaml", example)
const data = join(dir, "data")
const payment = written(
  "payment.yaml",
  'idempotencyKey: "a"\ntransfer: { from: reserve, to: hot, asset: USDT, amount: "100" }\n',
)

describe("a file with its own network, where that network does not run", () => {
  it("is not run without it: the missing keys are told with --sandbox", async () => {
    const { code, stdout, stderr } = await callCofferer(["run", file, "--data", data])
    assert.deepStrictEqual([code, stdout], [3, ""])
    assert.match(stderr, /treasury\.yaml:\d+:\d+ {2}the key reserve is made by the file's own network/)
    assert.include(stderr, `; add --sandbox: cofferer run --sandbox ${file}\n`)
  })

  it("is started with --sandbox, which every command says that misses its daemon", async () => {
    for (const command of [["status"], ["submit", payment], ["reload", "--reason", "x"]]) {
      const { code, stdout, stderr } = await callCofferer([...command, "-c", file, "--data", data])
      assert.deepStrictEqual([code, stdout], [4, ""], stderr)
      assert.match(stderr, /^cofferer: no daemon runs in /)
      assert.include(stderr, `; start it: cofferer run --sandbox ${file} --data ${data}\n`)
    }
  })
})

describe("a payment of a person, where neither daemon nor gateway answers", () => {
  it("is not handed in, with exit 4 and what starts a daemon", async () => {
    const key = join(dir, "key")
    const made = (await callCofferer(["keys", "new", key])).stdout.trim()
    assert.match(made, /^[0-9a-f]{64}$/)
    const alone = written(
      "alone.yaml",
      example
        .replace(/^sandbox:\n[\s\S]*/m, "")
        .replace("http://127.0.0.1:3008", "http://127.0.0.1:1")
        .replace("signer: { sandbox: reserve }", `signer: { file: ${key} }`)
        .replace(publicKeyOf("first-minute", "reserve"), made),
    )
    const { code, stdout, stderr } = await callCofferer(["submit", payment, "-c", alone, "--data", data])
    assert.deepStrictEqual([code, stdout], [4, ""], stderr)
    assert.match(stderr, /no daemon runs in .*unreachable.*: nothing was submitted; start it: cofferer run /)
    const listed = await callCofferer(["intents", "-c", alone, "--data", data])
    assert.strictEqual(listed.stdout, "no daemon runs here; the database says:\nno payment yet\n", listed.stderr)
  })
})
