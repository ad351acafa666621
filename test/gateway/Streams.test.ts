import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Redacted, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { Streams, type Watched } from "../../src/gateway/Streams.ts"
import { concerns, type StreamKind } from "../../src/gateway/streamHint.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { recordedFrames } from "../support/Recordings.ts"
import { flood, type Opened, passUntil, type StreamServer, startStreams } from "../support/StreamServer.ts"
import { turn } from "../support/until.ts"
import { live, openTransport } from "./GatewayServer.ts"

const alice = "a".repeat(64)
const bob = "b".repeat(64)
const watched: Watched = { senders: [alice], holders: [] }
const ours = JSON.stringify({ result: { transactionResults: [{ partyId: alice, status: true, hash: "" }] } })
const others = JSON.stringify({ result: { transactionResults: [{ partyId: bob, status: true, hash: "" }] } })

/** Listens, and counts the hints. */
const listening = Effect.fnUntraced(function* (
  server: StreamServer,
  keys: Watched = watched,
  options: Parameters<typeof openTransport>[1] = {},
) {
  const hints: Record<StreamKind, number> = { results: 0, balances: 0 }
  const transport = yield* openTransport(server.url, options)
  const hint = (kind: StreamKind) => Effect.sync(() => void hints[kind]++)
  const fiber = yield* Effect.forkScoped(Streams.make([transport]).listen(keys, hint))
  return { hints, fiber, transport }
})

const real = <A, E>(effect: Effect.Effect<A, E, Scope.Scope | HttpClient.HttpClient | Metrics>) =>
  Effect.scoped(effect).pipe(Effect.provide(live))

/** When each stream was asked for, from the first on, in virtual milliseconds. */
const attempts = Effect.fnUntraced(function* (server: StreamServer, count: number) {
  const at: Array<number> = []
  while (at.length < count) {
    yield* passUntil(() => server.asked() > at.length)
    at.push(yield* Clock.currentTimeMillis)
  }
  return at.slice(1).map((millis, i) => millis - at[i]!)
})

describe("messages of streams", () => {
  it("name the party whose results and balances a real network told of", () => {
    const frames = recordedFrames().flatMap(({ stream, frame }) => (frame === undefined ? [] : [{ stream, frame }]))
    const told = (name: string, kind: StreamKind, key: string) =>
      frames
        .filter(({ stream }) => stream === name)
        .map(({ frame }) => concerns(JSON.stringify(frame), kind, new Set([key])))
    const sender = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0"
    assert.deepStrictEqual(told("transaction-results of one party", "results", sender), [true, true])
    assert.deepStrictEqual(told("accounts", "balances", sender), [true, true, true])
    assert.deepStrictEqual(told("accounts", "balances", bob), [false, false, false])
    assert.deepStrictEqual(told("accounts", "results", sender), [false, false, false])
    const both = told("transaction-results", "results", sender)
    assert.isTrue(both.includes(true) && both.includes(false))
  })

  it("are ignored in another form, and reported if they end the stream", () => {
    const keys = new Set([alice])
    const odd = [
      "null",
      "1",
      '"x"',
      "[]",
      "{}",
      '{"result":null}',
      '{"result":[]}',
      '{"result":{"transactionResults":{}}}',
    ]
    const deep = `{"result":{"transactionResults":[${"[".repeat(20_000)}${"]".repeat(20_000)}]}}`
    const rows = [
      "null",
      "7",
      '"x"',
      `{"partyId":["${alice}"]}`,
      `{"partyId":{"a":"${alice}"}}`,
      `{"__proto__":{"partyId":"${alice}"}}`,
    ]
    const inside = rows.map((row) => `{"result":{"transactionResults":[${row}]}}`)
    for (const text of [...odd, deep, ...inside])
      assert.strictEqual(concerns(text, "results", keys), false, text.slice(0, 60))
    assert.match(String(concerns(new Uint8Array(3), "results", keys)), /no text/)
    assert.match(String(concerns("<html>\u001b[2J", "results", keys)), /^a message that is no JSON: <html>\\u\{1b\}/)
    const said = concerns('{"error":{"code":8,"message":"too many\\u202e"}}', "results", keys)
    assert.strictEqual(said, "the gateway ends it: too many\\u{202e}")
    assert.strictEqual(concerns('{"error":7}', "results", keys), "the gateway ends it: no reason given")
    assert.isBelow(String(concerns("x".repeat(1_000_000), "results", keys)).length, 300)
  })
})

const close = ({ socket }: Opened) => socket.close(1001, "going away")
const cut = ({ wire }: Opened) => void wire.destroy()
const half = ({ wire }: Opened) => void wire.write(Buffer.from([0x81, 126, 1, 0, 0x7b]), () => wire.destroy())
const nonsense = ({ wire }: Opened) => void wire.write(Buffer.from([0xff, 0xff, 0xff, 0xff]))
const long = ({ socket }: Opened) => socket.send("x".repeat(65_537))
const binary = ({ socket }: Opened) => socket.send(Buffer.from(ours))
const noJson = ({ socket }: Opened) => socket.send("<html>")
const failed = ({ socket }: Opened) => socket.send('{"error":{"code":13,"message":"channel closed"}}')
const endings = { close, cut, half, nonsense, long, binary, noJson, failed }

describe("streams of a gateway", () => {
  it.effect("are asked for by key, with the credentials of the gateway", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        const keys = { senders: [alice, bob], holders: [bob, alice] }
        const headers = { Authorization: Redacted.make("Bearer secret") }
        const { hints } = yield* listening({ ...server, url: `${server.url}/base/` }, keys, { headers })
        yield* passUntil(() => server.opened.length === 3 && hints.results + hints.balances === 3)
        assert.sameMembers(
          server.opened.map(({ url }) => url.pathname + url.search),
          [
            `/base/api/v2/stream/transaction-results?partyIds=${alice}&partyIds=${bob}`,
            `/base/api/v2/stream/accounts?partyId=${bob}`,
            `/base/api/v2/stream/accounts?partyId=${alice}`,
          ],
        )
        assert.isTrue(server.opened.every(({ headers }) => headers["authorization"] === "Bearer secret"))
        assert.isTrue(server.opened.every(({ headers }) => headers["sec-websocket-extensions"] === undefined))
        for (const { socket } of server.opened) socket.send(ours)
        yield* passUntil(() => hints.results === 2)
        assert.strictEqual(hints.balances, 2, "a result is no balance")
      }),
    ),
  )

  it.effect("hint once when they open, then at what concerns us alone", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        const { hints } = yield* listening(server)
        yield* passUntil(() => hints.results === 1)
        const { socket } = server.opened[0]!
        for (let i = 0; i < 50; i++) socket.send(others)
        socket.send(ours)
        yield* passUntil(() => hints.results === 2)
        assert.strictEqual(server.asked(), 1)
      }),
    ),
  )

  for (const [name, end] of Object.entries(endings)) {
    it.effect(`are opened again, later each time, after ${name}`, () =>
      real(
        Effect.gen(function* () {
          const server = yield* startStreams()
          server.onOpen = end
          const { fiber } = yield* listening(server)
          const waits = yield* attempts(server, 8)
          for (const [i, least] of [800, 1_600, 3_200, 6_400, 12_800, 25_600, 48_000].entries()) {
            assert.isAtLeast(waits[i]!, least, `${name}, attempt ${i + 2}`)
          }
          assert.isBelow(waits[6]!, 80_000)
          assert.isUndefined(fiber.pollUnsafe(), "it goes on")
        }),
      ),
    )
  }

  it.effect("are left alone for as long as a gateway that refuses them wants it", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        server.refusal = 404
        yield* listening(server)
        const [first = 0] = yield* attempts(server, 2)
        assert.isTrue(first >= 800 && first < 5_000, `${first} ms after 404`)
        server.refusal = 429
        const asked = server.asked()
        yield* passUntil(() => server.asked() > asked)
        server.refusal = 403
        const limited = yield* Clock.currentTimeMillis
        yield* passUntil(() => server.asked() > asked + 1)
        assert.isAtLeast((yield* Clock.currentTimeMillis) - limited, 47_000)
        const banned = yield* Clock.currentTimeMillis
        yield* passUntil(() => server.asked() > asked + 2)
        assert.isAtLeast((yield* Clock.currentTimeMillis) - banned, 470_000)
      }),
    ),
  )

  it.effect("are not asked for while the gateway shuts us out", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        server.status = 403
        const transport = yield* openTransport(server.url)
        yield* Effect.flip(GatewayReader.make(transport).assets({}))
        yield* Effect.forkScoped(Streams.make([transport]).listen(watched, () => Effect.void))
        for (let i = 0; i < 400; i++) yield* Effect.andThen(TestClock.adjust("1 second"), turn)
        assert.strictEqual(server.asked(), 0)
        yield* passUntil(() => server.asked() > 0)
        assert.isAtLeast(yield* Clock.currentTimeMillis, 480_000)
      }),
    ),
  )

  it.effect("are reopened without end after five minutes of silence", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        yield* listening(server)
        for (const wait of yield* attempts(server, 4)) {
          assert.isTrue(wait >= 300_800 && wait < 310_000, `${wait} ms`)
        }
        assert.isTrue(
          server.opened.slice(0, 3).every(({ wire }) => wire.destroyed),
          "the silent ones are closed",
        )
      }),
    ),
  )

  it.effect("answer a ping, but not one who asks without listening", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        const { hints } = yield* listening(server)
        yield* passUntil(() => hints.results === 1)
        const { socket } = server.opened[0]!
        let pongs = 0
        socket.on("pong", () => pongs++)
        socket.ping("a")
        yield* passUntil(() => pongs === 1)
        assert.strictEqual(pongs, 1)
      }),
    ),
  )

  it.effect("are read no faster than the machine can bear, and cost no memory", () =>
    real(
      Effect.gen(function* () {
        const server = yield* startStreams()
        const before = process.memoryUsage().rss
        server.onOpen = (opened) => flood(opened, others)
        const { hints } = yield* listening(server)
        yield* passUntil(() => hints.results === 1)
        const reads = () => server.opened[0]!.wire.bytesWritten
        for (let i = 0; i < 500; i++) yield* turn
        const still = reads()
        for (let i = 0; i < 200; i++) yield* turn
        assert.isBelow(reads() - still, 1_000_000, "without time passing it stops to read")
        yield* Effect.repeat(Effect.andThen(TestClock.adjust("100 millis"), turn), { times: 300 })
        assert.isAbove(reads(), still, "with time it goes on")
        assert.isBelow(process.memoryUsage().rss - before, 64 * 1024 * 1024)
      }),
    ),
  )
})
