import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { accountTypeNumbers } from "../../src/domain/AccountType.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import { Command } from "../../src/domain/Command.ts"
import { recordedFrames } from "../support/Recordings.ts"
import * as Test from "../support/TestClient.ts"
import { chainId, one, usdt, withSandbox } from "../support/TestSandbox.ts"
import { listening, openStream } from "../support/TestStream.ts"

const results = "/api/v2/stream/transaction-results"
const bus = "/api/v2/stream/event/bus"
const coreBus = "/stream/event/bus"
const accounts = "/api/v2/stream/accounts"

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What lies at a path of each message, lists laid end to end. */
const each = (messages: ReadonlyArray<unknown>, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> =>
  path.reduce(
    (values, key) =>
      values
        .filter(isFields)
        .flatMap((value) => value[key])
        .filter((value) => value !== undefined),
    messages,
  )

/** Keys in their order and the kind of each value: what two networks have in common. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (isFields(value)) return Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)])
  if (typeof value !== "string") return value
  if (/^[0-9]+$/.test(value)) return "digits"
  if (/^[0-9]+-[0-9]+$/.test(value)) return "height-seq"
  if (/^[0-9A-F]{64}$/.test(value)) return "UPPER CASE"
  return value === "vega-ref-tm" ? chainId : value.replace(/[0-9a-f]{64}/g, "id")
}

const shapesOf = (values: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  [...new Set(values.map((value) => JSON.stringify(shapeOf(value))))].sort()

const recorded = (stream: string): ReadonlyArray<unknown> =>
  recordedFrames().flatMap((entry) => (entry.stream === stream && entry.frame !== undefined ? [entry.frame] : []))

const recordedBus = recorded("event bus: transfers, results, accounts, assets")

/** The commands that were recorded, in their order; the second one is delivered ten seconds later, with the ninth. */
const send = Effect.fnUntraced(function* (client: Test.TestClient) {
  const signed = Effect.fnUntraced(function* (from: string, command: Command) {
    const tx = Test.signed(client, { from, command, ...(yield* Test.head(client)) })
    assert.strictEqual(Test.at(yield* Test.submit(client, tx), "success"), true)
    yield* Test.step(client)
    return tx
  })
  const reference = "golden"
  const pay = (to: string, amount: bigint, more: { readonly deliverOn?: bigint } = {}) =>
    Test.payment(client, to, amount, { asset: usdt, reference, ...more })
  const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL
  const own = pay("bob", 7n * one)
  if (own._tag !== "Transfer") return yield* Effect.die(own)
  const soon = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n + 10_000_000_000n
  const all = [
    yield* signed("alice", pay("bob", 5n * one)),
    yield* signed("alice", pay("bob", 6n * one, { deliverOn: soon })),
  ]
  const kind = { _tag: "Recurring", startEpoch: 2n, endEpoch: 6n, factor: "1.0" } as const
  const recurring = yield* signed("bob", Command.cases.Transfer.make({ ...own, kind }))
  const { transferId } = recurring
  all.push(recurring, yield* signed("bob", Command.cases.CancelTransfer.make({ transferId })))
  all.push(yield* signed("bob", Command.cases.CancelTransfer.make({ transferId: "ab".repeat(32) })))
  all.push(yield* signed("alice", Command.cases.Withdraw.make({ amount: baseUnits(100n * one), asset: usdt })))
  all.push(yield* signed("alice", Command.cases.Withdraw.make({ amount: baseUnits(10n ** 17n), asset: usdt })))
  all.push(yield* signed("alice", Command.cases.Vote.make({ proposalId: "bb".repeat(32), value: 2 })))
  yield* TestClock.adjust("10 seconds")
  const metadata = [{ key: "role", value: "reserve" }]
  all.push(yield* signed("alice", Command.cases.UpdatePartyProfile.make({ alias: "reserve", metadata })))
  const toAccountType = accountTypeNumbers.ACCOUNT_TYPE_NETWORK_TREASURY
  const treasury = { ...own, fromAccountType: general, to: "0".repeat(64), toAccountType, amount: baseUnits(8n * one) }
  all.push(yield* signed("alice", Command.cases.Transfer.make(treasury)))
  return all
})

/** All streams that were recorded, over the commands that were recorded. */
const replayed = withSandbox({}, (client, sandbox) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      yield* Test.step(client)
      const all = yield* openStream(client, results)
      const one = yield* openStream(client, `${results}?partyIds=${sandbox.publicKey("alice")}`)
      const held = yield* openStream(client, `${accounts}?partyId=${sandbox.publicKey("alice")}`)
      const events = yield* openStream(client, bus)
      yield* events.send({ type: [6, 18, 40, 53], batchSize: 0 })
      const core = yield* openStream(client, coreBus)
      yield* core.send({ type: ["BUS_EVENT_TYPE_TRANSFER", "BUS_EVENT_TYPE_TRANSACTION_RESULT"], batchSize: 0 })
      yield* listening(client, 5)
      const sent = yield* send(client)
      return {
        sent,
        all: yield* all.take(10),
        one: yield* one.take(7),
        held: yield* held.take(5),
        events: yield* events.take(10),
        core: yield* core.take(10),
      }
    }),
  ),
)

describe("streams", () => {
  it.effect("say of the same commands what a real network said, in the same form", () =>
    Effect.gen(function* () {
      const { sent, all, one, held, events, core } = yield* replayed
      const result = ["result", "transactionResults"]
      assert.deepStrictEqual(shapesOf(each(all, ...result)), shapesOf(each(recorded("transaction-results"), ...result)))
      assert.deepStrictEqual(
        each(all, ...result, "hash"),
        sent.map(({ hash }) => hash),
      )
      assert.strictEqual(each(one, ...result).length, 7)
      assert.deepStrictEqual(
        shapesOf(each(events, "result", "events")),
        shapesOf(each(recordedBus, "result", "events")),
      )
      const recordedCore = recorded("event bus core shape")
      assert.deepStrictEqual(shapesOf(each(core, "result", "events")), shapesOf(each(recordedCore, "result", "events")))
      const recordedAccounts = recorded("accounts")
      for (const part of ["snapshot", "updates"]) {
        const path = ["result", part, "accounts"]
        assert.deepStrictEqual(shapesOf(each(held, ...path)), shapesOf(each(recordedAccounts, ...path)))
      }
      assert.deepStrictEqual(each(held, "result", "snapshot", "lastPage"), [true])
      assert.deepStrictEqual(each(held, "result", "updates", "accounts", "balance"), [
        "994995000",
        "988989000",
        "888989000",
        "880981000",
      ])
    }),
  )

  it.effect("number the events of a block and name their cause as a node does", () =>
    Effect.gen(function* () {
      const { sent, events } = yield* replayed
      // Not those of a withdrawal and of a profile: among them stand kinds that nobody here tells of.
      const heights = ["1663", "1666", "1669", "1671", "1673", "", "1678", "1680", "", "1685"]
      const numbered = (values: ReadonlyArray<unknown>) =>
        values.map((event) => [each([event], "id").join().split("-")[1], ...each([event], "type")].join(" ")).sort()
      const recordedEvents = each(recordedBus, "result", "events")
      heights.forEach((height, n) => {
        const theirs = recordedEvents.filter((event) => each([event], "id").join().startsWith(`${height}-`))
        const ours = each([events[n]], "result", "events")
        if (height !== "") assert.deepStrictEqual(numbered(ours), numbered(theirs), `block ${height}`)
      })
      const [delivery] = each([events[8]], "result", "events")
      assert.deepStrictEqual(each([delivery], "txHash"), each([delivery], "block"))
      assert.deepStrictEqual(each([events[0]], "result", "events", "txHash")[0], sent[0]?.hash.toUpperCase())
      const times = each(events, "result", "events", "transfer", "timestamp")
      assert.strictEqual(times[1], times[4])
    }),
  )
})
