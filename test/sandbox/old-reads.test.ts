import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { baseUnits } from "../../src/domain/Amount.ts"
import { Command } from "../../src/domain/Command.ts"
import { toMicros } from "../../src/sandbox/Ledger.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

type Node = Sandbox["Service"]

const dai = "b9".repeat(32)
const startMillis = Date.UTC(2026, 0, 1)
/** Zero bits that suffice under all rules of the scenario. */
const difficulty = 6

/** Epochs of three blocks, an asset that becomes enabled, and work whose rules change. */
const text = scenarioText(
  {
    epochLength: "3s",
    transfersPerEpoch: 50,
    powChanges: [
      { block: 6, difficulty: 4 },
      { block: 13, difficulty: 5, pastBlocks: 8 },
      { block: 18, difficulty: 2 },
    ],
  },
  {
    assets: [
      {
        ...{ id: dai, name: "Dai", symbol: "sDAI", decimals: 18, quantum: "1" },
        ...{ erc20: { contractAddress: "0x83" }, status: { proposed: 3, pendingListing: 5, enabled: 8 } },
      },
    ],
    deposits: [{ party: "bob", asset: "sDAI", amount: "40", block: 8 }],
  },
)

type Kind = (Command & { readonly _tag: "Transfer" })["kind"]

const pay = (client: Test.TestClient, to: string, kind: Kind = { _tag: "OneOff", deliverOn: 0n }): Command => {
  const plain = Test.payment(client, to, one, { asset: usdt })
  assert(plain._tag === "Transfer")
  return Command.cases.Transfer.make({ ...plain, kind })
}

/** What is sent when the newest block has this height: each block has something of its own. */
const commandsAt = (client: Test.TestClient, height: number): ReadonlyArray<Command> => {
  const every = [pay(client, "bob")]
  switch (height) {
    case 2:
      return [...every, pay(client, "eve", { _tag: "Recurring", startEpoch: 1n, factor: "1" })]
    case 4:
      return [...every, pay(client, "bob", { _tag: "Recurring", startEpoch: 2n, endEpoch: 4n, factor: "1" })]
    case 7:
      return [pay(client, "eve", { _tag: "OneOff", deliverOn: BigInt(startMillis + 14_000) * 1_000_000n })]
    case 9:
      return [...every, Command.cases.Withdraw.make({ amount: baseUnits(10n * one), asset: usdt })]
    case 10:
      return [...every, ...every]
    default:
      return every
  }
}

/** Sends what is due and makes the block that takes it, a second later. Looks past all faults. */
const live = Effect.fnUntraced(function* (client: Test.TestClient, node: Node) {
  const { height, hash } = yield* node.ledger.head
  for (const command of commandsAt(client, height)) {
    const tx = Test.signed(client, { from: "alice", command, height, hash, difficulty })
    assert.strictEqual(Test.at(yield* Test.submit(client, tx), "success"), true)
  }
  yield* TestClock.adjust("1 second")
  yield* node.stepBlock
})

const pathsOf = (node: Node): ReadonlyArray<string> => [
  "/blockchain/height",
  "/statistics",
  `/statistics/spam/${node.publicKey("alice")}`,
  "/api/v2/assets",
  "/api/v2/accounts",
  `/api/v2/balance/changes?dateRange.startTimestamp=${startMillis - 1_000}000000&pagination.newestFirst=false`,
  "/api/v2/transfers",
  "/api/v2/withdrawals",
  `/api/v2/ledgerentry/history?filter.fromAccountFilter.partyIds=${node.publicKey("alice")}`,
  "/api/v2/network/parameters",
  "/api/v2/epoch",
]

interface Seen {
  readonly headers: ReadonlySet<string>
  readonly bodies: Readonly<Record<string, unknown>>
}

/** All that a reader can see. The clock of who answers is no part of the ledger. */
const look = (client: Test.TestClient, node: Node): Effect.Effect<Seen, Test.NoAnswer> =>
  Effect.map(
    Effect.forEach(pathsOf(node), (path) => Effect.map(Test.request(client, path), (reply) => ({ path, reply }))),
    (all) => ({
      headers: new Set(
        all.flatMap(({ reply: { headers } }) =>
          headers.has("x-block-height") ? [`${headers.get("x-block-height")} ${headers.get("x-block-timestamp")}`] : [],
        ),
      ),
      bodies: Object.fromEntries(
        all.map(({ path, reply }) => {
          assert.isBelow(reply.status, 405, path)
          return [path, [reply.status, JSON.parse(reply.text.replace(/"currentTime":"[^"]*"/, '"currentTime":""'))]]
        }),
      ),
    }),
  )

const newest = (node: Node) =>
  Effect.map(node.ledger.head, ({ height, time }) => new Set([`${height} ${toMicros(time)}`]))

const arm = (client: Test.TestClient, fault: Readonly<Record<string, unknown>>) =>
  Effect.map(
    Test.request(client, "/sandbox/faults", { body: JSON.stringify({ operation: "any", ...fault }) }),
    (reply) => assert.strictEqual(reply.status, 200, reply.text),
  )
const disarm = (client: Test.TestClient) => Test.request(client, "/sandbox/faults", { method: "DELETE" })

/** Lives until a height, and returns what was to be seen at each. */
const watch = Effect.fnUntraced(function* (client: Test.TestClient, node: Node, until: number) {
  const seen = new Map<number, Seen>()
  for (;;) {
    const { height } = yield* node.ledger.head
    seen.set(height, yield* look(client, node))
    if (height >= until) return seen
    yield* live(client, node)
  }
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-sandbox-"))),
  (dir) => Effect.sync(() => rmSync(dir, { recursive: true, force: true })),
)

const begin = TestClock.setTime(startMillis)

describe("a stale read", () => {
  it.effect.each([5, 8, 11, 14])("shows all data as they were when it was armed at block %i", (armedAt) =>
    Effect.andThen(
      begin,
      withSandbox({ isHere: true, text }, function* (client, node) {
        const then = (yield* watch(client, node, armedAt)).get(armedAt)
        yield* arm(client, { kind: "stale_read" })
        for (let n = 0; n < 12; n++) {
          const now = yield* look(client, node)
          assert.deepStrictEqual(now.bodies, then?.bodies, `${n} blocks later`)
          assert.deepStrictEqual(now.headers, yield* newest(node))
          yield* live(client, node)
        }
        yield* Test.step(client, 510)
        const now = yield* look(client, node)
        assert.deepStrictEqual(now.bodies, then?.bodies, "after more blocks than are remembered")
        assert.deepStrictEqual(now.headers, yield* newest(node))
      }),
    ),
  )
})

/** What accounts hold, by the ledger itself or by the listing. */
const holdings = (client: Test.TestClient, path: "/sandbox/ledger" | "/api/v2/accounts") =>
  Effect.map(Test.request(client, path), (reply) => {
    const rows = path === "/sandbox/ledger" ? "balances" : "accounts.edges"
    return (Test.at(reply, rows) as ReadonlyArray<Record<string, unknown>>)
      .map((row) => (row["node"] ?? row) as Record<string, unknown>)
      .map((row) => `${row["party"] ?? row["owner"]} ${row["asset"]} ${row["type"]} ${row["balance"]}`)
      .sort()
  })

describe("a fault of the scenario", () => {
  const armed = [
    ["stale_read", 9],
    ["rolled_back_read, blocks: 4", 5],
  ] as const
  it.effect.each(armed)("%s counts from the end of the block that arms it", ([kind, height]) =>
    Effect.andThen(
      begin,
      withSandbox(
        { isHere: true, text: `${text}  faults: [{ block: 9, operation: accounts, kind: ${kind} }]\n` },
        function* (client, node) {
          const truth = [yield* holdings(client, "/sandbox/ledger")]
          for (let n = 0; n < 14; n++) {
            yield* live(client, node)
            truth.push(yield* holdings(client, "/sandbox/ledger"))
          }
          assert.deepStrictEqual(yield* holdings(client, "/api/v2/accounts"), truth[height - 1])
        },
      ),
    ),
  )
})

describe("a read that was rolled back", () => {
  it.effect.each([6, 9, 12, 15])("shows data and headers of four blocks before block %i, for good", (armedAt) =>
    Effect.andThen(
      begin,
      withSandbox({ isHere: true, text }, function* (client, node) {
        const then = (yield* watch(client, node, armedAt)).get(armedAt - 4)
        yield* arm(client, { kind: "rolled_back_read", blocks: 4 })
        for (let n = 0; n < 12; n++) {
          assert.deepStrictEqual(yield* look(client, node), then, `${n} blocks later`)
          yield* live(client, node)
        }
        yield* Test.step(client, 510)
        const now = yield* look(client, node)
        assert.deepStrictEqual(now.bodies, then?.bodies, "after more blocks than are remembered")
        assert.deepStrictEqual(now.headers, then?.headers)
      }),
    ),
  )
})

describe("a replica that lags", () => {
  it.effect("is always so many blocks behind, with data and headers", () =>
    Effect.andThen(
      begin,
      withSandbox({ isHere: true, text }, function* (client, node) {
        const seen = yield* watch(client, node, 22)
        for (let height = 22; height < 30; height++) {
          yield* arm(client, { kind: "lagging_replica", blocks: 19 })
          assert.deepStrictEqual(yield* look(client, node), seen.get(height - 19), `block ${height}`)
          yield* disarm(client)
          yield* live(client, node)
        }
      }),
    ),
  )
})

describe("reads of the past", () => {
  const kinds = [
    ["stale_read", (height: number) => height],
    ["rolled_back_read", (height: number) => height - 6],
    ["lagging_replica", (_: number, now: number) => now - 6],
  ] as const
  it.effect.each(kinds)("%s says the same after a restart", function* ([kind, heightOf]) {
    yield* begin
    const dir = yield* folder
    const seen = yield* withSandbox({ isHere: true, text, dir }, function* (client, node) {
      const all = yield* watch(client, node, 12)
      yield* arm(client, { kind, blocks: 6, operation: "any" })
      for (let n = 0; n < 3; n++) yield* live(client, node)
      assert.deepStrictEqual((yield* look(client, node)).bodies, all.get(heightOf(12, 15))?.bodies)
      return all
    })
    yield* withSandbox({ isHere: true, text, dir }, function* (client, node) {
      for (let now = 15; now < 18; now++) {
        assert.deepStrictEqual((yield* look(client, node)).bodies, seen.get(heightOf(12, now))?.bodies, `${now}`)
        yield* live(client, node)
      }
    })
  })
})
