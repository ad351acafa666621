import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { GatewayError, type GatewayReason } from "../../src/gateway/GatewayError.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { type Gateway, Gateways } from "../../src/gateway/Gateways.ts"
import { Health } from "../../src/gateway/Health.ts"
import { layerGateways } from "../../src/gateway/quorumGateway.ts"
import { gatewayOptions } from "../../src/gateway/Transport.ts"
import { metricsLayer } from "../recordings/replay.ts"
import { itWith } from "../support/it.ts"

const services = (
  names: ReadonlyArray<string>,
  quorum: number,
  answer: (host: string) => Response | undefined = () => undefined,
) =>
  layerGateways({
    chainId: "test",
    gateways: names.map((name) => gatewayOptions({ name, url: `http://${name}` })),
    quorum,
  }).pipe(
    Layer.provide([
      Layer.succeed(
        HttpClient.HttpClient,
        HttpClient.make((request, url) => {
          const response = answer(url.hostname)
          return response === undefined ? Effect.never : Effect.succeed(HttpClientResponse.fromWeb(request, response))
        }),
      ),
      metricsLayer,
    ]),
  )

const it = itWith(() => services(["a", "b", "c"], 2))

const failed = (gateway: string, reason: GatewayReason) => new GatewayError({ gateway, operation: "any", reason })
const unreachable: GatewayReason = { _tag: "Unreachable", detail: "refused" }
const unsupported: GatewayReason = { _tag: "Unsupported", detail: "404" }
const rejected: GatewayReason = { _tag: "Rejected", detail: "400" }
const notFound: GatewayReason = { _tag: "NotFound", detail: "none" }

type Answers = Readonly<Record<string, Effect.Effect<string, GatewayReason>>>

/** What each gateway answers, by name. */
const asking =
  (answers: Answers) =>
  ({ name }: Gateway) =>
    Effect.mapError(answers[name] ?? Effect.never, (reason) => failed(name, reason))

const say = Effect.succeed
const no = (reason: GatewayReason) => Effect.fail(reason)

const several = (answers: Answers) =>
  Effect.flatMap(Gateways, (gateways) =>
    Effect.map(gateways.several(asking(answers)), (told) =>
      told.map(({ gateway, value }) => `${gateway.name} ${value}`),
    ),
  )
const first = (answers: Answers) => Effect.flatMap(Gateways, (gateways) => gateways.first(asking(answers)))

describe("asking several gateways", () => {
  it.effect("returns all answers in the order of the configuration", function* () {
    const answers = { a: say("1"), b: say("2"), c: say("3") }
    assert.deepStrictEqual(yield* several(answers), ["a 1", "b 2", "c 3"])
  })

  it.effect("waits a moment for the third where two answered, and not for ever", function* () {
    const fiber = yield* Effect.forkChild(several({ a: say("1"), c: say("3") }), { startImmediately: true })
    yield* TestClock.adjust(299)
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(yield* Fiber.join(fiber), ["a 1", "c 3"])
  })

  it.effect("fails at once where no quorum can come any more", function* () {
    const error = yield* Effect.flip(several({ a: no(unsupported), b: no(unreachable) }))
    assert.strictEqual(error.message, "gateway b, any: unreachable: refused", "what says most")
  })

  it.effect("believes that an operation is not there only where a quorum says so", function* () {
    const two = yield* Effect.flip(several({ a: no(unsupported), b: no(unsupported), c: say("3") }))
    assert.strictEqual(two.reason._tag, "Unsupported")
    const all = several({ a: no(unsupported), b: say("2"), c: say("3") })
    const lone = yield* Effect.flip(Effect.provide(all, services(["a", "b", "c"], 3)))
    assert.strictEqual(lone.reason._tag, "Ambiguous")
  })

  it.effect("asks as many at once as there are questions, all of them answered late", function* () {
    const gate = yield* Deferred.make<void>()
    const late = Effect.as(Deferred.await(gate), "x")
    const answers = { a: late, b: late, c: late }
    const fibers = yield* Effect.forEach(Array.from({ length: 8 }), () => Effect.forkChild(several(answers)))
    yield* TestClock.adjust(1)
    yield* Deferred.succeed(gate, undefined)
    for (const fiber of fibers) assert.deepStrictEqual(yield* Fiber.join(fiber), ["a x", "b x", "c x"])
  })

  it.effect("leaves one alone that owes three answers, and asks again once they came", function* () {
    const gate = yield* Deferred.make<void>()
    let asked = 0
    const owing = Effect.andThen(
      Effect.sync(() => asked++),
      Effect.as(Deferred.await(gate), "1"),
    )
    const answers = { a: owing, b: say("2"), c: say("3") }
    for (let i = 0; i < 3; i++) {
      const fiber = yield* Effect.forkChild(several(answers), { startImmediately: true })
      yield* TestClock.adjust(300)
      yield* Fiber.join(fiber)
    }
    for (let i = 0; i < 50; i++) assert.deepStrictEqual(yield* several(answers), ["b 2", "c 3"])
    assert.strictEqual(asked, 3, "no question is added to those that it owes, and nobody waits")
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.yieldNow
    assert.deepStrictEqual(yield* several(answers), ["a 1", "b 2", "c 3"])
    assert.strictEqual(asked, 4)
  })

  it.effect("ends the questions of one who goes away, and asks the next one's", function* () {
    let [asked, ended] = [0, 0]
    const never = Effect.andThen(
      Effect.sync(() => asked++),
      Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended++)),
    )
    for (let i = 0; i < 10; i++) {
      const fiber = yield* Effect.forkChild(several({ a: never, b: never, c: never }), { startImmediately: true })
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(fiber)
    }
    assert.deepStrictEqual([asked, ended], [30, 30])
    assert.deepStrictEqual(yield* several({ a: say("1"), b: say("2"), c: say("3") }), ["a 1", "b 2", "c 3"])
  })

  it.effect("counts no answer of one that is quarantined", function* () {
    yield* (yield* Health).quarantine("b", "it lied")
    assert.deepStrictEqual(yield* several({ a: say("1"), b: say("2"), c: say("3") }), ["a 1", "c 3"])
    const error = yield* Effect.flip(several({ a: say("1"), b: say("2"), c: no(unreachable) }))
    assert.strictEqual(error.gateway, "b")
  })

  it.effect("is asking the only one there is, quarantined or not", () =>
    Effect.gen(function* () {
      yield* (yield* Health).quarantine("a", "it went back")
      assert.deepStrictEqual(yield* several({ a: say("1") }), ["a 1"])
      assert.strictEqual(yield* first({ a: say("1") }), "1")
    }).pipe(Effect.provide(services(["a"], 1))),
  )
})

describe("asking the first gateway that answers", () => {
  it.effect("goes on where it does not answer, refuses, or has no such operation", function* () {
    for (const reason of [unreachable, rejected, unsupported]) {
      assert.strictEqual(yield* first({ a: no(reason), b: say("2"), c: say("3") }), "2")
    }
    const error = yield* Effect.flip(first({ a: no(notFound), b: say("2") }))
    assert.strictEqual(error.reason._tag, "NotFound", "that a thing is not there is an answer")
  })

  it.effect("says what says most where none answers", function* () {
    const of = (a: GatewayReason, b: GatewayReason, c: GatewayReason) =>
      Effect.map(Effect.flip(first({ a: no(a), b: no(b), c: no(c) })), ({ reason }) => reason._tag)
    assert.strictEqual(yield* of(unreachable, rejected, unsupported), "Rejected")
    assert.strictEqual(yield* of(unsupported, unreachable, unsupported), "Unreachable")
    assert.strictEqual(yield* of(unsupported, unsupported, unsupported), "Unsupported")
  })

  it.effect("asks the healthy before those that failed, and none that is quarantined", function* () {
    const health = yield* Health
    yield* health.quarantine("a", "it lied")
    for (let i = 0; i < 5; i++) {
      yield* health.note("b", { outcome: "timeout", detail: "late", mark: undefined })
    }
    assert.strictEqual(yield* first({ a: say("1"), b: say("2"), c: say("3") }), "3")
    assert.strictEqual(yield* first({ a: say("1"), b: say("2"), c: no(unreachable) }), "2")
    assert.strictEqual(
      yield* Effect.map(Effect.flip(first({ a: say("1"), b: no(unreachable), c: no(unreachable) })), (e) => e.gateway),
      "b",
    )
  })
})

describe("the transfers of an epoch that gateways count", () => {
  const counted = (counts: Readonly<Record<string, { seq: number; used: number; second: number }>>) =>
    Effect.flatMap(GatewayReader, (reader) => reader.epochCount("key")).pipe(
      Effect.provide(
        services(Object.keys(counts), 2, (host) => {
          const { seq, used, second } = counts[host]!
          const transfers = { countForEpoch: String(used), maxForEpoch: "5" }
          return Response.json(
            { height: "9", hash: "a".repeat(64), chainId: "test", statistics: { epochSeq: String(seq), transfers } },
            { headers: { "x-block-height": "9", "x-block-timestamp": `${second}000000000` } },
          )
        }),
      ),
    )

  it.effect("are those of the epoch that a quorum has begun, whatever others count of the one before", function* () {
    const count = yield* counted({
      a: { seq: 7, used: 1, second: 1_800_000_100 },
      b: { seq: 7, used: 0, second: 1_800_000_100 },
      c: { seq: 6, used: 5, second: 1_800_000_100 },
    })
    assert.containSubset(count, { seq: 7, used: 0 })
  })

  it.effect("are counted up to the block that all of them have reached", function* () {
    const count = yield* counted({
      a: { seq: 7, used: 2, second: 1_800_000_101 },
      b: { seq: 7, used: 2, second: 1_800_000_100 },
      c: { seq: 7, used: 2, second: 1_800_000_102 },
    })
    assert.deepStrictEqual(count, { seq: 7, used: 2, limit: 5, asOf: 1_800_000_100_000_000_000n })
  })
})
