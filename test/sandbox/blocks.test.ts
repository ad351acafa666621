import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { formatAmount } from "../../src/domain/Amount.ts"
import { emptyChain } from "../../src/sandbox/Chain.ts"
import { filesFailed } from "../../src/sandbox/LedgerFile.ts"
import { makeNode } from "../../src/sandbox/LedgerNode.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { one, powOf, scenarioOf, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

const pay = (client: Test.TestClient, head: Test.Head, change: Partial<Test.Draft> = {}) => {
  const command = Test.payment(client, "bob", one, { asset: usdt })
  return Test.signed(client, { from: "alice", command, ...head, ...change })
}

const executed = (sandbox: Sandbox["Service"]) =>
  Effect.map(sandbox.ledger.executed, (all) => all.map((entry) => entry.hash))

const window = (pastBlocks: number, increase = true) => ({
  pow: { ...powOf(pastBlocks), increaseDifficulty: increase },
})

describe("the allowance per party and height", () => {
  /** Three payments of height 1 at exact base difficulty: the blocks that took them, within the window and after. */
  const three = (profile: string) =>
    withSandbox({ isHere: true, text: scenarioText({ profile }) }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      for (let n = 0; n < 3; n++) {
        const reply = yield* Test.submit(client, pay(client, head, { zeros: 3 }))
        assert.strictEqual(Test.at(reply, "success"), true)
      }
      yield* Test.step(client, 10)
      assert.deepStrictEqual(Test.at(yield* Test.request(client, "/sandbox/ledger"), "mempool"), [])
      return (yield* sandbox.ledger.executed).map((entry) => entry.height)
    })

  it.live("takes two at base difficulty and never the third, though it was accepted", () =>
    Effect.map(three("0.79"), (heights) => assert.deepStrictEqual(heights, [2, 2])),
  )

  it.live("is forgotten a block too early before 0.76.3: the third comes in the last block of the window", () =>
    Effect.map(three("0.75"), (heights) => assert.deepStrictEqual(heights, [2, 2, 6])),
  )

  it.live("counts surplus zero bits: 3+3+4 pay for a third, 3+3+4+3 for no fourth", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const all = [3, 3, 4, 3].map((zeros) => pay(client, head, { zeros }))
      for (const tx of all) yield* Test.submit(client, tx)
      yield* Test.step(client)
      assert.deepStrictEqual(
        yield* executed(sandbox),
        all.slice(0, 3).map((tx) => tx.hash),
      )
    }),
  )

  it.live("takes no third at all where difficulty does not increase", () =>
    withSandbox({ isHere: true, text: scenarioText(window(5, false)) }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      for (const zeros of [3, 3, 9]) yield* Test.submit(client, pay(client, head, { zeros }))
      yield* Test.step(client, 3)
      assert.strictEqual((yield* executed(sandbox)).length, 2)
    }),
  )

  it.live("is another one for each height and each party", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const first = yield* Test.head(client)
      yield* Test.step(client)
      const second = yield* Test.head(client)
      for (const head of [first, first, second, second]) yield* Test.submit(client, pay(client, head, { zeros: 3 }))
      yield* Test.submit(client, pay(client, second, { from: "bob", zeros: 3 }))
      yield* Test.step(client)
      assert.strictEqual((yield* executed(sandbox)).length, 5)
    }),
  )
})

describe("the window of a signed payment", () => {
  /** Submits a payment of height 1, then the same signature with new work at `height`: the codes of both. */
  const replay = Effect.fnUntraced(function* (client: Test.TestClient, height: number) {
    const head = yield* Test.head(client)
    yield* Test.submit(client, pay(client, head, { nonce: 4n }))
    yield* Test.step(client, height - head.height)
    const again = yield* Test.submit(client, pay(client, head, { nonce: 4n }))
    yield* Test.step(client)
    return Test.at(again, "data")
  })

  it.live("lets the payment run twice in its last block, as networks before 0.76.3 do", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      assert.strictEqual(yield* replay(client, 5), "")
      const all = yield* sandbox.ledger.executed
      assert.strictEqual(all.length, 2)
      assert.strictEqual(all[0]?.transferId, all[1]?.transferId)
      assert.strictEqual(formatAmount(yield* sandbox.ledger.balance("bob", "USDT"), 6), "52.00")
    }),
  )

  it.live("refuses the second run one block before that", () =>
    withSandbox({ isHere: true }, (client) =>
      Effect.map(replay(client, 4), (text) => assert.strictEqual(text, "nonce already used by party")),
    ),
  )

  it.live("has no such hole in 0.79", () =>
    withSandbox({ isHere: true, text: scenarioText({ profile: "0.79" }) }, (client) =>
      Effect.map(replay(client, 5), (text) => assert.strictEqual(text, "nonce already used by party")),
    ),
  )
})

describe("a block", () => {
  it.effect("delivers a later payment when its time has come, and says done both times", () =>
    withSandbox({ isHere: true, clock: "real" }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const { time } = yield* sandbox.ledger.head
      const deliverOn = time + 3_000_000_000n
      const command = Test.payment(client, "bob", one, { asset: usdt, deliverOn })
      const tx = pay(client, head, { command })
      yield* Test.submit(client, tx)
      yield* Test.step(client)
      assert.strictEqual(formatAmount(yield* sandbox.ledger.balance("alice", "USDT"), 6), "998.999")
      assert.strictEqual(formatAmount(yield* sandbox.ledger.balance("bob", "USDT"), 6), "50.00")
      const first = yield* Test.request(client, `/api/v2/transfer/${tx.transferId}`)
      assert.strictEqual(Test.at(first, "transferNode.transfer.status"), "STATUS_DONE")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(formatAmount(yield* sandbox.ledger.balance("bob", "USDT"), 6), "51.00")
      const second = yield* Test.request(client, `/api/v2/transfer/${tx.transferId}`)
      assert.isAbove(
        Number(Test.at(second, "transferNode.transfer.timestamp")),
        Number(Test.at(first, "transferNode.transfer.timestamp")),
      )
    }),
  )

  it.live("refuses the payment that no longer fits, and says why", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const command = Test.payment(client, "bob", 600n * one, { asset: usdt })
      const [first, second] = [pay(client, head, { command }), pay(client, head, { command })]
      for (const tx of [first, second]) assert.strictEqual(Test.at(yield* Test.submit(client, tx), "code"), 0)
      yield* Test.step(client)
      const all = yield* sandbox.ledger.executed
      assert.deepStrictEqual(
        all.map((entry) => [entry.code, entry.error]),
        [
          [0, ""],
          [70, "could not transfer funds, not enough funds to transfer"],
        ],
      )
      const rejected = yield* Test.request(client, `/api/v2/transfer/${second.transferId}`)
      assert.strictEqual(Test.at(rejected, "transferNode.transfer.status"), "STATUS_REJECTED")
      assert.strictEqual(Test.at(rejected, "transferNode.transfer.reason"), all[1]?.error)
      // Bytes that failed in a block left the cache: the replay guard answers now.
      const again = yield* Test.submit(client, second)
      assert.deepStrictEqual([Test.at(again, "code"), Test.at(again, "data")], [89, "transaction hash already used"])
    }),
  )

  it.live("has a time that rises also where the clock stands still", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      let last = 0n
      for (let n = 0; n < 50; n++) {
        const { time } = yield* sandbox.ledger.head
        assert.isTrue(time / 1_000n > last / 1_000n)
        last = time
        yield* sandbox.stepBlock
      }
      assert.strictEqual((yield* Test.head(client)).height, 51)
    }),
  )

  it.effect("comes every interval of the clock, and not before", () =>
    withSandbox({ isHere: true, clock: "real" }, function* (_, sandbox) {
      const height = Effect.map(sandbox.ledger.head, (head) => head.height)
      assert.strictEqual(yield* height, 1)
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(yield* height, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* height, 2)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* height, 12)
    }),
  )

  it.effect("begins a new epoch when its length is over, with fresh limits", () =>
    withSandbox(
      { isHere: true, clock: "real", text: scenarioText({ transfersPerEpoch: 1, epochLength: "60s" }) },
      function* (client) {
        const send = Effect.gen(function* () {
          const head = yield* Test.head(client)
          const reply = yield* Test.submit(client, pay(client, head))
          yield* TestClock.adjust("1 second")
          return Test.at(reply, "code")
        })
        assert.deepStrictEqual([yield* send, yield* send], [0, 89])
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(yield* send, 0)
        const epoch = yield* Test.request(client, "/api/v2/epoch")
        assert.strictEqual(Test.at(epoch, "epoch.seq"), "2")
      },
    ),
  )

  it.effect("that cannot be stored is the last: everything fails after it", function* () {
    const full = Effect.fail(filesFailed("block", "disk full"))
    const scenario = yield* scenarioOf(scenarioText())
    const file = {
      load: full,
      saveBlock: () => full,
      saveAccepted: () => full,
      saveState: () => full,
    }
    const node = yield* makeNode(emptyChain(scenario), file)
    assert.strictEqual(yield* node.read((chain) => chain.height), 0)
    assert.strictEqual(
      (yield* Effect.flip(node.stepBlock)).message,
      "the sandbox's files failed during block: disk full",
    )
    assert.strictEqual((yield* Effect.flip(node.read((chain) => chain.height)))._tag, "SandboxError")
    assert.strictEqual((yield* Effect.flip(node.broken))._tag, "SandboxError")
  })
})

describe("the same seed", () => {
  const run = (seed: string) =>
    withSandbox({ isHere: true, text: scenarioText({ seed }) }, function* (client, sandbox) {
      const hashes: Array<string> = []
      for (let n = 1; n <= 6; n++) {
        const head = yield* Test.head(client)
        yield* Test.submit(client, pay(client, head, { nonce: BigInt(n), tid: `${n}`.repeat(64) }))
        yield* Test.step(client)
        hashes.push((yield* sandbox.ledger.head).hash)
      }
      return hashes
    })

  it.live("gives the same hashes, another seed others", function* () {
    const first = yield* run("one")
    assert.deepStrictEqual(yield* run("one"), first)
    const other = yield* run("two")
    assert.isTrue(other.every((hash) => !first.includes(hash)))
  })
})
