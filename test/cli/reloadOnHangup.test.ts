import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { reloadOnHangup } from "../../src/cli/run/storeOutage.ts"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { it } from "../support/it.ts"
import { soon, waitUntil } from "../support/until.ts"

describe("SIGHUP", () => {
  it.effect("is heard again after a reload that failed by a defect", function* () {
    const reloads = yield* Queue.unbounded<number>()
    let count = 0
    const config = {
      reloading: () => Effect.andThen(Queue.offer(reloads, ++count), Effect.die(new Error("no such case"))),
    } as unknown as ConfigInForce["Service"]
    // Whatever else a reload needs is not come to.
    const listening = reloadOnHangup as Effect.Effect<void, never, ConfigInForce>
    const before = process.listenerCount("SIGHUP")
    const fiber = yield* Effect.forkChild(Effect.provideService(listening, ConfigInForce, config))
    yield* waitUntil("a listener", () => process.listenerCount("SIGHUP") > before)
    process.emit("SIGHUP", "SIGHUP")
    assert.strictEqual(yield* soon("a reload", Queue.take(reloads)), 1)
    process.emit("SIGHUP", "SIGHUP")
    assert.strictEqual(yield* soon("a reload", Queue.take(reloads)), 2)
    yield* Fiber.interrupt(fiber)
    assert.strictEqual(process.listenerCount("SIGHUP"), before)
  })
})
