import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Command } from "../../src/domain/Command.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { receiptOf } from "../../src/status/receipts.ts"
import { Brake } from "../../src/store/Brake.ts"
import { checkReceipt } from "../../src/store/checkReceipt.ts"
import { Findings } from "../../src/store/Findings.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { Settings } from "../../src/store/Settings.ts"
import { verifyStore } from "../../src/store/verifyStore.ts"
import { adopt } from "../../src/submitter/adopt.ts"
import { compareHistory } from "../../src/submitter/compareHistory.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alice, bob, eve, type FlowSetup, flow, round } from "../support/Flow.ts"
import { addressesOf, altered, down, type Front, startFronts } from "../support/Fronts.ts"
import { behind, nowhere, refusedThere } from "../support/Instead.ts"
import { halts, intentsOf, rounds, ruleState, waitForTaken } from "../support/Intents.ts"
import { pages, pow } from "../support/LoneLiar.ts"
import { head, payment, request, signed, submit, type TestClient } from "../support/TestClient.ts"
import { arm, disarm } from "../support/TestFaults.ts"
import { chainId, one, powOf, usdt, vega } from "../support/TestSandbox.ts"
import type { Fields } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

type Network = Sandbox["Service"]

/** Cancels what alice has standing, of one asset where it is named. */
const noOrders = (asset: Fields = {}) => [{ name: "no-orders", cancel: { from: "alice", ...asset }, priority: 1 }]
const setup: FlowSetup = { rules: noOrders(), policy: { cancel: [{ from: "alice", transfersPer24h: 3 }] } }

const { intents: cancels, states, attempts: attemptsOf, until } = intentsOf("cancel")
const told = ruleState("no-orders")

/** A standing order of alice, whose first payment is far away, adopted as made elsewhere. Returns its id. */
const ordered = Effect.fnUntraced(function* (
  client: TestClient,
  sandbox: Network,
  to: string = "bob",
  startEpoch: bigint = 1_000n,
  amount: bigint = one,
) {
  const plain = payment(client, to, amount, { asset: usdt })
  assert(plain._tag === "Transfer")
  const command = Command.cases.Transfer.make({
    ...plain,
    kind: { _tag: "Recurring", factor: "1", startEpoch },
  })
  yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
  yield* sandbox.stepBlock
  const [known] = (yield* listed(client)).filter(({ to: receiver }) => receiver === (to === "bob" ? bob : eve))
  yield* adopt([alice], { reason: "made by hand", author: "ana" }, () => Effect.void)
  return known?.id ?? ""
})

/** Alice's standing orders as the ledger lists them. */
const listed = Effect.fnUntraced(function* (client: TestClient) {
  const path = `/api/v2/transfers?pubkey=${alice}&direction=TRANSFER_DIRECTION_TRANSFER_FROM`
  const { json } = yield* request(client, path)
  const edges = (json as { transfers: { edges: ReadonlyArray<{ node: { transfer: Record<string, unknown> } }> } })
    .transfers.edges
  return edges
    .map(({ node: { transfer } }) => transfer)
    .filter((transfer) => transfer["recurring"] !== undefined)
    .map(({ id, status, to }) => ({ id: String(id), status: String(status), to: String(to) }))
})
const statusOf = (client: TestClient, id: string) =>
  Effect.map(listed(client), (all) => all.find((order) => order.id === id)?.status)

/** Alice's own command to end one of her standing orders, by hand. */
const byHand = Effect.fnUntraced(function* (client: TestClient, transferId: string) {
  const command = Command.cases.CancelTransfer.make({ transferId })
  yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
})

/** Gateways a, b and c before the network, of which two must agree. */
const amongThree = (fronts: Array<Front>) => (url: string) =>
  Effect.map(startFronts(url), (started) => {
    fronts.push(...started)
    return addressesOf(started)
  })

/** Shows standing orders as such of another asset, changed later than the others know. */
const miscalled = altered(
  ({ url }) => url.pathname === "/api/v2/transfers" && url.searchParams.get("status") === "STATUS_PENDING",
  (answer) => ({
    ...answer,
    text: JSON.stringify(JSON.parse(answer.text), (key, value) =>
      key === "asset" ? vega : key === "timestamp" ? String(BigInt(value) + 1n) : value,
    ),
  }),
)

describe("a cancellation among three gateways", () => {
  for (const [words, asset, state, silence] of [
    ["is not made on the word of one of them", "VEGA", "STATUS_PENDING", /1 standing order, none of them/],
    ["is made although one of them tells of another order", "USDT", "STATUS_CANCELLED", /no standing orders/],
  ] as const) {
    it.effect(words, () => {
      const fronts: Array<Front> = []
      return flow(
        (options, sandbox, client) =>
          Effect.gen(function* () {
            fronts[0]!.manner = miscalled
            const order = yield* ordered(client, sandbox)
            yield* rounds(options, sandbox, 24)
            assert.strictEqual(yield* statusOf(client, order), state)
            assert.match((yield* told)?.detail ?? "", silence)
            assert.lengthOf(yield* cancels, state === "STATUS_PENDING" ? 0 : 1)
          }),
        { ...setup, rules: noOrders({ asset }), gateways: amongThree(fronts) },
      )
    })
  }

  it.effect("is not made where the two that answer tell of different orders", () => {
    const fronts: Array<Front> = []
    return flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          fronts[0]!.manner = miscalled
          fronts[1]!.manner = down
          const order = yield* ordered(client, sandbox)
          yield* rounds(options, sandbox, 12)
          assert.deepStrictEqual(yield* cancels, [])
          assert.match((yield* told)?.detail ?? "", /the standing orders of alice were not listed yet/)
          assert.strictEqual(yield* statusOf(client, order), "STATUS_PENDING")
        }),
      { ...setup, gateways: amongThree(fronts) },
    )
  })
})

describe("a cancellation", () => {
  it.effect("ends each standing order once, one after the other, and moves nothing", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* ordered(client, sandbox)
          yield* ordered(client, sandbox, "eve")
          for (let i = 0; i < 60 && (yield* states).filter((s) => s === "confirmed").length < 2; i++) {
            yield* round(options, sandbox)
          }
          yield* rounds(options, sandbox, 12)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          assert.deepStrictEqual(
            (yield* listed(client)).map(({ status }) => status),
            ["STATUS_CANCELLED", "STATUS_CANCELLED"],
          )
          assert.strictEqual((yield* told)?.reason, "in_band")
          assert.deepStrictEqual(yield* halts, [])
          const [intent] = yield* cancels
          assert.deepStrictEqual([intent?.fee, intent?.feeMax, intent?.payment.amount], [0n, 0n, 0n])
          assert.match(intent?.detail ?? "", /^cancel alice -> standing order [0-9a-f]{8}, no fee/)
          assert.deepStrictEqual((yield* compareHistory([alice])).differences, [])
          assert.isNull((yield* verifyStore()).problem)
        }),
      setup,
    ),
  )

  for (const [words, fault] of [
    ["its end is shown at an earlier time", { operation: "transfer", kind: "clock_skew", skewMillis: -60_000 }],
    ["a late listing still holds it", { operation: "transfers", kind: "lagging_replica", blocks: 4 }],
  ] as const) {
    it.effect(`ends a standing order once, though ${words}`, () =>
      flow(
        (options, sandbox, client) =>
          Effect.gen(function* () {
            const order = yield* ordered(client, sandbox)
            yield* until(options, sandbox, "proposed", new Set(["submit"]))
            yield* arm(client, { ...fault, count: 100 })
            // The rule looks before the orders are read again, and after it.
            const unread = new Set(["reconcile"])
            yield* until(options, sandbox, "confirmed", unread)
            yield* rounds(options, sandbox, 3, unread)
            yield* rounds(options, sandbox, 3)
            assert.deepStrictEqual(yield* states, ["confirmed"])
            yield* disarm(client)
            yield* rounds(options, sandbox, 12)
            assert.deepStrictEqual(yield* states, ["confirmed"])
            assert.strictEqual(yield* statusOf(client, order), "STATUS_CANCELLED")
            assert.strictEqual((yield* told)?.reason, "in_band")
          }),
        // Else their listing would be too old by then for any rule.
        { ...setup, network: { maxAge: "5m" } },
      ),
    )
  }

  it.effect("has nobody called where its window is over, since no movement is of it", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* ordered(client, sandbox)
          yield* until(options, sandbox, "confirmed")
          const { watched } = yield* Findings
          for (let i = 0; i < 120 && (yield* watched).length > 0; i++) yield* round(options, sandbox)
          assert.deepStrictEqual(yield* watched, [])
          assert.deepStrictEqual(yield* pages, [])
        }),
      { ...setup, scenario: pow(40) },
    ),
  )

  it.effect("has a receipt that proves it offline, and that nobody can change", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          const order = yield* ordered(client, sandbox)
          yield* until(options, sandbox, "confirmed")
          const [intent] = yield* cancels
          const receipt = JSON.parse(JSON.stringify(yield* receiptOf(intent?.id ?? "")))
          assert.strictEqual(checkReceipt(receipt).problem, undefined)
          const { proven, claimed } = receipt
          assert.containSubset(proven, { signed: [{ k: 1, command: "cancel", to: order }], recorded: [] })
          assert.deepStrictEqual([claimed.payment.command, claimed.payment.toKey], ["cancel", order])
          assert.deepStrictEqual([claimed.decision.line, claimed.decision.transfersPer24h], [1, 3])
          const other = { ...receipt, claimed: { ...claimed, payment: { ...claimed.payment, toKey: "0".repeat(64) } } }
          assert.match(checkReceipt(other).problem ?? "", /payment.toKey/)
        }),
      setup,
    ),
  )

  it.effect("signed but not sent before a crash is sent once after it", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          // Else it would wait for keep-bob's payment to find out the wire form.
          yield* (yield* Settings).rememberFraming(chainId, "bare")
          const order = yield* ordered(client, sandbox)
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          const dying = yield* Effect.forkChild(submitOnce())
          yield* waitUntil(
            "an attempt",
            Effect.map(attemptsOf, (all) => all.length > 0),
            Effect.yieldNow,
          )
          yield* Fiber.interrupt(dying)
          const [signedThen] = yield* attemptsOf
          assert.strictEqual(signedThen?.sends, 0)
          yield* until(options, sandbox, "confirmed", new Set(["decide"]))
          const [attempt, ...more] = yield* attemptsOf
          assert.deepStrictEqual(more, [])
          assert.deepStrictEqual(attempt?.inputData, signedThen?.inputData)
          assert.strictEqual(yield* statusOf(client, order), "STATUS_CANCELLED")
        }),
      { ...setup, scenario: { pow: powOf(50) } },
    ),
  )

  it.effect("whose answer was lost is sent again as the same bytes", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* ordered(client, sandbox)
          yield* (yield* Settings).rememberFraming(chainId, "bare")
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          yield* arm(client, { operation: "submit", kind: "accept_drop_answer", count: 2 })
          const sending = yield* Effect.forkChild(submitOnce())
          yield* waitForTaken(client)
          yield* TestClock.adjust("300 millis")
          yield* Fiber.join(sending)
          assert.deepStrictEqual(yield* states, ["unknown"])
          yield* disarm(client)
          yield* until(options, sandbox, "confirmed", new Set(["decide"]))
          assert.strictEqual((yield* attemptsOf).length, 1)
        }),
      { ...setup, network: { requestDeadline: "300ms" } },
    ),
  )

  it.effect("that no gateway took in time is signed again by the tip alone", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* (yield* Brake).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
          const order = yield* ordered(client, sandbox)
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
          yield* submitOnce()
          yield* rounds(options, sandbox, 4, new Set(["decide"]))
          yield* disarm(client)
          yield* until(options, sandbox, "confirmed", new Set(["decide"]))
          const [first, second] = yield* attemptsOf
          assert.deepStrictEqual([first?.state, second?.state], ["expired", "confirmed"])
          const kinds = (yield* (yield* Outbox).evidence(first?.intentId ?? "")).map(({ kind }) => kind)
          assert.notInclude(kinds, "absent")
          assert.strictEqual(yield* statusOf(client, order), "STATUS_CANCELLED")
        }),
      setup,
    ),
  )

  it.effect("is not signed if the order has ended, and unneeded if it ends later", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* (yield* Brake).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
          const order = yield* ordered(client, sandbox)
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          yield* byHand(client, order)
          yield* rounds(options, sandbox, 7, new Set(["decide", "submit"]))
          yield* submitOnce()
          assert.deepStrictEqual(yield* states, ["cancelled"])
          assert.match((yield* cancels)[0]?.detail ?? "", /has ended, and nothing is left to cancel/)
          assert.deepStrictEqual(yield* attemptsOf, [])
          const other = yield* ordered(client, sandbox, "eve", 3n, 900n * one)
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          // The next epoch's payment is not covered: the network ends the order itself.
          const away = payment(client, "eve", 500n * one, { asset: usdt })
          yield* submit(client, signed(client, { from: "alice", command: away, ...(yield* head(client)) }))
          for (let i = 0; i < 60 && (yield* statusOf(client, other)) === "STATUS_PENDING"; i++) {
            yield* TestClock.adjust("1 second")
            yield* sandbox.stepBlock
          }
          assert.strictEqual(yield* statusOf(client, other), "STATUS_STOPPED")
          yield* submitOnce()
          yield* until(options, sandbox, "abandoned", new Set(["decide", "reconcile"]))
          assert.match((yield* cancels)[0]?.detail ?? "", /nothing is left to cancel: the standing order was stopped/)
          const [attempt] = yield* attemptsOf
          assert.strictEqual(attempt?.state, "failed")
          yield* rounds(options, sandbox, 7, new Set(["reconcile"]))
          assert.strictEqual((yield* cancels).length, 2, "nothing is decided again")
        }),
      { ...setup, scenario: { epochLength: "20s" } },
    ),
  )

  it.effect("is made of an order although another one ended by itself", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* (yield* Brake).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
          const orders = [yield* ordered(client, sandbox), yield* ordered(client, sandbox, "eve")]
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          const first = (yield* cancels)[0]?.payment.toKey ?? ""
          yield* byHand(client, first)
          yield* rounds(options, sandbox, 7, new Set(["decide", "submit"]))
          yield* submitOnce()
          assert.deepStrictEqual(yield* states, ["cancelled"])
          yield* rounds(options, sandbox, 30)
          assert.deepStrictEqual(yield* states, ["confirmed", "cancelled"])
          const other = orders.find((id) => id !== first) ?? ""
          assert.strictEqual(yield* statusOf(client, other), "STATUS_CANCELLED")
        }),
      setup,
    ),
  )

  it.effect("that the network refuses in its block is failed", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          yield* ordered(client, sandbox)
          yield* until(options, sandbox, "failed")
          assert.match((yield* cancels)[0]?.detail ?? "", /refused there with code 70/)
          yield* rounds(options, sandbox, 3)
          assert.deepStrictEqual(yield* states, ["failed"])
        }),
      {
        ...setup,
        ...behind((path, text) => {
          const body = text.replaceAll("STATUS_CANCELLED", "STATUS_PENDING")
          if (path.startsWith("/api/v2/transfer")) return { status: 200, body: JSON.parse(body) }
          return refusedThere(path, text)
        }),
      },
    ),
  )

  it.effect("is known by the explorer alone, where no transfer can be looked up", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          const order = yield* ordered(client, sandbox)
          yield* until(options, sandbox, "confirmed")
          assert.strictEqual(yield* statusOf(client, order), "STATUS_CANCELLED")
        }),
      { ...setup, ...behind((path) => (path.startsWith("/api/v2/transfer/") ? nowhere : undefined)) },
    ),
  )

  it.effect("needs a policy line with room, and is not made during a halt", () =>
    flow(() => Effect.void, { ...setup, policy: {} }).pipe(
      Effect.flip,
      Effect.map((error) => assert.match(String(error), /no-orders is denied to cancel standing orders of alice/)),
      Effect.andThen(
        flow(
          (options, sandbox, client) =>
            Effect.gen(function* () {
              yield* ordered(client, sandbox)
              yield* ordered(client, sandbox, "eve")
              yield* until(options, sandbox, "confirmed")
              yield* rounds(options, sandbox, 12)
              assert.deepStrictEqual([(yield* told)?.reason, (yield* states).length], ["limit", 1])
              assert.match((yield* told)?.detail ?? "", /1 of 1 cancellations in 24 h are used/)
            }),
          { ...setup, policy: { cancel: [{ from: "alice", transfersPer24h: 1 }] } },
        ),
      ),
      Effect.andThen(
        flow(
          (options, sandbox, client) =>
            Effect.gen(function* () {
              const order = yield* ordered(client, sandbox)
              yield* until(options, sandbox, "proposed", new Set(["submit"]))
              yield* (yield* Brake).halt("operator", "stop")
              yield* rounds(options, sandbox, 6)
              assert.deepStrictEqual(yield* attemptsOf, [])
              assert.strictEqual(yield* statusOf(client, order), "STATUS_PENDING")
            }),
          setup,
        ),
      ),
    ),
  )

  it.effect("leaves the orders alone that the rule excepts", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          const order = yield* ordered(client, sandbox)
          yield* rounds(options, sandbox, 8)
          assert.match((yield* told)?.detail ?? "", /alice has 1 standing order, none of them to be cancelled/)
          assert.strictEqual(yield* statusOf(client, order), "STATUS_PENDING")
        }),
      { ...setup, rules: noOrders({ asset: "VEGA" }) },
    ),
  )

  it.effect("is only logged outside live mode, once for each order", () =>
    flow(
      (options, sandbox, client) =>
        Effect.gen(function* () {
          const order = yield* ordered(client, sandbox)
          yield* ordered(client, sandbox, "eve")
          yield* rounds(options, sandbox, 20)
          assert.deepStrictEqual(yield* states, ["rehearsed", "rehearsed"])
          assert.match((yield* cancels)[0]?.detail ?? "", /mode shadow: would have been cancelled/)
          yield* TestClock.adjust("25 hours")
          yield* rounds(options, sandbox, 20)
          assert.deepStrictEqual([yield* states, (yield* told)?.reason], [["rehearsed", "rehearsed"], "in_band"])
          assert.strictEqual(yield* statusOf(client, order), "STATUS_PENDING")
        }),
      { ...setup, mode: "shadow" },
    ),
  )
})
