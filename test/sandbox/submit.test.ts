import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { formatAmount } from "../../src/domain/Amount.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

/** A payment of alice to bob on the newest block, spoilt by `change`. */
const draftOf = (client: Test.TestClient, change: Partial<Test.Draft> = {}) =>
  Effect.map(Test.head(client), (head) =>
    Test.signed(client, {
      from: "alice",
      command: Test.payment(client, "bob", 10n * one, { asset: usdt, reference: "rent" }),
      ...head,
      ...change,
    }),
  )

const codeOf = (reply: Test.Reply) => [reply.status, Test.at(reply, "code"), Test.at(reply, "data")]
const detailOf = (reply: Test.Reply) => [reply.status, Test.at(reply, "code"), Test.at(reply, "details.0.message")]
const holds = (sandbox: Sandbox["Service"], name: string) =>
  Effect.map(sandbox.ledger.balance(name, "USDT"), (units) => formatAmount(units, 6))

describe("a submission", () => {
  it.live("is accepted, waits for a block, and moves money with its fee", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const tx = yield* draftOf(client)
      const reply = yield* Test.submit(client, tx)
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(
        reply.text,
        `{"success":true,"txHash":"${tx.hash.toUpperCase()}","code":0,"data":"","log":"","height":"0"}`,
      )
      assert.strictEqual(yield* holds(sandbox, "bob"), "50.00")
      yield* Test.step(client)
      // 0.1 % of 10 is below the cap of one quantum.
      assert.strictEqual(yield* holds(sandbox, "alice"), "989.99")
      assert.strictEqual(yield* holds(sandbox, "bob"), "60.00")
      const [entry] = yield* sandbox.ledger.executed
      assert.strictEqual(entry?.hash, tx.hash)
      assert.strictEqual(entry?.transferId, tx.transferId)
      assert.strictEqual(entry?.code, 0)
      assert.strictEqual(entry?.reference, "rent")
    }),
  )

  const deposits = [...Array.from({ length: 16 }, () => "1_000"), "211"].map((amount) => ({
    ...{ party: "eve", asset: "USDT", amount },
  }))
  it.live("pays a fee of at most one quantum", () =>
    withSandbox({ isHere: true, text: scenarioText({}, { deposits }) }, function* (client, sandbox) {
      const command = Test.payment(client, "bob", 16_210n * one, { asset: usdt })
      yield* Test.submit(client, yield* draftOf(client, { from: "eve", command }))
      yield* Test.step(client)
      assert.strictEqual(yield* holds(sandbox, "eve"), "0.00")
      assert.strictEqual(yield* holds(sandbox, "bob"), "16,260.00")
    }),
  )

  it.live("has no use for the type: whatever stands there, it waits for the mempool", () =>
    withSandbox({ isHere: true }, function* (client) {
      for (const type of ['"TYPE_ASYNC"', '"TYPE_COMMIT"', "1", "null"]) {
        const tx = yield* draftOf(client)
        const reply = yield* Test.request(client, "/transaction", { body: tx.body.replace('"TYPE_SYNC"', type) })
        assert.deepStrictEqual(codeOf(reply), [200, 0, ""], type)
        yield* Test.step(client)
      }
    }),
  )
})

describe("code 60", () => {
  it.live("refuses inputData with the chain id in front, not without it", () =>
    withSandbox({ isHere: true }, function* (client) {
      const nonce = 77n
      const tid = "ab".repeat(32)
      const prefixed = yield* Test.submit(client, yield* draftOf(client, { framing: "prefixed", nonce, tid }))
      assert.strictEqual(Test.at(prefixed, "code"), 60)
      assert.strictEqual(Test.at(prefixed, "success"), false)
      // The refusal burnt nothing: the same id of work passes in the same block.
      const bare = yield* Test.submit(client, yield* draftOf(client, { framing: "bare", nonce, tid }))
      assert.deepStrictEqual(codeOf(bare), [200, 0, ""])
    }),
  )

  it.live("is the other way round in profile specification", () =>
    withSandbox({ isHere: true, text: scenarioText({ profile: "specification" }) }, function* (client, sandbox) {
      const bare = yield* Test.submit(client, yield* draftOf(client, { nonce: 5n }))
      assert.deepStrictEqual(codeOf(bare)[1], 60)
      const prefixed = yield* draftOf(client, { nonce: 5n, framing: "prefixed" })
      assert.deepStrictEqual(codeOf(yield* Test.submit(client, prefixed)), [200, 0, ""])
      yield* Test.step(client)
      assert.strictEqual(yield* holds(sandbox, "bob"), "60.00")
    }),
  )

  it.live("meets a signature for another chain", () =>
    withSandbox({ isHere: true }, function* (client) {
      const reply = yield* Test.submit(client, yield* draftOf(client, { chainId: "sandbox-2" }))
      assert.deepStrictEqual(codeOf(reply), [200, 60, "tx.signature.value (invalid signature)"])
    }),
  )

  it.live("spares version 2, which is bound to no chain", () =>
    withSandbox({ isHere: true }, function* (client) {
      const reply = yield* Test.submit(client, yield* draftOf(client, { version: 2 }))
      assert.deepStrictEqual(codeOf(reply), [200, 0, ""])
    }),
  )

  const spoilt: ReadonlyArray<readonly [string, (tx: Record<string, unknown>) => unknown, string]> = [
    ["no version", ({ version: _, ...tx }) => tx, "tx.version (is required)"],
    ["an unknown version", (tx) => ({ ...tx, version: 4 }), "tx.version (is not supported)"],
    ["no sender", ({ pubKey: _, ...tx }) => tx, "tx.from (is required)"],
    ["an address alone", ({ pubKey, ...tx }) => ({ ...tx, address: pubKey }), "tx.from.pub_key (is required)"],
    ["a key of odd length", (tx) => ({ ...tx, pubKey: "abc" }), "tx.from.pub_key (should be a valid vega public key)"],
    ["no signature", ({ signature: _, ...tx }) => tx, "tx.signature (is required)"],
    ["no data", (tx) => ({ ...tx, inputData: "" }), "tx.input_data (is required)"],
    ["data without a command", (tx) => ({ ...tx, inputData: "CAEQAQ==" }), "tx.input_data.command (is required)"],
    [
      "broken data",
      (tx) => ({ ...tx, inputData: "CP8=" }),
      "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    ],
    [
      "another algorithm",
      (tx) => ({ ...tx, signature: { value: "00", algo: "secp256k1", version: 1 } }),
      "tx.signature.algo (unsupported algorithm), tx.signature.version (unsupported algorithm)",
    ],
  ]
  it.live.each(spoilt)("meets %s", ([, spoil, text]) =>
    withSandbox({ isHere: true }, function* (client) {
      const { tx } = JSON.parse((yield* draftOf(client)).body)
      const reply = yield* Test.request(client, "/transaction", { body: JSON.stringify({ tx: spoil(tx) }) })
      assert.deepStrictEqual(codeOf(reply), [200, 60, text])
    }),
  )

  it.live("names every property of a command that is wrong, sorted", () =>
    withSandbox({ isHere: true }, function* (client) {
      const command = Test.payment(client, "bob", 0n, { asset: "USDT", reference: "x".repeat(101), deliverOn: -1n })
      const reply = yield* Test.submit(client, yield* draftOf(client, { command }))
      assert.deepStrictEqual(codeOf(reply), [
        200,
        60,
        "transfer.amount (is required), transfer.asset (should be a valid Vega ID), " +
          "transfer.kind.deliver_on (must be positive or zero), transfer.reference (must be less than 100 characters)",
      ])
    }),
  )
})

describe("the body of a submission", () => {
  it.live("keeps all 64 bits of a bare number", () =>
    withSandbox({ isHere: true }, function* (client) {
      const bare = `{"tx":{"version":3,"pow":{"nonce":18446744073709551615}}}`
      const quoted = `{"tx":{"version":3,"pow":{"nonce":"18446744073709551615"}}}`
      const hash = (body: string) =>
        Effect.map(Test.request(client, "/transaction", { body }), (reply) => Test.at(reply, "txHash"))
      assert.strictEqual(yield* hash(bare), yield* hash(quoted))
    }),
  )

  const bodies: ReadonlyArray<readonly [string, string, number, number, string]> = [
    ["a null transaction", '{"tx":null}', 500, 13, "proto: Marshal called with nil"],
    ["bytes without padding", '{"tx":{"inputData":"AA"}}', 400, 3, "illegal base64 data at input byte 0"],
    [
      "a quoted version number",
      '{"tx":{"version":"3"}}',
      400,
      3,
      'unknown value "3" for enum vega.commands.v1.TxVersion',
    ],
    [
      "a negative nonce",
      '{"tx":{"pow":{"nonce":-1}}}',
      400,
      3,
      "json: cannot unmarshal value into Go value of type uint64",
    ],
    [
      "an exponent",
      '{"tx":{"pow":{"nonce":1e3}}}',
      400,
      3,
      "json: cannot unmarshal value into Go value of type uint64",
    ],
  ]
  it.live.each(bodies)("with %s gets an error of the gateway", ([, body, status, code, text]) =>
    withSandbox({ isHere: true }, function* (client) {
      const reply = yield* Test.request(client, "/transaction", { method: "POST", body })
      assert.deepStrictEqual([reply.status, Test.at(reply, "code")], [status, code])
      assert.strictEqual(Test.at(reply, "details.0.message") ?? Test.at(reply, "message"), text)
    }),
  )

  it.live("above one mebibyte of transaction is too large, above four of message too much", () =>
    withSandbox({}, function* (client) {
      const large = JSON.stringify({ tx: { inputData: Buffer.alloc(1_048_577).toString("base64") } })
      const reply = yield* Test.request(client, "/transaction", { body: large })
      assert.deepStrictEqual(detailOf(reply), [500, 13, "Tx too large. Max size is 1048576, but got 1048581"])
      const huge = yield* Test.request(client, "/transaction", { body: " ".repeat(4_194_305) })
      assert.deepStrictEqual([huge.status, Test.at(huge, "code")], [429, 8])
    }),
  )
})

describe("code 89", () => {
  it.live("meets weak work", () =>
    withSandbox({ isHere: true }, function* (client) {
      const reply = yield* Test.submit(client, yield* draftOf(client, { zeros: 2 }))
      assert.deepStrictEqual(codeOf(reply), [200, 89, "failed to verify proof of work"])
    }),
  )

  it.live("meets a height that is not there yet, and one that left the window", () =>
    withSandbox({ isHere: true }, function* (client) {
      const future = yield* draftOf(client, { height: 99 })
      const text = (hash: string) =>
        `unknown block height for tx:${hash}, command:Transfer Funds, party:${JSON.parse(future.body).tx.pubKey}`
      assert.deepStrictEqual(codeOf(yield* Test.submit(client, future)), [200, 89, text(future.hash)])
      const old = yield* draftOf(client)
      const last = yield* draftOf(client)
      yield* Test.step(client, 4)
      // Height 1 with a window of 5 is open up to block 5.
      assert.deepStrictEqual(codeOf(yield* Test.submit(client, last)), [200, 0, ""])
      yield* Test.step(client)
      assert.deepStrictEqual(codeOf(yield* Test.submit(client, old)), [200, 89, text(old.hash)])
    }),
  )

  it.live("refuses a used work id until the next block, whatever its first use", () =>
    withSandbox({ isHere: true }, function* (client) {
      const tid = "cd".repeat(32)
      const poor = Test.payment(client, "bob", 5_000n * one, { asset: usdt })
      const first = yield* Test.submit(client, yield* draftOf(client, { tid, command: poor }))
      assert.strictEqual(Test.at(first, "code"), 70)
      const head = yield* Test.head(client)
      const second = yield* draftOf(client, { tid, ...head })
      const burnt = yield* Test.submit(client, second)
      assert.deepStrictEqual(codeOf(burnt), [200, 89, "proof of work tid already seen by the node"])
      yield* Test.step(client)
      assert.deepStrictEqual(codeOf(yield* Test.submit(client, second)), [200, 0, ""])
      yield* Test.step(client)
      const third = yield* Test.submit(client, yield* draftOf(client, { tid, ...head }))
      assert.deepStrictEqual(codeOf(third), [200, 89, "proof of work tid already used"])
    }),
  )

  it.live("meets the nonce of a payment that a block holds, also with new work", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const first = yield* draftOf(client, { nonce: 9n, ...head })
      yield* Test.submit(client, first)
      yield* Test.step(client)
      const again = yield* draftOf(client, { nonce: 9n, ...head })
      assert.strictEqual(again.transferId, first.transferId)
      const reply = yield* Test.submit(client, again)
      assert.deepStrictEqual(codeOf(reply), [200, 89, "nonce already used by party"])
      yield* Test.step(client)
      assert.strictEqual(yield* holds(sandbox, "bob"), "60.00")
    }),
  )

  it.live("meets the transfer above the limit of the epoch", () =>
    withSandbox({ isHere: true, text: scenarioText({ transfersPerEpoch: 2 }) }, function* (client) {
      for (let n = 0; n < 2; n++) {
        assert.deepStrictEqual(codeOf(yield* Test.submit(client, yield* draftOf(client))), [200, 0, ""])
        yield* Test.step(client)
      }
      const text = "party has already submitted the maximum number of transfer requests per epoch"
      assert.deepStrictEqual(codeOf(yield* Test.submit(client, yield* draftOf(client))), [200, 89, text])
    }),
  )
})

describe("code 70", () => {
  const cases: ReadonlyArray<readonly [string, { readonly amount: bigint; readonly asset: string }, string]> = [
    ["more than the balance", { amount: 1_001n * one, asset: usdt }, "not enough funds to transfer"],
    ["a balance that leaves no fee", { amount: 1_000n * one, asset: usdt }, "not enough funds to transfer"],
    [
      "less than the minimum",
      { amount: one / 10n - 1n, asset: usdt },
      "less than minimal amount requested to transfer",
    ],
    ["an unknown asset", { amount: one, asset: "ee".repeat(32) }, "asset does not exist"],
  ]
  it.live.each(cases)("meets %s", ([, { amount, asset }, text]) =>
    withSandbox({ isHere: true }, function* (client) {
      const reply = yield* Test.submit(
        client,
        yield* draftOf(client, { command: Test.payment(client, "bob", amount, { asset }) }),
      )
      assert.deepStrictEqual(codeOf(reply), [200, 70, `could not transfer funds, ${text}`])
    }),
  )

  it.live("meets a party without an account", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const reply = yield* Test.submit(client, yield* draftOf(client, { from: "eve" }))
      const id = `!${sandbox.publicKey("eve")}${usdt}4`
      assert.deepStrictEqual(codeOf(reply), [200, 70, `could not transfer funds, account does not exist: ${id}`])
    }),
  )

  it.live("comes after 89, and 89 after 60", () =>
    withSandbox({ isHere: true }, function* (client) {
      const command = Test.payment(client, "bob", 5_000n * one, { asset: usdt })
      const all = { command, zeros: 1, chainId: "elsewhere" }
      const codes = [all, { command, zeros: 1 }, { command }]
      for (const [i, change] of codes.entries()) {
        const reply = yield* Test.submit(client, yield* draftOf(client, change))
        assert.strictEqual(Test.at(reply, "code"), [60, 89, 70][i])
      }
    }),
  )
})

describe("known bytes", () => {
  it.live("are answered with HTTP 500 while they wait and after they were executed", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const tx = yield* draftOf(client)
      yield* Test.submit(client, tx)
      const known = [500, 13, "tx already exists in cache"]
      assert.deepStrictEqual(detailOf(yield* Test.submit(client, tx)), known)
      yield* Test.step(client)
      assert.deepStrictEqual(detailOf(yield* Test.submit(client, tx)), known)
      yield* Test.step(client, 2)
      assert.strictEqual((yield* sandbox.ledger.executed).length, 1)
    }),
  )

  it.live("that the check refused are looked at again", () =>
    withSandbox({ isHere: true }, function* (client) {
      const command = Test.payment(client, "bob", 5_000n * one, { asset: usdt })
      const tx = yield* draftOf(client, { command })
      assert.strictEqual(Test.at(yield* Test.submit(client, tx), "code"), 70)
      assert.strictEqual(Test.at(yield* Test.submit(client, tx), "code"), 89)
      yield* Test.step(client)
      assert.strictEqual(Test.at(yield* Test.submit(client, tx), "code"), 70)
    }),
  )
})
