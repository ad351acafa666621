import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describeFault, type FaultSpec, type Operation, operations } from "../../src/sandbox/Faults.ts"
import { it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { arm, disarm, draft, executed, hits, type Node, spent } from "../support/TestFaults.ts"
import { scenarioText, withSandbox } from "../support/TestSandbox.ts"
import { soon, waitUntil } from "../support/until.ts"

const height = "/blockchain/height"

const statusOf = (client: Test.TestClient, path: string, body?: string) =>
  Effect.map(Test.request(client, path, body === undefined ? {} : { body }), (reply) => reply.status)

/** Which of so many requests were hit. */
const pattern = (client: Test.TestClient, count: number) =>
  Effect.map(
    Effect.forEach(Array.from({ length: count }), () => statusOf(client, height)),
    (all) => all.map((status) => (status === 503 ? "x" : ".")).join(""),
  )
const count = (hit: string): number => hit.split("x").length - 1

const often = { operation: "height", kind: "http_status", status: 503 }

describe("the rate of a fault", () => {
  const run = (seed: string) =>
    withSandbox({ text: scenarioText({ seed }) }, (client) =>
      Effect.andThen(arm(client, { ...often, rate: 0.25 }), pattern(client, 200)),
    )

  it.live("hits the same requests with the same seed", function* () {
    const [first, second, other] = [yield* run("test"), yield* run("test"), yield* run("other")]
    assert.strictEqual(first, second)
    assert.notStrictEqual(first, other)
    assert.deepStrictEqual([count(first), count(other)], [45, 50])
  })

  it.live("draws anew for each fault, and counts only its hits", () =>
    withSandbox({}, function* (client) {
      yield* arm(client, { ...often, rate: 0.25, count: 10 })
      const first = yield* pattern(client, 200)
      assert.strictEqual(count(first), 10)
      assert.match(first, /x\.*$/, "none comes after the tenth")
      yield* arm(client, { ...often, rate: 0.25, count: 10 })
      assert.notStrictEqual(yield* pattern(client, 200), first)
      assert.deepStrictEqual(yield* hits(client), [])
    }),
  )
})

describe("the count of a fault", () => {
  it.live("is that of its hits, whoever asks at the same time", () =>
    withSandbox({}, function* (client) {
      yield* arm(client, { ...often, count: 7 })
      const all = yield* Effect.all(
        Array.from({ length: 20 }, () => statusOf(client, height)),
        { concurrency: 20 },
      )
      assert.strictEqual(all.filter((status) => status === 503).length, 7)
      assert.deepStrictEqual(yield* hits(client), [])
    }),
  )

  it.live("left out means for ever", () =>
    withSandbox({}, function* (client) {
      yield* arm(client, often)
      assert.strictEqual(count(yield* pattern(client, 50)), 50)
      assert.deepStrictEqual(yield* hits(client), [50])
    }),
  )
})

describe("the duration of a fault", () => {
  it.effect("ends it by the clock, hit or not", () =>
    withSandbox({}, function* (client) {
      yield* arm(client, { ...often, durationMillis: 5_000 })
      yield* arm(client, { ...often, status: 500, durationMillis: 5_001 })
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(yield* statusOf(client, height), 503)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* hits(client), [0], "only the second one is left")
      assert.strictEqual(yield* statusOf(client, height), 500)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* statusOf(client, height), 200)
    }),
  )

  it.effect("is written as a duration in a scenario", () => {
    const faults = [{ block: 2, ...often, duration: "2s" }]
    return withSandbox({ text: scenarioText({ faults }) }, function* (client) {
      const seen = [yield* statusOf(client, height)]
      yield* Test.step(client)
      for (let n = 0; n < 3; n++) {
        seen.push(yield* statusOf(client, height))
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(seen, [200, 503, 503, 200])
    })
  })
})

const id = "ab".repeat(32)

/** The path of each operation. */
const paths = {
  submit: "/transaction",
  balanceChanges: "/api/v2/balance/changes",
  assets: "/api/v2/assets",
  height,
  statistics: "/statistics",
  accounts: "/api/v2/accounts",
  transfers: "/api/v2/transfers",
  transfer: `/api/v2/transfer/${id}`,
  withdrawals: "/api/v2/withdrawals",
  withdrawal: `/api/v2/withdrawal/${id}`,
  ledgerEntries: "/api/v2/ledgerentry/history",
  spam: `/statistics/spam/${id}`,
  parameters: "/api/v2/network/parameters",
  epoch: "/api/v2/epoch",
} as const satisfies Record<Operation, string>

/** The operations that a fault hits. */
const hitBy = Effect.fnUntraced(function* (client: Test.TestClient, operation: string) {
  yield* arm(client, { ...often, operation })
  const hit = yield* Effect.filter(operations, (one) =>
    Effect.map(statusOf(client, paths[one], one === "submit" ? "{}" : undefined), (status) => status === 503),
  )
  yield* disarm(client)
  return hit
})

describe("a network that stops", () => {
  it.live("waits for no request that a fault holds back", function* () {
    const closed = withSandbox({}, function* (client) {
      yield* arm(client, { operation: "height", kind: "delay", delayMillis: 86_400_000, count: 1 })
      yield* Effect.forkDetach(Effect.flip(Test.request(client, height, { patience: 86_400_000 })))
      yield* spent(client)
    })
    yield* soon("the network to close", closed)
  })
})

describe("the operation of a fault", () => {
  it.live("is hit, and no other one is", () =>
    withSandbox({}, function* (client) {
      for (const operation of operations) {
        assert.deepStrictEqual(yield* hitBy(client, operation), [operation])
      }
      assert.deepStrictEqual(yield* hitBy(client, "any"), [...operations])
    }),
  )
})

describe("the operation any", () => {
  it.live("leaves alone what the kind could not change: no hit is wasted", () =>
    withSandbox({}, function* (client) {
      yield* arm(client, { operation: "any", kind: "chain_id_change", chainId: "other-9", count: 1 })
      yield* arm(client, { operation: "any", kind: "reorganised_pages", count: 1 })
      yield* arm(client, { operation: "any", kind: "lying_success", count: 1 })
      yield* statusOf(client, "/api/v2/epoch")
      assert.deepStrictEqual(yield* hits(client), [0, 0, 0])
      assert.strictEqual(Test.at(yield* Test.request(client, height), "chainId"), "other-9")
      assert.deepStrictEqual(yield* hits(client), [0, 0])
    }),
  )
})

/** Arms one hit each, in this order. */
const armAll = (client: Test.TestClient, ...faults: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  Effect.forEach(faults, (fault) => arm(client, { operation: "any", count: 1, ...fault }))

const answerAfter = Effect.fnUntraced(function* (client: Test.TestClient, time: number) {
  const waiting = yield* Effect.forkChild(Test.request(client, height))
  yield* waitUntil(
    "one hit left",
    Effect.map(hits(client), (all) => all.length <= 1),
  )
  yield* TestClock.adjust(time - 1)
  assert.isUndefined(waiting.pollUnsafe())
  yield* TestClock.adjust(1)
  yield* spent(client)
  return yield* Fiber.join(waiting)
})

const submitted = (client: Test.TestClient, node: Node, change: Partial<Test.Draft> = {}) =>
  Effect.flatMap(draft(client, node, change), (tx) =>
    Effect.map(Test.submit(client, tx), (reply) => ({ tx, reply, code: Test.at(reply, "code") })),
  )

describe("the description of a fault", () => {
  const rows: ReadonlyArray<readonly [FaultSpec, string]> = [
    [
      { operation: "any", kind: "html_body", rate: 1, count: 1 },
      "the next answer will be a page of HTML with status 200",
    ],
    [{ operation: "submit", kind: "endless_body", rate: 1 }, "every answer will not end until further notice"],
    [
      { operation: "height", kind: "delay", delayMillis: 200, rate: 0.1, count: 3, durationMillis: 5_000 },
      "height: every answer will come 200 ms late with probability 0.1, 3 times, for 5 s",
    ],
  ]
  it.each(rows)("of %j says what is about to go wrong, and how often", (spec, says) => {
    assert.strictEqual(describeFault(spec), says)
  })
})

describe("several faults on one request", () => {
  it.effect("strike in the order in which they were armed: first late, then refused", () =>
    withSandbox({}, function* (client) {
      yield* armAll(client, { kind: "delay", delayMillis: 2_000 }, { kind: "http_status", status: 503 })
      assert.strictEqual((yield* answerAfter(client, 2_000)).status, 503)
    }),
  )

  it.live("end with the first that ends the request; others remain armed", () =>
    withSandbox({}, function* (client, node) {
      yield* armAll(client, { kind: "drop_before" }, { kind: "html_body" }, { kind: "truncated_body" })
      assert.strictEqual((yield* Effect.flip(Test.request(client, height, { patience: 86_400_000 })))._tag, "NoAnswer")
      assert.deepStrictEqual(yield* hits(client), [0, 0])
      assert.match((yield* Test.request(client, height)).text, /^<html>/)
      assert.deepStrictEqual(yield* hits(client), [0])
      const tx = yield* draft(client, node)
      assert.strictEqual((yield* Effect.flip(Test.submit(client, tx)))._tag, "NoAnswer")
      assert.deepStrictEqual(yield* hits(client), [])
    }),
  )

  it.live("lie about the effect and break the answer", () =>
    withSandbox({}, function* (client, node) {
      yield* armAll(client, { kind: "html_body" }, { operation: "submit", kind: "late_broadcast", blocks: 1 })
      const { tx, reply } = yield* submitted(client, node)
      assert.match(reply.text, /^<html>/)
      yield* Test.step(client)
      assert.deepStrictEqual(yield* executed(node), [])
      yield* Test.step(client)
      assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
    }),
  )

  it.effect("show an old block with a wrong clock", () =>
    withSandbox({}, function* (client) {
      const seen = Effect.map(Test.request(client, "/api/v2/epoch"), (reply) => [
        BigInt(reply.headers.get("x-block-timestamp") ?? ""),
        BigInt(String(Test.at(reply, "epoch.timestamps.startTime"))),
      ])
      const [, then] = yield* seen
      yield* arm(client, { operation: "epoch", kind: "stale_read" })
      yield* TestClock.adjust("1 minute")
      yield* Test.step(client)
      yield* arm(client, { operation: "epoch", kind: "clock_skew", skewMillis: 5 })
      const [headers, body] = yield* seen
      yield* disarm(client)
      const [now] = yield* seen
      assert.deepStrictEqual([headers, body], [now! + 5_000_000n, then! + 5_000_000n])
    }),
  )

  it.live("shuffle a page and promise another one", () =>
    withSandbox({}, function* (client) {
      const path = "/api/v2/network/parameters?pagination.first=20"
      const sound = yield* Test.request(client, path)
      yield* armAll(client, { kind: "reorganised_pages" }, { kind: "cursor_cycle" })
      const spoilt = yield* Test.request(client, path)
      assert.strictEqual(Test.at(sound, "networkParameters.pageInfo.hasNextPage"), false)
      assert.strictEqual(Test.at(spoilt, "networkParameters.pageInfo.hasNextPage"), true)
      assert.notDeepEqual(Test.at(spoilt, "networkParameters.edges"), Test.at(sound, "networkParameters.edges"))
    }),
  )
})
