import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/Yaml.ts"
import { prepare } from "../../src/daemon.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { payersOf, pollRules } from "../../src/poller/pollRules.ts"
import { daemonLayer } from "../../src/services.ts"
import { receiptOf } from "../../src/status/receipts.ts"
import { Brake } from "../../src/store/Brake.ts"
import { checkReceipt } from "../../src/store/checkReceipt.ts"
import { databaseFile } from "../../src/store/Database.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import type { Receipt } from "../../src/store/receipt.ts"
import { verifyStore } from "../../src/store/verifyStore.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { round } from "../support/Flow.ts"
import { withSandbox } from "../support/TestSandbox.ts"

const fixture = (name: string): string => readFileSync(new URL(`former/${name}`, import.meta.url), "utf8")
const receipts = JSON.parse(fixture("receipts.json")) as Readonly<Record<string, Record<string, unknown>>>
const rules = ["keep-bob", "keep-eve", "keep-gus"]
/** The store was left at 08:00:15 of its clock; it is opened a minute later. */
const opened = 1_800_000_075_000

/** Puts a database back as it was left; the file itself is another one than its machine had. */
const restore = (file: string, dump: string): void => {
  const db = new DatabaseSync(file)
  db.exec(dump)
  if (file.endsWith(databaseFile)) db.exec("DELETE FROM settings WHERE key = 'storeFile'")
  db.close()
}

describe("a store whose signed references carry 64 bits of the journal", () => {
  it.effect("opens and finishes: payments execute once, and the unproven is claimed", () => {
    const dataDir = mkdtempSync(join(tmpdir(), "cofferer-former-"))
    const dir = join(dataDir, "sandbox")
    mkdirSync(dir)
    restore(join(dataDir, databaseFile), fixture("store.sql"))
    restore(join(dir, "ledger.db"), fixture("ledger.sql"))
    return TestClock.setTime(opened).pipe(
      Effect.andThen(
        withSandbox({ text: fixture("scenario.yaml"), dir }, (_, sandbox) =>
          Effect.gen(function* () {
            const treasury = yield* treasuryOf(yield* parseYaml("treasury.yaml", fixture("treasury.yaml")))
            const options = { treasury, mode: treasury.mode, dataDir, gatewayUrl: sandbox.url }
            yield* Effect.gen(function* () {
              yield* prepare(options)
              yield* pollRules(payersOf(treasury.parties.values()))
              yield* pollAssets()
              for (let i = 0; i < 40; i++) yield* round(options, sandbox)
              const outbox = yield* Outbox
              const all = yield* outbox.recent(50)
              assert.deepStrictEqual(all.map(({ rule, state }) => `${rule} ${state}`).toSorted(), [
                "keep-bob confirmed",
                "keep-eve confirmed",
                "keep-gus confirmed",
              ])
              const executed = (yield* sandbox.ledger.executed).filter(({ code }) => code === 0)
              for (const { id, rule } of all) {
                const attempts = yield* outbox.attempts(id)
                const own = executed.filter((tx) => attempts.some((one) => one.transferId === tx.transferId))
                assert.lengthOf(own, 1, rule)
                const receipt = JSON.parse(JSON.stringify(yield* receiptOf(id))) as Receipt
                const { problem, proven } = checkReceipt(receipt)
                assert.isUndefined(problem, rule)
                assert.lengthOf(proven.signed, attempts.length, rule)
                assert.lengthOf(proven.recorded, 0, rule)
                assert.lengthOf(attempts, 1, `${rule}: its bytes are sent again, and not signed again`)
              }
              assert.isNull((yield* verifyStore()).problem)
              assert.lengthOf(yield* (yield* Brake).halts, 0)
            }).pipe(Effect.provide(daemonLayer(options).pipe(Layer.provideMerge(Logger.layer([])))))
          }),
        ),
      ),
      Effect.ensuring(Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))),
    )
  })

  it("has receipts that are still checked, and that say what they cannot prove", async () => {
    const dir = mkdtempSync(join(tmpdir(), "cofferer-receipts-"))
    const file = join(dir, "receipt.json")
    const verified = async (receipt: unknown, ...args: ReadonlyArray<string>) => {
      writeFileSync(file, JSON.stringify(receipt))
      return callCofferer(["receipt", "verify", file, ...args])
    }
    for (const rule of rules) {
      const { code, stdout, stderr } = await verified(receipts[rule])
      assert.strictEqual(code, 0, stderr)
      const [proven = "", claimed = ""] = stdout.split(/\n(?=claimed by)/)
      assert.match(proven, /transfers 150?[01]\d{6} base units of asset [0-9a-f]{64} to [0-9a-f]{64}/)
      assert.notMatch(proven, /USDT|alice|confirmed|keep|proven to be/)
      const says = "attempt 1: its bytes carry no hash of a permit: its policy line, decision and approvals are claims"
      assert.include(claimed, `proven:\n  ${says}\n`)
      assert.match(claimed, /names and units: 150\.\d0 USDT alice -> /)
      assert.include(claimed, `rule ${rule}, decided at `)
    }
    assert.match((await verified(receipts["keep-eve"])).stdout, /approved by ana at .*\n {2}approved by ben at /)
    const { stdout } = await verified(receipts["keep-bob"], "--output", "json")
    assert.containSubset(JSON.parse(stdout), { whole: true, proven: { recorded: [] } })
    const changed = { ...receipts["keep-bob"], treasury: "other" }
    const broken = await verified(changed)
    assert.deepStrictEqual([broken.code, broken.stdout], [1, ""])
    assert.match(broken.stderr, /receipt broken: treasury is "other", the journal says "former"/)
    rmSync(dir, { recursive: true, force: true })
  })
})
