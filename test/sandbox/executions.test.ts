import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { baseUnits, formatAmount } from "../../src/domain/Amount.ts"
import { accountTypeNumbers } from "../../src/domain/Balance.ts"
import { Command } from "../../src/domain/Command.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"
import type { Fields } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

const dai = "b9".repeat(32)

/** Epochs of ten blocks; beside the usual assets a bridged one, of which bob has 40. */
const scenario = (change: Fields = {}) =>
  scenarioText(
    { epochLength: "10s", ...change },
    {
      assets: [
        {
          ...{ id: dai, name: "Dai", symbol: "sDAI", decimals: 18, quantum: "1_000_000_000_000_000_000" },
          ...{ erc20: { contractAddress: "0x83" }, status: { enabled: 3 } },
        },
      ],
      deposits: [{ party: "bob", asset: "sDAI", amount: "40", block: 4 }],
    },
  )

const step = (client: Test.TestClient, count = 1) =>
  Effect.andThen(TestClock.adjust("1 second"), Test.step(client)).pipe(Effect.repeat({ times: count - 1 }))

const epochOf = (client: Test.TestClient) =>
  Effect.map(Test.request(client, "/api/v2/epoch"), (reply) => Number(Test.at(reply, "epoch.seq")))

/** Makes blocks until an epoch ended. */
const nextEpoch = Effect.fnUntraced(function* (client: Test.TestClient) {
  const before = yield* epochOf(client)
  yield* waitUntil(
    "the next epoch",
    Effect.map(epochOf(client), (now) => now !== before),
    step(client),
  )
  return before + 1
})

const accept = Effect.fnUntraced(function* (
  client: Test.TestClient,
  from: string,
  command: Command,
  change: Partial<Test.Draft> = {},
) {
  const tx = Test.signed(client, { from, command, ...(yield* Test.head(client)), ...change })
  assert.strictEqual((yield* Test.submit(client, tx)).text.slice(0, 15), '{"success":true')
  return tx
})

/** Sends commands and lets one block take them: the id of each and the text of its failure. */
const execute = Effect.fnUntraced(function* (
  client: Test.TestClient,
  from: string,
  ...commands: ReadonlyArray<Command>
) {
  const all = yield* Effect.forEach(commands, (command) => accept(client, from, command))
  yield* step(client)
  const ledger = yield* Test.request(client, "/sandbox/ledger")
  const executed = Test.at(ledger, "executed") as ReadonlyArray<{ hash: string; code: number; error: string }>
  return all.map(({ hash, transferId }) => {
    const entry = executed.find((result) => result.hash === hash) ?? assert.fail("no block took it")
    assert.strictEqual(entry.code, entry.error === "" ? 0 : 70)
    return { id: transferId, error: entry.error }
  })
})

const transferOf = (client: Test.TestClient, id: string | undefined) =>
  Effect.map(Test.request(client, `/api/v2/transfer/${id}`), (reply) => ({
    status: Test.at(reply, "transferNode.transfer.status"),
    reason: Test.at(reply, "transferNode.transfer.reason"),
    fees: Test.at(reply, "transferNode.fees") as ReadonlyArray<{ amount: string; epoch: string }>,
  }))

const holds = (sandbox: Sandbox["Service"], name: string) =>
  Effect.map(sandbox.ledger.balance(name, "USDT"), (units) => formatAmount(units, 6))

const recurring = (
  client: Test.TestClient,
  to: string,
  amount: bigint,
  kind: { readonly startEpoch: bigint; readonly endEpoch?: bigint; readonly factor?: string },
) => {
  const plain = Test.payment(client, to, amount, { asset: usdt })
  assert(plain._tag === "Transfer")
  return Command.cases.Transfer.make({ ...plain, kind: { _tag: "Recurring", factor: "1", ...kind } })
}

const cancel = (transferId: string | undefined) =>
  Command.cases.CancelTransfer.make({ transferId: transferId ?? "ab".repeat(32) })

describe("a recurring transfer", () => {
  it.effect("is paid at the end of each epoch with a growing amount, and then done", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const kind = { startEpoch: 1n, endEpoch: 3n, factor: "1.1" }
      const [sent] = yield* execute(client, "alice", recurring(client, "bob", 10n * one, kind))
      assert.strictEqual(sent?.error, "")
      const seen = []
      for (let n = 0; n < 5; n++) {
        const { status } = yield* transferOf(client, sent?.id)
        seen.push([yield* holds(sandbox, "alice"), yield* holds(sandbox, "bob"), status])
        yield* nextEpoch(client)
      }
      assert.deepStrictEqual(seen, [
        ["1,000.00", "50.00", "STATUS_PENDING"],
        ["989.99", "60.00", "STATUS_PENDING"],
        ["978.979", "71.00", "STATUS_PENDING"],
        ["966.8669", "83.10", "STATUS_DONE"],
        ["966.8669", "83.10", "STATUS_DONE"],
      ])
      const { fees } = yield* transferOf(client, sent?.id)
      assert.deepStrictEqual(
        fees.map(({ amount, epoch }) => [epoch, amount]),
        [
          ["1", "10000"],
          ["2", "11000"],
          ["3", "12100"],
        ],
      )
    }),
  )

  it.effect.each([
    ["what it cannot pay", 30n * one, "1", "could not transfer funds, not enough funds to transfer"],
    ["too small a payment", one, "0.01", "could not transfer funds, less than minimal amount requested to transfer"],
  ] as const)("is stopped for good by %s, and keeps the reason", ([, amount, factor, reason]) =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const [sent] = yield* execute(client, "bob", recurring(client, "eve", amount, { startEpoch: 1n, factor }))
      yield* nextEpoch(client)
      assert.strictEqual((yield* transferOf(client, sent?.id)).status, "STATUS_PENDING")
      yield* nextEpoch(client)
      const stopped = yield* transferOf(client, sent?.id)
      assert.deepStrictEqual([stopped.status, stopped.reason], ["STATUS_STOPPED", reason])
      yield* execute(client, "alice", Test.payment(client, "bob", 500n * one, { asset: usdt }))
      yield* nextEpoch(client)
      assert.strictEqual(yield* holds(sandbox, "eve"), formatAmount(amount, 6))
    }),
  )

  it.effect("is refused in its block beside a similar one or after its epoch", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client) {
      yield* nextEpoch(client)
      const sent = yield* execute(
        client,
        "alice",
        recurring(client, "bob", one, { startEpoch: 2n }),
        recurring(client, "bob", 2n * one, { startEpoch: 4n, endEpoch: 9n }),
      )
      const [late] = yield* execute(client, "alice", recurring(client, "eve", one, { startEpoch: 1n }))
      assert.deepStrictEqual(
        [...sent, late].map((result) => result?.error),
        ["", "cannot submit duplicate recurring transfer with same from and to", "start epoch in the past"],
      )
      for (const refused of [sent[1], late]) {
        const { status, reason } = yield* transferOf(client, refused?.id)
        assert.deepStrictEqual([status, reason], ["STATUS_REJECTED", refused?.error])
      }
    }),
  )

  it.effect("is cancelled by its owner alone, and only while it lasts", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const [sent] = yield* execute(client, "alice", recurring(client, "bob", one, { startEpoch: 1n }))
      yield* nextEpoch(client)
      const [other] = yield* execute(client, "eve", cancel(sent?.id))
      const [own] = yield* execute(client, "alice", cancel(sent?.id))
      const [again] = yield* execute(client, "alice", cancel(sent?.id))
      const [unknown] = yield* execute(client, "alice", cancel(undefined))
      const none = "recurring transfer does not exists"
      assert.deepStrictEqual(
        [other, own, again, unknown].map((result) => result?.error),
        ["cannot cancel other parties recurring transfers", "", none, none],
      )
      const { status, reason } = yield* transferOf(client, sent?.id)
      assert.deepStrictEqual([status, reason], ["STATUS_CANCELLED", "transfer cancelled"])
      yield* nextEpoch(client)
      assert.strictEqual(yield* holds(sandbox, "bob"), "51.00")
    }),
  )

  it.effect("goes on where its signature is replayed in the last block of its window", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const command = recurring(client, "bob", one, { startEpoch: 1n })
      const first = yield* accept(client, "alice", command, { ...head, nonce: 4n })
      yield* step(client, 4)
      const second = yield* accept(client, "alice", command, { ...head, nonce: 4n })
      assert.strictEqual(second.transferId, first.transferId)
      yield* nextEpoch(client)
      assert.strictEqual((yield* transferOf(client, first.transferId)).status, "STATUS_REJECTED")
      assert.strictEqual(yield* holds(sandbox, "bob"), "51.00")
      assert.strictEqual((yield* execute(client, "alice", cancel(first.transferId)))[0]?.error, "")
    }),
  )
})

describe("a payment for later", () => {
  const inSeconds = (sandbox: Sandbox["Service"], seconds: bigint) =>
    Effect.map(sandbox.ledger.head, ({ time }) => time + seconds * 1_000_000_000n)

  it.effect("leaves its sender at once with the fee and arrives when due", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const deliverOn = yield* inSeconds(sandbox, 5n)
      const [sent] = yield* execute(
        client,
        "alice",
        Test.payment(client, "bob", 100n * one, { asset: usdt, deliverOn }),
      )
      const seen = []
      for (let n = 0; n < 6; n++) {
        seen.push(yield* holds(sandbox, "bob"))
        yield* step(client)
      }
      assert.strictEqual(yield* holds(sandbox, "alice"), "899.90")
      assert.deepStrictEqual([seen[0], seen[3], seen[5]], ["50.00", "50.00", "150.00"])
      assert.strictEqual((yield* transferOf(client, sent?.id)).status, "STATUS_DONE")
    }),
  )

  it.effect("arrives twice where its signature was replayed before it was due", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const deliverOn = yield* inSeconds(sandbox, 20n)
      const command = Test.payment(client, "bob", 100n * one, { asset: usdt, deliverOn })
      yield* accept(client, "alice", command, { ...head, nonce: 4n })
      yield* step(client, 4)
      yield* accept(client, "alice", command, { ...head, nonce: 4n })
      yield* step(client, 2)
      assert.strictEqual(yield* holds(sandbox, "alice"), "799.80")
      assert.strictEqual(yield* holds(sandbox, "bob"), "50.00")
      yield* step(client, 20)
      assert.strictEqual(yield* holds(sandbox, "bob"), "250.00")
    }),
  )
})

describe("a withdrawal", () => {
  const withdraw = (asset: string, amount: bigint, receiverAddress?: string) =>
    Command.cases.Withdraw.make({
      asset,
      amount: baseUnits(amount),
      ...(receiverAddress === undefined ? {} : { receiverAddress }),
    })

  const withdrawalOf = (client: Test.TestClient, id: string | undefined) =>
    Effect.map(Test.request(client, `/api/v2/withdrawal/${id}`), (reply) => [
      reply.status,
      Test.at(reply, "withdrawal.status"),
      Test.at(reply, "withdrawal.amount"),
      Test.at(reply, "withdrawal.ext.erc20.receiverAddress"),
    ])

  it.effect("of a built-in asset takes the money out of the network", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const [sent] = yield* execute(client, "alice", withdraw(usdt, 10n * one))
      assert.strictEqual(yield* holds(sandbox, "alice"), "990.00")
      assert.deepStrictEqual(yield* withdrawalOf(client, sent?.id), [200, "STATUS_FINALIZED", "10000000", undefined])
    }),
  )

  it.effect("of a bridged asset needs an address on the other chain", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      yield* step(client, 3)
      const amount = 15n * 10n ** 18n
      const [lost] = yield* execute(client, "bob", withdraw(dai, amount))
      assert.strictEqual(lost?.error, "missing withdraw submission erc20 ext")
      assert.strictEqual((yield* withdrawalOf(client, lost?.id))[0], 404)
      const receiver = `0x${"5a".repeat(20)}`
      const [sent] = yield* execute(client, "bob", withdraw(dai, amount, receiver))
      assert.strictEqual(sent?.error, "")
      assert.strictEqual(yield* sandbox.ledger.balance("bob", "sDAI"), 25n * 10n ** 18n)
      const expected = [200, "STATUS_FINALIZED", amount.toString(), receiver]
      assert.deepStrictEqual(yield* withdrawalOf(client, sent?.id), expected)
    }),
  )

  it.effect("above the balance is rejected in its block, below the minimum fails", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const [high, low] = yield* execute(client, "bob", withdraw(usdt, 51n * one), withdraw(usdt, 10n * one - 1n))
      assert.strictEqual(high?.error, "not enough funds to withdraw")
      assert.strictEqual(low?.error, "invalid withdrawal, the amount is less than the minimum")
      const [status, is] = yield* withdrawalOf(client, high?.id)
      assert.deepStrictEqual([status, is], [200, "STATUS_REJECTED"])
      assert.strictEqual((yield* withdrawalOf(client, low?.id))[0], 404)
      assert.strictEqual(yield* holds(sandbox, "bob"), "50.00")
    }),
  )
})

describe("a command that fails in its block", () => {
  const recorded = readFileSync("test/recordings/data/command-pages.json", "utf8")

  const failing: ReadonlyArray<readonly [string, Command, string]> = [
    ["a cancellation of nothing", cancel(undefined), "recurring transfer does not exists"],
    [
      "a withdrawal of too much",
      Command.cases.Withdraw.make({ asset: usdt, amount: baseUnits(10n ** 17n) }),
      "not enough funds to withdraw",
    ],
  ]
  it.effect.each(failing)("is told of with the text of a real network: %s", ([, command, text]) =>
    withSandbox({ isHere: true, text: scenario() }, function* (client) {
      assert.strictEqual((yield* execute(client, "alice", command))[0]?.error, text)
      assert.include(recorded, text)
    }),
  )
})

describe("a deposit", () => {
  it.effect("of a later block arrives in it, as soon as its asset is there", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const seen = []
      for (let height = 1; height < 6; height++) {
        seen.push(formatAmount(yield* sandbox.ledger.balance("bob", "sDAI"), 18))
        yield* step(client)
      }
      assert.deepStrictEqual(seen, ["0.00", "0.00", "0.00", "40.00", "40.00"])
    }),
  )
})

describe("a payment to the network", () => {
  it.effect("fills its treasury", () =>
    withSandbox({ isHere: true, text: scenario() }, function* (client, sandbox) {
      const plain = Test.payment(client, "bob", 8n * one, { asset: usdt })
      assert(plain._tag === "Transfer")
      const toAccountType = accountTypeNumbers.ACCOUNT_TYPE_NETWORK_TREASURY
      const command = Command.cases.Transfer.make({ ...plain, to: "0".repeat(64), toAccountType })
      assert.strictEqual((yield* execute(client, "bob", command))[0]?.error, "")
      assert.strictEqual(yield* holds(sandbox, "bob"), "41.992")
    }),
  )
})
