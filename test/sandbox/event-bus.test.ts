import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { behindMax } from "../../src/sandbox/Bus.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"
import { listening, openStream } from "../support/TestStream.ts"
import { waitUntil } from "../support/until.ts"

const bus = "/api/v2/stream/event/bus"
const coreBus = "/stream/event/bus"

/** Without a closing handshake. */
const broken = 1006

const text = (value: unknown): string => JSON.stringify(value)
const count = (value: unknown, part: string): number => text(value).split(part).length - 1

/** The bus as one asks for it. */
const busOf = Effect.fnUntraced(function* (client: Test.TestClient, wish: unknown, path = bus) {
  const stream = yield* openStream(client, path)
  yield* stream.send(wish)
  return stream
})

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
          assert.deepStrictEqual(yield* silent.ended, [broken, []])
          assert.deepStrictEqual(yield* core.ended, [broken, []])
          yield* late.send({ type: [50] })
          yield* listening(client, 1)
          yield* Test.step(client)
          assert.strictEqual(count(yield* late.take(1), "endBlock"), 1)
        }),
      ),
    ),
  )

  it.live("ends silently after an unreadable first message, and lists its kinds", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          for (const wish of ["{", "[]", '{"type":40}', { type: ["TRANSFER"] }, { partyId: 1 }, { batchSize: "x" }]) {
            assert.deepStrictEqual(yield* (yield* busOf(client, wish)).ended, [broken, []], text(wish))
          }
          const [code, said] = yield* (yield* busOf(client, { type: [40, 0] })).ended
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
          const command = Test.payment(client, "bob", one, { asset: usdt })
          const tx = Test.signed(client, { from: "alice", command, ...(yield* Test.head(client)) })
          yield* Test.submit(client, tx)
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

  it.effect("with a batch size sends one batch and waits five seconds", () =>
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
          const [code, said] = yield* stream.ended
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
          const [code, said] = yield* slow.ended
          assert.strictEqual(code, broken)
          assert.strictEqual(count(said, '"code":10002,"message":"channel closed"'), 1)
          assert.strictEqual((yield* quick.take(behindMax + 2)).length, behindMax + 2)
          yield* listening(client, 1)
        }),
      ),
    ),
  )
})

/** Asks for a stream and reads nothing of what comes, until `resume`. */
const deafReader = (client: Test.TestClient, path: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { hostname, port, host } = new URL(client.url)
      const socket = connect(Number(port), hostname)
      const key = "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\n${key}\r\n\r\n`)
      return socket.pause()
    }),
    (socket) => Effect.sync(() => socket.destroy()),
  ).pipe(
    Effect.map((socket) => ({
      resume: Effect.callback<string>((resume) => {
        let tail = ""
        socket.on("data", (bytes) => {
          tail = (tail + bytes.toString()).slice(-200)
        })
        socket.on("close", () => resume(Effect.succeed(tail)))
        socket.resume()
      }),
    })),
  )

describe("a reader", () => {
  it.live("hears every block, however fast they are made", () =>
    withSandbox({}, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const stream = yield* busOf(client, { type: [50] })
          yield* listening(client, 1)
          yield* Test.step(client, 3 * behindMax)
          const heard = text(yield* stream.take(3 * behindMax)).match(/"height":"\d+"/g)
          assert.deepStrictEqual(
            heard,
            Array.from({ length: 3 * behindMax }, (_, n) => `"height":"${n + 2}"`),
          )
        }),
      ),
    ),
  )

  const parties = Array.from({ length: 100 }, (_, n) => `p${n}`)
  const spenders = parties.map((to) => ({
    ...{ from: "alice", to, asset: "USDT", at: [{ block: 1, amount: "1" }] },
    every: { blocks: 1, amount: "0.000001" },
  }))
  const busy = scenarioText({ parties: ["alice", "bob", "eve", ...parties], spenders })

  // In virtual time: the second that the network waits for a reader does not pass while this machine is busy.
  it.effect("that does not read is dropped, and sees the reason", () =>
    withSandbox({ text: busy }, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const deaf = yield* deafReader(client, "/api/v2/stream/ledger/movements")
          yield* listening(client, 1)
          const dropped = Effect.map(
            Test.request(client, "/sandbox/ledger"),
            (reply) => Test.at(reply, "streams") === 0,
          )
          yield* waitUntil("the end of the stream", Effect.andThen(Test.step(client, 20), dropped))
          assert.isAbove((yield* Test.head(client)).height, behindMax)
          assert.strictEqual(count(yield* deaf.resume, "channel closed"), 1)
        }),
      ),
    ),
  )
})
