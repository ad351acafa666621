import { createServer } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { SandboxError } from "../../src/sandbox/LedgerFile.ts"
import { it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { spent } from "../support/TestFaults.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"
import { soon } from "../support/until.ts"

const armed = (client: Test.TestClient, fault: Readonly<Record<string, unknown>>) =>
  Test.request(client, "/sandbox/faults", { body: JSON.stringify(fault) })

const draft = (client: Test.TestClient) =>
  Effect.map(Test.head(client), (head) =>
    Test.signed(client, { from: "alice", command: Test.payment(client, "bob", one, { asset: usdt }), ...head }),
  )

describe("a lost answer", () => {
  it.live("remains armed until the network accepts a payment", () =>
    withSandbox({}, function* (client) {
      yield* armed(client, { operation: "submit", kind: "accept_drop_answer", count: 1 })
      const refused = yield* Test.request(client, "/transaction", { body: '{"tx":{}}' })
      assert.strictEqual(Test.at(refused, "code"), 60)
      const left = yield* Test.request(client, "/sandbox/faults")
      assert.strictEqual(Test.at(left, "faults.0.hits"), 0)
      assert.strictEqual((yield* Effect.flip(Test.submit(client, yield* draft(client), 200)))._tag, "NoAnswer")
    }),
  )
})

describe("other faults", () => {
  it.live("hit their operation alone, as often as they say, and can be taken away", () =>
    withSandbox({}, function* (client) {
      yield* armed(client, { operation: "assets", kind: "http_status", status: 503, count: 2 })
      yield* armed(client, { operation: "any", kind: "http_status", status: 500, durationMillis: 86_400_000 })
      const status = (path: string) => Effect.map(Test.request(client, path), (reply) => reply.status)
      assert.deepStrictEqual(
        [
          yield* status("/api/v2/assets"),
          yield* status("/blockchain/height"),
          yield* status("/api/v2/assets"),
          yield* status("/api/v2/assets"),
        ],
        [503, 500, 503, 500],
      )
      const gone = yield* Test.request(client, "/sandbox/faults", { method: "DELETE" })
      assert.strictEqual(gone.text, '{"gone":1}')
      assert.strictEqual(yield* status("/api/v2/assets"), 200)
    }),
  )

  const mistakes: ReadonlyArray<readonly [string, string]> = [
    ["no JSON", "{"],
    ["an unknown kind", '{"operation":"submit","kind":"explode"}'],
    ["an unknown field", '{"operation":"submit","kind":"drop_before","cuont":1}'],
    ["a status that is no fault", '{"operation":"submit","kind":"http_status","status":200}'],
    ["no status", '{"operation":"submit","kind":"http_status"}'],
    ["an operation that it cannot hit", '{"operation":"assets","kind":"chain_id_change","chainId":"other-9"}'],
    ["no length of a delay", '{"operation":"submit","kind":"delay"}'],
  ]
  it.live.each(mistakes)("are refused with %s", ([, body]) =>
    withSandbox({}, function* (client) {
      const reply = yield* Test.request(client, "/sandbox/faults", { body })
      assert.strictEqual(reply.status, 400)
      assert.isString(Test.at(reply, "error"))
      assert.strictEqual(Test.at(yield* Test.request(client, "/sandbox/faults"), "faults.length"), 0)
    }),
  )
})

describe("the scenario", () => {
  it.live("arms its faults at their heights, and says so in the log", function* () {
    const said: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ message }) => {
      said.push(message)
    })
    const faults = [{ block: 3, operation: "submit", kind: "accept_drop_answer", count: 1 }]
    yield* withSandbox({ text: scenarioText({ faults }) }, function* (client) {
      assert.strictEqual(Test.at(yield* Test.submit(client, yield* draft(client)), "success"), true)
      yield* Test.step(client, 2)
      const tx = yield* draft(client)
      assert.strictEqual((yield* Effect.flip(Test.submit(client, tx, 200)))._tag, "NoAnswer")
    }).pipe(Effect.provide(Logger.layer([logger])))
    assert.deepInclude(said, [
      "sandbox fault armed",
      { fault: "the next answer will be lost after the network took the payment" },
    ])
  })
})

describe("the limiter", () => {
  it.effect("lets 100 calls through, then 20 a second; who goes on is banned for ten minutes", () =>
    withSandbox({ text: scenarioText({ rateLimit: "on" }) }, function* (client) {
      const call = Test.request(client, "/blockchain/height")
      const calls = (count: number) =>
        Effect.map(Effect.all(Array.from({ length: count }, () => call)), (all) => all.map((reply) => reply.status))
      const first = yield* call
      assert.strictEqual(first.headers.get("ratelimit-limit"), "20")
      assert.strictEqual(first.headers.get("ratelimit-remaining"), "99")
      assert.isTrue((yield* calls(99)).every((status) => status === 200))
      const over = yield* call
      assert.deepStrictEqual(
        [over.status, over.text],
        [429, '{"code":8,"message":"api request rate limit exceeded","details":[]}'],
      )
      assert.isTrue(over.headers.has("x-block-height"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        [(yield* calls(20)).filter((status) => status === 200).length, (yield* call).status],
        [20, 429],
      )
      yield* calls(99)
      const banned = yield* call
      assert.strictEqual(banned.status, 403)
      assert.strictEqual(banned.headers.get("ratelimit-retry-after"), "600")
      assert.strictEqual((yield* Test.request(client, "/sandbox/ledger")).status, 200)
      yield* TestClock.adjust("599 seconds")
      assert.strictEqual((yield* call).status, 403)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* call).status, 200)
    }),
  )
})

describe("the port", () => {
  /** A port that is taken by this test. */
  const taken = Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer()
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close),
  )

  it.live("that is busy is an error with a remedy, or avoided", function* () {
    const { port } = yield* taken
    const text = scenarioText({ listen: `127.0.0.1:${port}` })
    const error = yield* Effect.flip(withSandbox({ text, portBusy: "error" }, () => Effect.void))
    assert(error instanceof SandboxError && error.isPortBusy === true)
    assert.match(error.message, new RegExp(`port ${port} on 127.0.0.1 is in use; .*port 0`))
    const other = yield* withSandbox({ text, portBusy: "free" }, (client, sandbox) =>
      Effect.map(Test.head(client), () => sandbox.port),
    )
    assert.notStrictEqual(other, port)
  })

  it.live("closes with an answer withheld, at once", function* () {
    const closed = withSandbox({}, function* (client) {
      yield* armed(client, { operation: "height", kind: "accept_drop_answer", count: 1 })
      yield* Effect.forkDetach(Effect.flip(Test.request(client, "/blockchain/height", { patience: 86_400_000 })))
      yield* spent(client)
    })
    yield* soon("the network to close", closed)
  })
})
