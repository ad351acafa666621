import { get } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { behindMax } from "../../src/sandbox/Bus.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, vega, withSandbox } from "../support/TestSandbox.ts"
import { listening, openStream, type TestStream } from "../support/TestStream.ts"

const results = "/api/v2/stream/transaction-results"
const bus = "/api/v2/stream/event/bus"
const coreBus = "/stream/event/bus"
const accounts = "/api/v2/stream/accounts"

/** Without a closing handshake. */
const broken = 1006

const pay = (client: Test.TestClient, from: string, to: string, amount = one) =>
  Effect.gen(function* () {
    const command = Test.payment(client, to, amount, { asset: usdt })
    const tx = Test.signed(client, { from, command, ...(yield* Test.head(client)) })
    yield* Test.submit(client, tx)
    return tx
  })

const text = (value: unknown): string => JSON.stringify(value)
const count = (value: unknown, part: string): number => text(value).split(part).length - 1

/** The bus as one asks for it. */
const busOf = Effect.fnUntraced(function* (client: Test.TestClient, wish: unknown, path = bus) {
  const stream = yield* openStream(client, path)
  yield* stream.send(wish)
  return stream
})

const ended = (stream: TestStream) => Effect.all([stream.ended, stream.rest])

const armed = (client: Test.TestClient, fault: Readonly<Record<string, unknown>>) =>
  Test.request(client, "/sandbox/faults", { body: JSON.stringify({ operation: "stream", ...fault }) })

describe("the event bus", () => {
  it.effect("ends without a word where the first message does not come within five seconds", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const silent = yield* openStream(client, bus)
          const core = yield* openStream(client, coreBus)
          yield* TestClock.adjust("4999 millis")
          const late = yield* openStream(client, bus)
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(yield* ended(silent), [broken, []])
          assert.deepStrictEqual(yield* ended(core), [broken, []])
          yield* late.send({ type: [50] })
          yield* listening(client, 1)
          yield* Test.step(client)
          assert.strictEqual(count(yield* late.take(1), "endBlock"), 1)
        }),
      ),
    ),
  )

  it.live("ends without a word where the first message cannot be read, and says which kinds there are not", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          for (const wish of ["{", "[]", '{"type":40}', { type: ["TRANSFER"] }, { partyId: 1 }, { batchSize: "x" }]) {
            assert.deepStrictEqual(yield* ended(yield* busOf(client, wish)), [broken, []], text(wish))
          }
          const [code, said] = yield* ended(yield* busOf(client, { type: [40, 0] }))
          assert.strictEqual(code, broken)
          assert.deepStrictEqual(said, [
            {
              error: {
                code: 3,
                message: "InvalidArgument error",
                details: [
                  {
                    "@type": "type.googleapis.com/vega.ErrorDetail",
                    code: 10_015,
                    message: "malformed request",
                    inner: "invalid proto event type",
                  },
                ],
              },
            },
          ])
        }),
      ),
    ),
  )

  it.live("tells each what was asked for: kinds by number or name, a party, everything", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.scoped(
        Effect.gen(function* () {
          const partyId = sandbox.publicKey("bob")
          const byNumber = yield* busOf(client, { type: [40] })
          const byName = yield* busOf(client, { type: ["BUS_EVENT_TYPE_TRANSFER", "BUS_EVENT_TYPE_ORDER"] })
          const ofBob = yield* busOf(client, { party_id: partyId })
          const all = yield* busOf(client, { type: ["BUS_EVENT_TYPE_ALL"] }, coreBus)
          const ofMarket = yield* busOf(client, { marketId: usdt })
          yield* listening(client, 5)
          const tx = yield* pay(client, "alice", "bob")
          yield* Test.step(client)
          const [transfer] = yield* byNumber.take(1)
          assert.deepStrictEqual(yield* byName.take(1), [transfer])
          assert.strictEqual(count(transfer, '"type":40'), 1)
          const [bobs] = yield* ofBob.take(1)
          assert.deepStrictEqual(
            [...text(bobs).matchAll(/"id":"2-(\d+)"/g)].map(([, seq]) => seq),
            ["6", "9", "11"],
          )
          const [whole] = yield* all.take(1)
          assert.strictEqual(count(whole, '"id":"2-'), 13)
          assert.strictEqual(count(whole, tx.hash.toUpperCase()), 10)
          for (const key of ["beginBlock", "timeUpdate", "ledgerMovements", "transferFees", "endBlock"]) {
            assert.isAbove(count(whole, `"${key}":`), 0, key)
          }
          assert.deepStrictEqual(yield* ofMarket.rest, [])
        }),
      ),
    ),
  )

  it.effect("with a batch size sends just so many, then waits five seconds for an answer", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const ids = (messages: ReadonlyArray<unknown>) => text(messages).match(/\d+-\d+/g)
          const stream = yield* busOf(client, { type: [49, 50], batchSize: "3" })
          yield* listening(client, 1)
          yield* Test.step(client)
          yield* Test.step(client)
          assert.deepStrictEqual(ids(yield* stream.take(1)), ["2-1", "2-3", "3-1"])
          yield* Test.step(client)
          yield* TestClock.adjust("4 seconds")
          yield* stream.send({ batchSize: 2 })
          assert.deepStrictEqual(ids(yield* stream.take(1)), ["3-3", "4-1"])
          yield* TestClock.adjust("5 seconds")
          const [code, said] = yield* ended(stream)
          assert.strictEqual(code, broken)
          assert.deepStrictEqual(said, [{ error: { code: 4, message: "context deadline exceeded", details: [] } }])
        }),
      ),
    ),
  )

  it.effect("drops a reader that falls behind, and tells it so", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const slow = yield* busOf(client, { type: [49], batchSize: 1 })
          const quick = yield* busOf(client, { type: [49] })
          yield* listening(client, 2)
          yield* Test.step(client, 1)
          yield* slow.take(1)
          for (let n = 0; n < behindMax; n++) yield* Test.step(client)
          yield* listening(client, 2)
          yield* Test.step(client)
          const [code, said] = yield* ended(slow)
          assert.strictEqual(code, broken)
          assert.strictEqual(count(said, '"code":10002,"message":"channel closed"'), 1)
          assert.strictEqual((yield* quick.take(behindMax + 2)).length, behindMax + 2)
          yield* listening(client, 1)
        }),
      ),
    ),
  )
})

describe("transaction results", () => {
  it.live("are told by sender, by exact hash and by outcome", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.scoped(
        Effect.gen(function* () {
          const first = yield* pay(client, "alice", "bob")
          const second = yield* pay(client, "bob", "eve")
          yield* Test.request(client, "/sandbox/faults", {
            body: '{"operation":"submit","kind":"execution_failure","count":1}',
          })
          const failing = yield* pay(client, "bob", "alice")
          const [alice, eve] = [sandbox.publicKey("alice"), sandbox.publicKey("eve")]
          const ofBoth = yield* openStream(client, `${results}?partyIds=${alice}&partyIds=${eve}`)
          const byHash = yield* openStream(client, `${results}?hashes=${second.hash}&hashes=${failing.hash}`)
          const upper = yield* openStream(client, `${results}?hashes=${first.hash.toUpperCase()}`)
          const failed = yield* openStream(client, `${results}?status=false`)
          const done = yield* openStream(client, `${results}?status=true`)
          yield* listening(client, 5)
          yield* Test.step(client)
          const hashes = (messages: ReadonlyArray<unknown>) =>
            text(messages)
              .match(/"hash":"[^"]+/g)
              ?.map((m) => m.slice(8))
          assert.deepStrictEqual(hashes(yield* ofBoth.take(1)), [first.hash])
          assert.deepStrictEqual(hashes(yield* byHash.take(1)), [second.hash, failing.hash])
          assert.deepStrictEqual(hashes(yield* failed.take(1)), [failing.hash])
          assert.deepStrictEqual(hashes(yield* done.take(1)), [first.hash, second.hash])
          assert.deepStrictEqual(yield* upper.rest, [])
          const [code, said] = yield* ended(yield* openStream(client, `${results}?status=perhaps`))
          assert.strictEqual(code, broken)
          assert.strictEqual(count(said, 'parsing field \\"status\\"'), 1)
        }),
      ),
    ),
  )

  it.live("reach every reader, whoever leaves", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const stays = yield* openStream(client, results)
          const leaves = yield* openStream(client, results)
          yield* listening(client, 2)
          yield* pay(client, "alice", "bob")
          yield* Test.step(client)
          assert.deepStrictEqual(yield* stays.take(1), yield* leaves.take(1))
          yield* leaves.close
          yield* listening(client, 1)
          const tx = yield* pay(client, "alice", "bob")
          yield* Test.step(client)
          assert.strictEqual(count(yield* stays.take(1), tx.hash), 1)
        }),
      ),
    ),
  )
})

describe("accounts", () => {
  const parties = Array.from({ length: 60 }, (_, n) => `p${n}`)
  const many = scenarioText(
    `  spenders:\n${parties.map((to) => `    - { from: alice, to: ${to}, asset: USDT, at: [{ block: 1, amount: "1" }, { block: 2, amount: "1" }] }\n`).join("")}`,
    { parties: `[alice, bob, eve, ${parties.join(", ")}]` },
  )

  it.live("come in pages of fifty, first what they hold and then what changes", () =>
    withSandbox({ text: many }, (client, sandbox) =>
      Effect.scoped(
        Effect.gen(function* () {
          const all = yield* openStream(client, `${accounts}?type=ACCOUNT_TYPE_GENERAL&asset=${usdt}`)
          const nobody = yield* openStream(client, `${accounts}?partyId=${"0".repeat(64)}`)
          const other = yield* openStream(client, `${accounts}?partyId=${sandbox.publicKey("p1")}&asset=${vega}&type=4`)
          const fees = yield* openStream(client, `${accounts}?partyId=network&type=5&asset=${usdt}`)
          const [first, second] = yield* all.take(2)
          assert.deepStrictEqual([count(first, '"owner"'), count(first, "lastPage")], [50, 0])
          assert.deepStrictEqual([count(second, '"owner"'), count(second, '"lastPage":true')], [12, 1])
          const empty = [{ result: { snapshot: { lastPage: true } } }]
          assert.deepStrictEqual(yield* nobody.take(1), empty)
          assert.deepStrictEqual(yield* other.take(1), empty)
          assert.strictEqual(count(yield* fees.take(1), '"balance":"0"'), 1)
          yield* pay(client, "bob", "eve")
          yield* Test.step(client)
          const [changed, more] = yield* all.take(2)
          assert.deepStrictEqual([count(changed, '"owner"'), count(more, '"owner"')], [50, 13])
          assert.strictEqual(count(yield* fees.take(1), '"balance":"1000"'), 1)
          assert.deepStrictEqual([...(yield* nobody.rest), ...(yield* other.rest)], [])
        }),
      ),
    ),
  )
})

/** A GET without upgrade: what came until `lines` lines were there, or the connection ended. */
const readLines = (client: Test.TestClient, path: string, lines: number) =>
  Effect.callback<{ readonly type: string | undefined; readonly text: string }>((resume) => {
    const request = get(client.url + path, (response) => {
      let text = ""
      const end = () => resume(Effect.succeed({ type: response.headers["content-type"], text }))
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString()
        if (text.split("\n").length > lines) {
          end()
          request.destroy()
        }
      })
      response.on("error", end)
      response.on("close", end)
    })
    return Effect.sync(() => request.destroy())
  })

describe("a stream", () => {
  it.live("is lines of JSON where it is asked for without WebSocket; the event bus is empty then", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const reading = yield* Effect.forkChild(readLines(client, `${accounts}?type=4`, 2))
        yield* listening(client, 1)
        yield* pay(client, "alice", "bob")
        yield* Test.step(client)
        const { type, text } = yield* Fiber.join(reading)
        assert.strictEqual(type, "application/json")
        assert.deepStrictEqual(
          text
            .trim()
            .split("\n")
            .map((line) => Object.keys(JSON.parse(line).result)),
          [["snapshot"], ["updates"]],
        )
        yield* listening(client, 0)
        const refused = yield* Test.request(client, `${results}?status=perhaps`)
        assert.deepStrictEqual([refused.status, Test.at(refused, "code")], [400, 3])
        const silent = yield* Test.request(client, bus)
        assert.deepStrictEqual([silent.status, silent.text], [200, ""])
      }),
    ),
  )
})

describe("streams", () => {
  it.live("are at most 250 from one address, and no limiter counts them", () =>
    withSandbox({ text: scenarioText("", { rateLimit: "on" }) }, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const open = openStream(client, results)
          yield* Effect.all(
            Array.from({ length: 250 }, () => open),
            { concurrency: 10 },
          )
          yield* listening(client, 250)
          const [code, said] = yield* ended(yield* open)
          assert.strictEqual(code, broken)
          const message = "client reached max subscription allowed"
          assert.deepStrictEqual(said, [{ error: { code: 8, message, details: [] } }])
        }),
      ).pipe(Effect.andThen(listening(client, 0))),
    ),
  )

  it.live("end when the network stops", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const outside = yield* Effect.scope
        const open = yield* withSandbox({}, (client) =>
          Effect.gen(function* () {
            const all = [yield* openStream(client, results), yield* openStream(client, accounts)]
            yield* listening(client, 2)
            return all
          }).pipe(Scope.provide(outside)),
        )
        const codes = yield* Effect.forEach(open, (stream) => stream.ended)
        assert.deepStrictEqual(codes, [broken, broken])
      }),
    ),
  )

  it.live("are not served where the network has three operations", () =>
    withSandbox({ text: scenarioText("", { profile: "specification" }) }, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          assert.strictEqual((yield* Effect.flip(openStream(client, results)))._tag, "NoAnswer")
          assert.strictEqual((yield* Test.request(client, results)).status, 404)
        }),
      ),
    ),
  )

  it.live("are refused, delayed and cut off by faults", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          for (const fault of [{ kind: "drop_before" }, { kind: "http_status", status: 503 }]) {
            yield* armed(client, { ...fault, count: 1 })
            assert.strictEqual((yield* Effect.flip(openStream(client, results)))._tag, "NoAnswer")
          }
          yield* armed(client, { kind: "delay", delayMillis: 1, count: 1 })
          yield* openStream(client, results)
          yield* armed(client, { kind: "truncated_body", count: 2 })
          assert.deepStrictEqual(yield* ended(yield* openStream(client, accounts)), [broken, []])
          const { text } = yield* readLines(client, accounts, 1)
          assert.strictEqual(text.indexOf('{"result":{"snapshot":{"accounts":[{'), 0)
          assert.strictEqual(text.includes("lastPage"), false)
          const unfit = yield* armed(client, { kind: "stale_read" })
          assert.strictEqual(unfit.status, 400)
          yield* armed(client, { operation: "any", kind: "gzip_bomb" })
          yield* openStream(client, results)
          yield* listening(client, 2)
        }),
      ),
    ),
  )
})
