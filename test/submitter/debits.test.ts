import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { BaseUnits } from "../../src/domain/Amount.ts"
import { general } from "../../src/domain/Balance.ts"
import { Command } from "../../src/domain/Command.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { alice, flow, lives, pass, round, states } from "../support/Flow.ts"
import { altered, threeFronts } from "../support/Fronts.ts"
import { behind, hidingButMovements, withoutTransfers } from "../support/Instead.ts"
import { halts, hasAttempt, rounds } from "../support/Intents.ts"
import { pages, wage } from "../support/LoneLiar.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const withdrawal = Command.cases.Withdraw.make({ amount: BaseUnits.make(30n * one), asset: usdt })

const by = Effect.fnUntraced(function* (client: TestClient, command: Command, framing: "bare" | "prefixed" = "bare") {
  yield* submit(client, signed(client, { from: "alice", command, framing, ...(yield* head(client)) }))
})

type Played = Parameters<typeof round>
const confirmed = (...played: Played) =>
  waitUntil(
    "the confirmation",
    Effect.map(states, ([state]) => state === "confirmed"),
    round(...played),
  )
/** Runs on until the halt is there, ten blocks at most. */
const haltsWithin = Effect.fnUntraced(function* (...played: Played) {
  for (let i = 0; i < 10 && (yield* halts).length === 0; i++) yield* round(...played)
  assert.deepStrictEqual(yield* halts, ["foreign_payment"])
})

describe("a debit that no payment explains", () => {
  it.effect("of a withdrawal, which no transfer listing shows, halts within ten blocks", () =>
    flow(function* (options, sandbox, client) {
      yield* rounds(options, sandbox, 6)
      assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
      yield* by(client, withdrawal)
      yield* haltsWithin(options, sandbox)
      const [detail] = yield* pages
      assert.match(detail ?? "", /30.00 USDT left the general account of alice in the block of 20.*Z, by a withdrawal/)
      const [transfer] = yield* (yield* LedgerAudit).unacknowledged
      assert.deepStrictEqual([transfer?.from, transfer?.amount], [alice, 30n * one])
      yield* adopt([alice], { reason: "to the cold wallet", author: "ana" }, () => Effect.void)
      yield* pass(sandbox, 10, round(options, sandbox))
      assert.deepStrictEqual(yield* halts, [], "told of once")
    }),
  )

  it.effect("is seen in the balances where the gateway lists no transfers", () =>
    flow(
      function* (options, sandbox, client) {
        yield* confirmed(options, sandbox)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
        yield* haltsWithin(options, sandbox)
        assert.match((yield* pages)[0] ?? "", /^nothing is signed: 10.* USDT left the general account of alice/)
        yield* adopt([alice], { reason: "the other wallet", author: "ana" }, () => Effect.void)
        yield* pass(sandbox, 10, round(options, sandbox))
        assert.deepStrictEqual(yield* halts, [], "told of once")
      },
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("is seen though one gateway of three hides it now, and money came in after it", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (options, sandbox, client) {
          const still = new Set(["decide", "reconcile"])
          yield* rounds(options, sandbox, 14, new Set(["decide"]))
          assert.deepStrictEqual(yield* halts, [])
          yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
          yield* rounds(options, sandbox, 2, still)
          const gift = payment(client, "alice", 20n * one, { asset: usdt })
          yield* submit(
            client,
            signed(client, { from: "carol", command: gift, framing: "prefixed", ...(yield* head(client)) }),
          )
          yield* rounds(options, sandbox, 2, still)
          fronts[0]!.manner = altered(
            ({ url: { searchParams } }) => searchParams.get("pagination.newestFirst") === "true",
            (answer) => {
              const { balances } = JSON.parse(answer.text)
              return {
                ...answer,
                text: JSON.stringify({ balances: { ...balances, edges: balances.edges.slice(0, 1) } }),
              }
            },
          )
          yield* haltsWithin(options, sandbox, new Set(["decide"]))
          assert.match((yield* pages)[0] ?? "", /10.* USDT left the general account of alice/)
        },
        { gateways, scenario: { profile: "specification" } },
      )
    }),
  )

  it.effect("of a hidden transfer halts with the id from its movements", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 4; i++) yield* round(options, sandbox, new Set(["decide"]))
      yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }))
      yield* haltsWithin(options, sandbox, new Set(["decide"]))
      assert.include((yield* pages)[0] ?? "", "by a transfer that the gateway does not list")
      const [transfer] = yield* (yield* LedgerAudit).unacknowledged
      assert.match(transfer?.id ?? "", /^[0-9a-f]{64}$/)
    }, behind(hidingButMovements)),
  )

  it.effect("is none of a payment that was decided long before, and paid at last", () =>
    flow(
      function* (options, sandbox) {
        yield* confirmed(options, sandbox)
        yield* TestClock.adjust("1 minute")
        yield* rounds(options, sandbox, 3, new Set(["submit"]))
        yield* (yield* Controls).halt("operator", "looks at it")
        yield* TestClock.adjust("20 minutes")
        yield* rounds(options, sandbox, 3)
        yield* (yield* Controls).resume({ scope: "all", reason: "go on", author: "ana" })
        yield* rounds(options, sandbox, 12)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed", "confirmed"], []])
      },
      { ...behind(withoutTransfers), network: { framing: "bare" }, rules: [wage] },
    ),
  )

  it.effect("halts after a time offline too, but our own payments do not", () =>
    flow(
      function* (options, sandbox, client) {
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        for (let i = 0; i < 30; i++) {
          yield* TestClock.adjust("1 second")
          yield* sandbox.stepBlock
        }
        yield* rounds(options, sandbox, 10)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
        for (let i = 0; i < 30; i++) {
          yield* TestClock.adjust("1 second")
          yield* sandbox.stepBlock
        }
        yield* haltsWithin(options, sandbox)
      },
      {
        scenario: {
          profile: "specification",
          pow: { difficulty: 3, pastBlocks: 60, txPerBlock: 2, increaseDifficulty: true },
        },
      },
    ),
  )

  it.effect("halts in the next process, and once told of in no later one", () =>
    lives(
      [
        (options, sandbox) => confirmed(options, sandbox),
        function* (options, sandbox, client) {
          assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
          yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
          yield* haltsWithin(options, sandbox)
          yield* adopt([alice], { reason: "the other wallet", author: "ana" }, () => Effect.void)
        },
        function* (options, sandbox) {
          yield* pass(sandbox, 10, round(options, sandbox))
          assert.deepStrictEqual(yield* halts, [])
        },
      ],
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("is none where balances began anew over a time whose rows are lost", () =>
    flow(
      function* (options, sandbox, client) {
        yield* confirmed(options, sandbox)
        yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
        for (let i = 0; i < 8; i++) {
          yield* TestClock.adjust("1 second")
          yield* sandbox.stepBlock
        }
        const { timestamp, height } = (yield* (yield* Observations).watermark)!
        const until = timestamp + 8_000_000_000n
        yield* (yield* Observations).noteGap({ since: timestamp, until, cause: "forgotten" })
        yield* (yield* Observations).rebase([], { timestamp: until, height })
        yield* by(client, payment(client, "eve", 20n * one, { asset: usdt }), "prefixed")
        yield* pass(sandbox, 12, round(options, sandbox))
        assert.deepStrictEqual(yield* halts, [])
        yield* by(client, payment(client, "eve", 30n * one, { asset: usdt }), "prefixed")
        yield* haltsWithin(options, sandbox)
      },
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("is none if the gateway corrects the time of our payment's row", () =>
    flow(
      function* (options, sandbox) {
        const outbox = yield* Outbox
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        const observations = yield* Observations
        const [open] = yield* outbox.open
        const [attempt] = yield* outbox.live
        assert.exists(open)
        assert.exists(attempt)
        const { amount, toKey } = open.payment
        const signedAt = BigInt(attempt.createdAt) * 1_000_000n
        const accounts = yield* observations.accounts
        const shown = (party: string, plus: bigint, after: bigint) => {
          const own = accounts.find((one) => one.party === party && one.asset === usdt && one.type === general)
          const balance = (own?.balance ?? 0n) + plus
          return { party, asset: usdt, market: "", type: general, balance, timestamp: signedAt + after }
        }
        const skewed = [shown(alice, -amount - amount / 1_000n, 1_000n), shown(toKey, amount, 1_000n)]
        const { height } = (yield* observations.watermark)!
        yield* observations.advance([...skewed, shown(alice, 0n, 2_000n)], { timestamp: signedAt + 3_000n, height })
        yield* pass(sandbox, 20, round(options, sandbox))
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
      },
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("is none where a row that the gateway no longer shows was judged", () =>
    flow(
      function* (options, sandbox, client) {
        yield* confirmed(options, sandbox)
        const observations = yield* Observations
        const own = (yield* observations.accounts).find(({ party, asset }) => party === alice && asset === usdt)!
        const { height, timestamp } = (yield* observations.watermark)!
        const ghost = { ...own, balance: own.balance + 50n * one, timestamp: timestamp + 1_000n }
        yield* observations.advance([ghost], { timestamp: timestamp + 2_000n, height })
        yield* rounds(options, sandbox, 75, new Set(["decide"]))
        const gift = payment(client, "alice", 20n * one, { asset: usdt })
        yield* submit(
          client,
          signed(client, { from: "bob", command: gift, framing: "prefixed", ...(yield* head(client)) }),
        )
        yield* rounds(options, sandbox, 75, new Set(["decide"]))
        assert.deepStrictEqual(yield* halts, [])
      },
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("is none for a trading key whose account changes without a listing", () =>
    flow(
      function* (options, sandbox, client) {
        yield* confirmed(options, sandbox)
        const observations = yield* Observations
        const { timestamp, height } = (yield* observations.watermark)!
        const margin = { party: alice, asset: usdt, market: "ee".repeat(32), type: "ACCOUNT_TYPE_MARGIN" }
        yield* observations.advance([{ ...margin, balance: 1n, timestamp: timestamp - 1_000n }], {
          timestamp,
          height,
        })
        yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
        yield* pass(sandbox, 12, round(options, sandbox))
        assert.deepStrictEqual(yield* halts, [])
      },
      { scenario: { profile: "specification" } },
    ),
  )
})
