import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Lease, leaseMillis } from "../../src/store/Lease.ts"
import { testStore } from "../support/TestStore.ts"

const leaseOf = (holder: string) =>
  Effect.map(Layer.build(Lease.layerShared(holder)), (context) => Context.get(context, Lease))

const start = 1_800_000_000_000
const hour = 3_600_000

describe("the lease", () => {
  it.effect("is not kept by a process that is gone, though its clock was ahead", () =>
    Effect.gen(function* () {
      const store = yield* Effect.acquireRelease(Effect.sync(testStore), (opened) => Effect.sync(opened.remove))
      yield* Effect.gen(function* () {
        const [gone, here] = [yield* leaseOf("gone"), yield* leaseOf("here")]
        yield* TestClock.setTime(start + 30 * hour)
        assert.isTrue(yield* gone.take)
        assert.isFalse(yield* here.take, "it is held by the same clock")
        yield* TestClock.setTime(start)
        assert.isTrue(yield* here.take)
        assert.deepStrictEqual([yield* gone.isHeld, yield* here.isHeld], [false, true])
        yield* TestClock.setTime(start + 30 * hour)
        assert.isFalse(yield* gone.isHeld, "nor does it come back with the clock")
      }).pipe(Effect.scoped, Effect.provide(store.layer()))
    }).pipe(Effect.scoped),
  )

  it.effect("stays with its owner if the clock goes back a little", () =>
    Effect.gen(function* () {
      const store = yield* Effect.acquireRelease(Effect.sync(testStore), (opened) => Effect.sync(opened.remove))
      yield* Effect.gen(function* () {
        const [one, other] = [yield* leaseOf("one"), yield* leaseOf("other")]
        yield* TestClock.setTime(start)
        assert.isTrue(yield* one.take)
        yield* TestClock.setTime(start - leaseMillis)
        assert.isFalse(yield* other.take)
        assert.isTrue(yield* one.take)
        assert.deepStrictEqual([yield* one.isHeld, yield* other.isHeld], [true, false])
      }).pipe(Effect.scoped, Effect.provide(store.layer()))
    }).pipe(Effect.scoped),
  )
})
