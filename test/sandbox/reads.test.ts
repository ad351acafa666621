import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { one, scenarioText, tether, usdt, vega, vegaAsset, withSandbox } from "../support/TestSandbox.ts"

const hourNanos = 3_600_000_000_000n
const since = () => `dateRange.startTimestamp=${BigInt(Date.now()) * 1_000_000n - hourNanos}`
const changes = (client: Test.TestClient, query: string) => Test.request(client, `/api/v2/balance/changes?${query}`)

const edges = (reply: Test.Reply, list: string): ReadonlyArray<unknown> => {
  const found = Test.at(reply, `${list}.edges`)
  return Array.isArray(found) ? found : []
}
const nodes = (reply: Test.Reply, list: string) =>
  edges(reply, list).map((_, i) => Test.at(reply, `${list}.edges.${i}.node`))

const detailOf = (reply: Test.Reply) => [
  reply.status,
  Test.at(reply, "code"),
  Test.at(reply, "details.0.code"),
  Test.at(reply, "details.0.message"),
  Test.at(reply, "details.0.inner"),
]

/** Each block touches the accounts of alice and eve. */
const spending = (to: string) => ({
  ...{ from: "alice", to, asset: "USDT", at: [{ block: 1, amount: "1" }] },
  every: { blocks: 1, amount: "0.000001" },
})
const busy = scenarioText({ spenders: [spending("eve")] })

/** All rows by walking with cursors, page after page: how many arrive, and how many of them twice. */
const walk = Effect.fnUntraced(function* (client: Test.TestClient, query: string) {
  const keys: Array<string> = []
  let cursor = ""
  for (let page = 0; page < 500; page++) {
    const reply = yield* changes(client, `${query}${cursor}`)
    for (const node of nodes(reply, "balances")) keys.push(JSON.stringify(node))
    if (Test.at(reply, "balances.pageInfo.hasNextPage") !== true) break
    const after = String(Test.at(reply, "balances.pageInfo.endCursor"))
    cursor = `&pagination.after=${encodeURIComponent(after)}`
  }
  return [keys.length, keys.length - new Set(keys).size]
})

describe("balance changes", () => {
  it.live("are one row an account and block, newest first, with the network's fields", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const command = Test.payment(client, "bob", one, { asset: usdt })
      yield* Test.submit(client, Test.signed(client, { from: "alice", command, ...head }))
      yield* Test.step(client)
      const time = (yield* sandbox.ledger.head).time / 1_000n
      const [alice, bob] = [sandbox.publicKey("alice"), sandbox.publicKey("bob")]
      const reply = yield* changes(client, `${since()}&filter.partyIds=${alice}&filter.partyIds=${bob}`)
      const rows = nodes(reply, "balances")
      assert.strictEqual(rows.length, 4)
      const newest = rows.slice(0, 2).sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
      assert.deepStrictEqual(
        newest.map((node) => JSON.stringify(node)).sort(),
        [
          [alice, "998999000"],
          [bob, "51000000"],
        ]
          .map(
            ([party, balance]) =>
              `{"timestamp":"${time}000","balance":"${balance}","partyId":"${party}","assetId":"${usdt}",` +
              `"marketId":"","accountType":"ACCOUNT_TYPE_GENERAL"}`,
          )
          .sort(),
      )
      assert.strictEqual(reply.headers.get("x-block-height"), "2")
      assert.strictEqual(reply.headers.get("x-block-timestamp"), `${time}000`)
      assert.strictEqual(reply.headers.get("content-type"), "application/json")
    }),
  )

  it.live("name fees and pending transfers of the network among the accounts of a payment", () =>
    withSandbox({ isHere: true }, function* (client) {
      const head = yield* Test.head(client)
      const command = Test.payment(client, "bob", one, { asset: usdt })
      yield* Test.submit(client, Test.signed(client, { from: "alice", command, ...head }))
      yield* Test.step(client)
      const reply = yield* changes(client, `${since()}&filter.partyIds=network&pagination.first=2`)
      const rows = nodes(reply, "balances").map((node) => JSON.stringify(node))
      assert.isTrue(rows.some((row) => row.includes('"balance":"1000"') && row.includes("FEES_INFRASTRUCTURE")))
      assert.isTrue(rows.some((row) => row.includes('"balance":"0"') && row.includes("PENDING_TRANSFERS")))
    }),
  )

  it.live("take a window of half-open time", () =>
    withSandbox({ isHere: true, text: busy }, function* (client, sandbox) {
      yield* Test.step(client, 3)
      const first = yield* changes(
        client,
        `${since()}&pagination.newestFirst=false&filter.partyIds=${sandbox.publicKey("eve")}`,
      )
      const times = nodes(first, "balances").map((_, i) => Test.at(first, `balances.edges.${i}.node.timestamp`))
      assert.strictEqual(times.length, 4)
      const range = (from: unknown, to: unknown) =>
        Effect.map(
          changes(
            client,
            `dateRange.startTimestamp=${from}&dateRange.end_timestamp=${to}&filter.partyIds=${sandbox.publicKey("eve")}`,
          ),
          (reply) => nodes(reply, "balances").length,
        )
      assert.strictEqual(yield* range(times[1], times[3]), 2)
      assert.strictEqual(yield* range(times[1], times[1]), 0)
      assert.strictEqual(yield* range(times[1], BigInt(String(times[1])) + 1_000n), 1)
    }),
  )

  const refusals: ReadonlyArray<readonly [string, string, ReadonlyArray<unknown>]> = [
    [
      "a broken market",
      "filter.marketIds=zz",
      [400, 3, 10_000, "invalid party id", "one or more market id is invalid"],
    ],
    [
      "both cursors",
      "pagination.after=AAAA&pagination.before=AAAA",
      [400, 3, 10_028, "invalid pagination", "cannot set both a before and after cursor"],
    ],
    [
      "an empty cursor",
      "pagination.after=",
      [400, 3, 10_028, "invalid pagination", "failed to decode after cursor: cursor is empty"],
    ],
    ["two assets", "filter.assetId=aa&filter.assetId=bb", [400, 3, undefined, undefined, undefined]],
    ["an unknown account type", "filter.accountTypes=GENERAL", [400, 3, undefined, undefined, undefined]],
    ["a number that is none", "pagination.first=ten", [400, 3, undefined, undefined, undefined]],
  ]
  it.live.each(refusals)("refuse %s", ([name, query, expected]) =>
    withSandbox({ isHere: true }, function* (client) {
      const ranged = /dateRange|^$/.test(query) ? query : `${since()}&${query}`
      const reply = yield* changes(client, ranged)
      assert.deepStrictEqual(detailOf(reply), expected, name)
      // Errors of the gateway in front carry none of the node's headers.
      assert.strictEqual(reply.headers.has("x-block-height"), expected[2] !== undefined)
    }),
  )

  it.live("ignore unknown parameters, and accept names or numbers of account types", () =>
    withSandbox({ isHere: true }, function* (client) {
      const count = (query: string) =>
        Effect.map(changes(client, `${since()}&${query}`), (reply) => edges(reply, "balances").length)
      assert.strictEqual(yield* count("filter.partyID=zz&includePending=1"), 16)
      assert.strictEqual(yield* count("filter.accountTypes=ACCOUNT_TYPE_GENERAL"), 2)
      assert.strictEqual(yield* count("filter.account_types=4&filter.accountTypes=10"), 4)
    }),
  )

  it.live("need a range from 0.75 on, refused with HTTP 400 from 0.76", function* () {
    const statusIn = (profile: string) =>
      withSandbox({ isHere: true, text: scenarioText({ profile }) }, (client) =>
        Effect.map(changes(client, ""), (reply) => reply.status),
      )
    assert.strictEqual(yield* statusIn("0.74"), 200)
    assert.strictEqual(yield* statusIn("specification"), 200)
    assert.strictEqual(yield* statusIn("0.79"), 400)
  })

  /** Ten blocks of the same three accounts: what a real node delivered of 30 rows, by page size. */
  const losses = [
    [4, 20],
    [5, 25],
    [7, 24],
    [10, 26],
    [30, 30],
  ] as const
  it.live("lose rows between pages only with the defect of the real network", function* () {
    const three = (sandbox: Sandbox["Service"]) =>
      ["alice", "bob", "eve"].map((name) => `filter.partyIds=${sandbox.publicKey(name)}`).join("&")
    const spend = (profile: string) => scenarioText({ profile, spenders: [spending("bob"), spending("eve")] })
    const counts = (profile: string) =>
      withSandbox({ isHere: true, text: spend(profile) }, function* (client, sandbox) {
        yield* Test.step(client, 9)
        const delivered: Array<unknown> = []
        for (const [size] of losses) {
          for (const newest of [true, false]) {
            const query = `${since()}&${three(sandbox)}&pagination.first=${size}&pagination.newestFirst=${newest}`
            delivered.push(yield* walk(client, query))
          }
        }
        return delivered
      })
    assert.deepStrictEqual(
      yield* counts("0.75"),
      losses.flatMap(([, rows]) => [
        [rows, 0],
        [rows, 0],
      ]),
    )
    assert.deepStrictEqual(
      yield* counts("specification"),
      losses.flatMap(() => [
        [30, 0],
        [30, 0],
      ]),
    )
  })

  it.live("accept a cursor alone, in place of a range", () =>
    withSandbox({ isHere: true, text: busy }, function* (client) {
      yield* Test.step(client, 2)
      const first = yield* changes(client, `${since()}&pagination.first=1`)
      const cursor = encodeURIComponent(String(Test.at(first, "balances.pageInfo.endCursor")))
      assert.strictEqual((yield* changes(client, `pagination.first=1&pagination.after=${cursor}`)).status, 200)
      const foreign = yield* changes(client, `pagination.after=${Buffer.from("no").toString("base64")}`)
      assert.deepStrictEqual(detailOf(foreign).slice(0, 3), [500, 13, 90_004])
    }),
  )
})

describe("assets", () => {
  it.live("stand nested in details, by id downwards, in the network's order of fields", () =>
    withSandbox({ isHere: true }, function* (client) {
      const reply = yield* Test.request(client, "/api/v2/assets")
      assert.deepStrictEqual(
        nodes(reply, "assets").map((node) => JSON.stringify(node)),
        [
          `{"id":"${vega}","details":{"name":"Vega","symbol":"VEGA","decimals":"18","quantum":"1"},"status":"STATUS_ENABLED"}`,
          `{"id":"${usdt}","details":{"name":"Tether USD","symbol":"USDT","decimals":"6","quantum":"1000000",` +
            '"builtinAsset":{"maxFaucetAmountMint":"1000000000"}},"status":"STATUS_ENABLED"}',
        ],
      )
      assert.strictEqual(
        Buffer.from(String(Test.at(reply, "assets.edges.0.cursor")), "base64").toString(),
        `{"id":"${vega}"}`,
      )
    }),
  )

  it.live("stand flat in the specification", () =>
    withSandbox({ isHere: true, text: scenarioText({ profile: "specification" }) }, function* (client) {
      const reply = yield* Test.request(client, `/api/v2/assets?assetId=${usdt}`)
      assert.deepStrictEqual(nodes(reply, "assets"), [
        {
          id: usdt,
          name: "Tether USD",
          symbol: "USDT",
          decimals: "6",
          quantum: "1000000",
          status: "STATUS_ENABLED",
          details: { builtinAsset: { maxFaucetAmountMint: "1000000000" } },
        },
      ])
      assert.isFalse(reply.headers.has("x-block-height"))
    }),
  )

  it.live("page exactly", () =>
    withSandbox({ isHere: true }, function* (client) {
      const first = yield* Test.request(client, "/api/v2/assets?pagination.first=1")
      assert.strictEqual(Test.at(first, "assets.pageInfo.hasNextPage"), true)
      const cursor = encodeURIComponent(String(Test.at(first, "assets.pageInfo.endCursor")))
      const second = yield* Test.request(client, `/api/v2/assets?pagination.first=1&pagination.after=${cursor}`)
      assert.strictEqual(Test.at(second, "assets.edges.0.node.id"), usdt)
      assert.deepStrictEqual(Test.at(second, "assets.pageInfo.hasPreviousPage"), true)
    }),
  )

  const lookups: ReadonlyArray<readonly [string, string, ReadonlyArray<unknown>]> = [
    [
      "an unknown id in the list",
      `/api/v2/assets?assetId=${"cc".repeat(32)}`,
      [
        404,
        5,
        200_002,
        "failed to get asset for ID",
        `failed to get asset by ID: ${"cc".repeat(32)}: no resource corresponding to this id`,
      ],
    ],
    [
      "a symbol in the list",
      "/api/v2/assets?assetId=USDT",
      [
        400,
        3,
        200_002,
        "failed to get asset for ID",
        "failed to get asset by ID: decoding 'USDT': not a valid hex id (or well known exception)",
      ],
    ],
  ]
  it.live.each(lookups)("do not know %s", ([, path, expected]) =>
    withSandbox({ isHere: true }, (client) =>
      Effect.map(Test.request(client, path), (reply) => assert.deepStrictEqual(detailOf(reply), expected)),
    ),
  )

  it.live("go through their statuses at their heights", () =>
    withSandbox(
      {
        text: scenarioText({
          assets: [tether, { ...vegaAsset, status: { proposed: 2, pendingListing: 4, enabled: 6 } }],
        }),
      },
      function* (client) {
        const seen: Array<unknown> = []
        for (let n = 1; n <= 7; n++) {
          const reply = yield* Test.request(client, `/api/v2/assets?assetId=${vega}`)
          seen.push(Test.at(reply, "assets.edges.0.node.status") ?? reply.status)
          yield* Test.step(client)
        }
        const [proposed, pending, enabled] = ["STATUS_PROPOSED", "STATUS_PENDING_LISTING", "STATUS_ENABLED"]
        assert.deepStrictEqual(seen, [404, proposed, proposed, pending, pending, enabled, enabled])
      },
    ),
  )
})

describe("the other reads", () => {
  it.live("give a transfer by its id, in the network's order of fields", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const head = yield* Test.head(client)
      const command = Test.payment(client, "bob", 5n * one, { asset: usdt, reference: "golden" })
      const tx = Test.signed(client, { from: "alice", command, ...head })
      const missing = yield* Test.request(client, `/api/v2/transfer/${tx.transferId}`)
      assert.deepStrictEqual(detailOf(missing), [404, 5, 10_000, "no resource corresponding to this id", ""])
      yield* Test.submit(client, tx)
      yield* Test.step(client)
      const time = ((yield* sandbox.ledger.head).time / 1_000n) * 1_000n
      const reply = yield* Test.request(client, `/api/v2/transfer/${tx.transferId}`)
      assert.strictEqual(
        reply.text,
        `{"transferNode":{"transfer":{"id":"${tx.transferId}","from":"${sandbox.publicKey("alice")}",` +
          `"fromAccountType":"ACCOUNT_TYPE_GENERAL","to":"${sandbox.publicKey("bob")}",` +
          `"toAccountType":"ACCOUNT_TYPE_GENERAL","asset":"${usdt}","amount":"5000000","reference":"golden",` +
          `"status":"STATUS_DONE","timestamp":"${time}","oneOff":{"deliverOn":"0"}},` +
          `"fees":[{"transferId":"${tx.transferId}","amount":"5000","epoch":"1","discountApplied":"0"}]}}`,
      )
      const list = (query: string) =>
        Test.request(client, `/api/v2/transfers?pubkey=${sandbox.publicKey("bob")}${query}`)
      const direction = yield* list("")
      assert.deepStrictEqual(detailOf(direction).slice(0, 4), [500, 13, 220_001, "failed to get transfer"])
      const sent = Effect.map(
        Test.request(
          client,
          `/api/v2/transfers?pubkey=${sandbox.publicKey("alice")}&direction=TRANSFER_DIRECTION_TRANSFER_FROM`,
        ),
        (listed) => edges(listed, "transfers").length,
      )
      assert.strictEqual(yield* sent, 1)
    }),
  )

  it.live("give network parameters upwards by key, and what a party used of its transfers", () =>
    withSandbox({ isHere: true }, function* (client, sandbox) {
      const page = yield* Test.request(client, "/api/v2/network/parameters?pagination.first=2")
      const cursor = String(Test.at(page, "networkParameters.pageInfo.endCursor"))
      assert.strictEqual(Buffer.from(cursor, "base64").toString(), "network.transactions.maxgasperblock")
      const spam = yield* Test.request(client, `/statistics/spam/${sandbox.publicKey("alice")}`)
      assert.deepStrictEqual(Test.at(spam, "statistics"), {
        transfers: { countForEpoch: "0", maxForEpoch: "20", minTokensRequired: "0" },
        epochSeq: "1",
      })
      const statistics = yield* Test.request(client, "/statistics")
      assert.strictEqual(Test.at(statistics, "statistics.chainId"), "sandbox-1")
      assert.strictEqual(Test.at(statistics, "statistics.blockHeight"), "1")
    }),
  )

  it.live("are not there in profile specification, but for the chain's height", () =>
    withSandbox({ isHere: true, text: scenarioText({ profile: "specification" }) }, function* (client) {
      for (const path of ["/api/v2/accounts", "/api/v2/transfers", "/statistics"]) {
        assert.strictEqual((yield* Test.request(client, path)).status, 404, path)
      }
      const height = yield* Test.request(client, "/blockchain/height")
      assert.strictEqual(height.status, 200)
      assert.isFalse(height.headers.has("x-block-height"))
    }),
  )
})
