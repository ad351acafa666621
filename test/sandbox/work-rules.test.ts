import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

const pay = (client: Test.TestClient, head: Test.Head, zeros: number) => {
  const command = Test.payment(client, "bob", one, { asset: usdt })
  return Test.signed(client, { from: "alice", command, ...head, zeros })
}

const changes = [
  { block: 4, difficulty: 5 },
  { block: 8, pastBlocks: 3 },
]

describe("work whose rules change", () => {
  it.live("is asked for from the block of the change on, and judged by the rules of its anchor", () =>
    withSandbox({ isHere: true, text: scenarioText({ powChanges: changes }) }, function* (client, sandbox) {
      yield* Test.step(client, 2)
      const before = yield* Test.head(client)
      assert.strictEqual(before.difficulty, 3)
      yield* Test.step(client)
      const after = yield* Test.head(client)
      assert.deepStrictEqual([after.height, after.difficulty], [4, 5])
      const old = yield* Test.submit(client, pay(client, before, 3))
      assert.strictEqual(Test.at(old, "code"), 0, "an anchor before the change needs what was asked for then")
      const weak = yield* Test.submit(client, pay(client, after, 3))
      assert.strictEqual(Test.at(weak, "data"), "failed to verify proof of work")
      const strong = yield* Test.submit(client, pay(client, after, 5))
      assert.strictEqual(Test.at(strong, "code"), 0)
      yield* Test.step(client)
      assert.lengthOf(yield* sandbox.ledger.executed, 2)
    }),
  )

  it.live("is too old once the rules of its anchor are forgotten", () =>
    withSandbox({ isHere: true, text: scenarioText({ powChanges: changes }) }, function* (client) {
      yield* Test.step(client, 2)
      const anchor = yield* Test.head(client)
      const dataAt = Effect.fnUntraced(function* (blocks: number) {
        yield* Test.step(client, blocks)
        return String(Test.at(yield* Test.submit(client, pay(client, anchor, 3)), "data"))
      })
      assert.strictEqual(yield* dataAt(4), "", "block 7 is within the window of five")
      assert.strictEqual(yield* dataAt(1), "transaction too old")
    }),
  )
})
