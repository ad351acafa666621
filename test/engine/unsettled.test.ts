import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { flow, paid, round, states } from "../support/Flow.ts"

const reasons = Effect.map(
  Effect.flatMap(RuleStates, (store) => store.all),
  (all) => all.map(({ reason }) => reason),
)

describe("work that the network asks for and that is not legal", () => {
  it.effect("holds payments until the next legal answer", () =>
    flow(function* (options, sandbox) {
      const head = yield* Effect.flatMap(GatewayReader, (chain) => chain.head)
      const undone = new Set(["submit", "confirm", "reconcile"])
      const hear = Effect.flatMap(ChainState, (state) =>
        state.seeHead({ ...head, pow: { ...head.pow, hashFunction: "md5" } }),
      )
      for (let i = 0; i < 5; i++) yield* Effect.andThen(hear, round(options, sandbox, undone))
      assert.deepStrictEqual(yield* states, [])
      yield* hear
      yield* round(options, sandbox, new Set([...undone, "poll"]))
      for (let i = 0; i < 20 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.notInclude(yield* reasons, "chain_unsettled")
    }),
  )

  it.effect("is signed by at once where it is legal, with the larger window of both", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 30 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { powChanges: [{ block: 3, pastBlocks: 7, difficulty: 4 }] } },
    ),
  )
})
