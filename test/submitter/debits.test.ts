import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { BaseUnits } from "../../src/domain/Amount.ts"
import { general } from "../../src/domain/Balance.ts"
import { Command } from "../../src/domain/Command.ts"
import {
  type DebitBaseline,
  explainDebits,
  type KnownPayment,
  type Movements,
} from "../../src/payments/explainDebits.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { alice, flow, lives, pass, round, states } from "../support/Flow.ts"
import { altered, threeFronts } from "../support/Fronts.ts"
import { behind, hidingButMovements } from "../support/Instead.ts"
import { halts, hasAttempt, rounds } from "../support/Intents.ts"
import { pages } from "../support/LoneLiar.ts"
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

describe("what explains a debit", () => {
  const second = 1_000_000_000n
  const before: DebitBaseline = {
    until: second,
    held: new Map([["a", { balance: 100n, since: second }]]),
    used: new Map(),
  }
  const row = (at: bigint, balance: bigint, isOpening = false) => ({
    asset: "a",
    balance,
    timestamp: at * second,
    isOpening,
  })
  const paid = (
    id: string,
    cost: bigint,
    settled: bigint | undefined,
    more: Partial<KnownPayment> = {},
  ): KnownPayment => ({
    id,
    asset: "a",
    cost,
    times: 1,
    isOpen: settled === undefined,
    createdAt: 0,
    updatedAt: 0,
    settledAt: settled === undefined ? undefined : settled * second + 7n,
    ...more,
  })
  const balancesOf = (rows: ReadonlyArray<ReturnType<typeof row>>, end = 9_999n * second) => ({ rows, gaps: [], end })
  const cases = [
    ["a payment in its block", [row(2n, 90n)], [paid("p", 10n, 2n)], []],
    ["a payment with a smaller fee than was foreseen", [row(2n, 91n)], [paid("p", 10n, 2n)], []],
    ["a payment and what came in at once", [row(2n, 95n)], [paid("p", 10n, 2n)], []],
    ["two payments in one block", [row(2n, 80n)], [paid("p", 10n, 2n), paid("q", 10n, 2n)], []],
    [
      "two payments of one block, and the third of the next, whose ends nobody tells",
      [row(2n, 76n), row(3n, 59n)],
      [paid("p", 21n, undefined), paid("q", 18n, undefined), paid("r", 5n, undefined)],
      [],
    ],
    ["two payments whose first row is missing", [row(3n, 80n)], [paid("p", 10n, 2n), paid("q", 10n, 3n)], []],
    ["a payment whose time is later than its row", [row(2n, 90n)], [paid("p", 10n, 9n)], []],
    ["a payment without an end", [row(2n, 90n)], [paid("p", 10n, undefined)], []],
    ["a second execution that is known", [row(2n, 90n), row(8n, 80n)], [paid("p", 10n, 2n, { times: 2 })], []],
    ["a refund", [row(2n, 110n), row(3n, 110n)], [], []],
    ["an account begun anew", [row(2n, 50n, true)], [], []],
    ["nothing", [row(2n, 90n)], [], [10n]],
    ["nothing the second time", [row(2n, 90n), row(3n, 80n)], [paid("p", 10n, 2n)], [10n]],
    ["a payment, but not all", [row(2n, 70n)], [paid("p", 10n, 2n)], [20n]],
    ["only a payment of long before", [row(100n, 90n)], [paid("p", 10n, 2n)], [10n]],
    ["only a payment of long after", [row(2n, 90n)], [paid("p", 10n, undefined, { createdAt: 90_000 })], [10n]],
    ["only a payment without an end of long before", [row(2_000n, 90n)], [paid("p", 10n, undefined)], [10n]],
    ["only what another asset paid", [row(2n, 90n)], [paid("p", 10n, 2n, { asset: "b" })], [10n]],
  ] as const

  it.each(cases)("is %s", (_, rows, payments, expected) => {
    const { unexplained } = explainDebits(before, { payments, balances: balancesOf(rows) })
    assert.deepStrictEqual(
      unexplained.map(({ amount, kind }) => ({ amount, kind })),
      expected.map((amount) => ({ amount, kind: "fall" as const })),
    )
  })

  it("is not lost rows", () => {
    const lost = (since: bigint, until: bigint) => [{ since: since * second, until: until * second }]
    const fallsIn = (gaps: ReadonlyArray<{ since: bigint; until: bigint }>) =>
      explainDebits(before, { payments: [], balances: { rows: [row(9n, 90n)], gaps, end: 0n } }).unexplained
    assert.lengthOf(fallsIn(lost(3n, 6n)), 0)
    assert.lengthOf(fallsIn(lost(0n, 1n)), 1)
    assert.lengthOf(fallsIn(lost(9n, 12n)), 1)
  })

  it("remembers over several looks how often a payment has explained a debit", () => {
    const payments = [paid("p", 10n, 20n)]
    const first = explainDebits(before, { payments, balances: balancesOf([row(2n, 90n)]) })
    assert.deepStrictEqual(first.unexplained, [])
    const next = explainDebits(first.baseline, { payments, balances: balancesOf([row(3n, 80n)]) })
    assert.deepStrictEqual(
      next.unexplained.map(({ timestamp, amount }) => [timestamp, amount]),
      [[3n * second, 10n]],
    )
  })

  it("is judged for good before an open payment alone, for an hour", () => {
    const [open, ended] = [{ ...paid("p", 10n, 20n), isOpen: true }, paid("q", 10n, 20n)]
    const until = (payment: KnownPayment, ...rows: ReadonlyArray<ReturnType<typeof row>>) =>
      explainDebits(before, { payments: [payment], balances: balancesOf(rows) }).baseline.until / second
    assert.strictEqual(until(open, row(2n, 110n), row(3n, 100n)), 2n)
    assert.strictEqual(until(ended, row(2n, 110n), row(3n, 100n)), 3n)
    assert.strictEqual(until(open, row(3n, 90n), row(3_602n, 90n)), 1n)
    assert.strictEqual(until(open, row(3n, 90n), row(3_604n, 90n)), 3n)
  })

  const moved = (at: bigint, transferId: string, quantity = 10n, type = "TRANSFER_TYPE_TRANSFER_FUNDS_SEND") => ({
    timestamp: at * second + 1_000n,
    quantity: BaseUnits.make(quantity),
    type,
    from: alice,
    asset: "a",
    transferId,
  })
  const out = (at: bigint) => moved(at, "", 10n, "TRANSFER_TYPE_WITHDRAW")
  const listed = (id: string, at: bigint, amount = 10n) => ({
    id,
    from: alice,
    to: "",
    asset: "a",
    amount,
    reference: "",
    status: "done",
    timestamp: at * second,
  })
  const told = (entries: Movements["entries"], known: ReadonlyArray<string>, more: Partial<Movements> = {}) => ({
    entries,
    known: new Set(known),
    withdrawals: [],
    ...more,
  })
  const rows = [row(2n, 90n), row(3n, 80n)]
  const byMovements = [
    ["trading, which moves nothing to others", told([], []), []],
    ["transfers that are known, a recurring one twice", told([moved(2n, "t"), moved(3n, "t")], ["t"]), []],
    ["none that is unknown", told([moved(2n, "t"), moved(3n, "s")], ["t"]), [["s", "transfer"]]],
    ["none that is unknown, told once", told([moved(2n, "s"), moved(3n, "s")], []), [["s", "transfer"]]],
    ["nothing that was before", told([moved(1n, "s"), moved(2n, "t")], ["t"]), []],
    [
      "withdrawals by their time and amount, each once",
      told([out(2n), out(3n), out(3n)], ["w", "v"], { withdrawals: [listed("v", 3n), listed("w", 2n)] }),
      [[`debit ${3n * second + 1_000n}`, "withdrawal"]],
    ],
    [
      "no withdrawal of another amount or block",
      told([out(2n)], ["w", "v"], { withdrawals: [listed("v", 2n, 9n), listed("w", 4n)] }),
      [[`debit ${2n * second + 1_000n}`, "withdrawal"]],
    ],
    ["no movement without an id", told([moved(2n, "")], []), [[`debit ${2n * second + 1_000n}`, "fall"]]],
  ] as const

  it.each(byMovements)("is among movements %s", (_, movements, expected) => {
    const { unexplained, baseline } = explainDebits(before, { movements, payments: [], balances: balancesOf(rows) })
    assert.deepStrictEqual(
      unexplained.map(({ id, kind }) => [id, kind]),
      expected.map(([id, kind]) => [id, kind]),
    )
    assert.strictEqual(baseline.until, 3n * second)
  })

  it("is judged for good up to the mark of complete movements, and found before", () => {
    const movements = told([moved(3n, "s")], [])
    const upTo = (end: bigint) => explainDebits(before, { movements, payments: [], balances: balancesOf(rows, end) })
    assert.deepStrictEqual(
      [0n, 2n * second, 2n * second + 1n, 4n * second].map((end) => upTo(end).baseline.until / second),
      [1n, 1n, 2n, 3n],
    )
    assert.lengthOf(upTo(0n).unexplained, 1)
    const later = balancesOf([...rows, row(3_603n, 80n)], 0n)
    assert.strictEqual(explainDebits(before, { movements, payments: [], balances: later }).baseline.until, 2n * second)
    assert.deepStrictEqual(upTo(3n * second).baseline.held.get("a"), { balance: 90n, since: 2n * second })
  })

  it("may be a known transfer once more, where no payment is left for its movement", () => {
    const againAmong = (payments: ReadonlyArray<KnownPayment>) =>
      explainDebits(before, {
        movements: told([moved(2n, "p"), moved(3n, "p")], ["p"]),
        payments,
        balances: balancesOf(rows),
      }).again
    assert.deepStrictEqual(againAmong([paid("p", 10n, 2n)]), ["p"])
    assert.deepStrictEqual(againAmong([paid("p", 10n, 2n, { times: 2 })]), [])
  })
})
