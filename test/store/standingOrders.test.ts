import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { TransferId } from "../../src/domain/Hex.ts"
import { endOrder, knownOrders, noteOrders } from "../../src/store/standingOrders.ts"
import { testStore } from "../support/TestStore.ts"

const minute = 60_000
const orders = ["1", "2"].map((id) => ({ id: id.repeat(64) as TransferId, assetId: "u" }))
/** A listing of both orders, of a block or of none that the gateway names. */
const listed = (height: bigint | undefined) => noteOrders("alice", { asOf: 1n, height, active: orders })
const active = Effect.map(knownOrders("alice"), (known) => known?.active.map(({ id }) => id.slice(0, 1)))

describe("a standing order that was seen ended by block 10", () => {
  for (const { listing, height, after = 0, stays } of [
    { listing: "one of an earlier block", height: 9n, stays: true },
    { listing: "one of that very block", height: 10n, stays: true },
    { listing: "one of a later block", height: 11n, stays: false },
    { listing: "one without a block, ten minutes later less a moment", after: 10 * minute - 1, stays: true },
    { listing: "one without a block, ten minutes later", after: 10 * minute, stays: false },
  ] as const) {
    it.effect(`is ${stays ? "not brought back" : "believed again"} by ${listing}`, () =>
      Effect.gen(function* () {
        const store = testStore()
        yield* Effect.gen(function* () {
          yield* listed(8n)
          yield* endOrder("alice", orders[0]!.id, 10n)
          assert.deepStrictEqual(yield* active, ["2"])
          yield* TestClock.adjust(after)
          yield* listed(height)
          assert.deepStrictEqual(yield* active, stays ? ["2"] : ["1", "2"])
          yield* listed(height === undefined ? undefined : height - 2n)
          assert.deepStrictEqual(yield* active, stays ? ["2"] : ["1", "2"])
        }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
      }),
    )
  }
})
