import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { beatOnce } from "../../src/alerts/AlertLoop.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import type { Loop } from "../../src/telemetry/metricTable.ts"
import { serviceServer } from "../notify/Services.ts"
import { it } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const layers = (url: string) => {
  const store = testStore()
  const names = { gateways: [], rules: [], receivers: [], version: "", revision: "" }
  return Metrics.layer({ treasury: "t", mode: "live", ...names }).pipe(
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(Notifier.layerReceivers([], { heartbeat: { url: Redacted.make(url), allowPrivate: false } })),
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove)))),
  )
}

/** Each loop finishes a cycle. */
const goRound = (loops: ReadonlyArray<Loop>) =>
  Effect.flatMap(Metrics, ({ counted }) => Effect.forEach(loops, (loop) => counted(loop, Effect.void)))
const all = ["engine", "submitter", "confirm", "alerts", "health"] as const

describe("the heartbeat", () => {
  it.effect("is called while the loops go round, and not once one stands still", function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const service = yield* serviceServer
    yield* Effect.gen(function* () {
      yield* beatOnce()
      assert.lengthOf(service.calls, 0, "nothing has gone round yet")
      yield* goRound(all)
      yield* beatOnce()
      assert.deepStrictEqual(
        service.calls.map(({ method, path }) => `${method} ${path}`),
        ["GET /ping/SECRET"],
      )
      const { text } = yield* Metrics
      assert.include(yield* Effect.promise(text), "cofferer_heartbeat_last_success_timestamp_seconds 1800000000")
      for (const stalled of all) {
        yield* TestClock.adjust("5 minutes")
        yield* goRound(all.filter((loop) => loop !== stalled))
        yield* beatOnce()
        assert.lengthOf(service.calls, 1, `${stalled} stands still`)
      }
    }).pipe(Effect.provide(layers(`${service.url}/ping/SECRET`)))
  })

  it.effect("is not called for a loop that goes round by a clock ahead only", function* () {
    const start = 1_800_000_000_000
    const service = yield* serviceServer
    yield* Effect.gen(function* () {
      yield* TestClock.setTime(start + 86_400_000)
      yield* goRound(all)
      yield* TestClock.setTime(start)
      yield* goRound(all.slice(1))
      yield* beatOnce()
      assert.lengthOf(service.calls, 0)
      yield* goRound(all)
      yield* beatOnce()
      assert.lengthOf(service.calls, 1)
    }).pipe(Effect.provide(layers(service.url)))
  })

  it.effect("is not called while the store takes no writes", function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const service = yield* serviceServer
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`PRAGMA query_only = 1`
      yield* goRound(all)
      yield* beatOnce()
      assert.lengthOf(service.calls, 0)
      yield* sql`PRAGMA query_only = 0`
      yield* beatOnce()
      assert.lengthOf(service.calls, 1)
    }).pipe(Effect.provide(layers(service.url)))
  })

  it.effect("is not accepted by an error or a redirect, and goes on", function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const service = yield* serviceServer
    yield* Effect.gen(function* () {
      yield* goRound(all)
      for (const status of [302, 500, 200]) {
        service.answer.status = status
        service.answer.headers = { location: "http://127.0.0.1:1/" }
        const { text } = yield* Metrics
        assert.notInclude(yield* Effect.promise(text), "cofferer_heartbeat_last_success_timestamp_seconds 1")
        yield* beatOnce()
      }
      assert.lengthOf(service.calls, 3)
    }).pipe(Effect.provide(layers(service.url)))
  })

  it.effect("goes to no private address by a name", function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const notifier = Notifier.layerReceivers([], {
      heartbeat: { url: "http://inside.example/ping", allowPrivate: false },
      resolve: (_, __, callback) => callback(null, [{ address: "10.0.0.1", family: 4 }]),
    })
    const failure = yield* Effect.flatMap(Notifier, ({ beat }) => Effect.flip(beat ?? Effect.void)).pipe(
      Effect.provide(notifier),
    )
    assert.include(String(failure), "private address")
  })
})
