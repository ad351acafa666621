import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { signAttempt } from "../../src/submitter/signAttempt.ts"
import { alice, flow, paid, pass, reason, round, states } from "../support/Flow.ts"
import { newestAttempts, newestIntent } from "../support/Intents.ts"
import { at, head, payment, request, signed, submit, type TestClient } from "../support/TestClient.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"
import { waitUntil } from "../support/until.ts"

const arm = (client: TestClient, fault: Readonly<Record<string, unknown>>) =>
  request(client, "/sandbox/faults", { body: JSON.stringify(fault) })
const disarm = (client: TestClient) => request(client, "/sandbox/faults", { method: "DELETE" })

/** Waits until the network holds a transaction that is in no block yet. */
const taken = (client: TestClient) =>
  waitUntil(
    "a transaction in the mempool",
    Effect.map(request(client, "/sandbox/ledger"), (reply) => at(reply, "mempool.0") !== undefined),
  )

const proposed = new Set(["submit", "confirm"])
const decided = new Set(["decide"])
const sendsOf = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return yield* outbox.sends(intent!.id)
})

/** Whatever the gateway says to it. */
const anyRound = (...args: Parameters<typeof round>) => Effect.ignore(round(...args))

describe("a payment in trouble", () => {
  it.effect("that a lookup settles while its state is read stays settled", () =>
    flow(
      function* (options, sandbox, client) {
        yield* (yield* Settings).rememberFraming(chainId, "bare")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
        yield* arm(client, { operation: "submit", kind: "accept_drop_answer", count: 1 })
        const { live } = yield* Outbox
        const database = yield* Database
        const services = yield* Effect.context<Effect.Services<ReturnType<typeof confirmOnce>>>()
        let isLooked = false
        const look = Effect.gen(function* () {
          if (isLooked || (yield* live)[0]?.state !== "unknown") return
          isLooked = true
          yield* sandbox.stepBlock
          yield* Effect.provideContext(confirmOnce(), services)
        }).pipe(Effect.ignore)
        const slow = Database.of({ ...database, write: (...asked) => Effect.andThen(look, database.write(...asked)) })
        const sending = yield* Effect.forkChild(Effect.provideService(submitOnce(), Database, slow))
        yield* taken(client)
        yield* TestClock.adjust("300 millis")
        yield* Fiber.join(sending)
        assert.deepStrictEqual([isLooked, yield* states], [true, ["confirmed"]])
      },
      { network: { requestDeadline: "300ms" } },
    ),
  )

  it.effect("whose answer was lost is sent again as the same bytes, and executes once", () =>
    flow(
      function* (options, sandbox, client) {
        yield* (yield* Settings).rememberFraming(chainId, "bare")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
        yield* arm(client, { operation: "submit", kind: "accept_drop_answer", count: 1 })
        const sending = yield* Effect.forkChild(submitOnce())
        yield* taken(client)
        yield* TestClock.adjust("300 millis")
        yield* Fiber.join(sending)
        assert.deepStrictEqual(yield* states, ["unknown"])
        // The quick resend falls into the time before the next block: the network knows the bytes.
        yield* TestClock.adjust("1 second")
        yield* submitOnce()
        const sends = yield* sendsOf
        assert.deepStrictEqual(
          sends.map((s) => s.outcome),
          ["ambiguous", "duplicate"],
        )
        assert.strictEqual(sends[1]?.txHash, sends[0]?.txHash)
        for (let i = 0; i < 4; i++) yield* round(options, sandbox, decided)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.strictEqual((yield* newestAttempts).length, 1, "signed once")
        assert.strictEqual((yield* paid(sandbox)).length, 1)
        assert.strictEqual(yield* sandbox.ledger.balance("bob", "USDT"), 200n * one)
      },
      { network: { requestDeadline: "300ms" } },
    ),
  )

  it.effect("waits while the network is down, and is then sent unchanged", () =>
    flow(function* (options, sandbox, client) {
      yield* (yield* Settings).rememberFraming(chainId, "bare")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* arm(client, { operation: "submit", kind: "drop_before" })
      yield* submitOnce()
      assert.deepStrictEqual(yield* states, ["unknown"])
      yield* arm(client, { operation: "any", kind: "http_status", status: 503 })
      for (let i = 0; i < 3; i++) {
        yield* TestClock.adjust("1 second")
        yield* submitOnce()
        yield* Effect.ignore(confirmOnce())
      }
      assert.deepStrictEqual(yield* states, ["unknown"], "nothing is concluded from silence")
      yield* disarm(client)
      for (let i = 0; i < 4; i++) yield* round(options, sandbox, decided)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.strictEqual((yield* newestAttempts).length, 1)
      assert.strictEqual(new Set((yield* sendsOf).map((s) => s.txHash)).size, 1)
      assert.strictEqual((yield* paid(sandbox)).length, 1)
    }),
  )

  it.effect("is never signed for another chain: the treasury halts", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 4; i++) yield* anyRound(options, sandbox)
        const halts = yield* (yield* Controls).halts
        assert.deepStrictEqual(
          halts.map((h) => h.reason),
          ["chain_changed"],
        )
        assert.include(halts[0]?.detail ?? "", chainId)
        assert.deepStrictEqual(yield* states, [], "nothing is even decided")
        assert.strictEqual((yield* sandbox.ledger.executed).length, 0)
        yield* round(options, sandbox, new Set(["poll", "compare", "reconcile"]))
        assert.strictEqual(yield* reason, "halted")
      },
      { chain: "another-chain", unlisted: true },
    ),
  )

  it.effect("is not given up on the word of another chain's ledger", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* arm(client, { operation: "submit", kind: "drop_before" })
      yield* submitOnce()
      // From here on the gateway speaks for a chain that is not the treasury's.
      yield* arm(client, { operation: "height", kind: "chain_id_change", chainId: "other-1" })
      const sends = (yield* sendsOf).length
      yield* pass(sandbox, 20, anyRound(options, sandbox, decided))
      assert.deepStrictEqual(yield* states, ["unknown"])
      assert.strictEqual((yield* sendsOf).length, sends)
      assert.deepStrictEqual(
        (yield* (yield* Controls).halts).map((h) => h.reason),
        ["chain_changed"],
      )
    }),
  )

  for (const [what, stop, go] of [
    [
      "a HALT file",
      Effect.flatMap(Controls, (controls) => controls.halt("halt_file", "stop")),
      Effect.flatMap(Controls, (controls) => controls.release("halt_file", "gone")),
    ],
    [
      "a pause of its receiver",
      Effect.flatMap(Controls, (controls) =>
        controls.pause({ scope: "party:bob", reason: "audit", author: "ana", until: undefined }),
      ),
      Effect.flatMap(Controls, (controls) => controls.resume({ scope: "party:bob", reason: "done", author: "ana" })),
    ],
  ] as const) {
    it.effect(`that was signed is not sent again under ${what}, and goes on after it`, () =>
      flow(function* (options, sandbox, client) {
        yield* (yield* Settings).rememberFraming(chainId, "bare")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
        yield* arm(client, { operation: "submit", kind: "drop_before" })
        yield* submitOnce()
        yield* disarm(client)
        const before = (yield* sendsOf).length
        assert.strictEqual(before, 1)
        yield* stop
        yield* TestClock.adjust("1 second")
        for (let i = 0; i < 3; i++) yield* submitOnce()
        assert.strictEqual((yield* sendsOf).length, before)
        yield* go
        for (let i = 0; i < 4; i++) yield* round(options, sandbox, decided)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.strictEqual((yield* newestAttempts).length, 1)
        assert.strictEqual((yield* paid(sandbox)).length, 1)
      }),
    )
  }

  it.effect("that no gateway took gets a second attempt after two complete listings", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
      yield* submitOnce()
      for (let i = 0; i < 4; i++) yield* round(options, sandbox, decided)
      yield* disarm(client)
      for (let i = 0; i < 70 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, sandbox, decided)
      const [attempt, second] = yield* newestAttempts
      assert.strictEqual(attempt?.state, "expired")
      assert.strictEqual(second?.state, "confirmed")
      assert.notStrictEqual(second?.nonce, attempt?.nonce)
      const kinds = (yield* (yield* Outbox).evidence(attempt?.intentId ?? "")).map((e) => e.kind)
      assert.deepStrictEqual(
        kinds.filter((kind) => kind === "absent"),
        ["absent", "absent"],
      )
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.deepStrictEqual(
        (yield* paid(sandbox)).map((p) => p.transferId),
        [String(second?.transferId)],
      )
    }),
  )

  it.effect("ends an attempt that was never sent, though the one before it was", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
      yield* submitOnce()
      const unsent = new Set(["decide", "submit"])
      for (let i = 0; i < 70 && (yield* states)[0] !== "reserved"; i++) yield* round(options, sandbox, unsent)
      yield* signAttempt(yield* newestIntent)
      for (let i = 0; i < 30 && (yield* states)[0] !== "reserved"; i++) yield* round(options, sandbox, unsent)
      assert.deepStrictEqual(
        (yield* newestAttempts).map(({ state, sends }) => [state, sends > 0]),
        [
          ["expired", true],
          ["expired", false],
        ],
      )
    }),
  )

  it.effect("that nobody takes is given up after three dead attempts", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
      yield* pass(sandbox, 210, round(options, sandbox, decided))
      const attempts = yield* newestAttempts
      assert.deepStrictEqual(
        attempts.map((a) => a.state),
        ["expired", "expired", "expired"],
      )
      assert.strictEqual(new Set(attempts.map((a) => a.nonce)).size, 3)
      for (const [i, later] of attempts.slice(1).entries()) {
        assert.isAbove(Number(later.anchorHeight), Number(attempts[i]!.anchorHeight) + 5 + 3)
      }
      assert.deepStrictEqual(yield* states, ["abandoned"])
      assert.deepStrictEqual(yield* paid(sandbox), [])
    }),
  )

  it.effect("that nobody needs any more after its first attempt is over", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, decided)
      yield* disarm(client)
      const command = payment(client, "bob", 100n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      for (let i = 0; i < 4; i++) yield* round(options, sandbox, decided)
      yield* ticking(adopt([alice], { reason: "the other's payment was ours", author: "ana" }, () => Effect.void))
      yield* pass(sandbox, 70, ticking(round(options, sandbox, decided), "20 millis"))
      assert.deepStrictEqual(yield* states, ["abandoned"])
      assert.lengthOf(yield* newestAttempts, 1)
      assert.lengthOf(yield* paid(sandbox), 1, "the other's payment alone")
    }),
  )
})
