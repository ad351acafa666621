import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { GatewayReason } from "../../src/gateway/GatewayError.ts"
import { type Limiter, makeLimiter, RequestPriority, type TurnRequest } from "../../src/gateway/Limiter.ts"
import { it } from "../support/it.ts"

const make = (requestsPerSecond = 10) => makeLimiter({ requestsPerSecond, waitMillisMax: 10_000 })
const write: TurnRequest = { read: undefined }
const read = (name: string): TurnRequest => ({ read: name })
const advertise = (limit: number, remaining: number) => ({
  "ratelimit-limit": String(limit),
  "ratelimit-reset": "1",
  "ratelimit-remaining": String(remaining),
})

/** Asks without end, and tells at any time how often it was let through. */
const hammer = Effect.fnUntraced(function* (limiter: Limiter) {
  let sent = 0
  const ask = limiter.pass(
    read("r"),
    Effect.sync(() => sent++),
  )
  yield* Effect.forkChild(
    Effect.gen(function* () {
      for (;;) yield* Effect.exit(ask)
    }),
    { startImmediately: true },
  )
  return () => sent
})

/** Time in small steps, so that whoever sleeps can sleep again. */
const pass = Effect.fnUntraced(function* (seconds: number) {
  for (let i = 0; i < seconds * 50; i++) yield* TestClock.adjust("20 millis")
})

const fails = (limiter: Limiter, reason: GatewayReason, ask = write) =>
  Effect.exit(limiter.pass(ask, Effect.fail(reason)))

const reasonOf = <A>(exit: Exit.Exit<A, GatewayReason>) =>
  Exit.isFailure(exit) ? exit.cause.reasons.flatMap((r) => (r._tag === "Fail" ? [r.error] : [])).at(0) : undefined

const state = (limiter: Limiter) => Effect.map(limiter.pace, (pace) => pace.state)

describe("the limiter of one gateway", () => {
  it.effect("sends ten a second after a burst of fifty where nothing is advertised", function* () {
    const sent = yield* hammer(yield* make())
    assert.strictEqual(sent(), 50)
    yield* pass(20)
    assert.closeTo(sent(), 250, 2)
  })

  it.effect.each([
    [20, 10],
    [50, 10],
    [4, 2],
    [1, 0.5],
  ] as const)("sends half of %i a second if advertised, and its maximum otherwise", function* ([limit, rate]) {
    const limiter = yield* make()
    yield* limiter.applyHeaders(advertise(limit, limit * 5))
    const sent = yield* hammer(limiter)
    const burst = Math.floor(Math.min(50, Math.max(1, 5 * rate)))
    assert.strictEqual(sent(), burst)
    yield* pass(20)
    assert.closeTo(sent(), burst + 20 * rate, 2)
    assert.deepStrictEqual(yield* limiter.pace, { state: "free", perSecond: rate, waiting: 1 })
  })

  it.effect("reckons a limit of a longer time by the second", function* () {
    const limiter = yield* make()
    yield* limiter.applyHeaders({ "ratelimit-limit": "600", "ratelimit-reset": "60", "ratelimit-remaining": "600" })
    assert.deepStrictEqual(yield* limiter.pace, { state: "free", perSecond: 5, waiting: 0 })
  })

  it.effect("forgets what was advertised once no answer has repeated it for a minute", function* () {
    const limiter = yield* make()
    const once = { "ratelimit-limit": "1", "ratelimit-reset": "9999999", "ratelimit-remaining": "0" }
    yield* limiter.applyHeaders(once)
    assert.deepStrictEqual(yield* limiter.pace, { state: "throttled", perSecond: 0.2, waiting: 0 })
    yield* TestClock.adjust("59 seconds")
    yield* limiter.applyHeaders({ date: "today" })
    assert.deepStrictEqual(yield* limiter.pace, { state: "throttled", perSecond: 0.2, waiting: 0 })
    const sent = yield* hammer(limiter)
    const before = sent()
    yield* pass(11)
    assert.closeTo(sent() - before, 100, 12)
    assert.deepStrictEqual(yield* limiter.pace, { state: "free", perSecond: 10, waiting: 1 })
  })

  it.effect("keeps to what each answer advertises for as long as they do", function* () {
    const limiter = yield* make()
    for (let i = 0; i < 10; i++) {
      yield* limiter.applyHeaders(advertise(4, 4))
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* limiter.pace, { state: "free", perSecond: 2, waiting: 0 })
    }
  })

  it.effect.each([["-5"], ["0"], ["1e9"], ["ten"], [""], ["99999999999999999999"], ["20, 20"]])(
    "passes over a limit of %j",
    function* ([text]) {
      const limiter = yield* make()
      yield* limiter.applyHeaders({ "ratelimit-limit": text, "ratelimit-remaining": "0" })
      assert.deepStrictEqual(yield* limiter.pace, { state: "free", perSecond: 10, waiting: 0 })
    },
  )

  it.effect("slows down while others use the limit, and recovers after", function* () {
    const limiter = yield* make()
    yield* limiter.applyHeaders(advertise(20, 5))
    assert.deepStrictEqual(yield* limiter.pace, { state: "throttled", perSecond: 2.5, waiting: 0 })
    yield* limiter.applyHeaders(advertise(20, 0))
    assert.deepStrictEqual(yield* limiter.pace, { state: "throttled", perSecond: 0.5, waiting: 0 })
    const sent = yield* hammer(limiter)
    yield* TestClock.adjust("1 second")
    assert.strictEqual(sent(), 0)
    yield* limiter.applyHeaders(advertise(20, 90))
    assert.deepInclude(yield* limiter.pace, { state: "free", perSecond: 10 })
  })

  it.effect("halves its rate once for a burst of 429, and recovers", function* () {
    const limiter = yield* make()
    const refusal = Effect.fail<GatewayReason>({ _tag: "RateLimited" }).pipe(Effect.delay("10 millis"))
    const four = yield* Effect.forkChild(
      Effect.forEach([1, 2, 3, 4], () => Effect.exit(limiter.pass(write, refusal)), { concurrency: 4 }),
    )
    yield* TestClock.adjust("10 millis")
    assert.lengthOf(yield* Fiber.join(four), 4)
    assert.deepStrictEqual(yield* limiter.pace, { state: "throttled", perSecond: 5, waiting: 0 })
    yield* TestClock.adjust("150 seconds")
    assert.closeTo(((yield* limiter.pace) as { perSecond: number }).perSecond, 7.5, 0.01)
    yield* TestClock.adjust("150 seconds")
    assert.deepStrictEqual(yield* limiter.pace, { state: "free", perSecond: 10, waiting: 0 })
  })

  it.effect("sends at least one in five seconds, however often it is refused", function* () {
    const limiter = yield* make()
    for (let i = 0; i < 20; i++) {
      yield* Effect.forkChild(fails(limiter, { _tag: "RateLimited" }))
      yield* TestClock.adjust("5 seconds")
    }
    assert.strictEqual(((yield* limiter.pace) as { perSecond: number }).perSecond, 0.2)
    const sent = yield* hammer(limiter)
    yield* pass(20)
    assert.isAtLeast(sent(), 3)
  })

  it.effect("sends nothing for as long as a refusal asks for", function* () {
    const limiter = yield* make()
    yield* fails(limiter, { _tag: "RateLimited", retryAfterMillis: 5_000 })
    const sent = yield* hammer(limiter)
    yield* pass(5)
    assert.strictEqual(sent(), 0)
    yield* pass(1)
    assert.isAbove(sent(), 0)
  })

  it.effect("sends nothing for a minute at most, whatever a refusal asks for", function* () {
    const limiter = yield* make()
    yield* fails(limiter, { _tag: "RateLimited", retryAfterMillis: 86_400_000 })
    const sent = yield* hammer(limiter)
    yield* TestClock.adjust("59 seconds")
    assert.strictEqual(sent(), 0)
    yield* pass(2)
    assert.isAbove(sent(), 0)
  })

  it.effect.each([
    ["the time given", 30_000, 30_000],
    ["ten minutes where none is", undefined, 600_000],
    ["ten minutes at most", 86_400_000, 600_000],
  ] as const)("waits a ban out: %s", function* ([_name, given, lasts]) {
    const limiter = yield* make()
    const reason: GatewayReason = given === undefined ? { _tag: "Banned" } : { _tag: "Banned", retryAfterMillis: given }
    yield* fails(limiter, reason)
    assert.deepStrictEqual(yield* limiter.pace, { state: "banned", forMillis: lasts, waiting: 0 })
    yield* TestClock.adjust(lasts - 1_000)
    let sent = 0
    const ask = limiter.pass(
      write,
      Effect.sync(() => sent++),
    )
    assert.deepStrictEqual(reasonOf(yield* Effect.exit(ask)), { _tag: "Banned", retryAfterMillis: 1_000 })
    assert.strictEqual(sent, 0)
    yield* TestClock.adjust("1 second")
    const after = yield* Effect.forkChild(ask)
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(after)
    assert.strictEqual(sent, 1)
    assert.strictEqual(yield* state(limiter), lasts < 600_000 ? "throttled" : "free")
  })

  it.effect("fails whoever waits when a ban comes", function* () {
    const limiter = yield* make()
    const slow = yield* Effect.forkChild(
      limiter.pass(read("a"), Effect.delay(Effect.fail<GatewayReason>({ _tag: "Banned" }), "1 second")),
    )
    const waits = yield* Effect.forkChild(limiter.pass(read("a"), Effect.void))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(reasonOf(yield* Fiber.await(waits)), { _tag: "Banned", retryAfterMillis: 600_000 })
    assert.isTrue(Exit.isFailure(yield* Fiber.await(slow)))
  })

  it.effect("keeps a ban for its time where a shorter one follows", function* () {
    const limiter = yield* make()
    const short: GatewayReason = { _tag: "Banned", retryAfterMillis: 5_000 }
    const late = yield* Effect.forkChild(limiter.pass(read("later"), Effect.delay(Effect.fail(short), "1 second")), {
      startImmediately: true,
    })
    yield* fails(limiter, { _tag: "Banned", retryAfterMillis: 60_000 }, read("first"))
    yield* TestClock.adjust("1 second")
    yield* Fiber.await(late)
    assert.deepStrictEqual(yield* limiter.pace, { state: "banned", forMillis: 59_000, waiting: 0 })
  })

  it.effect("answers writes first, then by urgency, and nobody waits for ever", function* () {
    const limiter = yield* make(1)
    yield* limiter.applyHeaders(advertise(2, 0))
    yield* limiter.applyHeaders(advertise(2, 10))
    const order: Array<string> = []
    const ask = (name: string, what: TurnRequest) =>
      Effect.forkChild(
        Effect.ignore(
          limiter.pass(
            what,
            Effect.sync(() => order.push(name)),
          ),
        ),
        { startImmediately: true },
      )
    yield* Effect.provideService(ask("backfill", read("b")), RequestPriority, "backfill")
    yield* ask("normal", read("n"))
    yield* ask("urgent", { read: "u", priority: "urgent" })
    yield* ask("write", write)
    yield* pass(9)
    assert.deepStrictEqual(order, ["write", "urgent", "normal", "backfill"])
  })

  it.effect("lets an old poll go before fresh urgent reads", function* () {
    const limiter = yield* make(1)
    yield* limiter.applyHeaders(advertise(2, 0))
    yield* limiter.applyHeaders(advertise(2, 10))
    let polls = 0
    yield* Effect.forkChild(
      limiter.pass(
        read("poll"),
        Effect.sync(() => polls++),
      ),
      { startImmediately: true },
    )
    const urgent = limiter.pass({ read: "urgent", priority: "urgent" }, Effect.void)
    yield* Effect.forkChild(
      Effect.gen(function* () {
        for (;;) yield* Effect.exit(urgent)
      }),
      { startImmediately: true },
    )
    yield* pass(5)
    assert.strictEqual(polls, 1)
  })

  it.effect("lets an urgent request pass a slightly older poll if turns are rare", function* () {
    const limiter = yield* make(1)
    yield* limiter.applyHeaders(advertise(2, 0))
    const order: Array<string> = []
    const ask = (name: string, one: Parameters<Limiter["pass"]>[0]) =>
      Effect.forkChild(
        limiter.pass(
          one,
          Effect.sync(() => order.push(name)),
        ),
        { startImmediately: true },
      )
    yield* ask("poll", read("a"))
    yield* pass(4)
    yield* ask("urgent", { read: "u", priority: "urgent" })
    yield* pass(2)
    assert.deepStrictEqual(order, ["urgent"])
    yield* pass(5)
    assert.deepStrictEqual(order, ["urgent", "poll"])
  })

  it.effect("bounds concurrent reads of one name, and not writes", function* () {
    const limiter = yield* make()
    let now = 0
    let most = 0
    const slow = Effect.suspend(() => {
      most = Math.max(most, ++now)
      return Effect.sleep("1 second").pipe(Effect.ensuring(Effect.sync(() => now--)))
    })
    const reads = yield* Effect.forkChild(
      Effect.forEach([1, 2, 3], () => limiter.pass(read("same"), slow), { concurrency: 3 }),
    )
    yield* TestClock.adjust("3 seconds")
    yield* Fiber.join(reads)
    assert.strictEqual(most, 1)
    most = 0
    const pairs = yield* Effect.forkChild(
      Effect.forEach([1, 2, 3], () => limiter.pass({ ...read("same"), atOnce: 2 }, slow), { concurrency: 3 }),
    )
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(pairs)
    assert.strictEqual(most, 2)
    const writes = yield* Effect.forkChild(
      Effect.forEach([1, 2, 3], () => limiter.pass(write, slow), { concurrency: 3 }),
    )
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(writes)
    assert.strictEqual(most, 3)
  })

  it.effect("fails a request that would wait too long, in words, without sending it", function* () {
    const limiter = yield* make()
    yield* Effect.forkChild(limiter.pass(read("a"), Effect.never), { startImmediately: true })
    const behind = yield* Effect.forkChild(limiter.pass(read("a"), Effect.die("sent")), { startImmediately: true })
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(reasonOf(yield* Fiber.await(behind)), {
      _tag: "RateLimited",
      detail: "not sent: another a request was still on its way",
    })
    yield* fails(limiter, { _tag: "RateLimited", retryAfterMillis: 60_000 })
    const late = yield* Effect.forkChild(limiter.pass(write, Effect.die("sent")), { startImmediately: true })
    yield* TestClock.adjust("2 seconds")
    assert.deepInclude(reasonOf(yield* Fiber.await(late)), {
      _tag: "RateLimited",
      detail: "not sent: our own limit of 5.0 requests a second was spent",
    })
    assert.strictEqual((yield* limiter.pace).waiting, 0)
  })

  it.effect("forgets who was interrupted, whether waiting or on its way", function* () {
    const limiter = yield* make()
    const first = yield* Effect.forkChild(limiter.pass(read("a"), Effect.never), { startImmediately: true })
    const second = yield* Effect.forkChild(limiter.pass(read("a"), Effect.never), { startImmediately: true })
    assert.strictEqual((yield* limiter.pace).waiting, 1)
    yield* Fiber.interrupt(second)
    assert.strictEqual((yield* limiter.pace).waiting, 0)
    yield* Fiber.interrupt(first)
    assert.strictEqual(yield* limiter.pass(read("a"), Effect.succeed("sent")), "sent")
  })
})
