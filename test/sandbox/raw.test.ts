import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import * as Test from "../support/TestClient.ts"
import { one, usdt, withSandbox } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

/** A payment of alice to bob on the newest block, spoilt by `change`. */
const draftOf = (client: Test.TestClient, change: Partial<Test.Draft> = {}) =>
  Effect.map(Test.head(client), (head) =>
    Test.signed(client, {
      from: "alice",
      command: Test.payment(client, "bob", one, { asset: usdt }),
      ...head,
      ...change,
    }),
  )

const post = (client: Test.TestClient, path: string, body: unknown) =>
  Test.request(client, path, { body: JSON.stringify(body) })
const submitRaw = (client: Test.TestClient, tx: Test.Signed, type?: unknown) =>
  post(client, "/transaction/raw", { tx: tx.raw, ...(type === undefined ? {} : { type }) })

const answerOf = (tx: Test.Signed, code = 0, text = "", height = 0) =>
  `{"success":true,"txHash":"${tx.hash.toUpperCase()}","code":${code},"data":"` +
  `${Buffer.from(text).toString("hex").toUpperCase()}","log":"","height":"${height}"}`

const hashes = (sandbox: Sandbox["Service"]) =>
  Effect.map(sandbox.ledger.executed, (all) => all.map((entry) => entry.hash))
const waiting = (client: Test.TestClient) =>
  Effect.map(Test.request(client, "/sandbox/ledger"), (reply) => Test.at(reply, "mempool") as ReadonlyArray<string>)
const weak = "failed to verify proof of work"

describe("a raw submission", () => {
  it.live("that waits for the check returns its code with success and hex", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.gen(function* () {
        const good = yield* draftOf(client)
        const bad = yield* draftOf(client, { zeros: 1 })
        assert.strictEqual((yield* submitRaw(client, good, "TYPE_SYNC")).text, answerOf(good))
        assert.strictEqual((yield* submitRaw(client, bad, "TYPE_SYNC")).text, answerOf(bad, 89, weak))
        yield* Test.step(client)
        assert.deepStrictEqual(yield* hashes(sandbox), [good.hash])
      }),
    ),
  )

  it.live("that does not wait says nothing of the check", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.gen(function* () {
        const good = yield* draftOf(client)
        const bad = yield* draftOf(client, { zeros: 1 })
        assert.strictEqual((yield* submitRaw(client, good, "TYPE_ASYNC")).text, answerOf(good))
        assert.strictEqual((yield* submitRaw(client, bad, "TYPE_ASYNC")).text, answerOf(bad))
        assert.deepStrictEqual(yield* waiting(client), [good.hash])
        yield* Test.step(client)
        assert.deepStrictEqual(yield* hashes(sandbox), [good.hash])
      }),
    ),
  )

  it.live("that waits for its block returns its height, also on failure", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.gen(function* () {
        const all = Test.payment(client, "bob", 990n * one, { asset: usdt })
        const first = yield* draftOf(client, { command: all })
        const second = yield* draftOf(client, { command: all })
        yield* submitRaw(client, first, "TYPE_SYNC")
        const answer = yield* Effect.forkChild(submitRaw(client, second, "TYPE_COMMIT"))
        yield* waitUntil(
          "both in the mempool",
          Effect.map(waiting(client), ({ length }) => length === 2),
        )
        yield* Test.step(client)
        assert.strictEqual((yield* Fiber.join(answer)).text, answerOf(second, 0, "", 2))
        assert.deepStrictEqual(
          (yield* sandbox.ledger.executed).map(({ code }) => code),
          [0, 70],
        )
      }),
    ),
  )

  it.live("that would wait for its block and is refused shows neither code nor height", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const bad = yield* draftOf(client, { zeros: 1 })
        assert.strictEqual((yield* submitRaw(client, bad, "TYPE_COMMIT")).text, answerOf(bad))
        assert.deepStrictEqual(yield* waiting(client), [])
      }),
    ),
  )

  it.effect("waits ten seconds for its block, which may come later all the same", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.gen(function* () {
        const tx = yield* draftOf(client)
        const answer = yield* Effect.forkChild(submitRaw(client, tx, "TYPE_COMMIT"))
        yield* waitUntil(
          "it in the mempool",
          Effect.map(waiting(client), ({ length }) => length === 1),
        )
        yield* TestClock.adjust("9999 millis")
        assert.isUndefined(answer.pollUnsafe())
        const isAnswered = Effect.sync(() => answer.pollUnsafe() !== undefined)
        yield* waitUntil("an answer", Effect.andThen(TestClock.adjust("1 second"), isAnswered))
        const late = yield* Fiber.join(answer)
        assert.deepStrictEqual(
          [late.status, Test.at(late, "details.0.message")],
          [500, "timed out waiting for tx to be included in a block"],
        )
        yield* Test.step(client)
        assert.deepStrictEqual(yield* hashes(sandbox), [tx.hash])
      }),
    ),
  )

  it.live("needs a type, by name or by number, and does nothing without one", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        for (const type of [undefined, null, "TYPE_UNSPECIFIED", 0, 9]) {
          const reply = yield* submitRaw(client, yield* draftOf(client), type)
          assert.deepStrictEqual(
            [reply.status, Test.at(reply, "code"), Test.at(reply, "details.0.message")],
            [400, 3, "Invalid TX Type"],
            String(type),
          )
        }
        assert.deepStrictEqual(yield* waiting(client), [])
        const tx = yield* draftOf(client)
        assert.strictEqual((yield* submitRaw(client, tx, 2)).text, answerOf(tx))
      }),
    ),
  )

  it.live("of bytes that came as JSON before is known already", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const tx = yield* draftOf(client)
        yield* Test.submit(client, tx)
        const again = yield* submitRaw(client, tx, "TYPE_SYNC")
        assert.deepStrictEqual([again.status, Test.at(again, "details.0.message")], [500, "tx already exists in cache"])
      }),
    ),
  )

  const empty = { tx: "", type: "TYPE_SYNC" }
  const nothing = Buffer.from("tx.version (is required)").toString("hex").toUpperCase()
  const bodies: ReadonlyArray<readonly [string, string, number, string]> = [
    ["nothing", "", 400, "Invalid TX Type"],
    ["half a value", '{"tx":', 400, "unexpected EOF"],
    ["an array", "[]", 400, "json: cannot unmarshal value into Go value of type map[string]json.RawMessage"],
    ["bytes without padding", '{"tx":"AA","type":"TYPE_SYNC"}', 400, "illegal base64 data at input byte 0"],
    ["bytes of another alphabet", '{"tx":"AAA-","type":"TYPE_SYNC"}', 400, "illegal base64 data at input byte 3"],
    ["a number for bytes", '{"tx":7,"type":2}', 400, "json: cannot unmarshal value into Go value of type []uint8"],
    [
      "a type that is none",
      '{"tx":"","type":"SYNC"}',
      400,
      'unknown value "SYNC" for enum vega.api.v1.SubmitRawTransactionRequest.Type',
    ],
    ["bytes that are no transaction", JSON.stringify(empty), 200, nothing],
    ["no bytes at all", '{"type":"TYPE_SYNC","more":[1]} behind it', 200, nothing],
  ]
  it.live.each(bodies)("with %s is answered as a gateway does", ([, body, status, text]) =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const reply = yield* Test.request(client, "/transaction/raw", { method: "POST", body })
        const said = Test.at(reply, "details.0.message") ?? Test.at(reply, "message") ?? Test.at(reply, "data")
        assert.deepStrictEqual([reply.status, said], [status, text])
      }),
    ),
  )
})

describe.each([
  ["/transaction/check", (tx: Test.Signed): unknown => JSON.parse(tx.body)],
  ["/transaction/raw/check", (tx: Test.Signed): unknown => ({ tx: tx.raw })],
] as const)("POST %s", (path, bodyOf) => {
  const verdict = (code: number, text: string, info = "") =>
    `{"success":${code === 0},"code":${code},"gasWanted":"${code === 0 ? 1 : 0}","gasUsed":"0",` +
    `"data":"${text}","log":"","info":"${info}"}`

  it.live("submits nothing, and burns the id of the work until the next block", () =>
    withSandbox({}, (client, sandbox) =>
      Effect.gen(function* () {
        const tx = yield* draftOf(client)
        const seen = "proof of work tid already seen by the node"
        assert.strictEqual((yield* post(client, path, bodyOf(tx))).text, verdict(0, ""))
        assert.deepStrictEqual(yield* waiting(client), [])
        assert.strictEqual((yield* post(client, path, bodyOf(tx))).text, verdict(89, seen))
        const early = yield* Test.submit(client, tx)
        assert.deepStrictEqual([Test.at(early, "code"), Test.at(early, "data")], [89, seen])
        yield* Test.step(client)
        assert.strictEqual(Test.at(yield* Test.submit(client, tx), "code"), 0)
        yield* Test.step(client)
        assert.deepStrictEqual(yield* hashes(sandbox), [tx.hash])
      }),
    ),
  )

  it.live("returns a submission's result as information, and burns nothing at code 60", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const poor = yield* draftOf(client, { command: Test.payment(client, "bob", 5_000n * one, { asset: usdt }) })
        const funds = "could not transfer funds, not enough funds to transfer"
        assert.strictEqual((yield* post(client, path, bodyOf(poor))).text, verdict(70, funds, funds))
        assert.strictEqual(
          (yield* post(client, path, bodyOf(yield* draftOf(client, { zeros: 1 })))).text,
          verdict(89, weak),
        )
        const tid = "cd".repeat(32)
        const foreign = yield* draftOf(client, { chainId: "elsewhere", tid })
        const wrong = "tx.signature.value (invalid signature)"
        assert.strictEqual((yield* post(client, path, bodyOf(foreign))).text, verdict(60, wrong, wrong))
        assert.strictEqual((yield* post(client, path, bodyOf(yield* draftOf(client, { tid })))).text, verdict(0, ""))
      }),
    ),
  )

  it.live("with nothing in it is no transaction", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const reply = yield* Test.request(client, path, { method: "POST", body: "" })
        const raw = path === "/transaction/raw/check"
        const said = raw ? Test.at(reply, "data") : Test.at(reply, "details.0.message")
        assert.deepStrictEqual(
          [reply.status, said],
          raw ? [200, "tx.version (is required)"] : [500, "proto: Marshal called with nil"],
        )
      }),
    ),
  )
})
