import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { BaseUnits } from "../../src/domain/Amount.ts"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { Command } from "../../src/domain/Command.ts"
import type { Gateway } from "../../src/gateway/Gateways.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { adopt, recover } from "../../src/submitter/audit/adopt.ts"
import { fallsAmong, fallsShown } from "../../src/submitter/audit/recordListing.ts"
import { alice, bob, type FlowServices, flow, paid, pass, round, states, vault } from "../support/Flow.ts"
import { altered, honest, threeFronts } from "../support/Fronts.ts"
import { halts, rounds } from "../support/Intents.ts"
import type { Body } from "../support/it.ts"
import { elsewhere, life } from "../support/Lives.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"

/** One life of a daemon on a data directory of its own. */
const onNewStore = (outer: DaemonOptions, use: Body<[options: DaemonOptions], FlowServices>) =>
  elsewhere(outer, (options) => life(options, () => use(options)))

/** What of the last 24 hours counts for payments from alice to the receiver. */
const usedTo = (receiver: string, since = 0) =>
  Effect.flatMap(SpendLog, (spends) =>
    spends
      .used({ since, except: new Set(), assetId: usdt, from: new Set([alice]), to: new Set([receiver]) })
      .pipe(Effect.map(({ amount, count }) => ({ amount, count }))),
  )

/** Alice's key is used without any store. */
const by = Effect.fnUntraced(function* (client: TestClient, command: Command, framing: "bare" | "prefixed" = "bare") {
  yield* submit(client, signed(client, { from: "alice", command, framing, ...(yield* head(client)) }))
})

const isLacking = Effect.map(
  Effect.flatMap(Clearance, ({ lacking }) => lacking(alice)),
  (why) => why !== undefined,
)

const asked = { reason: "the disk died", author: "ana" }

describe("payments that a new store does not know", () => {
  it.effect("count in its limits once they are adopted, however often, and recovered too", () =>
    flow(function* (outer, sandbox, client) {
      for (let i = 0; i < 12 && (yield* states)[0] !== "confirmed"; i++) yield* round(outer, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      const [first] = yield* paid(sandbox)
      assert.isDefined(first)
      yield* onNewStore(outer, function* (options) {
        yield* rounds(options, sandbox, 4)
        assert.deepStrictEqual(yield* halts, ["foreign_payment"])
        yield* adopt([alice], asked, () => Effect.void)
        const used = { amount: 150n * one, count: 1 }
        assert.deepStrictEqual(yield* usedTo(bob), used)
        yield* adopt([alice], asked, () => Effect.void)
        yield* recover([alice], join(options.dataDir, databaseFile), asked, () => Effect.void)
        assert.deepStrictEqual(yield* usedTo(bob), used)
        assert.deepStrictEqual(
          yield* usedTo(bob, yield* Clock.currentTimeMillis),
          { amount: 0n, count: 0 },
          "not for ever",
        )
        assert.isNull((yield* verifyStore()).problem)
        assert.deepStrictEqual(yield* halts, [])
      })
      assert.lengthOf(yield* paid(sandbox), 1)
      // A day later nothing of it counts any more.
      yield* TestClock.adjust("25 hours")
      yield* sandbox.stepBlock
      yield* by(client, payment(client, "eve", 5n * one, { asset: usdt }))
      yield* sandbox.stepBlock
      yield* onNewStore(outer, function* (options) {
        yield* rounds(options, sandbox, 2)
        yield* adopt([alice], asked, () => Effect.void)
        assert.deepStrictEqual(yield* usedTo(bob), { amount: 0n, count: 0 })
      })
    }),
  )

  it.effect("count in its limits once adopted, even for a new key", () =>
    flow(function* (outer, sandbox, client) {
      yield* by(client, payment(client, "bob", 30n * one, { asset: usdt }))
      yield* sandbox.stepBlock
      yield* onNewStore(outer, function* () {
        assert.lengthOf(yield* adopt([alice], asked, () => Effect.void), 1)
        assert.deepStrictEqual(yield* usedTo(bob), { amount: 30n * one, count: 1 })
      })
    }),
  )

  it.effect("count before the key is cleared for the first time: withdrawals", () =>
    flow(function* (options, sandbox, client) {
      const amount = BaseUnits.make(30n * one)
      yield* by(client, Command.cases.Withdraw.make({ amount, asset: usdt, receiverAddress: vault }))
      yield* rounds(options, sandbox, 1)
      assert.deepStrictEqual(yield* usedTo(vault), { amount: 30n * one, count: 1 })
      yield* pass(sandbox, 10, round(options, sandbox))
      assert.deepStrictEqual(yield* usedTo(vault), { amount: 30n * one, count: 1 })
    }),
  )

  it.effect("count for every receiver where the gateway lists none, and alerts are sent", () =>
    flow(
      function* (options, sandbox, client) {
        yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
        yield* sandbox.stepBlock
        yield* rounds(options, sandbox, 3)
        const { count } = yield* usedTo(bob)
        assert.strictEqual(count, 1)
        const told = (yield* (yield* AlertQueue).due(50)).map(({ detail }) => detail)
        assert.isTrue(told.some((detail) => /^1 debit of the key .* count in the policy's limits/.test(detail)))
      },
      { scenario: { profile: "specification" } },
    ),
  )
})

it.effect("a debit that one gateway of three hides counts all the same", () =>
  Effect.suspend(() => {
    const { fronts, gateways } = threeFronts()
    return flow(
      function* (options, sandbox, client) {
        fronts[0]!.manner = async (request, ask) => {
          const { searchParams } = request.url
          const answer = await ask()
          if (searchParams.get("pagination.newestFirst") !== "true" || searchParams.has("dateRange.endTimestamp")) {
            return answer
          }
          const told = JSON.parse(answer.text)
          return { ...answer, text: JSON.stringify({ balances: { ...told.balances, edges: [] } }) }
        }
        yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        yield* by(client, payment(client, "eve", 10n * one, { asset: usdt }), "prefixed")
        yield* sandbox.stepBlock
        yield* rounds(options, sandbox, 6)
        assert.isFalse(yield* isLacking)
        assert.deepStrictEqual(yield* usedTo(bob), { amount: 10_010_000n, count: 1 })
      },
      { gateways, scenario: { profile: "specification" } },
    )
  }),
)

it.effect.each([
  { what: "amount", text: '"amount":"30000000"', lie: '"amount":"1"', first: { amount: 1n, count: 1 } },
  { what: "asset", text: usdt, lie: "0".repeat(64), first: { amount: 0n, count: 0 } },
])("a payment of which one gateway of three tells another $what first counts as it is", ({ text, lie, first }) =>
  Effect.suspend(() => {
    const { fronts, gateways } = threeFronts()
    return flow(
      function* (options, sandbox, client) {
        const isListing = ({ url }: { readonly url: URL }) => url.pathname === "/api/v2/transfers"
        const [liar, ...others] = fronts
        liar!.manner = altered(isListing, (a) => ({
          ...a,
          text: a.text.replaceAll(text, lie),
        }))
        const empty = '{"transfers":{"edges":[],"pageInfo":{"hasNextPage":false}}}'
        for (const one of others) one.manner = altered(isListing, (a) => ({ ...a, text: empty }))
        yield* by(client, payment(client, "bob", 30n * one, { asset: usdt }))
        yield* sandbox.stepBlock
        yield* rounds(options, sandbox, 3, new Set(["decide"]))
        assert.deepStrictEqual(yield* usedTo(bob), first)
        for (const one of others) one.manner = honest
        yield* rounds(options, sandbox, 3, new Set(["decide"]))
        assert.deepStrictEqual(yield* usedTo(bob), { amount: 30n * one, count: 1 })
      },
      { gateways },
    )
  }),
)

describe("falls of an account", () => {
  const row = (timestamp: bigint, balance: bigint, asset = "a"): BalanceChange => ({
    party: alice,
    asset,
    market: "",
    type: "ACCOUNT_TYPE_GENERAL",
    balance: BaseUnits.make(balance),
    timestamp,
  })
  const changes = (rows: ReadonlyArray<BalanceChange>): Pick<Gateway, "balanceChanges"> => ({
    balanceChanges: ({ assetId, startTimestamp = 0n, endTimestamp = 2n ** 63n, first = 0, after = "0" }) => {
      const found = rows
        .filter(
          ({ asset, timestamp }) =>
            (assetId ?? asset) === asset && timestamp >= startTimestamp && timestamp < endTimestamp,
        )
        .toSorted((a, b) => Number(b.timestamp - a.timestamp))
      const end = Number(after) + first
      const pageInfo = {
        hasNextPage: end < found.length,
        hasPreviousPage: false,
        startCursor: "",
        endCursor: String(end),
      }
      const page = found.slice(Number(after), end).map((node) => ({ cursor: "", node }))
      return Effect.succeed({ rows: page, pageInfo, mark: undefined })
    },
  })

  it.effect("are found where a busy account of the key fills the pages", () =>
    Effect.gen(function* () {
      const day = 86_400_000_000_000n
      yield* TestClock.setTime(40 * 86_400_000)
      const now = 40n * day
      const busy = Array.from({ length: 3_000 }, (_, i) => row(now - BigInt(i) * (day / 1_000n), 5n, "b"))
      const quiet = [row(now - 30n * day, 100n), row(now - 1_000n, 90n)]
      const falls = yield* fallsShown(changes([...busy, ...quiet]), alice)
      assert.deepStrictEqual(
        falls.map(({ asset, amount }) => [asset, amount]),
        [["a", 10n]],
      )
    }),
  )

  it.effect("are found on every page of a busy day", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(40 * 86_400_000)
      const now = 40n * 86_400_000_000_000n
      const rows = Array.from({ length: 2_500 }, (_, i) => row(now - BigInt(i + 1), BigInt(i)))
      assert.lengthOf(yield* fallsShown(changes(rows), alice), 2_499)
    }),
  )

  it("are counted from the first row known, each by what was held before", () => {
    const rows = [row(40n, 7n), row(30n, 2n), row(20n, 9n), row(10n, 10n), row(25n, 3n, "b")]
    const falls = fallsAmong(alice, rows, 15n).map(({ asset, amount, timestamp }) => [asset, amount, timestamp])
    assert.deepStrictEqual(falls, [
      ["a", 1n, 20n],
      ["a", 7n, 30n],
    ])
  })
})
