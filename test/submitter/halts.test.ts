import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { haltingOnStoreErrors, isUnwritable } from "../../src/store/database/storeErrors.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { alice, flow, paid, pass, round, states, toVault, withdrawing } from "../support/Flow.ts"
import { halts, hasAttempt, newest, replay } from "../support/Intents.ts"
import { head, payment, request, signed, submit, type TestClient } from "../support/TestClient.ts"
import { chainId, one, powOf, usdt } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const pages = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (due) => due.filter((alert) => alert.severity === "page" && alert.kind === "halt").map((alert) => alert.subject),
)
const resume = Effect.flatMap(Controls, (controls) =>
  controls.resume({ scope: "all", reason: "looked at it", author: "ana" }),
)
const settling = new Set(["decide"])

/** Makes blocks until the attempt's window has one left. */
const toLastBlock = Effect.fnUntraced(function* (client: TestClient, step: Effect.Effect<void, unknown>) {
  const { attempt } = yield* newest
  const last = Number(attempt.anchorHeight) + attempt.windowBlocks - 1
  yield* waitUntil(
    "the last block",
    Effect.map(head(client), ({ height }) => height >= last),
    step,
  )
})

const windows = [5, 8, 13]

describe("a second execution of a payment", () => {
  for (const profile of ["0.74", "0.75"]) {
    for (const window of windows) {
      const scenario = { profile, pow: powOf(window) }
      it.effect(`after confirmation halts and pages, on ${profile} with a window of ${window} blocks`, () =>
        flow(
          function* (options, sandbox, client) {
            for (let i = 0; i < 4; i++) yield* round(options, sandbox)
            const step = yield* inContext(round(options, sandbox, settling))
            yield* toLastBlock(client, step)
            assert.deepStrictEqual(yield* states, ["confirmed"])
            assert.include((yield* replay(client)).text, '"success":true')
            yield* haltsWithin(options, sandbox)
            assert.lengthOf(yield* paid(sandbox), 2, "the network let it happen")
            yield* resume
            yield* pass(sandbox, 3 * window, round(options, sandbox, settling))
            assert.deepStrictEqual(yield* halts, [], "told of once")
            assert.deepStrictEqual(yield* (yield* LedgerAudit).watched, [], "no longer watched")
          },
          { scenario },
        ),
      )

      it.effect(`of a refused payment pays it, on ${profile} with a window of ${window} blocks`, () =>
        flow(
          function* (options, sandbox, client) {
            yield* refusedInBlock(options, sandbox, client)
            assert.deepStrictEqual(yield* states, ["in_flight"], "its bytes can still execute")
            assert.include((yield* replay(client)).text, '"success":true')
            for (let i = 0; i < 6; i++) yield* round(options, sandbox, settling)
            assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
            assert.lengthOf(yield* paid(sandbox), 1)
          },
          { scenario },
        ),
      )
    }
  }

  it.effect("is counted on the ledger where the list showed neither", () =>
    flow(
      function* (options, sandbox, client) {
        for (let i = 0; i < 4; i++) yield* round(options, sandbox)
        const blind = new Set(["decide", "reconcile", "confirm"])
        const step = yield* inContext(round(options, sandbox, blind))
        yield* toLastBlock(client, step)
        yield* replay(client)
        for (let i = 0; i < 2; i++) yield* step
        assert.deepStrictEqual(yield* halts, [])
        yield* haltsWithin(options, sandbox)
      },
      { scenario: { profile: "0.74" } },
    ),
  )

  it.effect("is counted when the ledger answers, even after the balances moved", () =>
    flow(
      function* (options, sandbox, client) {
        const arm = (fault: Readonly<Record<string, unknown>>) =>
          request(client, "/sandbox/faults", { body: JSON.stringify(fault) })
        for (let i = 0; i < 4; i++) yield* round(options, sandbox)
        yield* toLastBlock(client, yield* inContext(round(options, sandbox, settling)))
        yield* replay(client)
        const listing = { operation: "transfers", kind: "http_status", status: 503 }
        yield* arm(listing)
        yield* arm({ operation: "ledgerEntries", kind: "http_status", status: 503 })
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, settling)
        assert.deepStrictEqual([(yield* paid(sandbox)).length, yield* halts], [2, []])
        yield* request(client, "/sandbox/faults", { method: "DELETE" })
        yield* arm(listing)
        // No block comes any more, as on a network that makes none without transactions.
        yield* TestClock.adjust("1 second")
        yield* reconcileOnce()
        assert.deepStrictEqual(yield* halts, ["duplicate_execution"])
      },
      { scenario: { profile: "0.74" } },
    ),
  )

  it.effect("is counted on the ledger while no balance can be read", () =>
    flow(
      function* (options, sandbox, client) {
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        const blind = new Set(["decide", "reconcile", "confirm", "poll"])
        const step = yield* inContext(round(options, sandbox, blind))
        yield* toLastBlock(client, step)
        yield* replay(client)
        for (let i = 0; i < 2; i++) yield* step
        yield* pass(sandbox, 31, round(options, sandbox, new Set(["decide", "reconcile", "poll"])))
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        yield* haltsWithin(options, sandbox, new Set(["decide", "poll"]))
      },
      { scenario: { profile: "0.74" } },
    ),
  )

  it.effect("is counted again if a balance falls after its watch ended", () =>
    flow(
      function* (options, sandbox, client) {
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        const blind = new Set(["decide", "reconcile", "confirm"])
        const step = yield* inContext(round(options, sandbox, blind))
        yield* toLastBlock(client, step)
        yield* replay(client)
        for (let i = 0; i < 2; i++) yield* step
        yield* round(options, sandbox, new Set(["decide", "reconcile"]))
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        const audit = yield* LedgerAudit
        for (const attempt of yield* audit.watched) yield* audit.endWatch(attempt)
        yield* haltsWithin(options, sandbox)
      },
      { scenario: { profile: "0.74" } },
    ),
  )

  it.effect("of a withdrawal, whose movements bear no id, is counted on the ledger", () =>
    flow(
      function* (options, sandbox, client) {
        const controls = yield* Controls
        yield* controls.pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        const step = yield* inContext(round(options, sandbox, settling))
        yield* toLastBlock(client, step)
        assert.deepStrictEqual(yield* halts, [], "one execution is the payment itself")
        assert.include((yield* replay(client)).text, '"success":true')
        yield* haltsWithin(options, sandbox)
        assert.strictEqual((yield* newest).intent.command, "withdraw")
      },
      { scenario: { profile: "0.75", pow: powOf(8) }, ...withdrawing },
    ),
  )

  it.effect("is none of a withdrawal beside another one alike", () =>
    flow(
      function* (options, sandbox) {
        const controls = yield* Controls
        yield* controls.pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        yield* pass(sandbox, 90, round(options, sandbox))
        const made = yield* (yield* Outbox).recent(9)
        assert.deepStrictEqual(
          made.map(({ state, payment }) => [state, payment.amount]),
          [
            ["confirmed", 40n * one],
            ["confirmed", 40n * one],
          ],
        )
        assert.deepStrictEqual(yield* halts, [])
      },
      {
        scenario: {
          profile: "0.75",
          pow: powOf(60),
          spenders: [{ from: "bob", to: "alice", asset: "USDT", at: [{ block: 20, amount: "40" }] }],
        },
        ...withdrawing,
        rules: [toVault({ above: "990", target: "960" })],
      },
    ),
  )

  it.effect("is none of a withdrawal that failed in its block and was signed again", () =>
    flow(
      function* (options, sandbox, client) {
        const controls = yield* Controls
        yield* (yield* Settings).rememberFraming(chainId, "bare")
        yield* controls.pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        const body = JSON.stringify({ operation: "submit", kind: "execution_failure", count: 1 })
        yield* request(client, "/sandbox/faults", { body })
        const withdrawn = Effect.map(
          Effect.flatMap(Outbox, ({ recent }) => recent(9)),
          (all) => all.map(({ state }) => state),
        )
        for (let i = 0; i < 200 && !(yield* withdrawn).includes("confirmed"); i++) yield* round(options, sandbox)
        yield* pass(sandbox, 20, round(options, sandbox, settling))
        assert.deepStrictEqual(yield* withdrawn, ["confirmed"])
        const { intent } = yield* newest
        assert.lengthOf(yield* (yield* Outbox).attempts(intent.id), 2)
        assert.deepStrictEqual(yield* halts, [])
      },
      { scenario: { profile: "0.75", pow: powOf(8) }, ...withdrawing },
    ),
  )

  it.effect("is not believed where a gateway shifts its times: the ledger's movements are counted", () =>
    flow(function* (options, sandbox, client) {
      const skew = { operation: "transfers", kind: "clock_skew", skewMillis: 4_000 }
      yield* request(client, "/sandbox/faults", { body: JSON.stringify(skew) })
      for (let i = 0; i < 4; i++) yield* round(options, sandbox)
      for (let i = 0; i < 14; i++) yield* round(options, sandbox, settling)
      const { attempt } = yield* newest
      assert.strictEqual(yield* (yield* LedgerAudit).countExecutions(attempt.transferId), 2, "seen in two blocks")
      assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
    }),
  )

  it.effect("is seen in the balances of both ends where the gateway lists nothing", () =>
    flow(
      function* (options, sandbox, client) {
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        yield* round(options, sandbox, settling)
        const { intent } = yield* newest
        const command = payment(client, "bob", intent.payment.amount, { asset: usdt })
        const draft = { from: "alice", command, framing: "prefixed" as const, ...(yield* head(client)) }
        yield* submit(client, signed(client, draft))
        for (let i = 0; i < 14; i++) yield* round(options, sandbox, settling)
        assert.lengthOf(yield* paid(sandbox), 2)
        assert.deepStrictEqual(yield* halts, ["duplicate_execution"])
      },
      { scenario: { profile: "specification" } },
    ),
  )
})

/** The effect with the services of here, for helpers that know none of them. */
const inContext = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.context<R>(), (context) => Effect.provideContext(effect, context))

type Options = Parameters<typeof round>[0]

/** A payment that the network takes into a block and refuses there, and blocks until its window has one left. */
const refusedInBlock = Effect.fnUntraced(function* (options: Options, sandbox: Sandbox["Service"], client: TestClient) {
  const body = JSON.stringify({ operation: "submit", kind: "execution_failure" })
  yield* (yield* Settings).rememberFraming(chainId, "bare")
  for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
  yield* request(client, "/sandbox/faults", { body })
  yield* round(options, sandbox, settling)
  yield* request(client, "/sandbox/faults", { method: "DELETE" })
  const step = yield* inContext(round(options, sandbox, settling))
  yield* step
  yield* toLastBlock(client, step)
})

/** Runs on until the halt is there, ten blocks at most after the one that takes what was handed in. */
const haltsWithin = Effect.fnUntraced(function* (options: Options, sandbox: Sandbox["Service"], skip = settling) {
  for (let i = 0; i <= 10 && (yield* halts).length === 0; i++) yield* round(options, sandbox, skip)
  assert.deepStrictEqual(yield* halts, ["duplicate_execution"])
  assert.deepStrictEqual(yield* pages, ["duplicate_execution"])
  assert.lengthOf(yield* (yield* LedgerAudit).duplicates, 1)
})

describe("a payment that the journal does not know", () => {
  const elsewhere = Effect.fnUntraced(function* (client: TestClient) {
    const command = payment(client, "eve", 10n * one, { asset: usdt })
    return yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
  })

  it.effect("halts and pages within one poll, and stops a payment before its signature", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
      yield* elsewhere(client)
      for (let i = 0; i < 2; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* halts, ["foreign_payment"])
      assert.deepStrictEqual(yield* pages, ["foreign_payment"])
      for (let i = 0; i < 3; i++) yield* round(options, sandbox)
      assert.lengthOf(yield* paid(sandbox), 1, "the thief's alone")
      assert.lengthOf(yield* (yield* LedgerAudit).unacknowledged, 1)
    }),
  )

  it.effect("of a key with a history stops the first signature until adopted", () =>
    flow(function* (options, sandbox, client) {
      yield* elsewhere(client)
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* halts, ["foreign_payment"])
      assert.lengthOf(yield* paid(sandbox), 1)
      const [alert] = yield* (yield* AlertQueue).due(10)
      assert.include(alert?.detail ?? "", "cofferer adopt --reason")
      const adopted = yield* adopt([alice], { reason: "the old wallet", author: "ana" }, () => Effect.void)
      assert.deepStrictEqual(
        adopted.map(({ amount }) => amount),
        [10n * one],
      )
      assert.include(
        (yield* (yield* Journal).about("foreign_payment")).map(({ kind }) => kind),
        "adopted",
      )
      for (let i = 0; i < 14; i++) yield* round(options, sandbox)
      assert.lengthOf(yield* paid(sandbox), 1, "a window and ten blocks are waited for")
      for (let i = 0; i < 45 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, sandbox)
      assert.deepStrictEqual([yield* halts, (yield* states)[0]], [[], "confirmed"])
      yield* elsewhere(client)
      for (let i = 0; i < 3; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* halts, ["foreign_payment"], "the next one is a stranger again")
    }),
  )
})

describe("a failure of the machine", () => {
  it.effect("that refuses writes halts nothing, pays nothing, and all goes on once it takes them", () =>
    flow(function* (options, sandbox) {
      const sql = yield* SqlClient.SqlClient
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
      yield* sql`PRAGMA query_only = ON`
      for (let i = 0; i < 4; i++) {
        assert.isTrue(isUnwritable(yield* Effect.flip(haltingOnStoreErrors(round(options, sandbox)))))
      }
      assert.deepStrictEqual([yield* halts, yield* pages], [[], []])
      assert.lengthOf(yield* paid(sandbox), 0)
      yield* sql`PRAGMA query_only = OFF`
      for (let i = 0; i < 5; i++) yield* round(options, sandbox)
      assert.deepStrictEqual([yield* halts, yield* states], [[], ["confirmed"]])
      assert.lengthOf(yield* paid(sandbox), 1)
    }),
  )

  it.effect("that changes stored bytes halts before they are sent again", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
      const body = JSON.stringify({ operation: "submit", kind: "http_status", status: 503 })
      yield* request(client, "/sandbox/faults", { body })
      yield* round(options, sandbox, settling)
      yield* request(client, "/sandbox/faults", { method: "DELETE" })
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE attempts SET pow_nonce = CAST(pow_nonce + 1 AS TEXT)`
      for (let i = 0; i < 4; i++) yield* round(options, sandbox, settling)
      assert.deepStrictEqual(yield* halts, ["invariant"])
      assert.deepStrictEqual(yield* pages, ["invariant"])
      assert.lengthOf(yield* paid(sandbox), 0)
    }),
  )

  it.effect("that lets a final payment change halts", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 5; i++) yield* round(options, sandbox)
      const { intent } = yield* newest
      assert.strictEqual(intent.state, "confirmed")
      const outbox = yield* Outbox
      yield* Effect.exit(haltingOnStoreErrors(outbox.move(intent, "reserved", { detail: "again" })))
      assert.deepStrictEqual(yield* halts, ["invariant"])
      assert.strictEqual((yield* newest).intent.state, "confirmed")
    }),
  )
})
