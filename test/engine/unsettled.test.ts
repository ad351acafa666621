import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ChainContext } from "../../src/gateway/ChainContext.ts"
import { payersOf, pollRules } from "../../src/poller/pollRules.ts"
import { ChainRules } from "../../src/store/ChainRules.ts"
import { RuleStates } from "../../src/store/RuleStates.ts"
import { flow, round, states } from "../support/Flow.ts"

const proposed = new Set(["submit", "confirm", "reconcile"])
const now = Effect.map(
  Effect.flatMap(RuleStates, (store) => store.all),
  ([memory]) => memory,
)

describe("the network's rules for transactions", () => {
  it.effect("hold payments for a window of blocks after they changed", () =>
    flow(
      (options, sandbox) =>
        Effect.gen(function* () {
          const look = pollRules(payersOf(options.treasury.parties.values()))
          const at = Effect.map(
            Effect.flatMap(ChainContext, (chain) => chain.head),
            ({ height }) => Number(height),
          )
          // The first look was at block 1; the next one, a minute later, meets other rules.
          yield* TestClock.adjust("1 minute")
          yield* sandbox.stepBlock
          yield* sandbox.stepBlock
          yield* look
          const changedAt = yield* at
          while ((yield* at) < changedAt + 7) {
            yield* round(options, sandbox, proposed)
            const memory = yield* now
            if (memory?.reason === "pending") continue
            const isOver = (yield* at) > changedAt + 7
            if (isOver || memory?.reason !== "chain_unsettled") break
            assert.include(memory.detail, `changed at block ${changedAt}; payments go on after block ${changedAt + 7}`)
            assert.deepStrictEqual(yield* states, [])
          }
          assert.isAtLeast(yield* at, changedAt + 7)
          for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
          assert.deepStrictEqual(yield* states, ["proposed"])
        }),
      { change: { powChanges: "[{ block: 3, pastBlocks: 7, difficulty: 4 }]" } },
    ),
  )

  it.effect("are told as unknown where no head was seen, or where it asks for other work than ours", () =>
    flow(() =>
      Effect.gen(function* () {
        const rules = yield* ChainRules
        const pow = { difficulty: 3, pastBlocks: 5, txPerBlock: 2, increasing: true }
        const see = (height: bigint, hashFunction = "sha3_24_rounds", change: Partial<typeof pow> = {}) =>
          rules.see({ chainId: "sandbox-1", height, pow: { ...pow, ...change, hashFunction } })
        yield* see(100n, "md5")
        assert.include((yield* rules.unsettled(0n)) ?? "", "an unknown proof of work")
        yield* see(110n)
        assert.include((yield* rules.unsettled(0n)) ?? "", "payments go on after block 115")
        yield* see(109n, "md5")
        yield* see(114n)
        assert.isDefined(yield* rules.unsettled(0n), "a node that lags is not a change back")
        assert.isUndefined(yield* rules.unsettled(115n))
        yield* see(116n, undefined, { pastBlocks: 0 })
        assert.include((yield* rules.unsettled(500n)) ?? "", "does not tell for how long")
      }),
    ),
  )
})
