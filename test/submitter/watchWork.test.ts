import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { readView } from "../../src/http/StatusView.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { flow, paid, pass, round, states } from "../support/Flow.ts"
import { rewritten, startFront } from "../support/Fronts.ts"
import { waitUntil } from "../support/until.ts"

const told = Effect.gen(function* () {
  const queue = yield* AlertQueue
  const due = (yield* queue.due(100)).filter(({ dedup }) => dedup.startsWith("health/work/"))
  for (const delivery of due) yield* queue.delivered(delivery)
  return [...new Set(due.map(({ severity, detail }) => `${severity} ${detail}`))]
})
const isConfirmed = Effect.map(states, (all) => all.includes("confirmed"))
type Change = Partial<{ readonly pastBlocks: number; readonly difficulty: number }>
/** The next head, as a gateway tells it that lies about the work. */
const hear = Effect.fnUntraced(function* (change: Change = {}) {
  const head = yield* Effect.flatMap(GatewayReader, (chain) => chain.head)
  yield* (yield* ChainState).seeHead({ ...head, pow: { ...head.pow, ...change } })
  yield* watchHealth()
})

describe("work that is not legal", () => {
  it.effect("calls people once after a minute, and again when it is over", () =>
    flow(function* (options, sandbox) {
      const sentence = Effect.map(readView(), (shown) => shown.sentence)
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
      yield* hear({ pastBlocks: 4_294_967_295 })
      yield* TestClock.adjust("59 seconds")
      yield* hear({ pastBlocks: 4_294_967_295 })
      assert.deepStrictEqual(yield* told, [])
      yield* TestClock.adjust("1 second")
      yield* hear({ pastBlocks: 4_294_967_295 })
      const [page, ...more] = yield* told
      assert.include(page, "page Nothing is signed since")
      assert.include(page, "legal are 5 to 500")
      assert.deepStrictEqual(more, [])
      assert.strictEqual((yield* sentence).severity, "bad")
      yield* TestClock.adjust("1 hour")
      yield* hear({ pastBlocks: 4_294_967_295 })
      assert.deepStrictEqual(yield* told, [])
      yield* hear()
      assert.include((yield* told).join(), "info over; it began at")
      assert.notInclude((yield* sentence).text, "Nothing is signed since")
    }),
  )

  it.effect.each([
    ["pastBlocks: 7, difficulty: 4", { pastBlocks: 7, difficulty: 4 }],
    ["pastBlocks: 7", { pastBlocks: 7 }],
    ["difficulty: 4", { difficulty: 4 }],
    ["txPerBlock: 9", { txPerBlock: 9 }],
    ["increaseDifficulty: false", { increaseDifficulty: false }],
  ] as const)("calls nobody after a vote, and pays: %s", ([, vote]) =>
    flow(
      function* (options, sandbox) {
        const heard = Effect.andThen(round(options, sandbox), hear())
        yield* waitUntil("the confirmation", isConfirmed, heard)
        yield* pass(sandbox, 25, heard)
        assert.deepStrictEqual(yield* told, [])
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { powChanges: [{ block: 4, ...vote }] } },
    ),
  )

  it.effect("keeps a lost payment open for the largest window, and pays once after it", () => {
    let lied = false
    let lost = true
    const front = (url: string) =>
      Effect.map(startFront("a", url), (one) => {
        const lie = rewritten("spamPowNumberOfPastBlocks", (old) => (lied ? 60 : old), "/blockchain/height")
        one.manner = async (request, ask) => (lost && request.method === "POST" ? "drop" : lie(request, ask))
        return one.server.url
      })
    return flow(
      function* (options, sandbox) {
        const attempts = Effect.gen(function* () {
          const outbox = yield* Outbox
          const [intent] = yield* outbox.recent(1)
          return yield* outbox.attempts(intent?.id ?? "")
        })
        for (let i = 0; i < 6 && (yield* attempts).length === 0; i++) {
          yield* round(options, sandbox).pipe(Effect.ignore)
        }
        const [first = assert.fail()] = yield* attempts
        lied = true
        for (let i = 0; i < 4; i++) yield* round(options, sandbox).pipe(Effect.ignore)
        lied = false
        lost = false
        const deadAt = first.anchorHeight + 60n
        const height = Effect.map(
          Effect.flatMap(Observations, ({ watermark }) => watermark),
          (mark) => mark?.height ?? 0n,
        )
        while ((yield* height) <= deadAt) {
          yield* pass(sandbox, (yield* height) < deadAt - 5n ? 5 : 1, round(options, sandbox))
          assert.lengthOf(yield* attempts, 1, "its own window is over, that of the lie is not")
          assert.lengthOf(yield* paid(sandbox), 0)
        }
        yield* waitUntil("the confirmation", isConfirmed, round(options, sandbox))
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.deepStrictEqual(
          (yield* attempts).map(({ state }) => state),
          ["expired", "confirmed"],
        )
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.deepStrictEqual(yield* told, [])
      },
      { front },
    )
  })

  it.effect("is not waited for at a first start", () =>
    flow(function* (options, sandbox) {
      const begun = yield* Clock.currentTimeMillis
      while (!(yield* states).includes("confirmed")) {
        yield* round(options, sandbox)
        assert.isAtMost((yield* Clock.currentTimeMillis) - begun, 20_000)
      }
      assert.lengthOf(yield* paid(sandbox), 1)
    }),
  )

  it.effect("keeps no payment longer than it is told", () =>
    flow(function* (options, sandbox) {
      yield* hear({ pastBlocks: 4_294_967_295 })
      for (let i = 0; i < 4; i++) {
        yield* round(options, sandbox)
        yield* hear({ pastBlocks: 4_294_967_295 })
      }
      assert.deepStrictEqual(yield* paid(sandbox), [])
      yield* hear()
      yield* waitUntil("the confirmation", isConfirmed, round(options, sandbox))
      yield* pass(sandbox, 10, round(options, sandbox))
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.strictEqual((yield* paid(sandbox)).length, 1)
    }),
  )
})
