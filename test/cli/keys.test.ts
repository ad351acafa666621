import fs, { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { storeLayer } from "../../src/layers.ts"
import { noteStart } from "../../src/store/controls/starts.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"
import { treasuryText } from "../support/treasury.ts"

const dir = tempDir("keys")
const reserve = join(dir, "reserve")

const madeKey = async (file: string): Promise<string> => {
  const { code, stdout, stderr } = await callCofferer(["keys", "new", file])
  assert.strictEqual(code, 0, stderr)
  return stdout.trim()
}

describe("keys", () => {
  it("show prints the public key alone, and names what is wrong with a file", async () => {
    const publicKey = await madeKey(reserve)
    const shown = await callCofferer(["keys", "show", reserve])
    assert.deepStrictEqual([shown.code, shown.stdout, shown.stderr], [0, `${publicKey}\n`, ""])
    const json = await callCofferer(["keys", "show", reserve, "--output", "json"])
    assert.deepStrictEqual(JSON.parse(json.stdout), { file: reserve, publicKey })
    chmodSync(reserve, 0o644)
    const loose = await callCofferer(["keys", "show", reserve])
    assert.deepStrictEqual([loose.code, loose.stdout], [3, ""])
    assert.match(loose.stderr, /reserve {2}others may read the key file \(mode 644\); run: chmod 600 /)
    chmodSync(reserve, 0o600)
    const treasury = await callCofferer(["keys", "show", join(root, "config/sandbox.yaml")])
    assert.match(treasury.stderr, /sandbox\.yaml {2}not a key file; /)
    const missing = await callCofferer(["keys", "show", join(dir, "nowhere")])
    assert.deepStrictEqual([missing.code, missing.stdout], [3, ""])
  })

  it("new leaves no file that holds half of a key", async () => {
    const file = join(tempDir("full"), "key")
    const { fsyncSync } = fs
    fs.fsyncSync = () => {
      throw Object.assign(new Error("no space"), { code: "ENOSPC" })
    }
    syncBuiltinESMExports()
    try {
      const { code, stderr } = await callCofferer(["keys", "new", file])
      assert.strictEqual(code, 1)
      assert.include(stderr, "the key cannot be written (ENOSPC)")
      assert.isFalse(fs.existsSync(file))
    } finally {
      fs.fsyncSync = fsyncSync
      syncBuiltinESMExports()
    }
    assert.strictEqual((await callCofferer(["keys", "new", file])).code, 0)
  })

  it("list gives every party and operator with the state of its key file, and no private key", async () => {
    const publicKey = (await callCofferer(["keys", "show", reserve])).stdout.trim()
    const other = await madeKey(join(dir, "other"))
    const file = join(dir, "treasury.yaml")
    const signer = (name: string) => ({ signer: { file: join(dir, name) } })
    writeFileSync(
      file,
      treasuryText({
        network: { chainId: "c-1", gateways: { main: "http://127.0.0.1:9" } },
        parties: {
          reserve: { publicKey, ...signer("reserve") },
          wrong: { publicKey: "ab".repeat(32), ...signer("other") },
          gone: { publicKey: "cd".repeat(32), ...signer("gone") },
          hot: { publicKey: "ef".repeat(32) },
        },
        approvals: { desk: { need: 1, within: "4h", of: { ana: "12".repeat(32) } } },
      }),
    )
    const { code, stdout, stderr } = await callCofferer(["keys", "list", file, "--output", "json"])
    assert.deepStrictEqual([code, stderr], [0, ""])
    const keys = JSON.parse(stdout) as ReadonlyArray<Record<"name" | "kind" | "publicKey" | "state", string>>
    assert.deepStrictEqual(
      keys.map(({ name, kind, state }) => [name, kind, state]),
      [
        ["reserve", "party", "ok"],
        ["wrong", "party", `holds the key of ${other}`],
        ["gone", "party", "missing"],
        ["hot", "party", "no private key here"],
        ["ana", "operator", "signs for group desk"],
      ],
    )
    const text = (await callCofferer(["keys", "list", file])).stdout
    assert.match(text, new RegExp(`^reserve +party +${publicKey} +ok \\(${reserve}\\)$`, "m"))
    for (const name of ["reserve", "other"]) {
      assert.notInclude(stdout + text, readFileSync(join(dir, name), "utf8").trim())
    }
  })

  it("list reads the files of the last start where only its data directory is named", async () => {
    const [file, overlay, data] = ["base.yaml", "overlay.yaml", "data"].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ]
    const network = { chainId: "c-1", gateways: { main: "http://127.0.0.1:9" } }
    writeFileSync(file, treasuryText({ network, parties: { reserve: { publicKey: "ab".repeat(32) } } }))
    writeFileSync(overlay, `parties: { staging: { publicKey: "${"cd".repeat(32)}" } }\n`)
    mkdirSync(data)
    const start = Effect.gen(function* () {
      const treasury = yield* loadTreasury(file, overlay)
      yield* Effect.provide(noteStart([file, overlay]), storeLayer({ treasury, dataDir: data }))
    })
    await Effect.runPromise(start)
    const call = async (args: ReadonlyArray<string>, env = {}) => {
      const { stdout, stderr } = await callCofferer(["keys", "list", ...args, "--output", "json"], { env })
      assert.strictEqual(stderr, "")
      return (JSON.parse(stdout) as ReadonlyArray<{ name: string }>).map(({ name }) => name)
    }
    assert.deepStrictEqual(await call(["--data", data]), ["staging"])
    assert.deepStrictEqual(await call([file, "--data", data]), ["reserve"], "a file that is named wins")
    const here = await call([], { COFFERER_DATA_DIR: data })
    assert.deepStrictEqual(here, ["staging"], "a folder without the default file has no other")
  })
})
