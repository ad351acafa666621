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
          for (let i = 0; i < 30 && (yield* at) < changedAt + 7; i++) {
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
      { scenario: { powChanges: [{ block: 3, pastBlocks: 7, difficulty: 4 }] } },
    ),
  )

  it.effect("alert if they make payments impossible, but not from a lagging node", () =>
    flow(() =>
      Effect.gen(function* () {
        const rules = yield* ChainRules
        const { pow, height } = yield* Effect.flatMap(ChainContext, (chain) => chain.head)
        const see = (after: bigint, change: Partial<typeof pow> = {}) =>
          rules.see({ chainId: "sandbox-1", height: height + after, pow: { ...pow, ...change } })
        assert.isUndefined(yield* rules.unsettled(0n))
        for (let i = 1n; i <= 11n; i++) {
          yield* see(i, { hashFunction: "md5" })
          yield* TestClock.adjust("1 second")
        }
        assert.include((yield* rules.unsettled(0n)) ?? "", "an unknown proof of work")
        assert.isString(yield* rules.odd)
        yield* see(12n)
        const end = height + 12n + BigInt(pow.pastBlocks)
        assert.include((yield* rules.unsettled(0n)) ?? "", `payments go on after block ${end}`)
        yield* see(11n, { hashFunction: "md5" })
        yield* see(end - height - 1n)
        assert.isDefined(yield* rules.unsettled(0n), "a node that lags is not a change back")
        assert.isUndefined(yield* rules.unsettled(end))
        assert.isDefined(yield* rules.unsettled(end, { ...pow, difficulty: 1 }), "no head of other terms signs")
        yield* see(400n, { pastBlocks: 0 })
        assert.include((yield* rules.unsettled(500n)) ?? "", "does not tell for how long")
      }),
    ),
  )
})
