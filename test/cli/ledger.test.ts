import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { head, payment, request, signed, submit } from "../support/TestClient.ts"
import { chainId, one, usdt, withSandbox } from "../support/TestSandbox.ts"
import { treasuryText } from "../support/treasury.ts"

const treasury = (url: string) =>
  treasuryText({
    name: "ledger",
    mode: "live",
    network: { chainId, gateways: { sandbox: url } },
    assets: { USDT: { id: usdt, decimals: 6 } },
    parties: { alice: { publicKey: publicKeyOf("test", "alice"), signer: { sandbox: "alice" } } },
  })

describe("the ledger's verbs on the command line", () => {
  it.live("adopt a key's history and recover a store without a daemon", () =>
    withSandbox({}, function* (client, sandbox) {
      const dir = mkdtempSync(join(tmpdir(), "cofferer-ledger-"))
      writeFileSync(join(dir, "treasury.yaml"), treasury(sandbox.url))
      const command = payment(client, "eve", 10n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      yield* sandbox.stepBlock
      const run = (...args: ReadonlyArray<string>) =>
        Effect.promise(() =>
          callCofferer([...args, "--config", join(dir, "treasury.yaml"), "--data", join(dir, "data")]),
        )
      const bare = yield* run("adopt")
      assert.strictEqual(bare.code, 2, "a reason is mandatory")
      assert.isFalse(existsSync(join(dir, "data", databaseFile)))
      const foreign = yield* run("reconcile", "--output", "json")
      assert.strictEqual(foreign.code, 8, foreign.stderr)
      const row = { kind: "foreign_payment", subject: "alice", ours: "unknown" }
      assert.containSubset(JSON.parse(foreign.stdout), { differences: [row], accounts: 1, transfers: 1 })
      const told = yield* run("reconcile")
      assert.match(told.stdout, /foreign payment +alice +[0-9a-f]{16} +unknown +10000000 of [0-9a-f]{8} to/)
      assert.include(told.stderr, "1 difference")
      const first = yield* run("adopt", "--reason", "the old wallet", "--output", "json")
      assert.strictEqual(first.code, 0, first.stderr)
      assert.containSubset(JSON.parse(first.stdout), { adopted: [{ amount: "10000000", status: "done" }] })
      const calm = yield* run("reconcile")
      assert.strictEqual(calm.code, 0, calm.stderr)
      assert.include(calm.stdout, "1 account compared, 1 transfer compared: no difference")
      const again = yield* run("adopt", "--reason", "the old wallet")
      assert.strictEqual(again.stdout, "adopted 0 payments made elsewhere\n")
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      yield* sandbox.stepBlock
      const second = yield* run("adopt", "--reason", "the old wallet")
      assert.match(second.stdout, /^adopted 1 payment .*\n {2}[0-9a-f]{12} .*done$/m)
      assert.match(second.stdout, /^not in "export --what payments"; "export --what journal" has their transfer ids$/m)
      const exported = (what: string) => Effect.map(run("export", "--what", what), ({ stdout }) => stdout)
      const [, id = "no id"] = /^ {2}([0-9a-f]{12}) /m.exec(second.stdout) ?? []
      assert.notInclude(yield* exported("payments"), id)
      assert.include(yield* exported("journal"), id)
      const recovered = yield* run("recover", "--reason", "moved to a new disk")
      assert.strictEqual(recovered.code, 0, recovered.stderr)
      assert.include(recovered.stdout, "the ledger shows no payment of this installation")
      assert.match(recovered.stdout, /^nothing is signed until one window .* 10 blocks have been passed for 30 s: /m)
      yield* request(client, "/sandbox/faults", {
        body: JSON.stringify({ operation: "transfers", kind: "http_status", status: 503 }),
      })
      const silent = yield* run("adopt", "--reason", "again")
      assert.strictEqual(silent.code, 1, "without the ledger nothing is adopted")
      assert.include(silent.stderr, "503")
      rmSync(dir, { recursive: true, force: true })
    }),
  )
})
