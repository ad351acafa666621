import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Test from "../support/TestClient.ts"
import { one, usdt, withSandbox } from "../support/TestSandbox.ts"

const arm = (client: Test.TestClient, fault: Readonly<Record<string, unknown>>) =>
  Effect.map(Test.request(client, "/sandbox/faults", { body: JSON.stringify({ count: 1, ...fault }) }), (reply) =>
    assert.strictEqual(reply.status, 200, reply.text),
  )
const draft = (client: Test.TestClient) =>
  Effect.map(Test.head(client), (head) =>
    Test.signed(client, { from: "alice", command: Test.payment(client, "bob", one, { asset: usdt }), ...head }),
  )
const rows = "/api/v2/balance/changes?dateRange.startTimestamp=1600000000000000000&pagination.newestFirst=false"
const height = "/blockchain/height"

/** A fault on a read, and what a client sees of the next answer. */
const reads: ReadonlyArray<
  readonly [string, Record<string, unknown>, string, (reply: Result.Result<Test.Reply, Test.NoAnswer>) => void]
> = [
  [
    "html_body",
    {},
    height,
    (r) => assert.isTrue(Result.isSuccess(r) && r.success.status === 200 && r.success.text.startsWith("<")),
  ],
  ["truncated_body", {}, height, (r) => assert.isTrue(Result.isFailure(r) || r.success.json === undefined)],
  ["wrong_content_length", {}, height, (r) => assert.isTrue(Result.isFailure(r) || r.success.json === undefined)],
  ["endless_body", {}, height, (r) => assert.isTrue(Result.isFailure(r), "it does not end within a second")],
  ["gzip_bomb", {}, height, (r) => assert.isTrue(Result.isFailure(r) || r.success.text.length > 1_000_000)],
  [
    "chain_id_change",
    { chainId: "other-9" },
    height,
    (r) => assert.strictEqual(Result.isSuccess(r) && Test.at(r.success, "chainId"), "other-9"),
  ],
  [
    "changed_pow",
    { difficulty: 9 },
    height,
    (r) => assert.strictEqual(Result.isSuccess(r) && Test.at(r.success, "spamPowDifficulty"), 9),
  ],
]

describe("a fault on an answer", () => {
  for (const [kind, more, path, sees] of reads) {
    it.live(`${kind} is seen once, and then gone`, () =>
      withSandbox({}, (client) =>
        Effect.gen(function* () {
          yield* arm(client, { operation: "any", kind, ...more })
          sees(yield* Effect.result(Test.request(client, path, { patience: 1_000 })))
          const after = yield* Test.head(client)
          assert.strictEqual(after.difficulty, 3)
        }),
      ),
    )
  }

  it.live("old reads show an earlier block, and clocks run askew", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        yield* Test.step(client, 10)
        const seen = (reply: Test.Reply) => Number(reply.headers.get("x-block-height"))
        const now = yield* Test.request(client, rows)
        for (const kind of ["rolled_back_read", "lagging_replica"]) {
          yield* arm(client, { operation: "any", kind, blocks: 3 })
          assert.isBelow(seen(yield* Test.request(client, rows)), seen(now), kind)
        }
        yield* Effect.asVoid(Test.request(client, "/sandbox/faults", { method: "DELETE" }))
        yield* arm(client, { operation: "any", kind: "clock_skew", skewMillis: 3_600_000 })
        const skewed = yield* Test.request(client, rows)
        const time = (reply: Test.Reply) => BigInt(reply.headers.get("x-block-timestamp") ?? "0")
        assert.isAbove(Number(time(skewed) - time(now)), 3_000_000_000_000)
      }),
    ),
  )
})

/** A fault on a submission: what the answer says, and how often the payment executes. */
const writes: ReadonlyArray<readonly [string, Record<string, unknown>, boolean, number]> = [
  ["lying_success", {}, true, 0],
  ["lying_failure", {}, false, 1],
  ["wrong_hash", {}, true, 1],
  ["late_broadcast", { blocks: 2 }, false, 1],
  ["lost_mempool", {}, true, 0],
  ["execution_failure", {}, true, 0],
]

describe("a fault on a submission", () => {
  for (const [kind, more, success, times] of writes) {
    it.live(`${kind} says ${success ? "yes" : "no"}, and the payment executes ${times} times`, () =>
      withSandbox({}, (client, sandbox) =>
        Effect.gen(function* () {
          yield* arm(client, { operation: "submit", kind, ...more })
          const tx = yield* draft(client)
          const reply = yield* Test.submit(client, tx)
          assert.strictEqual(Test.at(reply, "success"), success, reply.text)
          if (kind === "wrong_hash") assert.notStrictEqual(String(Test.at(reply, "txHash")).toLowerCase(), tx.hash)
          for (let i = 0; i < 5; i++) yield* sandbox.stepBlock
          const done = (yield* sandbox.ledger.executed).filter((entry) => entry.code === 0)
          assert.strictEqual(done.length, times)
          assert.strictEqual(yield* sandbox.ledger.balance("bob", "USDT"), (50n + BigInt(times)) * one)
          if (kind === "execution_failure") assert.notDeepEqual(yield* sandbox.ledger.executed, [])
        }),
      ),
    )
  }
})

describe("a payment that is delivered twice", () => {
  it.live("executes once, and the client gets the answer to the second", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.gen(function* () {
        yield* arm(client, { operation: "submit", kind: "duplicate_delivery" })
        const reply = yield* Test.submit(client, yield* draft(client))
        assert.deepStrictEqual([reply.status, Test.at(reply, "details.0.message")], [500, "tx already exists in cache"])
        for (let i = 0; i < 5; i++) yield* sandbox.stepBlock
        assert.strictEqual((yield* sandbox.ledger.executed).length, 1)
      }),
    ),
  )
})

describe("a fault on pages", () => {
  for (const kind of ["reorganised_pages", "cursor_cycle"]) {
    it.live(`${kind} changes what a walk over the listing finds`, () =>
      withSandbox({}, (client) =>
        Effect.gen(function* () {
          yield* Test.step(client, 3)
          const path = (after: string) =>
            `/api/v2/assets?pagination.first=1&pagination.newestFirst=false${after === "" ? "" : `&pagination.after=${encodeURIComponent(after)}`}`
          const walk = Effect.gen(function* () {
            const ids: Array<unknown> = []
            let after = ""
            for (let i = 0; i < 4; i++) {
              const page = yield* Test.request(client, path(after))
              ids.push(Test.at(page, "assets.edges.0.node.id"), page.headers.get("x-block-height"))
              after = String(Test.at(page, "assets.pageInfo.endCursor"))
              if (Test.at(page, "assets.pageInfo.hasNextPage") !== true) break
            }
            return ids
          })
          const sound = yield* walk
          yield* arm(client, { operation: "any", kind, count: 10 })
          yield* Test.step(client, 2)
          assert.notDeepEqual(yield* walk, sound)
        }),
      ),
    )
  }
})
