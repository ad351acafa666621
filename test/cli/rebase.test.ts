import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { chainId, usdt, withSandbox } from "../support/TestSandbox.ts"
import { treasuryText } from "../support/treasury.ts"

const alice = publicKeyOf("test", "alice")
const treasury = (url: string) =>
  treasuryText({
    name: "rebase",
    mode: "observe",
    network: { chainId, gateways: { sandbox: url } },
    assets: { USDT: { id: usdt, decimals: 6 } },
    parties: { alice: { publicKey: alice } },
  })

describe("balances on the command line", () => {
  it.live("shows a party and an asset of the treasury file by name", () =>
    withSandbox({}, function* (_, sandbox) {
      const file = join(mkdtempSync(join(tmpdir(), "cofferer-balances-")), "treasury.yaml")
      writeFileSync(file, treasury(sandbox.url))
      const run = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => callCofferer(["balances", ...args, "--config", file]))
      const named = yield* run("--party", "alice", "--asset-id", "USDT")
      assert.match(named.stdout, /^\S+Z +alice +1,000\.00 USDT +- +general\n1 row /m, named.stderr)
      assert.notInclude((yield* run("--party", "network")).stdout, "alice")
      const unknown = yield* run("--party", alice, "--party", "alcie")
      const text = `cofferer: ${file}  "alcie" is neither a party nor a public key; did you mean "alice"?\n`
      assert.deepStrictEqual([unknown.code, unknown.stderr], [4, text])
      rmSync(dirname(file), { recursive: true, force: true })
    }),
  )
})

describe("balances rebase on the command line", () => {
  it.live("begins anew by the gateway's balances, also an account that it does not have, without a daemon", () =>
    withSandbox({}, function* (_, sandbox) {
      const dir = mkdtempSync(join(tmpdir(), "cofferer-rebase-"))
      const file = join(dir, "treasury.yaml")
      writeFileSync(file, treasury(sandbox.url))
      const run = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => callCofferer([...args, "--config", file, "--data", join(dir, "data")]))
      const rebase = (asset: string, ...more: ReadonlyArray<string>) =>
        run("balances", "rebase", "alice", asset, "--reason", "it lied", ...more)
      const early = yield* rebase("USDT")
      assert.include(early.stderr, "no balance was read yet")
      assert.strictEqual((yield* run("run", "--once")).code, 0)
      const db = new DatabaseSync(join(dir, "data", databaseFile))
      const listed = yield* run("balances")
      assert.match(listed.stdout, /^\S+Z +alice +[\d,]+\.\d\d USDT +- +general$/m)
      const odd = usdt.toUpperCase()
      db.prepare(
        "INSERT INTO account_names (party, asset, market, type) VALUES (?, ?, '', 'ACCOUNT_TYPE_GENERAL')",
      ).run(alice, odd)
      const id = "(SELECT max(id) FROM account_names)"
      db.exec(`INSERT INTO balances (account, balance, timestamp) VALUES (${id}, '7', 1)`)
      db.close()
      const gone = yield* rebase(odd)
      assert.strictEqual(gone.code, 0, gone.stderr)
      assert.include(gone.stdout, `alice/${odd}: 0 rows are read again; its rules hold`)
      assert.include(gone.stdout, "general: 7 base units before, 0 base units now")
      const text = yield* rebase("USDT")
      assert.include(text.stdout, "general: 1,000.00 USDT before, 1,000.00 USDT now", text.stderr)
      const known = yield* rebase("USDT", "--output", "json")
      assert.containSubset(JSON.parse(known.stdout), {
        rebased: "alice/USDT",
        accounts: [{ reported: "1000000000" }],
      })
      const unknown = yield* rebase("GOLD")
      assert.strictEqual(unknown.code, 4, unknown.stderr)
      assert.include(unknown.stderr, 'alice has no account of "GOLD"')
      rmSync(dir, { recursive: true, force: true })
    }),
  )
})
