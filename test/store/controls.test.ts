import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Alert } from "../../src/domain/alerts/Alert.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Controls, haltSigning } from "../../src/store/controls/Controls.ts"
import { type Spend, SpendLog } from "../../src/store/payments/SpendLog.ts"
import { restart } from "../support/TestStore.ts"

const words = { reason: "audit", author: "ana" }

/** What stops promise: durable, with a reason, ending as said. */
describe("controls", () => {
  it.effect("keeps pauses until they are resumed or their time is over", () =>
    restart(
      function* () {
        const controls = yield* Controls
        yield* controls.pause({ scope: "all", ...words, until: undefined })
        yield* controls.pause({ scope: "rule:r", ...words, until: 60_000 })
      },
      function* () {
        const controls = yield* Controls
        assert.deepStrictEqual(
          (yield* controls.pauses).map((p) => p.scope),
          ["all", "rule:r"],
        )
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          (yield* controls.pauses).map((p) => p.scope),
          ["all"],
        )
        assert.strictEqual(yield* controls.resume({ scope: "all", ...words }), 1)
        assert.deepStrictEqual(yield* controls.pauses, [])
      },
    ),
  )

  it.effect("keeps a pause until the newest block has come to its end, whatever our clock says", () =>
    restart(function* () {
      const controls = yield* Controls
      const blockAt = (millis: number) =>
        Effect.flatMap(Observations, ({ rebase }) =>
          rebase([], { timestamp: BigInt(millis) * 1_000_000n, height: BigInt(millis) }),
        )
      yield* blockAt(30_000)
      yield* controls.pause({ scope: "all", ...words, until: 60_000 })
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(yield* controls.pauses, 1)
      yield* blockAt(60_000)
      assert.lengthOf(yield* controls.pauses, 0)
    }),
  )

  it.effect("voids an acceptance of terms by each halt of a person, also one in the same words", () =>
    restart(function* () {
      const { halt } = yield* Controls
      const { acceptTerms, acceptance } = yield* Approvals
      for (let times = 0; times < 2; times++) {
        yield* acceptTerms({ hash: "ab".repeat(32), author: "zoe", reason: "keys lost" })
        assert.isDefined(yield* acceptance)
        yield* halt("operator", "ana: stop")
        assert.isUndefined(yield* acceptance)
      }
    }),
  )

  it.effect("keeps what people say in one line that is seen whole: it is shown within sentences", () =>
    restart(
      function* () {
        const controls = yield* Controls
        const said = { reason: "audit\nall is well", author: "ana\u202e" }
        yield* controls.pause({ scope: "all", ...said, until: undefined })
        yield* controls.halt("operator", "ana: audit\nall is well")
      },
      function* () {
        const controls = yield* Controls
        const [pause] = yield* controls.pauses
        assert.deepInclude(pause, { reason: "audit\\u{a}all is well", author: "ana\\u{202e}" })
        assert.deepStrictEqual(
          (yield* controls.halts).map(({ detail }) => detail),
          ["ana: audit\\u{a}all is well"],
        )
      },
    ),
  )

  it.effect("halts once for one reason, until a person resumes or its cause is gone", () =>
    restart(
      function* () {
        const controls = yield* Controls
        yield* controls.halt("chain_changed", "first")
        yield* controls.halt("chain_changed", "second")
        yield* controls.halt("restored_store", "stop")
      },
      function* () {
        const controls = yield* Controls
        assert.deepStrictEqual(
          (yield* controls.halts).map((h) => [h.reason, h.detail]),
          [
            ["chain_changed", "first"],
            ["restored_store", "stop"],
          ],
        )
        yield* controls.resume({ scope: "all", ...words })
        assert.deepStrictEqual(
          (yield* controls.halts).map((h) => h.reason),
          ["restored_store"],
        )
        yield* controls.release("restored_store", "all is imported")
        assert.deepStrictEqual(yield* controls.halts, [])
      },
    ),
  )
})

it.effect("halts of people, for second executions and broken assertions stand beside those with other words", () =>
  restart(
    function* () {
      for (const reason of ["operator", "halt_file", "duplicate_execution", "invariant", "chain_changed"] as const) {
        for (const detail of ["first", "second", "first"]) yield* haltSigning(reason, detail)
      }
    },
    function* () {
      const said = (yield* (yield* Controls).halts).map(({ reason, detail }) => `${reason} ${detail}`)
      const each = ["operator", "halt_file", "duplicate_execution", "invariant"].flatMap((one) => [
        `${one} first`,
        `${one} second`,
      ])
      assert.deepStrictEqual(said, [...each, "chain_changed first"])
      const pages = (yield* listAlerts(100, "all")).filter(({ name }) => name === "halt")
      assert.strictEqual(pages.length, said.length)
    },
  ),
)

it.effect("halts by HALT files end at ten, whoever writes them, and each has its page", () =>
  restart(
    () =>
      Effect.forEach(
        Array.from({ length: 12 }, (_, i) => `${i}`),
        (said) => haltSigning("halt_file", said),
      ),
    function* () {
      assert.lengthOf(yield* (yield* Controls).halts, 10)
      const pages = (yield* listAlerts(100, "all")).filter(({ name }) => name === "halt")
      assert.lengthOf(pages, 10)
    },
  ),
)

const spend = (intentId: string, k: number, amount: bigint, spentAt: number): Spend => ({
  intentId,
  k,
  digest: `${intentId}${k}`,
  signature: "s",
  from: "f",
  to: "t",
  assetId: "a",
  amount,
  spentAt,
  policy: "ab12cd34",
  line: 1,
})
const window = { from: new Set(["f"]), to: new Set(["t"]), assetId: "a", since: 100, except: new Set<string>() }

/** What the signer's memory promises. */
describe("spend log", () => {
  it.live("remembers what was signed, counts an intent once and what is over by its window, over a restart", () =>
    restart(
      function* () {
        const log = yield* SpendLog
        yield* log.record(spend("old", 1, 5n, 100))
        yield* log.record(spend("one", 1, 2n ** 90n, 101))
        yield* log.record(spend("one", 2, 2n ** 90n, 102))
        yield* log.record(spend("two", 1, 3n, 103))
        for (const intentId of ["old", "one", "two"]) yield* log.close(intentId, undefined)
      },
      function* () {
        const log = yield* SpendLog
        const paid = { signature: "s", from: "f", to: "t", assetId: "a", amount: 2n ** 90n }
        assert.deepStrictEqual(yield* log.attempts("one"), [
          { ...paid, k: 1, digest: "one1" },
          { ...paid, k: 2, digest: "one2" },
        ])
        assert.deepStrictEqual(yield* log.attempts("three"), [])
        assert.deepStrictEqual(yield* log.used(window), {
          amount: 2n ** 90n + 3n,
          count: 2,
          leaving: [
            { amount: 2n ** 90n, at: 86_400_102 },
            { amount: 3n, at: 86_400_103 },
          ],
        })
        assert.strictEqual((yield* log.used({ ...window, except: new Set(["one"]) })).amount, 3n)
        assert.strictEqual((yield* log.used({ ...window, to: new Set(["x"]) })).count, 0)
        assert.strictEqual((yield* Effect.exit(log.record(spend("two", 1, 9n, 104))))._tag, "Failure")
      },
    ),
  )
})

const alert: Alert = {
  dedup: "d",
  severity: "page",
  kind: "intent",
  subject: "s",
  detail: "it is stuck",
  fields: { n: 1 },
}

/** What alerts promise: not lost, not sent again by being raised again. */
describe("alert queue", () => {
  it.effect("keeps an alert for each receiver until that one has taken it", () =>
    restart(
      function* () {
        const queue = yield* AlertQueue
        assert.isTrue(yield* queue.raise(alert))
        assert.isFalse(yield* queue.raise(alert))
        const [desk, log] = yield* queue.due(10)
        assert.deepInclude(desk, { receiver: "desk", tries: 0, detail: "it is stuck", fields: { n: 1 } })
        yield* queue.delivered(log!)
        yield* queue.begin(desk!, 1_000)
        yield* queue.failed(desk!, "no answer", 5_000)
        assert.deepStrictEqual(yield* queue.due(10), [])
      },
      function* () {
        const queue = yield* AlertQueue
        assert.deepInclude((yield* queue.pending)[0], { receiver: "desk", n: 1 })
        yield* TestClock.adjust("5 seconds")
        const [again] = yield* queue.due(10)
        assert.deepInclude(again, { receiver: "desk", tries: 1 })
        yield* queue.failed(again!, "no such receiver", undefined)
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* queue.due(10), [], "given up, visibly")
      },
    ),
  )
})
