import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { headBounds } from "../../src/rules/headBelief.ts"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { Journal } from "../../src/store/Journal.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { TrustedHead } from "../../src/store/TrustedHead.ts"
import { trustHead } from "../../src/submitter/trustHead.ts"
import { headRemedyOf, watchHead } from "../../src/submitter/watchHead.ts"
import { flow } from "../support/Flow.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"

const chainId = "sandbox-1"
const wild = 9_000_000_000_000_000n

const doubt = (height: bigint, since = 0) =>
  Effect.flatMap(TrustedHead, ({ keep }) =>
    keep(chainId, {
      trusted: { height: 50n, at: 0, epoch: 0, isFirst: false },
      doubt: { since, height, why: `block ${height} is odd`, run: undefined, trustable: height },
    }),
  )
const believed = Effect.flatMap(TrustedHead, ({ of }) => of(chainId))
const trust = (height: bigint) =>
  Effect.map(
    Effect.result(
      trustHead(
        { treasury: "flow", chainId, height, bounds: headBounds, author: "zoe", reason: "the explorer" },
        () => Effect.void,
      ),
    ),
    (done) => (Result.isSuccess(done) ? done.success.trusted : done.failure.message),
  )

/** A payment that is in the network until block 110. */
const inFlight = Effect.gen(function* () {
  const outbox = yield* Outbox
  const intent = intentOf("5")
  yield* outbox.record(intent)
  const reserved = yield* outbox.move(intent, "reserved", { detail: "permitted" })
  const createdAt = yield* Clock.currentTimeMillis
  yield* outbox.persist(reserved, { ...attemptOf(reserved, 1), anchorHeight: 10n, windowBlocks: 100, createdAt })
  return reserved
})

const told = Effect.gen(function* () {
  const queue = yield* AlertQueue
  const due = (yield* queue.due(100)).filter(({ kind }) => kind === "head")
  for (const delivery of due) yield* queue.delivered(delivery)
  return [...new Set(due.map(({ severity, subject }) => `${severity} ${subject}`))]
})

describe("a newest block that people trust", () => {
  it.effect("is not that of a chain that begins again: its halt has another end", () =>
    flow(() =>
      Effect.gen(function* () {
        const { keep } = yield* TrustedHead
        const trusted = { height: 50n, at: 0, epoch: 0, isFirst: false }
        const why = "its chain begins again"
        yield* keep(chainId, { trusted, doubt: { since: 0, height: 7n, why, run: undefined, begunBelow: 50n } })
        assert.strictEqual(yield* trust(7n), "the chain begins again below block 50, which was known")
        assert.strictEqual((yield* believed).trusted?.height, 50n)
      }),
    ),
  )

  it.effect("is believed from then on, and journalled", () =>
    flow(() =>
      Effect.gen(function* () {
        assert.strictEqual(yield* trust(7n), "no head is doubted")
        yield* doubt(wild)
        assert.strictEqual(yield* trust(60n), `the gateway tells block ${wild}, which cannot follow block 60`)
        assert.strictEqual(yield* trust(wild - 900n), String(wild))
        assert.deepStrictEqual([(yield* believed).trusted?.height, (yield* believed).doubt], [wild, undefined])
        const entry = yield* (yield* Journal).last("flow", "config")
        assert.include(entry?.body, `zoe trusts the newest block ${wild}: the explorer`)
      }),
    ),
  )

  it.effect("is refused if the latest answers contradict it, and named if they confirm it", () =>
    flow(() =>
      Effect.gen(function* () {
        const store = yield* TrustedHead
        const told = (trustable: bigint | undefined) =>
          store.keep(chainId, {
            trusted: { height: 50n, at: 0, epoch: 0, isFirst: false },
            doubt: { since: 0, height: wild, why: "1 of 2 gateways", run: undefined, trustable },
          })
        const remedy = Effect.map(believed, ({ doubt }) => (doubt === undefined ? "" : headRemedyOf(doubt)))
        yield* told(undefined)
        for (const height of [60n, wild]) assert.match(yield* trust(height), /^the latest answers show no newest block/)
        assert.notInclude(yield* remedy, "trust head")
        yield* told(7n)
        assert.include(yield* remedy, '"cofferer trust head 7"')
        assert.strictEqual(yield* trust(wild), `the gateway tells block 7, which cannot follow block ${wild}`)
        assert.strictEqual(yield* trust(7n), "7")
      }),
    ),
  )

  it.effect("begins a new epoch where it is lower", () =>
    flow(() =>
      Effect.gen(function* () {
        yield* doubt(7n)
        assert.strictEqual(yield* trust(7n), "7")
        assert.containSubset(yield* believed, { trusted: { height: 7n, epoch: 1 } })
      }),
    ),
  )

  it.effect("is refused while it would end an open payment by height alone", () =>
    flow(() =>
      Effect.gen(function* () {
        const intent = yield* inFlight
        yield* doubt(wild)
        const outbox = yield* Outbox
        const attempt = (yield* outbox.attempts(intent.id))[0]!
        yield* outbox.beginSend({ attempt, gateway: "main", framing: "bare", first: true, txHash: "ab" })
        assert.match(yield* trust(wild), /may execute until block 110, and would count as over$/)
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(yield* trust(wild), String(wild))
      }),
    ),
  )
})

describe("a doubted newest block", () => {
  it.effect("calls people after a minute, once, and when it is over", () =>
    flow(() =>
      Effect.gen(function* () {
        yield* watchHead()
        yield* doubt(wild)
        yield* watchHead()
        yield* TestClock.adjust("59 seconds")
        yield* watchHead()
        assert.deepStrictEqual(yield* told, [])
        yield* TestClock.adjust("1 second")
        yield* watchHead()
        assert.deepStrictEqual(yield* told, ["page newest block doubted"])
        yield* TestClock.adjust("1 hour")
        yield* watchHead()
        assert.deepStrictEqual(yield* told, [])
        yield* trust(wild)
        yield* watchHead()
        assert.deepStrictEqual(yield* told, ["info newest block believed"])
      }),
    ),
  )
})
