import { assert, describe, it } from "@effect/vitest"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Asset } from "../../src/domain/Asset.ts"
import { commonHead, isForked } from "../../src/gateway/acceptedHead.ts"
import { agreedAssets, agreedListing, agreedSends, anyDebits, cursorOf } from "../../src/gateway/agreedListing.ts"
import type { Gateway, GatewayAnswer } from "../../src/gateway/Gateways.ts"
import { agreedSighting } from "../../src/gateway/quorumGateway.ts"
import type { TransferListing, TransferSighting } from "../../src/gateway/readTransfers.ts"
import type { ChainHead } from "../../src/gateway/schema/ChainHead.ts"
import type { ObservedTransfer } from "../../src/gateway/schema/Transfers.ts"
import { oddWork } from "../../src/rules/workParameters.ts"

const pow = { hashFunction: "sha3_24_rounds", difficulty: 15, pastBlocks: 100, txPerBlock: 2, increasing: true }
const head = (height: bigint, more: Partial<ChainHead> = {}): ChainHead => ({
  chainId: "c-1",
  height,
  hash: `hash ${height}`,
  pow,
  ...more,
})

describe("the head that gateways name in common", () => {
  const fork = { hash: "another" }

  it("is the highest block that a quorum named alike among the last of each", () => {
    assert.deepStrictEqual(commonHead([[head(100n)]], 1), head(100n))
    assert.deepStrictEqual(commonHead([[head(101n)], [head(101n)], [head(100n)]], 2), head(101n))
    assert.deepStrictEqual(
      commonHead(
        [
          [head(102n), head(100n)],
          [head(101n), head(100n)],
        ],
        2,
      ),
      head(100n),
    )
    assert.deepStrictEqual(
      commonHead(
        [
          [head(101n, fork), head(100n)],
          [head(101n), head(100n)],
        ],
        2,
      ),
      head(100n),
    )
  })

  it("is the quorum's lower height without one, and signs nothing", () => {
    const none = commonHead([[head(103n)], [head(101n)], [head(99n)]], 2)
    assert.strictEqual(none.height, 101n, "what executed is looked for all the same")
    assert.isDefined(oddWork(none.pow))
    assert.isDefined(oddWork(commonHead([[head(100n, fork)], [head(100n)]], 2).pow))
  })

  it("asks for the work of a quorum now, and for none if two differ", () => {
    const short = { pow: { ...pow, pastBlocks: 5 } }
    assert.deepStrictEqual(commonHead([[head(100n, short)], [head(100n)], [head(100n)]], 2).pow, pow)
    const unsure = commonHead([[head(100n, short)], [head(100n)]], 2)
    assert.isDefined(oddWork(unsure.pow), "a window too short would be proven over too soon")
  })

  it("shows who is on a fork only where a quorum names the other hash", () => {
    const heads = [head(100n, { hash: "another" }), head(100n), head(100n)]
    assert.deepStrictEqual(
      heads.map((one) => isForked(one, heads, 2)),
      [true, false, false],
    )
    const two = heads.slice(0, 2)
    assert.deepStrictEqual(
      two.map((one) => isForked(one, two, 2)),
      [false, false],
    )
  })
})

const transfer = (more: Partial<ObservedTransfer> = {}): ObservedTransfer => ({
  id: "t1",
  status: "done",
  from: "alice",
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: "bob",
  toAccountType: "ACCOUNT_TYPE_GENERAL",
  asset: "usdt",
  amount: baseUnits(5n),
  reference: "",
  timestamp: 1_000n,
  fees: 1n,
  ...more,
})

const sighting = (gateway: string, found: ObservedTransfer | undefined, height = 50n): TransferSighting => ({
  found,
  mark: { height, timestamp: height },
  gateway,
  agreed: true,
})

describe("what gateways say of one transfer", () => {
  it("is an end where a quorum says so in the same words", () => {
    const seen = agreedSighting([sighting("a", transfer()), sighting("b", undefined), sighting("c", transfer())], 2)
    assert.deepStrictEqual([seen.found?.status, seen.gateway], ["done", "a+c"])
  })

  it("is no end if one tells it alone, or if two ends differ", () => {
    const others = [
      transfer({ status: "rejected" }),
      transfer({ amount: baseUnits(6n) }),
      transfer({ to: "eve" }),
      transfer({ fees: 0n }),
      transfer({ timestamp: 1n }),
    ]
    for (const other of others) {
      const seen = agreedSighting([sighting("a", other), sighting("b", transfer())], 2)
      assert.strictEqual(seen.found?.status, "pending")
      const three = agreedSighting([sighting("a", other), sighting("b", transfer()), sighting("c", transfer())], 2)
      assert.deepStrictEqual(three.found, transfer(), "the liar's words are not taken")
    }
  })

  it("is another payment than ours only where a quorum shows the same other one", () => {
    const other = transfer({ to: "eve" })
    const one = agreedSighting([sighting("a", other), sighting("b", undefined), sighting("c", undefined)], 2)
    assert.deepStrictEqual([one.found?.to, one.found?.status, one.agreed], ["eve", "pending", false])
    const both = agreedSighting([sighting("a", other), sighting("b", transfer()), sighting("c", transfer())], 2)
    assert.deepStrictEqual([both.found?.to, both.found?.status, both.agreed], ["bob", "done", true])
    const late = transfer({ to: "eve", timestamp: 9n })
    const two = agreedSighting([sighting("a", transfer()), sighting("b", other), sighting("c", late)], 2)
    assert.deepStrictEqual([two.found?.to, two.found?.status, two.agreed], ["eve", "pending", true])
    assert.strictEqual(two.gateway, "b+c")
    assert.isTrue(agreedSighting([sighting("a", other)], 1).agreed, "the only gateway")
  })

  it("is absent if nobody knows it, up to the lowest common block", () => {
    const none = agreedSighting([sighting("a", undefined, 90n), sighting("b", undefined, 50n)], 2)
    assert.deepStrictEqual([none.found, none.mark?.height], [undefined, 50n])
    const one = agreedSighting([sighting("a", undefined), sighting("b", transfer({ status: "pending" }))], 2)
    assert.isDefined(one.found)
    assert.isUndefined(
      agreedSighting([sighting("a", undefined), { ...sighting("b", undefined), mark: undefined }], 2).mark,
    )
  })
})

const told = <A>(name: string, value: A): GatewayAnswer<A> => ({ gateway: { name } as Gateway, value })
const listing = (transfers: ReadonlyArray<ObservedTransfer>, more: Partial<TransferListing> = {}): TransferListing => ({
  transfers,
  complete: true,
  mark: { height: 50n, timestamp: 50n },
  cursor: "x",
  ...more,
})
const none = { after: undefined, of: 3 }

describe("what gateways list together", () => {
  it("is all that any of them lists, done where one shows it done", () => {
    const late = transfer({ status: "pending", timestamp: 2_000n })
    const other = transfer({ id: "t2" })
    for (const order of [
      [listing([late]), listing([transfer(), other])],
      [listing([transfer(), other]), listing([late])],
    ]) {
      const { transfers } = agreedListing(
        order.map((one, i) => told(String(i), one)),
        2,
        none,
      )
      assert.sameDeepMembers(
        [...transfers],
        [
          { ...transfer(), isAgreed: true },
          { ...other, isAgreed: false },
        ],
      )
    }
  })

  it("names the ends and the reference that most of them name", () => {
    const named = transfer({ reference: "tagged" })
    const stripped = transfer({ reference: "", amount: baseUnits(1n), timestamp: 9_000n })
    const listed = (...all: ReadonlyArray<ObservedTransfer>) =>
      agreedListing(
        all.map((one, i) => told(String(i), listing([one]))),
        2,
        none,
      ).transfers
    const right = { ...named, timestamp: 9_000n }
    assert.deepStrictEqual(listed(stripped, named, named), [{ ...right, isAgreed: true }])
    assert.deepStrictEqual(listed(stripped, named), [{ ...right, isAgreed: false }], "left out by as many as name it")
  })

  it("is not complete, and is read anew, where no quorum tells the same of a transfer", () => {
    const [a, b, c] = ["one", "another", "one"].map((reference, i) =>
      told(String(i), listing([transfer({ reference })], { reached: 9n })),
    )
    const part = ({ complete, reached, cursor }: TransferListing) => ({ complete, reached, cursor })
    const open = { complete: false, reached: undefined, cursor: "" }
    assert.deepStrictEqual(part(agreedListing([a!, b!], 2, none)), open)
    const lacking = told("2", listing([], { reached: 9n }))
    assert.deepStrictEqual(part(agreedListing([a!, b!, lacking], 2, none)), open)
    assert.isTrue(agreedListing([a!, b!, c!], 2, none).complete)
    assert.isTrue(agreedListing([a!, lacking], 2, none).complete, "one alone contradicts nobody")
    assert.isTrue(agreedListing([a!, b!], 1, none).complete, "one is believed")
  })

  it("is as complete, and as new, as the listings of a quorum", () => {
    const ahead = listing([], { mark: { height: 9_999n, timestamp: 9_999n } })
    const part = listing([], { complete: false, mark: { height: 80n, timestamp: 80n } })
    const [a, b, c] = [told("a", ahead), told("b", listing([])), told("c", part)]
    assert.deepStrictEqual(agreedListing([a, b], 2, none).mark?.height, 50n)
    assert.isTrue(agreedListing([a, b, c], 2, none).complete)
    assert.strictEqual(agreedListing([a, b, c], 2, none).mark?.height, 50n, "an incomplete one bears no witness")
    assert.isFalse(agreedListing([a, c], 2, none).complete)
  })

  it("reaches as far as a quorum's, whether a block is named or a head was known", () => {
    const reaching = (name: string, reached: bigint | undefined, complete = true) =>
      told(name, listing([], { mark: undefined, reached, complete }))
    const [a, b, c] = [reaching("a", 90n), reaching("b", 70n), reaching("c", undefined)]
    assert.strictEqual(agreedListing([a, b, c], 2, none).reached, 70n)
    assert.isUndefined(agreedListing([a, c], 2, none).reached, "one that says nothing reaches nowhere")
    assert.isUndefined(agreedListing([a, reaching("b", 70n, false)], 2, none).reached)
  })

  it("follows each gateway's own cursor and keeps those that failed", () => {
    const first = agreedListing(
      [told("a", listing([], { cursor: "1" })), told("c", listing([], { cursor: "3" }))],
      2,
      none,
    )
    const at = (text: string | undefined) => ["a", "b", "c"].map((name) => cursorOf(text, name, 3))
    assert.deepStrictEqual(at(first.cursor), ["1", undefined, "3"])
    const second = agreedListing(
      [told("a", listing([], { cursor: undefined })), told("b", listing([], { cursor: "2" }))],
      2,
      { after: first.cursor, of: 3 },
    )
    assert.deepStrictEqual(at(second.cursor), ["1", "2", "3"])
    assert.deepStrictEqual(at("bare"), [undefined, undefined, undefined], "of a time when one gateway was named")
    assert.deepStrictEqual(at('{"__proto__":"x"}'), [undefined, undefined, undefined])
  })

  it("is exactly what the only gateway lists", () => {
    const alone = listing([transfer()], { cursor: "bare", complete: false, reached: undefined })
    assert.deepStrictEqual(agreedListing([told("a", alone)], 1, { after: "older", of: 1 }), alone)
    assert.strictEqual(cursorOf("bare", "a", 1), "bare")
    assert.strictEqual(cursorOf('{"a":"1","b":"2"}', "a", 1), "1", "of a time when two were named")
    assert.isUndefined(cursorOf('{"b":"2"}', "a", 1))
  })

  it("counts the movements that a quorum counted", () => {
    const sends = (n: number, complete = true) => ({
      counts: new Map([["t1", n]]),
      shown: new Set(n > 0 ? ["t1"] : []),
      complete,
      mark: { height: BigInt(40 + n), timestamp: 1n },
    })
    assert.strictEqual(agreedSends([sends(9), sends(1), sends(1)], 2).counts.get("t1"), 1)
    assert.strictEqual(agreedSends([sends(0), sends(2), sends(2)], 2).counts.get("t1"), 2, "one cannot hide it")
    assert.isUndefined(agreedSends([sends(9), sends(0)], 2).counts.get("t1"))
    assert.isTrue(agreedSends([sends(0), sends(0), sends(1)], 2).shown.has("t1"), "any one bars absence")
    assert.isFalse(agreedSends([sends(1), sends(1, false)], 2).complete)
    assert.isFalse(agreedSends([sends(0), sends(2)], 2).complete, "as little as one tells is no count of two")
    assert.isTrue(agreedSends([sends(0), sends(2), sends(2)], 2).complete)
    assert.isTrue(
      agreedSends([sends(9), sends(1), sends(1)], 2).complete,
      "one that makes movements up holds up nothing",
    )
    assert.deepStrictEqual(agreedSends([sends(3)], 1), sends(3))
  })
})

it("debits without an id are as many as there are times at which any gateway shows one", () => {
  const row = { from: "a", asset: "u", quantity: baseUnits(1n), type: "withdrawn", transferId: "" }
  const debits = (...times: ReadonlyArray<bigint>) => ({
    debits: times.map((timestamp) => ({ ...row, timestamp })),
    complete: true,
    mark: undefined,
  })
  const all = anyDebits([debits(1_000n, 2_000n), debits(1_000n, 2_000n), debits(3_000n)], 2)
  assert.deepStrictEqual(
    all.debits.map(({ timestamp }) => timestamp),
    [1_000n, 2_000n, 3_000n],
  )
})

describe("the assets that gateways list in common", () => {
  const asset = (id: string, quantum = 1n): Asset => ({
    ...{ id, name: id, symbol: id, decimals: 6, quantum },
    ...{ status: "STATUS_ENABLED", source: { kind: "builtin", maxFaucetAmountMint: "1" } },
  })
  const walk = (height: bigint, ...rows: ReadonlyArray<Asset>) => ({
    ...{ rows, complete: true, cursor: undefined, mark: { height, timestamp: height } },
  })

  it("are those of a quorum, in whatever order it lists them", () => {
    const agreed = agreedAssets(
      [walk(9n, asset("a", 7n)), walk(8n, asset("b"), asset("a")), walk(7n, asset("a"), asset("b"))],
      2,
    )
    assert.deepStrictEqual(agreed, walk(7n, asset("b"), asset("a")))
  })

  it("are none where each lists other ones", () => {
    assert.isUndefined(agreedAssets([walk(9n, asset("a")), walk(9n, asset("a", 2n)), walk(9n, asset("b"))], 2))
    assert.isUndefined(agreedAssets([], 2))
  })
})
