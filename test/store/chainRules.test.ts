import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { deadlineHeight, marginBlocks, sendEnd } from "../../src/domain/Attempt.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { effectOf, type Work } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const pow = { hashFunction: "sha3_24_rounds", difficulty: 15, pastBlocks: 100, txPerBlock: 2, increasing: true }
const see = (height: bigint, change: Partial<typeof pow> = {}) =>
  Effect.flatMap(ChainState, (state) => state.seeHead({ chainId: "c", height, pow: { ...pow, ...change } }))
/** One process after the other on one store. */
const lives = (...uses: ReadonlyArray<Work<ChainState | Outbox>>): Effect.Effect<void, unknown> => {
  const store = testStore()
  return Effect.forEach(uses, (use) => Effect.provide(effectOf(use), store.layer()), { discard: true }).pipe(
    Effect.ensuring(Effect.sync(store.remove)),
  )
}

describe("stored work parameters", () => {
  it.effect("that are odd are told as such after a restart, until a legal answer", () =>
    lives(see(5n, { pastBlocks: 4_294_967_295 }), function* () {
      const state = yield* ChainState
      assert.include((yield* state.oddWork) ?? "", "window of 4294967295")
      yield* see(6n)
      assert.isUndefined(yield* state.oddWork)
    }),
  )

  it.effect("keep the larger window over a restart", () =>
    lives(Effect.andThen(see(5n), see(6n, { pastBlocks: 7 })), function* () {
      const { windowAt } = yield* ChainState
      assert.deepStrictEqual([yield* windowAt(105n), yield* windowAt(106n)], [100, 7])
    }),
  )
})

describe("an attempt that is open", () => {
  const attemptNow = Effect.flatMap(Outbox, (outbox) => Effect.map(outbox.attempts(intentOf("1").id), ([a]) => a!))
  it.effect.each([
    ["a larger window", [300], 100, 300],
    ["a smaller window", [5], 5, 100],
    ["one that nobody can have", [4_294_967_295], 100, 100],
    ["none at all", [0], 100, 100],
    ["several", [7, 300, 8], 7, 300],
  ] as const)("is sent by the smallest window and proven dead by the largest: %s", ([, windows, min, max]) =>
    lives(
      function* () {
        const outbox = yield* Outbox
        const intent = intentOf("1")
        yield* see(11n)
        yield* outbox.record(intent)
        const reserved = yield* outbox.move(intent, "reserved", { detail: "" })
        yield* outbox.persist(reserved, { ...attemptOf(intent, 1), windowBlocks: 100 })
        for (const [i, pastBlocks] of windows.entries()) yield* see(12n + BigInt(i), { pastBlocks })
        yield* see(12n + BigInt(windows.length))
      },
      function* () {
        const attempt = yield* attemptNow
        assert.strictEqual(deadlineHeight(attempt), attempt.anchorHeight + BigInt(max))
        assert.strictEqual(sendEnd(attempt), attempt.anchorHeight + BigInt(min) - marginBlocks(min))
      },
    ),
  )
})
