import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { supervise, supervised } from "../src/Supervisor.ts"
import { StoreError } from "../src/store/database/StoreError.ts"

const silent = Effect.provide(Logger.layer([]))

/** Starts of a loop that runs for a while and then ends as given, in milliseconds since the first. */
const watch = (runsMillis: number, end: Effect.Effect<never, unknown>) => {
  const starts: Array<number> = []
  const loop = Effect.gen(function* () {
    starts.push(yield* Clock.currentTimeMillis)
    yield* Effect.sleep(runsMillis)
    return yield* end
  })
  return { starts, loop }
}

describe("the supervisor", () => {
  it.effect("ends with a loop whose store takes no writes, and restarts none", () =>
    Effect.gen(function* () {
      const full = Object.assign(new Error("database or disk is full"), { errcode: 13 })
      const error = new StoreError({ operation: "move", cause: full })
      const good = watch(1_000_000, Effect.never)
      const bad = watch(0, Effect.fail(error))
      const ended = yield* Effect.flip(supervise([supervised("good", good.loop), supervised("bad", bad.loop)]))
      assert.strictEqual(ended, error)
      assert.lengthOf(bad.starts, 1)
    }).pipe(silent),
  )

  for (const [what, end] of [
    ["a failure", Effect.fail("boom")],
    ["a defect", Effect.die(new Error("bug"))],
    ["an end by itself", Effect.void as Effect.Effect<never>],
  ] as const) {
    it.effect(`restarts a loop after ${what} with growing delays, six times at most`, () =>
      Effect.gen(function* () {
        const { starts, loop } = watch(0, end)
        const fiber = yield* Effect.forkChild(supervise([supervised("bad", loop)]))
        yield* TestClock.adjust("2 minutes")
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(starts.length, 6)
        const waits = starts.slice(1).map((at, i) => at - starts[i]!)
        for (const [i, wait] of waits.entries()) {
          assert.isAtLeast(wait, 200 * 2 ** i * 0.8 - 1)
          assert.isAtMost(wait, 200 * 2 ** i * 1.2 + 1)
        }
      }).pipe(silent),
    )
  }

  it.effect("forgets failures older than ten minutes and waits the shortest time", () =>
    Effect.gen(function* () {
      const { starts, loop } = watch(150_000, Effect.fail("now and then"))
      const fiber = yield* Effect.forkChild(supervise([supervised("slow", loop)]))
      yield* TestClock.adjust("2 hours")
      assert.isAtLeast(starts.length, 47)
      for (const [i, at] of starts.slice(1).entries()) assert.isAtMost(at - starts[i]! - 150_000, 241)
      yield* Fiber.interrupt(fiber)
    }).pipe(silent),
  )

  it.effect("forgets them also where the clock is set back by three hours meanwhile", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let behind = 0
      const { starts, loop } = watch(150_000, Effect.fail("now and then"))
      const fiber = yield* Effect.forkChild(
        supervise([supervised("slow", loop)]).pipe(
          Effect.provideService(Clock.Clock, {
            ...clock,
            sleep: clock.sleep,
            currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now - behind),
          }),
        ),
      )
      yield* TestClock.adjust("10 minutes")
      behind = 10_800_000
      yield* TestClock.adjust("2 hours")
      assert.isAtLeast(starts.length, 47)
      yield* Fiber.interrupt(fiber)
    }).pipe(silent),
  )

  it.effect("ends the others with the one that gave up", () =>
    Effect.gen(function* () {
      let ended = false
      const good = Effect.never.pipe(
        Effect.onInterrupt(() =>
          Effect.sync(() => {
            ended = true
          }),
        ),
      )
      const { loop } = watch(0, Effect.fail("boom"))
      const fiber = yield* Effect.forkChild(supervise([supervised("good", good), supervised("bad", loop)]))
      yield* TestClock.adjust("2 minutes")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
      assert.isTrue(ended)
    }).pipe(silent),
  )
})
