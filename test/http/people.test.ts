import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { DaemonOptions } from "../../src/layers.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { ChainHeadCache } from "../../src/submitter/ChainHeadCache.ts"
import { InFlight } from "../../src/submitter/InFlight.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { ask, controlled } from "../support/Control.ts"
import { paid, pass, reason, round, states } from "../support/Flow.ts"
import { newestIntent } from "../support/Intents.ts"
import { it } from "../support/it.ts"
import { at } from "../support/TestClient.ts"
import { chainId } from "../support/TestSandbox.ts"
import { turn, waitUntil } from "../support/until.ts"

const by = { reason: "asked by the desk", author: "ana" }

const end = (options: DaemonOptions, id: string, verb: string, more: object = {}) =>
  ask(options, `/api/v1/intents/${id.slice(0, 12)}/${verb}`, { ...by, ...more })
const journalled = (id: string) =>
  Effect.map(
    Effect.flatMap(Journal, (journal) => journal.about(id)),
    (entries) => entries.map(({ kind, body }) => ({ kind, ...(JSON.parse(body) as object) })),
  )

/** One sent payment whose end nobody looked up, so many blocks after its decision. */
const sent = Effect.fnUntraced(function* (
  options: DaemonOptions,
  sandbox: Parameters<typeof round>[1],
  blocks: number,
  state: "unknown" | "manual",
) {
  for (let i = 0; i < 6; i++) yield* round(options, sandbox, new Set(["confirm"]))
  yield* pass(sandbox, blocks, round(options, sandbox, new Set(["submit", "confirm", "decide"])))
  const outbox = yield* Outbox
  const intent = yield* newestIntent
  return yield* outbox.move(intent, state, { detail: "nothing tells" })
})

describe("people at a payment", () => {
  for (const verb of ["cancel", "reject"] as const) {
    it.effect(`${verb} what is not signed, and the rule decides again`, () =>
      controlled(function* (options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
        const { id } = yield* newestIntent
        const to = verb === "cancel" ? "cancelled" : "rejected"
        const done = yield* end(options, id, verb)
        assert.deepStrictEqual([done.status, at(done, "state")], [200, to])
        assert.strictEqual(at(done, "detail"), `${to} by ana: asked by the desk`)
        assert.containSubset(yield* journalled(id), [{ kind: "intent", state: to, verb, ...by }])
        const again = yield* end(options, id, verb)
        assert.deepStrictEqual([again.status, at(again, "error")], [409, `it is ${to} already`])
        for (let i = 0; i < 6; i++) yield* round(options, sandbox)
        assert.deepStrictEqual((yield* states).toSorted(), [to, "confirmed"].toSorted())
        assert.deepStrictEqual(yield* (yield* Controls).halts, [])
      }),
    )
  }

  it.effect("end nothing that may still execute", () =>
    controlled(function* (options, sandbox) {
      const { id } = yield* sent(options, sandbox, 0, "unknown")
      const before = yield* (yield* Journal).head
      for (const [verb, more] of [
        ["cancel", {}],
        ["reject", {}],
        ["abandon", {}],
        ["resolve", { neverExecuted: true }],
        ["resolve", { executed: "ab".repeat(32) }],
      ] as const) {
        const refused = yield* end(options, id, verb, more)
        assert.strictEqual(refused.status, 409, verb)
        assert.isNotEmpty(String(at(refused, "remedy")))
      }
      assert.deepStrictEqual(yield* (yield* Journal).head, before)
      for (let i = 0; i < 3; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
    }),
  )

  it.effect("resolve what executed: it is paid once, and rules wait for newer balances", () =>
    controlled(function* (options, sandbox) {
      const { id } = yield* sent(options, sandbox, 20, "manual")
      const [executed] = yield* paid(sandbox)
      const done = yield* end(options, id, "resolve", { executed: executed?.hash.toUpperCase() })
      assert.deepStrictEqual([done.status, at(done, "state")], [200, "confirmed"])
      assert.strictEqual((yield* (yield* Outbox).attempts(id))[0]?.state, "confirmed")
      assert.containSubset(yield* journalled(id), [
        { kind: "attempt", k: 1, state: "confirmed" },
        { kind: "intent", state: "confirmed", verb: "executed", ...by },
      ])
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual([yield* states, yield* reason], [["confirmed"], "in_band"])
      assert.strictEqual((yield* paid(sandbox)).length, 1)
      assert.deepStrictEqual(yield* (yield* Controls).halts, [])
    }),
  )

  it.effect("cannot declare dead what a listing showed as done", () =>
    controlled(function* (options, sandbox) {
      const { id } = yield* sent(options, sandbox, 20, "manual")
      const [attempt] = yield* (yield* Outbox).attempts(id)
      assert.isAbove(yield* (yield* LedgerAudit).countExecutions(attempt!.transferId), 0, "seen by the comparison")
      const refused = yield* end(options, id, "resolve", { neverExecuted: true })
      assert.strictEqual(refused.status, 409)
      assert.include(String(at(refused, "error")), "hold attempt 1 as executed")
      assert.deepStrictEqual(yield* states, ["manual"])
    }),
  )

  it.effect("resolve what never executed, and an execution after all halts", () =>
    controlled(function* (options, sandbox) {
      const skip = new Set(["submit", "confirm"])
      for (let i = 0; i < 4; i++) yield* round(options, sandbox, skip)
      const outbox = yield* Outbox
      const moved = yield* outbox.move(yield* newestIntent, "reserved", { detail: "permitted" })
      assert.strictEqual((yield* end(options, moved.id, "abandon")).status, 409, "nothing was signed")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["confirm", "reconcile"]))
      const unseen = round(options, sandbox, new Set(["submit", "confirm", "decide", "reconcile"]))
      // What is over is judged by a block that has stood.
      yield* pass(sandbox, 30, Effect.andThen(unseen, (yield* ChainHeadCache).head))
      const manual = yield* outbox.move(yield* newestIntent, "manual", { detail: "nothing tells" })
      const settings = yield* Settings
      yield* settings.rememberFraming(chainId, "prefixed")
      const done = yield* end(options, manual.id, "resolve", { neverExecuted: true })
      assert.deepStrictEqual([done.status, at(done, "state")], [200, "abandoned"])
      assert.strictEqual((yield* outbox.attempts(manual.id))[0]?.state, "expired")
      assert.isUndefined(yield* settings.framing(chainId), "the other wire form is tried again")
      assert.strictEqual((yield* paid(sandbox)).length, 1, "the person was wrong")
      yield* pass(sandbox, 30, round(options, sandbox, new Set(["decide"])))
      assert.include(
        (yield* (yield* Controls).halts).map((h) => h.reason),
        "duplicate_execution",
      )
    }),
  )

  it.effect("wait for a loop that asks the network, and loops step aside for them", () =>
    controlled(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
      const { id } = yield* newestIntent
      const turns = yield* InFlight
      yield* turns.person(id, 0, submitOnce())
      assert.deepStrictEqual(yield* states, ["proposed"], "not even reserved")
      const look = yield* Effect.forkChild(turns.loop(id, Effect.never))
      const asked = yield* Effect.forkChild(end(options, id, "cancel"))
      const passing = Effect.andThen(TestClock.adjust(500), turn)
      yield* waitUntil("the refusal", () => asked.pollUnsafe() !== undefined, passing)
      const refused = yield* Fiber.join(asked)
      assert.deepStrictEqual([refused.status, at(refused, "remedy")], [504, "ask again"])
      yield* Fiber.interrupt(look)
      assert.strictEqual((yield* end(options, id, "cancel")).status, 200)
    }),
  )

  it.effect("are told what they asked wrongly", () =>
    controlled(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
      const { id } = yield* newestIntent
      const wrong: ReadonlyArray<readonly [string, object]> = [
        ["resolve", {}],
        ["resolve", { neverExecuted: true, executed: "ab".repeat(32) }],
        ["resolve", { executed: "ab" }],
        ["cancel", { neverExecuted: true }],
        ["cancel", { reason: "" }],
        ["cancel", { more: 1 }],
      ]
      for (const [verb, more] of wrong) assert.strictEqual((yield* end(options, id, verb, more)).status, 400, verb)
      assert.strictEqual((yield* end(options, "zzzzzzzzzzzz", "cancel")).status, 404)
      assert.strictEqual((yield* end(options, id, "forget")).status, 404)
      assert.deepStrictEqual(yield* states, ["proposed"])
    }),
  )
})
