import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { SureHeight } from "../../src/payments/judgeAttempt.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { settleExecuted, settleExpired } from "../../src/submitter/endings.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import type { Framing } from "../../src/tx/Transaction.ts"
import { type FlowServices, flow, paid, pass, round, states } from "../support/Flow.ts"
import { behind } from "../support/LoneLiar.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { arm } from "../support/TestFaults.ts"
import { chainId } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return yield* outbox.sends(intent?.id ?? "")
})

describe("the wire form of a chain", () => {
  it.effect("that was refused is not tried first again", () =>
    flow(
      function* (options, sandbox) {
        const isRefused = Effect.map(newest, (all) => all.some(({ outcome }) => outcome === "framing"))
        yield* waitUntil("a refusal of the wire form", isRefused, round(options, sandbox))
        const slow = new Set(["submit"])
        for (let i = 0; i < 15 && (yield* states)[0] !== "reserved"; i++) {
          yield* pass(sandbox, 5, round(options, sandbox, slow))
        }
        assert.deepStrictEqual(yield* states, ["reserved"], "the window was over before the other form went out")
        for (let i = 0; i < 20 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
        assert.deepStrictEqual(
          (yield* newest).map(({ k, framing, outcome }) => [k, framing, outcome]),
          [
            [1, "prefixed", "framing"],
            [2, "bare", "accepted"],
          ],
        )
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { pow: { difficulty: 3, pastBlocks: 5, txPerBlock: 4, increaseDifficulty: true } } },
    ),
  )

  it.effect("that is remembered is the one that was executed, even if it went out during a slow lookup", () =>
    behind({}, function* (front, _, options, sandbox) {
      const isRefused = Effect.map(newest, (all) => all.some(({ outcome }) => outcome === "framing"))
      const unseen = round(options, sandbox, new Set(["confirm"]))
      yield* waitUntil("a refusal of the wire form", isRefused, unseen)
      assert.deepStrictEqual(
        (yield* newest).map(({ framing }) => framing),
        ["prefixed"],
      )
      const context = yield* Effect.context<FlowServices>()
      const happen = Effect.andThen(submitOnce(), sandbox.stepBlock)
      let happened: Promise<unknown> | undefined
      front.manner = async ({ url }, ask) => {
        if (!url.pathname.startsWith("/api/v2/transfer/")) return await ask()
        happened ??= Effect.runPromiseWith(context)(happen as Effect.Effect<void, unknown, FlowServices>)
        await happened
        return await ask()
      }
      yield* confirmOnce()
      yield* TestClock.adjust("1 millis")
      assert.isDefined(happened)
      assert.deepStrictEqual(
        (yield* newest).map(({ framing, outcome }) => [framing, outcome]),
        [
          ["prefixed", "framing"],
          ["bare", "accepted"],
        ],
      )
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.strictEqual(yield* (yield* Settings).framing(chainId), "bare")
    }),
  )

  it.effect("is that of the attempt that executed, and a refusal that of its own", () =>
    flow(function* () {
      const outbox = yield* Outbox
      const intent = intentOf("1")
      yield* outbox.record(intent)
      const reserved = yield* outbox.move(intent, "reserved", { detail: "" })
      const sent = Effect.fnUntraced(function* (k: number, framing: Framing, outcome: string) {
        const attempt = attemptOf(reserved, k)
        yield* outbox.persist(reserved, attempt)
        const start = { attempt, gateway: "g", framing, first: true, txHash: "" } as const
        const seq = yield* outbox.beginSend(start)
        const sending = { ...attempt, state: "sending" as const, sends: 1 }
        const next = { nextAt: 0, nextHeight: 0n, data: "no", log: "", code: 70 }
        yield* outbox.endSend({
          ...next,
          seq,
          attempt: sending,
          gateway: "g",
          outcome,
          evidence: "silent",
          state: "unknown",
        })
        return { intent: { ...reserved, state: "in_flight" as const }, attempt: sending, height: 0n as SureHeight }
      })
      yield* settleExpired(yield* sent(1, "prefixed", "refused"), "its window is over")
      yield* settleExpired(yield* sent(2, "prefixed", "accepted"), "its window is over")
      const details = (yield* (yield* Journal).about(intent.id)).map(({ body }) => body).join()
      assert.include(details, "attempt 1 never executed, proven; refused with code 70: no")
      assert.notInclude(details, "attempt 2 never executed, proven; refused")
      const end = { fee: 0n, settledAt: 1n, how: "confirmed on the ledger" }
      yield* settleExecuted(yield* sent(3, "bare", "ambiguous"), end, Effect.void)
      assert.strictEqual(yield* (yield* Settings).framing(chainId), "bare")
    }),
  )

  it.effect("is not known by a payment of which either form may have executed", () =>
    flow(
      function* (options, sandbox, client) {
        yield* arm(client, { operation: "submit", kind: "lying_failure", code: 60, count: 1 })
        for (let i = 0; i < 20 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.deepStrictEqual(
          (yield* newest).slice(0, 2).map(({ framing, outcome }) => [framing, outcome]),
          [
            ["prefixed", "framing"],
            ["bare", "refused"],
          ],
        )
        assert.isUndefined(yield* (yield* Settings).framing(chainId))
      },
      { scenario: { profile: "specification" } },
    ),
  )
})
