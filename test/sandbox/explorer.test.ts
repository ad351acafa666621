import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Command } from "../../src/domain/Command.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

/** Work is no matter here: a hundred transactions per party and height, and a thousand per epoch. */
const text = scenarioText({
  pow: { difficulty: 1, pastBlocks: 50, txPerBlock: 100, increaseDifficulty: false },
  transfersPerEpoch: 1000,
})

const cancel = Command.cases.CancelTransfer.make({ transferId: "ab".repeat(32) })

const accept = (client: Test.TestClient, from: string, command: Command) =>
  Effect.gen(function* () {
    const tx = Test.signed(client, { from, command, ...(yield* Test.head(client)) })
    assert.strictEqual(Test.at(yield* Test.submit(client, tx), "code"), 0)
    return tx
  })

/** Blocks 2, 3 and 4, each with a payment of alice at index 0 and a cancellation by bob, which fails, at index 1. */
const fill = (client: Test.TestClient) =>
  Effect.repeat(
    Effect.gen(function* () {
      yield* accept(client, "alice", Test.payment(client, "bob", one, { asset: usdt, reference: "rent" }))
      yield* accept(client, "bob", cancel)
      yield* Test.step(client)
    }),
    { times: 2 },
  )

const list = (client: Test.TestClient, query: string) => Test.request(client, `/rest/transactions?${query}`)
const cursorsOf = (reply: Test.Reply) => {
  const rows = Test.at(reply, "transactions") as ReadonlyArray<{ readonly cursor: string }>
  return rows.map(({ cursor }) => cursor).join(" ")
}
const detailOf = (reply: Test.Reply) => [
  reply.status,
  Test.at(reply, "code"),
  Test.at(reply, "details.0.message") ?? Test.at(reply, "message"),
]

describe("a transaction of the explorer", () => {
  it.live("is found by its hash in either case, with the network's fields", () =>
    withSandbox({ text }, (client, sandbox) =>
      Effect.gen(function* () {
        const command = Test.payment(client, "bob", one, { asset: usdt, reference: "rent" })
        const tx = yield* accept(client, "alice", command)
        yield* Test.step(client)
        const reply = yield* Test.request(client, `/rest/transactions/${tx.hash}`)
        const { tx: sent } = JSON.parse(tx.body)
        const seconds = Number((yield* sandbox.ledger.head).time / 1_000_000_000n)
        const transaction = {
          block: "2",
          index: 0,
          hash: tx.hash.toUpperCase(),
          submitter: sandbox.publicKey("alice"),
          type: "Transfer Funds",
          code: 0,
          cursor: "2.0",
          command: {
            nonce: String(tx.nonce),
            blockHeight: "1",
            transfer: {
              fromAccountType: "ACCOUNT_TYPE_GENERAL",
              to: sandbox.publicKey("bob"),
              toAccountType: "ACCOUNT_TYPE_GENERAL",
              asset: usdt,
              amount: String(one),
              reference: "rent",
              oneOff: { deliverOn: "0" },
            },
          },
          signature: { value: tx.signature, algo: "vega/ed25519", version: 1 },
          createdAt: new Date(seconds * 1_000).toISOString().replace(".000", ""),
          version: "TX_VERSION_V3",
          pow: sent.pow,
        }
        assert.strictEqual(reply.text, JSON.stringify({ transaction }, null, 2))
        const upper = yield* Test.request(client, `/rest/transactions/${tx.hash.toUpperCase()}`)
        assert.strictEqual(upper.text, reply.text)
        assert.isFalse(reply.headers.has("x-block-height"), "the explorer is another server than the node")
      }),
    ),
  )

  it.live("that failed in its block has a code and the reason", () =>
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        const tx = yield* accept(client, "bob", cancel)
        yield* Test.step(client)
        const reply = yield* Test.request(client, `/rest/transactions/${tx.hash}`)
        assert.deepStrictEqual(
          ["type", "code", "error"].map((key) => Test.at(reply, `transaction.${key}`)),
          ["Cancel Transfer Funds", 70, "recurring transfer does not exists"],
        )
      }),
    ),
  )

  it.live("that waits for a block, or was never heard of, is not there", () =>
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        const tx = yield* accept(client, "bob", cancel)
        for (const hash of [tx.hash, "AB".repeat(32), "none"]) {
          const reply = yield* Test.request(client, `/rest/transactions/${hash}`)
          assert.deepStrictEqual(detailOf(reply), [404, 5, "transaction not found"])
          assert.strictEqual(Test.at(reply, "details.0.code"), 10_001)
        }
      }),
    ),
  )
})

describe("the explorer's list", () => {
  const pages: ReadonlyArray<readonly [string, string]> = [
    ["", "4.1 4.0 3.1 3.0 2.1 2.0"],
    ["first=2", "4.1 4.0"],
    ["first=0", "4.1 4.0 3.1 3.0 2.1 2.0"],
    ["limit=2", "4.1 4.0 3.1 3.0 2.1 2.0"],
    ["last=2", "2.1 2.0"],
    ["before=3.0", "2.1 2.0"],
    ["before=4.1&last=2", "4.0 3.1"],
    ["before=2.0", ""],
    ["after=3.0", "4.1 4.0 3.1"],
    ["after=2.0&first=2", "3.0 2.1"],
    ["after=4.1", ""],
    ["after=2.1&before=4.0", "3.1 3.0"],
  ]
  it.live("is newest first, and pages from a cursor in both directions", () =>
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        yield* fill(client)
        for (const [query, cursors] of pages) {
          assert.deepStrictEqual([query, cursorsOf(yield* list(client, query))], [query, cursors])
        }
      }),
    ),
  )

  it.live("is walked in both directions without loss", () =>
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        yield* fill(client)
        const walk = (start: string, next: (page: ReadonlyArray<string>) => string) =>
          Effect.gen(function* () {
            const found: Array<ReadonlyArray<string>> = []
            for (let query = start; ; ) {
              const page = cursorsOf(yield* list(client, query)).split(" ")
              if (page[0] === "") return found
              found.push(page)
              query = next(page)
            }
          })
        const older = yield* walk("first=4", (page) => `last=4&before=${page.at(-1)}`)
        assert.deepStrictEqual(older, [
          ["4.1", "4.0", "3.1", "3.0"],
          ["2.1", "2.0"],
        ])
        const newer = yield* walk("last=4", (page) => `first=4&after=${page[0]}`)
        assert.deepStrictEqual(newer, [
          ["3.1", "3.0", "2.1", "2.0"],
          ["4.1", "4.0"],
        ])
      }),
    ),
  )

  it.live("holds fifty where nothing is said, and as many as are asked for", () =>
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        for (let n = 0; n < 60; n++) yield* accept(client, n % 2 === 0 ? "bob" : "eve", cancel)
        yield* Test.step(client)
        const all = (query: string) => Effect.map(list(client, query), (reply) => cursorsOf(reply).split(" "))
        const page = yield* all("")
        assert.deepStrictEqual([page.length, page[0], page[49]], [50, "2.59", "2.10"])
        assert.deepStrictEqual((yield* all("before=2.10")).length, 10)
        assert.deepStrictEqual((yield* all("first=60")).length, 60)
      }),
    ),
  )

  const filters: ReadonlyArray<readonly [string, string]> = [
    ["filters[tx.submitter]=ALICE", "4.0 3.0 2.0"],
    ["filters[cmd.type]=Cancel%20Transfer%20Funds", "4.1 3.1 2.1"],
    ["filters[block.height]=3", "3.1 3.0"],
    ["filters[block.height]=3&filters[tx.submitter]=BOB", "3.1"],
    ["filters[tx.colour]=blue", ""],
    ["cmdTypes=Transfer%20Funds", "4.0 3.0 2.0"],
    ["cmdTypes=Transfer%20Funds&cmdTypes=Cancel%20Transfer%20Funds&first=3", "4.1 4.0 3.1"],
    ["cmd_types=Withdraw", ""],
    ["excludeCmdTypes=Transfer%20Funds", "4.1 3.1 2.1"],
    ["parties=ALICE&parties=EVE", "4.0 3.0 2.0"],
    ["parties=ALICE&parties=BOB&last=1", "2.0"],
    ["parties=ALICE&cmdTypes=Cancel%20Transfer%20Funds", ""],
    ["colour=blue&first=1", "4.1"],
  ]
  it.live("takes filters, all of which must hold", () =>
    withSandbox({ text }, (client, sandbox) =>
      Effect.gen(function* () {
        yield* fill(client)
        for (const [query, cursors] of filters) {
          const meant = query.replace(/ALICE|BOB|EVE/g, (name) => sandbox.publicKey(name.toLowerCase()))
          assert.deepStrictEqual([query, cursorsOf(yield* list(client, meant))], [query, cursors])
        }
      }),
    ),
  )

  const refusals: ReadonlyArray<readonly [string, string]> = [
    ["first=1&last=1", "cannot use both limits `first` and `last` within the same query"],
    ["first=1&before=3.0", "cannot use cursor `before` when using limit `first`"],
    ["last=1&after=3.0", "cannot use cursor `after` when using limit `last`"],
    [
      "first=1&after=2.0&before=4.0",
      "cannot use neither limits `first`, nor `last` when both cursors `before` and `after` are set",
    ],
    ["after=4.0&before=2.1", "cursors `before` and `after` do not create a valid window"],
    ["after=3", "invalid cursor string: 3"],
    ["before=x.1", 'invalid block number: strconv.ParseUint: parsing "x": invalid syntax'],
    ["before=1.y", 'invalid transaction index: strconv.ParseUint: parsing "y": invalid syntax'],
    ["first=-1", 'parsing field "first": strconv.ParseUint: parsing "-1": invalid syntax'],
    ["last=4294967296", 'parsing field "last": strconv.ParseUint: parsing "4294967296": value out of range'],
    ["first=1&first=2", 'too many values for field "first": 1, 2'],
  ]
  it.live("refuses what cannot be meant", () =>
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        for (const [query, message] of refusals) {
          assert.deepStrictEqual([query, ...detailOf(yield* list(client, query))], [query, 400, 3, message])
        }
      }),
    ),
  )
})
