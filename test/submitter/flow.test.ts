import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alice, flow, paid, pass, reason, round, states } from "../support/Flow.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"

describe("a payment from its decision to its end", () => {
  it.effect("is signed once, learns the wire form, executes and is confirmed", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      const outbox = yield* Outbox
      const [intent] = yield* outbox.recent(1)
      const sends = yield* outbox.sends(intent!.id)
      assert.deepStrictEqual(
        sends.map((s) => [s.framing, s.outcome, s.code, s.first]),
        [
          ["prefixed", "framing", 60, 1],
          ["bare", "accepted", 0, 1],
        ],
      )
      assert.strictEqual(yield* (yield* Settings).framing(chainId), "bare")
      const executed = yield* paid(sandbox)
      assert.strictEqual(executed.length, 1)
      assert.strictEqual(executed[0]?.hash, sends[1]?.txHash, "the hash was known before the send")
      assert.strictEqual(executed[0]?.transferId, (yield* outbox.attempts(intent!.id))[0]?.transferId)
      assert.match(executed[0]?.reference ?? "", /^c3\.[0-9a-f]{8}\.[0-9a-z]+\.[\w-]{43}\.[0-9a-f]{16}$/)
      assert.strictEqual(intent?.fee, 150_000n, "0.1 % of 150, under the cap of one")
      assert.strictEqual(yield* sandbox.ledger.balance("bob", "USDT"), 200n * one)
      assert.strictEqual(yield* reason, "in_band")
    }),
  )

  it.effect("is not refused for its form where another one is finding that out", () =>
    flow(function* (options, sandbox) {
      const outbox = yield* Outbox
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["decide", "submit", "confirm"]))
      for (const key of ["a", "b"]) {
        const transfer = { from: "alice", to: "bob", asset: "USDT", amount: "20" }
        yield* submitPayment(options.treasury, "live", { idempotencyKey: key, transfer })
      }
      yield* round(options, sandbox, new Set(["decide", "confirm"]))
      const open = yield* outbox.open
      assert.lengthOf(open, 2)
      assert.lengthOf(yield* outbox.live, 1)
      assert.isTrue(open.some(({ detail }) => detail.endsWith("finds out which wire form the network accepts")))
      for (let i = 0; i < 8; i++) yield* round(options, sandbox, new Set(["decide"]))
      assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
      const sends = yield* Effect.forEach(yield* outbox.recent(2), ({ id }) => outbox.sends(id))
      assert.lengthOf(
        sends.flat().filter(({ outcome }) => outcome === "framing"),
        1,
      )
    }),
  )

  it.effect("is never signed on a block whose window is over", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["decide"]))
        for (let i = 0; i < 20; i++) yield* sandbox.stepBlock
        for (let i = 0; i < 9; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
        const outbox = yield* Outbox
        for (const { id } of yield* outbox.recent(2)) {
          assert.deepStrictEqual(
            (yield* outbox.attempts(id)).map(({ k, state }) => [k, state]),
            [[1, "confirmed"]],
          )
        }
      },
      {
        scenario: { pow: { difficulty: 3, pastBlocks: 5, txPerBlock: 1, increaseDifficulty: false } },
        rules: [
          {
            name: "keep-eve",
            topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "10", target: "20" }] },
            onNoData: "zero",
          },
        ],
      },
    ),
  )

  it.effect("stays reserved without funds until its death is proven", () =>
    flow(function* (options, sandbox, client) {
      const skip = new Set(["submit", "confirm"])
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, skip)
      assert.deepStrictEqual(yield* states, ["proposed"])
      // Somebody else spends alice's money in the block before ours is checked, to a key that no policy line names.
      const command = payment(client, "carol", 900n * one, { asset: usdt })
      const drain = signed(client, { from: "alice", command, ...(yield* head(client)) })
      yield* submit(client, drain)
      yield* sandbox.stepBlock
      yield* TestClock.adjust("1 second")
      yield* submitOnce()
      yield* submitOnce()
      for (let i = 0; i < 5; i++) {
        yield* round(options, sandbox, new Set(["decide"]))
        const now = (yield* states)[0]
        assert.isTrue(now === "in_flight" || now === "unknown", `still reserved: ${now}`)
      }
      const outbox = yield* Outbox
      const [intent] = yield* outbox.recent(1)
      assert.include(
        (yield* outbox.sends(intent!.id)).map((s) => s.code),
        70,
      )
      const controls = yield* Controls
      const halts = (yield* controls.halts).map((h) => h.reason)
      assert.deepStrictEqual(halts, ["foreign_payment"], "the other's payment is not in the journal")
      yield* ticking(adopt([alice], { reason: "it was ours", author: "ana" }, () => Effect.void))
      yield* pass(sandbox, 70, ticking(round(options, sandbox, new Set(["decide"])), "20 millis"))
      assert.deepStrictEqual(yield* states, ["abandoned"])
      const absent = (yield* outbox.evidence(intent!.id)).filter((e) => e.kind === "absent")
      assert.strictEqual(absent.length, 2)
      const [attempt] = yield* outbox.attempts(intent!.id)
      assert.strictEqual(attempt?.state, "expired")
      assert.isAbove(Number(absent[0]?.height), Number(attempt?.anchorHeight) + 5)
      assert.isAtLeast(Number(absent[1]?.height) - Number(absent[0]?.height), 2)
      assert.strictEqual((yield* paid(sandbox)).length, 1, "the other's payment alone")
      assert.include(
        (yield* (yield* AlertQueue).due(10)).map((a) => a.fields["state"]),
        "abandoned",
      )
    }),
  )

  it.effect("is confirmed by the balances of both ends where nothing can be looked up", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 20 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        const outbox = yield* Outbox
        const [intent] = yield* outbox.recent(1)
        assert.deepStrictEqual(
          (yield* outbox.sends(intent!.id)).map((s) => [s.framing, s.outcome]),
          [["prefixed", "accepted"]],
        )
        assert.include(intent?.detail ?? "", "seen in the balances")
        assert.strictEqual((yield* paid(sandbox)).length, 1)
      },
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("is neither sent during a pause nor signed during a halt", () =>
    flow(function* (options, sandbox) {
      const controls = yield* Controls
      yield* controls.halt("halt_file", "stop")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox)
      assert.deepStrictEqual([yield* states, yield* reason], [[], "halted"])
      yield* controls.release("halt_file", "gone")
      yield* round(options, sandbox, new Set(["submit"]))
      yield* controls.pause({ scope: "rule:keep-bob", reason: "audit", author: "ana", until: undefined })
      for (let i = 0; i < 2; i++) yield* round(options, sandbox)
      assert.strictEqual((yield* (yield* Outbox).live).length, 0)
      yield* controls.resume({ scope: "rule:keep-bob", reason: "done", author: "ana" })
      for (let i = 0; i < 5; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
    }),
  )

  it.effect("is rehearsed once in mode observe, and nothing is signed", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 6; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["rehearsed"])
        assert.strictEqual((yield* paid(sandbox)).length, 0)
      },
      { mode: "observe" },
    ),
  )

  it.effect("of a person is made once, and never beyond the policy", () =>
    flow(function* (options, sandbox) {
      const body = (key: string, amount: string) => ({
        idempotencyKey: key,
        transfer: { from: "alice", to: "bob", asset: "USDT", amount },
      })
      const ask = (key: string, amount: string) => submitPayment(options.treasury, "live", body(key, amount))
      assert.isTrue((yield* ask("a", "20")).created)
      assert.isFalse((yield* ask("a", "20")).created)
      assert.include((yield* Effect.flip(ask("a", "21"))).message, "stands for another payment")
      assert.include((yield* Effect.flip(ask("b", "200.000001"))).message, "is above 200 USDT per transfer")
      // However long it had to wait: no rule would decide it anew.
      yield* TestClock.adjust("1 hour")
      for (let i = 0; i < 5; i++) yield* round(options, sandbox, new Set(["decide"]))
      assert.deepStrictEqual((yield* paid(sandbox)).length, 1)
      assert.strictEqual(yield* sandbox.ledger.balance("bob", "USDT"), 70n * one)
    }),
  )
})
