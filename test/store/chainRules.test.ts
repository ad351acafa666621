import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { deadlineHeight, marginBlocks, sendEnd } from "../../src/domain/Attempt.ts"
import { ChainRules } from "../../src/store/ChainRules.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { Settings } from "../../src/store/Settings.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const pow = { hashFunction: "sha3_24_rounds", difficulty: 15, pastBlocks: 100, txPerBlock: 2, increasing: true }
const see = (height: bigint, change: Partial<typeof pow> = {}) =>
  Effect.flatMap(ChainRules, (rules) => rules.see({ chainId: "c", height, pow: { ...pow, ...change } }))
const unsettled = (height: bigint) => Effect.flatMap(ChainRules, (rules) => rules.unsettled(height))
/** Terms that an older release stored. */
const stored = (value: unknown) =>
  Effect.flatMap(Settings, (settings) => settings.set("chainRules", JSON.stringify(value)))

/** One process after the other on one store. */
const lives = (
  ...uses: ReadonlyArray<Effect.Effect<void, unknown, ChainRules | Outbox | Settings>>
): Effect.Effect<void, unknown> => {
  const store = testStore()
  return Effect.forEach(uses, (use) => use.pipe(Effect.provide(store.layer())), { discard: true }).pipe(
    Effect.ensuring(Effect.sync(store.remove)),
  )
}

describe("stored terms of work", () => {
  const lie = { ...pow, pastBlocks: 4_294_967_295 }
  it.effect("with a wait of centuries are let go when the store is opened", () =>
    lives(
      stored({ chainId: "c", work: pow, changed: { before: lie, at: "987", until: "4294968282" } }),
      Effect.gen(function* () {
        assert.isUndefined(yield* unsettled(990n))
        yield* see(991n)
        assert.isUndefined(yield* unsettled(991n))
      }),
    ),
  )

  it.effect("that were odd at exit are withdrawn by the next honest answer", () =>
    lives(
      stored({ chainId: "c", work: lie, changed: { before: pow, at: "987", until: "4294968282" } }),
      Effect.gen(function* () {
        assert.include((yield* unsettled(990n)) ?? "", "window of 4294967295")
        yield* see(991n)
        assert.isUndefined(yield* unsettled(991n))
      }),
      Effect.gen(function* () {
        assert.isUndefined(yield* unsettled(0n))
      }),
    ),
  )

  it.effect("of a store before bounds are believed without another look", () =>
    lives(
      stored({ chainId: "c", work: pow }),
      Effect.gen(function* () {
        yield* see(5n)
        assert.isUndefined(yield* unsettled(5n))
      }),
    ),
  )

  it.effect("that wait to be believed go on waiting after a restart, and no longer", () =>
    lives(
      see(5n),
      Effect.gen(function* () {
        assert.isDefined(yield* unsettled(14n))
        yield* TestClock.adjust("10 seconds")
        yield* see(15n)
        assert.isUndefined(yield* unsettled(15n))
      }),
    ),
  )

  it.effect("are taken on people's word, unless they are odd", () =>
    lives(
      Effect.gen(function* () {
        const { trust } = yield* ChainRules
        assert.include(JSON.stringify(yield* trust(5n)), "refused")
        yield* see(5n, { difficulty: 40 })
        assert.include(JSON.stringify(yield* trust(5n)), "maxDifficulty")
        yield* see(6n)
        const trusted = "difficulty 15, window 100, 2 per block, increasing"
        assert.deepStrictEqual(yield* trust(9n), { trusted, since: 6n }, "a block that stays the same meanwhile")
        assert.isUndefined(yield* trust(6n))
        assert.isUndefined(yield* unsettled(6n))
      }),
    ),
  )
})

describe("an attempt that is open", () => {
  const attemptNow = Effect.flatMap(Outbox, (outbox) => Effect.map(outbox.attempts(intentOf("1").id), ([a]) => a!))
  it.effect.each([
    ["a larger window", [300], 100, 300],
    ["a smaller window", [5], 5, 100],
    ["one that nobody can have", [4_294_967_295], 100, 500],
    ["none at all", [0], 100, 100],
    ["several", [7, 300, 8], 7, 300],
  ] as const)("is sent by the smallest window and proven dead by the largest: %s", ([, windows, min, max]) =>
    lives(
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const intent = intentOf("1")
        yield* see(1n)
        yield* TestClock.adjust("10 seconds")
        yield* see(11n)
        yield* outbox.record(intent)
        const reserved = yield* outbox.move(intent, "reserved", { detail: "" })
        yield* outbox.persist(reserved, { ...attemptOf(intent, 1), windowBlocks: 100 })
        for (const [i, pastBlocks] of windows.entries()) yield* see(12n + BigInt(i), { pastBlocks })
        yield* see(12n + BigInt(windows.length))
        assert.isUndefined(yield* unsettled(12n), "the lie itself is over")
      }),
      Effect.gen(function* () {
        const attempt = yield* attemptNow
        assert.strictEqual(deadlineHeight(attempt), attempt.anchorHeight + BigInt(max))
        assert.strictEqual(sendEnd(attempt), attempt.anchorHeight + BigInt(min) - marginBlocks(min))
      }),
    ),
  )
})
