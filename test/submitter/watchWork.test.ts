import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ChainContext } from "../../src/gateway/ChainContext.ts"
import { StatusView } from "../../src/status/StatusView.ts"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { ChainRules } from "../../src/store/ChainRules.ts"
import { watchWork } from "../../src/submitter/watchWork.ts"
import { flow, paid, round, states } from "../support/Flow.ts"

const told = Effect.gen(function* () {
  const queue = yield* AlertQueue
  const due = (yield* queue.due(100)).filter(({ dedup }) => dedup.startsWith("work-terms/"))
  for (const delivery of due) yield* queue.delivered(delivery)
  return [...new Set(due.map(({ severity, detail }) => `${severity} ${detail}`))]
})
type Change = Partial<{ readonly pastBlocks: number; readonly difficulty: number }>
/** The next head, as a gateway tells it that lies about the work. */
const hear = Effect.fnUntraced(function* (change: Change = {}) {
  const head = yield* Effect.flatMap(ChainContext, (chain) => chain.head)
  yield* (yield* ChainRules).see({ ...head, pow: { ...head.pow, ...change } })
  yield* watchWork()
})

describe("terms of work that are not to be relied on", () => {
  it.effect("call people after a minute where they are odd, once, and again when it is over", () =>
    flow((options, sandbox) =>
      Effect.gen(function* () {
        const sentence = Effect.flatMap(StatusView, ({ view }) => Effect.map(view, (shown) => shown.sentence)).pipe(
          Effect.provide(StatusView.layer({ treasury: options.treasury, mode: "live", version: "1" })),
        )
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
        yield* hear({ pastBlocks: 4_294_967_295 })
        yield* TestClock.adjust("59 seconds")
        yield* hear({ pastBlocks: 4_294_967_295 })
        assert.deepStrictEqual(yield* told, [])
        yield* TestClock.adjust("1 second")
        yield* hear({ pastBlocks: 4_294_967_295 })
        const [page, ...more] = yield* told
        assert.include(page, "page nothing is signed since")
        assert.include(page, "network.work.maxWindow")
        assert.deepStrictEqual(more, [])
        assert.strictEqual((yield* sentence).severity, "bad")
        yield* TestClock.adjust("1 hour")
        yield* hear({ pastBlocks: 4_294_967_295 })
        assert.deepStrictEqual(yield* told, [])
        yield* hear()
        assert.include((yield* told).join(), "settled again")
        assert.notInclude((yield* sentence).text, "Nothing is signed since")
      }),
    ),
  )

  it.effect("call nobody for the wait after a vote, and pay after it", () =>
    flow(
      (options, sandbox) =>
        Effect.gen(function* () {
          for (let i = 0; i < 30; i++) {
            yield* round(options, sandbox)
            yield* hear()
          }
          assert.deepStrictEqual(yield* told, [])
          assert.deepStrictEqual(yield* states, ["confirmed"])
        }),
      { change: { powChanges: "[{ block: 3, pastBlocks: 7, difficulty: 4 }]" } },
    ),
  )

  it.effect("keep no payment for longer than they are told, at the first start as well", () =>
    flow((options, sandbox) =>
      Effect.gen(function* () {
        yield* hear({ pastBlocks: 4_294_967_295 })
        for (let i = 0; i < 4; i++) {
          yield* round(options, sandbox)
          yield* hear({ pastBlocks: 4_294_967_295 })
        }
        assert.deepStrictEqual(yield* paid(sandbox), [])
        yield* hear()
        for (let i = 0; i < 20; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.strictEqual((yield* paid(sandbox)).length, 1)
      }),
    ),
  )
})
