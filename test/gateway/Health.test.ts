import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { GatewayReason } from "../../src/gateway/GatewayError.ts"
import { Health } from "../../src/gateway/Health.ts"
import { makeLimiter } from "../../src/gateway/Limiter.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import type { RequestOutcome } from "../../src/telemetry/metricTable.ts"
import { metricsLayer } from "../recordings/replay.ts"
import { itWith } from "../support/it.ts"

const it = itWith(() => Health.layer(["a", "b", "c"]).pipe(Layer.provideMerge(metricsLayer)))

const ended = (gateway: string, outcome: RequestOutcome, detail: string = outcome) =>
  Effect.flatMap(Health, (health) => health.note(gateway, { outcome, detail, mark: undefined }))

const rows = (gateway: string, height: bigint) =>
  Effect.flatMap(Health, (health) =>
    health.note(gateway, { outcome: "ok", detail: "", mark: { height, timestamp: 1n } }),
  )

const chain = (gateway: string, height: bigint) =>
  Effect.flatMap(Health, (health) => health.noteHeight(gateway, height))

const states = Effect.flatMap(Health, (health) => Effect.map(health.all, (all) => all.map(({ state }) => state)))
const ranked = Effect.flatMap(Health, (health) => health.ranked)
const detailOf = (i: number) => Effect.flatMap(Health, (health) => Effect.map(health.all, (all) => all[i]?.detail))

const gauge = Effect.gen(function* () {
  const { registry } = yield* Metrics
  const text = yield* Effect.promise(() => registry.metrics())
  return /gateway_quarantined\{gateway="a"\} ([01])/.exec(text)?.[1]
})

describe("the health of gateways", () => {
  it.effect("shows how far one lags behind the majority, and asks others first", function* () {
    yield* rows("a", 94n)
    yield* rows("b", 100n)
    yield* rows("c", 100_000n)
    assert.deepStrictEqual(yield* states, ["lagging", "up", "up"], "one far ahead makes nobody late")
    assert.strictEqual(yield* detailOf(0), "6 blocks behind")
    assert.deepStrictEqual(yield* ranked, ["b", "c", "a"])
    yield* rows("a", 95n)
    assert.deepStrictEqual(yield* states, ["up", "up", "up"])
  })

  it.effect("leaves out one whose head does not fit until it does", function* () {
    const health = yield* Health
    yield* health.noteStray("a", "its block 7 cannot be the newest")
    assert.strictEqual(yield* detailOf(0), "its block 7 cannot be the newest")
    yield* TestClock.adjust("1 day")
    assert.containSubset((yield* health.all)[0], { state: "quarantined", isStray: true })
    yield* health.noteStray("a", undefined)
    assert.containSubset((yield* health.all)[0], { state: "up", isStray: false })
  })

  it.effect("measures no lag by blocks of another chain", function* () {
    const health = yield* Health
    yield* rows("a", 100n)
    for (const name of ["b", "c"]) {
      yield* health.noteChain(name, "other")
      yield* rows(name, 5_000n)
    }
    assert.deepStrictEqual(yield* states, ["up", "quarantined", "quarantined"])
  })

  it.effect("shows the newest reported block and counts lag from the older one", function* () {
    yield* chain("a", 1n)
    yield* rows("a", 24n)
    const [first] = yield* Effect.flatMap(Health, ({ all }) => all)
    assert.deepInclude(first, { state: "up", height: 1n, named: 24n })
  })

  it.effect("ends a quarantine half a minute after what was last found", function* () {
    const health = yield* Health
    yield* health.quarantine("a", "it lied")
    yield* TestClock.adjust("20 seconds")
    yield* health.quarantine("a", "it lied")
    yield* TestClock.adjust("29 seconds")
    assert.deepStrictEqual([(yield* states)[0], yield* gauge], ["quarantined", "1"])
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual([(yield* states)[0], yield* gauge], ["up", "0"])
  })

  it.effect("calls a history far behind its own chain late, and no contradiction", function* () {
    for (let i = 0n; i < 100n; i++) {
      for (const name of ["a", "b", "c"]) yield* chain(name, 1_000n + i)
      yield* rows("a", 900n + i)
      for (const name of ["b", "c"]) yield* rows(name, 999n + i)
      yield* TestClock.adjust("1 second")
    }
    assert.deepStrictEqual(yield* states, ["lagging", "up", "up"])
    assert.strictEqual(yield* detailOf(0), "99 blocks behind")
    yield* TestClock.adjust("61 seconds")
    for (const name of ["a", "b", "c"]) yield* chain(name, 1_160n)
    assert.deepStrictEqual(yield* states, ["up", "up", "up"], "nobody asked for its rows for a minute")
  })

  it.effect("is down after five failures and tried again after a minute", function* () {
    for (let i = 0; i < 4; i++) yield* ended("a", "timeout", "no answer")
    assert.deepStrictEqual((yield* states)[0], "up")
    yield* ended("a", "timeout", "no answer")
    assert.deepStrictEqual([(yield* states)[0], yield* detailOf(0)], ["down", "no answer"])
    assert.deepStrictEqual(yield* ranked, ["b", "c", "a"])
    yield* TestClock.adjust("60 seconds")
    assert.deepStrictEqual(yield* ranked, ["a", "b", "c"])
    yield* ended("a", "unreachable", "refused")
    assert.deepStrictEqual([(yield* states)[0], yield* detailOf(0)], ["down", "refused"])
    yield* ended("a", "ok")
    assert.deepStrictEqual((yield* states)[0], "up")
  })

  it.effect("is down where it refuses all, as for an expired token, until it serves one", function* () {
    for (let i = 0; i < 30; i++) {
      yield* ended("a", "refused", "rejected: 401")
      yield* ended("b", "refused", "not supported: 501")
      if (i % 10 === 0) yield* ended("b", "ok")
    }
    assert.deepStrictEqual(yield* states, ["down", "up", "up"], "b lacks operations, and serves others")
    assert.strictEqual(yield* detailOf(0), "rejected: 401")
    yield* ended("a", "ok")
    assert.deepStrictEqual((yield* states)[0], "up")
  })

  it.effect("is banned as long as its limiter says; only quarantine is worse", function* () {
    const limiters = yield* Effect.forEach(["a", "b"], (name) =>
      Effect.tap(makeLimiter({ requestsPerSecond: 10, waitMillisMax: 1_000 }), ({ pace }) =>
        Effect.flatMap(Health, (health) => health.follow(name, pace)),
      ),
    )
    const shutOut = (i: number, retryAfterMillis?: number) =>
      Effect.exit(limiters[i]!.pass({ read: "x" }, Effect.fail({ _tag: "Banned", retryAfterMillis } as GatewayReason)))
    yield* shutOut(0, 120_000)
    yield* ended("a", "ok")
    yield* TestClock.adjust("119 seconds")
    assert.deepStrictEqual((yield* states)[0], "banned")
    assert.strictEqual(yield* detailOf(0), "banned until 1970-01-01 00:02:00 UTC")
    yield* (yield* Health).quarantine("a", "it lied")
    assert.deepStrictEqual((yield* states)[0], "quarantined", "it counts for nothing in a ban's last moment either")
    yield* shutOut(1)
    yield* TestClock.adjust("599 seconds")
    assert.deepStrictEqual((yield* states)[1], "banned", "ten minutes where it does not say")
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual((yield* states)[1], "up")
  })

  it.effect("ends a quarantine on time though our clock was ahead", function* () {
    const health = yield* Health
    yield* TestClock.setTime(30 * 3_600_000)
    yield* health.quarantine("a", "it lied")
    yield* TestClock.setTime(0)
    assert.deepStrictEqual((yield* states)[0], "quarantined")
    yield* TestClock.adjust("29 seconds")
    assert.deepStrictEqual((yield* states)[0], "quarantined")
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual((yield* states)[0], "up")
  })

  it.effect("shows the request rate while refusals keep it below one a second", function* () {
    const limiter = yield* makeLimiter({ requestsPerSecond: 10, waitMillisMax: 60_000 })
    yield* (yield* Health).follow("a", limiter.pace)
    const view = Effect.map((yield* Health).all, ([a]) => [a?.state, a?.perSecond, a?.detail])
    const tooMany = Effect.exit(limiter.pass({ read: "x" }, Effect.fail({ _tag: "RateLimited" } as GatewayReason)))
    const refuse = Effect.andThen(TestClock.adjust("1 second"), tooMany)
    yield* refuse
    assert.deepStrictEqual(yield* view, ["up", undefined, ""], "half of ten is enough")
    for (let i = 0; i < 3; i++) yield* refuse
    const [state, perSecond, detail] = yield* view
    assert.strictEqual(state, "up")
    assert.closeTo(Number(perSecond), 0.63, 0.02)
    assert.match(String(detail), /^asked slowly, 0\.6 requests a second: it refused others as too many$/)
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual(yield* view, ["up", undefined, ""], "it recovers")
  })
})
