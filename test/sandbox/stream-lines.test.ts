import { get } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Scope } from "effect"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, vega, withSandbox } from "../support/TestSandbox.ts"
import { listening, openStream } from "../support/TestStream.ts"

const results = "/api/v2/stream/transaction-results"
const bus = "/api/v2/stream/event/bus"
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

const armed = (client: Test.TestClient, fault: Readonly<Record<string, unknown>>) =>
  Test.request(client, "/sandbox/faults", { body: JSON.stringify({ operation: "stream", ...fault }) })

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
          const [code, said] = yield* (yield* openStream(client, `${results}?status=perhaps`)).ended
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
  const at = [
    { block: 1, amount: "1" },
    { block: 2, amount: "1" },
  ]
  const many = scenarioText({
    parties: ["alice", "bob", "eve", ...parties],
    spenders: parties.map((to) => ({ from: "alice", to, asset: "USDT", at })),
  })

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
  it.live("is lines of JSON without WebSocket, with an empty event bus", () =>
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
    withSandbox({ text: scenarioText({ rateLimit: "on" }) }, (client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const open = openStream(client, results)
          yield* Effect.all(
            Array.from({ length: 250 }, () => open),
            { concurrency: 10 },
          )
          yield* listening(client, 250)
          const [code, said] = yield* (yield* open).ended
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
        const codes = yield* Effect.forEach(open, (stream) => Effect.map(stream.ended, ([code]) => code))
        assert.deepStrictEqual(codes, [broken, broken])
      }),
    ),
  )

  it.live("are not served where the network has three operations", () =>
    withSandbox({ text: scenarioText({ profile: "specification" }) }, (client) =>
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
          assert.deepStrictEqual(yield* (yield* openStream(client, accounts)).ended, [broken, []])
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
