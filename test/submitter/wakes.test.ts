import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { decideOnce } from "../../src/engine/Engine.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { reconcileLoop } from "../../src/submitter/audit/Reconcile.ts"
import { alertOverdue } from "../../src/submitter/Overdue.ts"
import { submitLoop } from "../../src/submitter/Submitter.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { blockNow } from "../support/blockNow.ts"
import { alice, flow, round } from "../support/Flow.ts"
import { rounds } from "../support/Intents.ts"
import { behind } from "../support/LoneLiar.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { isWoken } from "../support/woken.ts"

const idle = new Set(["decide"])
const undone = new Set(["submit", "confirm"])

const takeAll = Effect.gen(function* () {
  const queue = yield* AlertQueue
  for (const delivery of yield* queue.due(50)) yield* queue.delivered(delivery)
})

describe("the loop that sends alerts", () => {
  it.effect("is woken once by the alert of balances without newer blocks", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 8)
      yield* watchHealth()
      yield* takeAll
      yield* TestClock.adjust("2 minutes")
      yield* isWoken("alerts")
      yield* watchHealth()
      assert.isFalse(yield* isWoken("alerts"), "seen first")
      yield* TestClock.adjust("1 minute")
      yield* watchHealth()
      assert.isTrue(yield* isWoken("alerts"), "told")
      yield* blockNow
      yield* watchHealth()
      assert.isTrue(yield* isWoken("alerts"), "it is over")
      yield* watchHealth()
      assert.isFalse(yield* isWoken("alerts"))
    }),
  )

  it.effect("is woken by terms of work that are odd, once they are told of", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 2, undone)
      const hear = Effect.gen(function* () {
        const head = yield* Effect.flatMap(GatewayReader, (chain) => chain.head)
        yield* (yield* ChainState).seeHead({ ...head, pow: { ...head.pow, pastBlocks: 4_294_967_295 } })
        yield* watchHealth()
      })
      yield* watchHealth()
      yield* takeAll
      yield* isWoken("alerts")
      yield* hear
      assert.isFalse(yield* isWoken("alerts"), "seen first")
      yield* TestClock.adjust("1 minute")
      yield* hear
      assert.isTrue(yield* isWoken("alerts"), "told")
      yield* takeAll
      yield* hear
      assert.isFalse(yield* isWoken("alerts"), "once")
    }),
  )

  it.effect("is woken by a newest block that does not fit, once it is told of", () =>
    flow(function* () {
      const height = 9_000_000_000_000_000n
      const { keepHead } = yield* ChainState
      const since = yield* Clock.currentTimeMillis
      const why = "block 9 is odd"
      yield* keepHead("sandbox-1", { stray: { kind: "higher", since, kindSince: since, height, why } })
      yield* isWoken("alerts")
      yield* watchHealth()
      assert.isFalse(yield* isWoken("alerts"), "seen first")
      yield* TestClock.adjust("1 minute")
      yield* watchHealth()
      assert.isTrue(yield* isWoken("alerts"), "told")
      yield* watchHealth()
      assert.isFalse(yield* isWoken("alerts"), "once")
    }),
  )

  it.effect("is woken by a payment that is overdue, once", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 3, undone)
      yield* alertOverdue()
      yield* isWoken("alerts")
      yield* TestClock.adjust("25 hours")
      yield* alertOverdue()
      assert.isTrue(yield* isWoken("alerts"))
      yield* TestClock.adjust("1 minute")
      yield* alertOverdue()
      assert.isFalse(yield* isWoken("alerts"), "nothing new")
    }),
  )
})

describe("the loops that pay and read", () => {
  it.effect("are woken by a payment that is decided, by a need that is seen once, and by nothing else", () =>
    flow(function* (options, sandbox) {
      const woken = Effect.all([isWoken("submitter"), isWoken("balances"), isWoken("alerts")])
      const decided = Effect.map(
        Effect.flatMap(Outbox, (outbox) => outbox.open),
        (open) => open.length,
      )
      const isPending = Effect.map(
        Effect.flatMap(RuleStates, (states) => states.all),
        (all) => all.some(({ state }) => state === "pending"),
      )
      let before = 0
      for (let i = 0; i < 5; i++) {
        yield* round(options, sandbox, new Set(["decide", "submit", "confirm"]))
        yield* woken
        const wasPending = yield* isPending
        yield* decideOnce()
        const isNew = (yield* decided) > before
        before = yield* decided
        const isBegun = !wasPending && (yield* isPending)
        assert.deepStrictEqual(yield* woken, [isNew, isBegun, false])
      }
      assert.strictEqual(before, 1)
    }),
  )

  it.effect("reading is woken once by a rule that begins to wait for its second observation", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 2, new Set(["decide", "submit", "confirm"]))
        yield* isWoken("balances")
        yield* decideOnce()
        assert.isTrue(yield* isWoken("balances"))
        yield* decideOnce()
        assert.isFalse(yield* isWoken("balances"))
      },
      { keepBob: { for: "30s" } },
    ),
  )
})

describe("a loop whose gateway answers", () => {
  /** What one loop does while a clock passes that it alone waits for. */
  const cycles = Effect.fnUntraced(function* (name: "submitter" | "reconcile", millis: number) {
    const { lastSuccess } = yield* Metrics
    const before = (yield* lastSuccess).get(name)
    yield* TestClock.adjust(millis)
    return (yield* lastSuccess).get(name) !== before
  })

  it.effect("sends what is due each half second", () =>
    flow(function* () {
      const loop = yield* Effect.forkChild(submitLoop)
      yield* TestClock.adjust(1)
      assert.isFalse(yield* cycles("submitter", 498))
      assert.isTrue(yield* cycles("submitter", 2))
      yield* Fiber.interrupt(loop)
    }),
  )

  it.effect("compares keys each second until they are cleared", () =>
    flow(
      function* () {
        const loop = yield* Effect.forkChild(reconcileLoop)
        yield* TestClock.adjust(1)
        assert.isFalse(yield* cycles("reconcile", 998))
        assert.isTrue(yield* cycles("reconcile", 2))
        yield* Fiber.interrupt(loop)
      },
      { mode: "shadow" },
    ),
  )

  it.effect("lists the transfers of a key at rest each ten seconds, and at once when its balance moves", () =>
    behind({}, function* (front, _, options, sandbox, client) {
      yield* rounds(options, sandbox, 12, idle)
      const { arrived } = front.server
      const isListing = ({ url }: { readonly url: URL }) => url.searchParams.get("pubkey") === alice
      const listings = () => arrived.splice(0).filter(isListing).length
      listings()
      yield* rounds(options, sandbox, 30, idle)
      assert.strictEqual(listings(), 3)
      const command = payment(client, "eve", 10n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      yield* rounds(options, sandbox, 2, idle)
      assert.isAtLeast(listings(), 1)
      assert.lengthOf(yield* (yield* LedgerAudit).unacknowledged, 1)
    }),
  )

  it.effect("compares cleared keys at each read of balances", () =>
    flow(
      function* (options) {
        const { pollIdleMillis } = options.treasury.network
        const clearance = yield* Clearance
        yield* clearance.quarantine(undefined)
        for (const { publicKey, signer } of options.treasury.parties.values())
          if (signer !== undefined) yield* clearance.grant(publicKey, true)
        const loop = yield* Effect.forkChild(reconcileLoop)
        yield* TestClock.adjust(1)
        assert.isFalse(yield* cycles("reconcile", pollIdleMillis - 2))
        assert.isTrue(yield* cycles("reconcile", 2))
        yield* Fiber.interrupt(loop)
      },
      { mode: "shadow" },
    ),
  )
})
