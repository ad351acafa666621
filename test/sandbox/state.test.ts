import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { NetworkState } from "../../src/sandbox/state/NetworkState.ts"
import * as Test from "../support/TestClient.ts"
import { scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

const state: NetworkState = {
  chainId: "sandbox-1",
  height: 10,
  time: 1_795_000_000_000_000_000n,
  genesisTime: 1_794_999_990_000_000_000n,
  parameters: { "spam.pow.difficulty": "9" },
  epoch: { seq: 2, startTime: 1_794_999_999_000_000_000n, firstBlock: 9 },
  hashes: { 10: "10".repeat(32) },
}

describe("a scenario on top of a network's state", () => {
  const plan = {
    spenders: [
      {
        ...{ from: "alice", to: "bob", asset: "USDT" },
        at: [
          { block: 4, amount: "1" },
          { block: 12, amount: "2" },
        ],
      },
    ],
    powChanges: [
      { block: 5, difficulty: 4 },
      { block: 12, txPerBlock: 7 },
    ],
    faults: [{ block: 6, operation: "height", kind: "http_status", status: 500 }],
  }
  it.live("leaves out what it planned for blocks that are past, and keeps what is to come", () =>
    withSandbox({ text: scenarioText(plan), state }, (client, sandbox) =>
      Effect.gen(function* () {
        const rules = Effect.map(Test.request(client, "/blockchain/height"), (reply) =>
          ["height", "spamPowDifficulty", "spamPowNumberOfTxPerBlock"].map((key) => Number(Test.at(reply, key))),
        )
        const seen = [yield* rules]
        yield* Test.step(client)
        seen.push(yield* rules)
        yield* Test.step(client)
        seen.push(yield* rules)
        assert.deepStrictEqual(seen, [
          [10, 9, 2],
          [11, 9, 2],
          [12, 9, 7],
        ])
        assert.strictEqual(yield* sandbox.ledger.balance("alice", "USDT"), 0n)
        assert.strictEqual(Test.at(yield* Test.request(client, "/sandbox/faults"), "faults.length"), 0)
      }),
    ),
  )

  it.live("lists its own assets and the state's, which win", () =>
    withSandbox(
      {
        state: {
          ...state,
          assets: [
            {
              id: usdt,
              name: "Tether of the state",
              symbol: "USDT",
              decimals: 3,
              quantum: 1n,
              source: { kind: "builtin", maxFaucetAmountMint: "" },
              status: "STATUS_PENDING_LISTING",
            },
          ],
        },
      },
      (client) =>
        Effect.gen(function* () {
          const listed = Test.at(yield* Test.request(client, "/api/v2/assets"), "assets.edges")
          const names = (listed as ReadonlyArray<{ node: { details: { name: string }; status: string } }>).map(
            ({ node }) => [node.details.name, node.status],
          )
          assert.deepStrictEqual(names, [
            ["Vega", "STATUS_ENABLED"],
            ["Tether of the state", "STATUS_PENDING_LISTING"],
          ])
        }),
    ),
  )
})
