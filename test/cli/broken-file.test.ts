import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { databaseFile } from "../../src/store/database/Database.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { fastSandbox } from "../support/fastSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("broken")
const file = join(dir, "treasury.yaml")
writeFileSync(file, fastSandbox().replace("maxFee: 0.2%", "maxFees: 0.2%"))
writeFileSync(join(dir, databaseFile), "")

describe("beside a broken file, where no daemon runs", () => {
  it.each([
    ["status"],
    ["intents"],
    ["explain", "keep-hot-funded"],
    ["verify"],
    ["intents", "cancel", "abcd", "--reason", "x"],
  ])("%s %s says what is wrong in the file, and where", async (...args) => {
    const given = args.filter((arg) => arg !== undefined)
    const { code, stderr, stdout } = await callCofferer([...given, "-c", file, "--data", dir])
    assert.deepStrictEqual([code, stdout], [3, ""], stderr)
    assert.match(stderr, /treasury\.yaml:\d+:\d+ {2}unknown key "maxFees"/)
  })

  it("status says it once where there is no database either", async () => {
    const elsewhere = join(dir, "elsewhere.yaml")
    writeFileSync(elsewhere, "version: 1\nmaxFees: 1\nstore: { dir: nowhere }\n")
    const { code, stderr } = await callCofferer(["status", "-c", elsewhere])
    assert.strictEqual(code, 4, stderr)
    assert.lengthOf(stderr.match(/unknown key "maxFees"/g) ?? [], 1, stderr)
    assert.lengthOf(stderr.match(/goes on with the data directory/g) ?? [], 1, stderr)
  })
})
