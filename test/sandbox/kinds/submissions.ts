import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { FaultKind } from "../../../src/sandbox/Faults.ts"
import * as Test from "../../support/TestClient.ts"
import { arm, draft, executed, hits, type Node, spent } from "../../support/TestFaults.ts"
import { one, usdt } from "../../support/TestSandbox.ts"
import type { Seen } from "./Seen.ts"

const known = "tx already exists in cache"
const noFunds = "could not transfer funds, not enough funds to transfer"

/** Arms one hit on a submission, and submits a payment. */
const submitUnder = Effect.fnUntraced(function* (
  client: Test.TestClient,
  node: Node,
  fault: Readonly<Record<string, unknown>>,
) {
  yield* arm(client, { operation: "submit", count: 1, ...fault })
  const tx = yield* draft(client, node)
  return { tx, reply: yield* Test.submit(client, tx) }
})

/** What the network says to the same bytes once more. */
const again = (client: Test.TestClient, tx: Test.Signed) =>
  Effect.map(Test.submit(client, tx), (reply) => Test.at(reply, "details.0.message") ?? Test.at(reply, "code"))

const withheld: Seen = {
  says: "takes the payment, and ends the connection after thirty seconds",
  see: Effect.fnUntraced(function* (client, node) {
    yield* arm(client, { operation: "submit", kind: "accept_drop_answer", count: 1 })
    const tx = yield* draft(client, node)
    const waiting = yield* Effect.forkChild(Effect.flip(Test.submit(client, tx)))
    yield* spent(client)
    yield* TestClock.adjust("29 seconds")
    assert.isUndefined(waiting.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* Fiber.join(waiting))._tag, "NoAnswer")
    assert.strictEqual(yield* again(client, tx), known)
    yield* Test.step(client, 3)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
  }),
}

const dropped: Seen = {
  says: "ends the connection, and the network never saw the payment",
  see: Effect.fnUntraced(function* (client, node) {
    yield* arm(client, { operation: "submit", kind: "drop_before", count: 1 })
    const tx = yield* draft(client, node)
    assert.strictEqual((yield* Effect.flip(Test.submit(client, tx)))._tag, "NoAnswer")
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [])
    assert.strictEqual(yield* again(client, tx), 0)
  }),
}

const delayed: Seen = {
  says: "keeps request and answer back for its time, and does not lose the request of who leaves",
  see: Effect.fnUntraced(function* (client, node) {
    yield* arm(client, { operation: "submit", kind: "delay", delayMillis: 2_000, count: 1 })
    const tx = yield* draft(client, node)
    const waiting = yield* Effect.forkChild(Test.submit(client, tx))
    yield* spent(client)
    yield* TestClock.adjust("1999 millis")
    assert.isUndefined(waiting.pollUnsafe())
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [], "nothing came to the network yet")
    yield* TestClock.adjust("1 millis")
    assert.strictEqual(Test.at(yield* Fiber.join(waiting), "success"), true)
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
    yield* arm(client, { operation: "submit", kind: "delay", delayMillis: 2_000, count: 1 })
    const left = yield* draft(client, node)
    const leaving = yield* Effect.forkChild(Test.submit(client, left))
    yield* spent(client)
    yield* Fiber.interrupt(leaving)
    yield* hits(client)
    yield* TestClock.adjust("2 seconds")
    yield* Test.step(client)
    assert.deepStrictEqual((yield* executed(node)).at(-1), [left.hash, 0], "it arrives without its sender")
  }),
}

const doubled: Seen = {
  says: "lets the payment execute once, and answers the second delivery",
  see: Effect.fnUntraced(function* (client, node) {
    const { tx, reply } = yield* submitUnder(client, node, { kind: "duplicate_delivery" })
    assert.deepStrictEqual([reply.status, Test.at(reply, "details.0.message")], [500, known])
    yield* Test.step(client, 5)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
  }),
}

const statuses = [
  [403, 7, "temporarily banned"],
  [429, 8, "rate limit exceeded"],
  [500, 13, "internal error"],
  [502, undefined, "502 Bad Gateway"],
  [503, 14, "connection error"],
  [504, 4, "deadline exceeded"],
] as const

const refused: Seen = {
  says: "answers each status in the words of who sends it, with the payment's effect or without",
  see: Effect.fnUntraced(function* (client, node) {
    const taken: Array<readonly [string, number]> = []
    for (const [status, code, words] of statuses) {
      for (const effect of [undefined, false, true]) {
        const more = effect === undefined ? {} : { effect }
        const { tx, reply } = yield* submitUnder(client, node, { kind: "http_status", status, ...more })
        assert.deepStrictEqual([reply.status, Test.at(reply, "code")], [status, code])
        assert.include(reply.text, words)
        assert.strictEqual(reply.headers.get("ratelimit-retry-after"), status === 403 ? "600" : null)
        if (effect === true) taken.push([tx.hash, 0])
        yield* Test.step(client)
        assert.deepStrictEqual(yield* executed(node), taken)
      }
    }
  }),
}

const lied: Seen = {
  says: "says yes and throws the payment away",
  see: Effect.fnUntraced(function* (client, node) {
    const { tx, reply } = yield* submitUnder(client, node, { kind: "lying_success" })
    assert.deepStrictEqual(
      [Test.at(reply, "success"), Test.at(reply, "code"), String(Test.at(reply, "txHash")).toLowerCase()],
      [true, 0, tx.hash],
    )
    yield* Test.step(client, 5)
    assert.deepStrictEqual(yield* executed(node), [])
  }),
}

const denied: Seen = {
  says: "says no with each code, and the payment executes",
  see: Effect.fnUntraced(function* (client, node) {
    const taken: Array<readonly [string, number]> = []
    for (const code of [undefined, 51, 60, 70, 80, 89]) {
      const more = code === undefined ? {} : { code }
      const { tx, reply } = yield* submitUnder(client, node, { kind: "lying_failure", ...more })
      assert.deepStrictEqual([Test.at(reply, "success"), Test.at(reply, "code")], [false, code ?? 70])
      assert.notStrictEqual(Test.at(reply, "data"), "")
      taken.push([tx.hash, 0])
      yield* Test.step(client)
      assert.deepStrictEqual(yield* executed(node), taken)
    }
  }),
}

const misnamed: Seen = {
  says: "says yes and names a transaction that nobody sent",
  see: Effect.fnUntraced(function* (client, node) {
    const { tx, reply } = yield* submitUnder(client, node, { kind: "wrong_hash" })
    const told = String(Test.at(reply, "txHash"))
    assert.match(told, /^[0-9A-F]{64}$/)
    assert.notStrictEqual(told.toLowerCase(), tx.hash)
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
  }),
}

const late: Seen = {
  says: "says no, and sends the payment two blocks later",
  see: Effect.fnUntraced(function* (client, node) {
    const { tx, reply } = yield* submitUnder(client, node, { kind: "late_broadcast", blocks: 2, code: 89 })
    assert.deepStrictEqual([Test.at(reply, "success"), Test.at(reply, "code")], [false, 89])
    yield* Test.step(client, 2)
    assert.deepStrictEqual(yield* executed(node), [])
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
  }),
}

const lost: Seen = {
  says: "says yes, and the next block finds nothing of all that waited",
  see: Effect.fnUntraced(function* (client, node) {
    yield* Test.submit(client, yield* draft(client, node))
    const { tx, reply } = yield* submitUnder(client, node, { kind: "lost_mempool" })
    assert.strictEqual(Test.at(reply, "success"), true)
    yield* Test.step(client, 2)
    assert.deepStrictEqual(yield* executed(node), [])
    assert.strictEqual(yield* again(client, tx), 0, "the network forgot the bytes")
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 0]])
  }),
}

const failed: Seen = {
  says: "says yes, and the payment fails in its block",
  see: Effect.fnUntraced(function* (client, node) {
    const { tx, reply } = yield* submitUnder(client, node, { kind: "execution_failure" })
    assert.strictEqual(Test.at(reply, "success"), true)
    yield* Test.step(client)
    assert.deepStrictEqual(yield* executed(node), [[tx.hash, 70]])
    const transfer = yield* Test.request(client, `/api/v2/transfer/${tx.transferId}`)
    assert.deepStrictEqual(
      [Test.at(transfer, "transferNode.transfer.status"), Test.at(transfer, "transferNode.transfer.reason")],
      ["STATUS_REJECTED", noFunds],
    )
    assert.strictEqual(yield* node.ledger.balance("bob", "USDT"), 50n * one)
    yield* arm(client, { operation: "submit", kind: "execution_failure", count: 1 })
    const unpayable = { command: Test.payment(client, "bob", 2_000n * one, { asset: usdt }) }
    const poor = yield* draft(client, node, unpayable)
    assert.strictEqual(Test.at(yield* Test.submit(client, poor), "data"), noFunds)
    yield* fund(client, node)
    assert.strictEqual(yield* again(client, poor), 0)
    yield* Test.step(client)
    assert.deepStrictEqual((yield* executed(node)).at(-1), [poor.hash, 0], "a refused payment is not doomed")
  }),
}

/** Eve's whole wealth makes alice rich enough. */
const fund = Effect.fnUntraced(function* (client: Test.TestClient, node: Node) {
  const command = Test.payment(client, "alice", 1_500n * one, { asset: usdt })
  yield* Test.submit(client, yield* draft(client, node, { from: "eve", command }))
  yield* Test.step(client)
})

export const submissions = {
  accept_drop_answer: withheld,
  drop_before: dropped,
  delay: delayed,
  duplicate_delivery: doubled,
  http_status: refused,
  lying_success: lied,
  lying_failure: denied,
  wrong_hash: misnamed,
  late_broadcast: late,
  lost_mempool: lost,
  execution_failure: failed,
} satisfies Partial<Record<FaultKind, Seen>>
