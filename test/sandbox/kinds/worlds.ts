import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { FaultKind } from "../../../src/sandbox/Faults.ts"
import * as Test from "../../support/TestClient.ts"
import { arm, disarm, draft, executed, type Node } from "../../support/TestFaults.ts"
import { one } from "../../support/TestSandbox.ts"
import type { Seen } from "./Seen.ts"

/** A block with a payment to bob: each has a balance of its own. */
const payOnce = Effect.fnUntraced(function* (client: Test.TestClient, node: Node) {
  assert.strictEqual(Test.at(yield* Test.submit(client, yield* draft(client, node)), "success"), true)
  yield* Test.step(client)
})

/** The height that the headers tell, and what bob holds by the listing: 50 USDT at block 1, one more with each. */
const seen = (client: Test.TestClient, node: Node) =>
  Effect.map(Test.request(client, `/api/v2/accounts?filter.partyIds=${node.publicKey("bob")}`), (reply) => [
    Number(reply.headers.get("x-block-height")),
    BigInt(String(Test.at(reply, "accounts.edges.0.node.balance"))) / one - 49n,
  ])

/** Arms a kind at block 5, and returns what is seen there and three blocks later. */
const seenUnder = Effect.fnUntraced(function* (client: Test.TestClient, node: Node, kind: FaultKind) {
  for (let height = 1; height < 5; height++) yield* payOnce(client, node)
  yield* arm(client, { operation: "any", kind, blocks: 2 })
  const at5 = yield* seen(client, node)
  for (let height = 5; height < 8; height++) yield* payOnce(client, node)
  return [at5, yield* seen(client, node)]
})

const old = (kind: FaultKind, says: string, heights: ReadonlyArray<ReadonlyArray<number | bigint>>): Seen => ({
  says,
  see: Effect.fnUntraced(function* (client, node) {
    assert.deepStrictEqual(yield* seenUnder(client, node, kind), heights)
    yield* disarm(client)
    assert.deepStrictEqual(yield* seen(client, node), [8, 8n])
  }),
})

const times = Effect.fnUntraced(function* (client: Test.TestClient) {
  const start = BigInt(Date.UTC(2025, 6, 1)) * 1_000_000n
  const rows = yield* Test.request(client, `/api/v2/balance/changes?dateRange.startTimestamp=${start}`)
  return [
    BigInt(rows.headers.get("x-block-timestamp") ?? ""),
    BigInt(String(Test.at(rows, "balances.edges.0.node.timestamp"))),
  ]
})

const skewed: Seen = {
  says: "shifts all times, headers and rows alike",
  see: Effect.fnUntraced(function* (client) {
    const sound = yield* times(client)
    for (const skewMillis of [3_600_000, -90_000]) {
      yield* arm(client, { operation: "any", kind: "clock_skew", skewMillis })
      const shifted = yield* times(client)
      assert.deepStrictEqual(
        shifted.map((time, n) => time - sound[n]!),
        sound.map(() => BigInt(skewMillis) * 1_000_000n),
      )
      yield* disarm(client)
    }
  }),
}

const renamed: Seen = {
  says: "is told, and payments are checked by the new name",
  see: Effect.fnUntraced(function* (client, node) {
    yield* arm(client, { operation: "any", kind: "chain_id_change", chainId: "other-9" })
    assert.strictEqual(Test.at(yield* Test.request(client, "/blockchain/height"), "chainId"), "other-9")
    const old = yield* draft(client, node)
    const own = yield* draft(client, node, { chainId: "other-9" })
    const codes = [yield* Test.submit(client, old), yield* Test.submit(client, own)].map((r) => Test.at(r, "code"))
    assert.deepStrictEqual(codes, [60, 0])
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [[own.hash, 0]])
    yield* disarm(client)
    assert.strictEqual(Test.at(yield* Test.submit(client, yield* draft(client, node)), "success"), true)
  }),
}

export const worlds = {
  stale_read: old("stale_read", "shows the old data under the newest headers", [
    [5, 5n],
    [8, 5n],
  ]),
  rolled_back_read: old("rolled_back_read", "shows data and headers of two blocks before, for good", [
    [3, 3n],
    [3, 3n],
  ]),
  lagging_replica: old("lagging_replica", "is always two blocks behind, data and headers alike", [
    [3, 3n],
    [6, 6n],
  ]),
  clock_skew: skewed,
  chain_id_change: renamed,
} satisfies Partial<Record<FaultKind, Seen>>
