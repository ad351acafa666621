import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { assert, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { testStore } from "../support/TestStore.ts"

const file = join(root, "config/sandbox.yaml")
const asset = "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba"
const [hot, reserve] = ["hot", "reserve"].map((name) => publicKeyOf("first-minute", name))
const yesterday = Date.now() - 86_400_000

/** A store of the sandbox's treasury in which so many full top-ups were paid yesterday, and one was held by a limit. */
const storeOf = async (topUps: number) => {
  const store = testStore()
  const fill = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const decision = { at: yesterday, rule: "keep-hot-funded", subject: "hot/USDT", decision: "hold" }
    yield* sql`INSERT INTO decisions ${sql.insert({ ...decision, reason: "limit", detail: "" })}`
    for (let i = 0; i < topUps; i++) {
      const row = {
        id: i.toString(16).padStart(64, "0"),
        treasury: "sandbox",
        rule: "keep-hot-funded",
        subject: "hot/USDT",
        episode: i,
        from_party: "reserve",
        from_key: reserve,
        to_party: "hot",
        to_key: hot,
        asset: "USDT",
        asset_id: asset,
        decimals: 6,
        amount: "25000000000",
        fee_max: "0",
        state: "confirmed",
        detail: "",
        created_at: yesterday - 60_000 * (i + 1),
        updated_at: yesterday,
      }
      yield* sql`INSERT INTO intents ${sql.insert(row)}`
    }
  })
  await Effect.runPromise(fill.pipe(Effect.provide(store.layer())))
  return store
}

const limit = readFileSync(file, "utf8")
  .split("\n")
  .findIndex((line) => line.includes("per24h"))

describe("check, where a past is known", () => {
  it("warns of a limit that one day of last month outgrew, with its line", async () => {
    const store = await storeOf(4)
    const { code, stdout, stderr } = await callCofferer(["check", file, "--data", store.dir])
    assert.strictEqual(code, 0, stderr)
    const day = new Date(yesterday).toISOString().slice(0, 10)
    const says = `100,000 per 24 h is 4 full top-ups; last month needed 5 on one day (${day}); run "cofferer backtest"`
    assert.match(
      stdout,
      new RegExp(`^warn .*config/sandbox.yaml:${limit + 1}:[0-9]+  ${says.replace(/[().]/g, "\\$&")}$`, "m"),
    )
    store.remove()
  })

  it("says nothing of a limit that was enough", async () => {
    const store = await storeOf(3)
    const { code, stdout } = await callCofferer(["check", file, "--data", store.dir])
    assert.strictEqual(code, 0)
    assert.notInclude(stdout, "warn")
    store.remove()
  })

  it("checks the file where the past cannot be read, and says so", async () => {
    const store = await storeOf(0)
    writeFileSync(join(store.dir, "cofferer.db"), "no database".repeat(1_000))
    const { code, stdout } = await callCofferer(["check", file, "--data", store.dir])
    assert.strictEqual(code, 0)
    assert.match(stdout, /^warn .*cannot be read: .*; its limits are not compared with last month$/m)
    store.remove()
  })
})
