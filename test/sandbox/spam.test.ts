import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Test from "../support/TestClient.ts"
import { one, powOf, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

const path = (party: string) => `/statistics/spam/${party}`

type BlockState = Readonly<Record<string, unknown>>
const statesOf = (reply: Test.Reply) => Test.at(reply, "statistics.pow.blockStates") as ReadonlyArray<BlockState>

/** What a party's next transaction on a height needs, and how many it has there. */
const stateAt = (client: Test.TestClient, party: string, height: number) =>
  Effect.map(Test.request(client, path(party)), (reply) => {
    const state = statesOf(reply).find(({ blockHeight }) => blockHeight === String(height))
    return state === undefined ? undefined : [state["transactionsSeen"], state["expectedDifficulty"]]
  })

/** Payments of alice on one height, whose work shows so many zero bits each; each is put into a block of its own. */
const pay = (client: Test.TestClient, head: Test.Head, zeros: ReadonlyArray<number>) =>
  Effect.forEach(zeros, (bits) =>
    Effect.gen(function* () {
      const command = Test.payment(client, "bob", one, { asset: usdt })
      yield* Test.submit(client, Test.signed(client, { from: "alice", command, ...head, zeros: bits }))
      yield* Test.step(client)
    }),
  )

const pow = (txPerBlock: number, increaseDifficulty: boolean) => ({
  ...powOf(20),
  txPerBlock,
  increaseDifficulty,
})

describe("spam statistics", () => {
  it.live("return the epoch's limits and newest block, with the network's fields", () =>
    withSandbox({ isHere: true }, (client) =>
      Effect.gen(function* () {
        const { hash } = yield* Test.head(client)
        const policy = (maxForEpoch: string, minTokensRequired: string) => ({
          countForEpoch: "0",
          maxForEpoch,
          minTokensRequired,
        })
        const reply = yield* Test.request(client, path("nobody"))
        assert.strictEqual(
          reply.text,
          JSON.stringify({
            chainId: "sandbox-1",
            statistics: {
              proposals: policy("3", "1"),
              delegations: policy("390", "1"),
              transfers: policy("20", "0"),
              nodeAnnouncements: policy("1", "1"),
              votes: { statistics: [], maxForEpoch: "3" },
              pow: {
                blockStates: [
                  {
                    blockHeight: "1",
                    blockHash: hash,
                    transactionsSeen: "0",
                    expectedDifficulty: "3",
                    hashFunction: "sha3_24_rounds",
                    difficulty: "3",
                    txPerBlock: "2",
                    increasingDifficulty: true,
                  },
                ],
                numberOfPastBlocks: "5",
              },
              issueSignatures: policy("1", "100000000000000000000"),
              epochSeq: "1",
              createReferralSet: policy("3", "0"),
              updateReferralSet: policy("3", "0"),
              applyReferralCode: policy("5", "0"),
            },
          }),
        )
      }),
    ),
  )

  it.live("climb the ladder: where all work is exact, each pair on a height needs one bit more than the last", () =>
    withSandbox({ isHere: true, text: scenarioText({ pow: pow(2, true) }) }, (client, sandbox) =>
      Effect.gen(function* () {
        const head = yield* Test.head(client)
        const alice = sandbox.publicKey("alice")
        const seen: Array<unknown> = []
        for (const zeros of [3, 3, 4, 4, 5, 5]) {
          seen.push(yield* stateAt(client, alice, 1))
          yield* pay(client, head, [zeros])
        }
        seen.push(yield* stateAt(client, alice, 1))
        assert.deepStrictEqual(seen, [
          ["0", "3"],
          ["1", "3"],
          ["2", "4"],
          ["3", "4"],
          ["4", "5"],
          ["5", "5"],
          ["6", "6"],
        ])
        assert.strictEqual((yield* sandbox.ledger.executed).length, 6)
      }),
    ),
  )

  it.live("credit surplus bits of earlier work, and never ask for less than the base", () =>
    withSandbox({ isHere: true, text: scenarioText({ pow: pow(2, true) }) }, (client, sandbox) =>
      Effect.gen(function* () {
        const head = yield* Test.head(client)
        const alice = sandbox.publicKey("alice")
        yield* pay(client, head, [3, 7])
        assert.deepStrictEqual(yield* stateAt(client, alice, 1), ["2", "3"])
        yield* pay(client, head, [3])
        // 3+3+4+4 are due, 3+7+3 were shown: the base is more than the one bit that is missing.
        assert.deepStrictEqual(yield* stateAt(client, alice, 1), ["3", "3"])
        yield* pay(client, head, [3])
        assert.deepStrictEqual(yield* stateAt(client, alice, 1), ["4", "3"])
        assert.strictEqual((yield* sandbox.ledger.executed).length, 4)
      }),
    ),
  )

  it.live("expect nothing more on a full height where difficulty does not increase", () =>
    withSandbox({ isHere: true, text: scenarioText({ pow: pow(1, false) }) }, (client, sandbox) =>
      Effect.gen(function* () {
        const head = yield* Test.head(client)
        yield* pay(client, head, [5])
        const reply = yield* Test.request(client, path(sandbox.publicKey("alice")))
        const [old, newest] = statesOf(reply)
        assert.deepStrictEqual(Object.keys(old ?? {}), [
          "blockHeight",
          "blockHash",
          "transactionsSeen",
          "hashFunction",
          "difficulty",
          "txPerBlock",
          "increasingDifficulty",
        ])
        assert.deepStrictEqual([newest?.["blockHeight"], newest?.["expectedDifficulty"]], ["2", "3"])
      }),
    ),
  )

  it.live("belong to one party, count included work, and forget old heights", () =>
    withSandbox({ isHere: true }, (client, sandbox) =>
      Effect.gen(function* () {
        const [alice, bob] = [sandbox.publicKey("alice"), sandbox.publicKey("bob")]
        const head = yield* Test.head(client)
        const command = Test.payment(client, "bob", one, { asset: usdt })
        const transfers = (party: string) =>
          Effect.map(Test.request(client, path(party)), (reply) => Test.at(reply, "statistics.transfers.countForEpoch"))
        yield* Test.submit(client, Test.signed(client, { from: "alice", command, ...head }))
        assert.deepStrictEqual([yield* transfers(alice), yield* stateAt(client, alice, 1)], ["0", ["0", "3"]])
        yield* Test.step(client)
        assert.deepStrictEqual([yield* transfers(alice), yield* stateAt(client, alice, 1)], ["1", ["1", "3"]])
        assert.deepStrictEqual([yield* transfers(bob), yield* stateAt(client, bob, 1)], ["0", undefined])
        yield* Test.step(client, 2)
        assert.isDefined(yield* stateAt(client, alice, 1))
        yield* Test.step(client)
        assert.isUndefined(yield* stateAt(client, alice, 1))
        assert.strictEqual(yield* transfers(alice), "1")
      }),
    ),
  )

  it.live("follow a change of rules: each height keeps its own", () =>
    withSandbox(
      {
        text: scenarioText({ powChanges: [{ block: 3, difficulty: 6, txPerBlock: 5 }] }),
      },
      (client, sandbox) =>
        Effect.gen(function* () {
          const head = yield* Test.head(client)
          yield* pay(client, head, [3])
          yield* Test.step(client)
          const states = statesOf(yield* Test.request(client, path(sandbox.publicKey("alice"))))
          assert.deepStrictEqual(
            states.map((state) => ["blockHeight", "difficulty", "txPerBlock"].map((key) => state[key])),
            [
              ["1", "3", "2"],
              ["3", "6", "5"],
            ],
          )
        }),
    ),
  )
})
