import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import { StrictBalanceChanges } from "../../src/gateway/schema/BalanceChanges.ts"
import { readBalanceChanges } from "../../src/gateway/schema/readBalanceChanges.ts"
import { makeDice } from "../support/Dice.ts"

const strictly = Schema.decodeUnknownExit(StrictBalanceChanges)
const runs = 4_000

/** Values of every kind that JSON has, and those at which readers differ. */
const odd: ReadonlyArray<unknown> = [
  null,
  true,
  false,
  0,
  -0,
  4,
  4.5,
  -1,
  99,
  1e300,
  2 ** 53,
  "",
  "0",
  "00",
  "-0",
  "+1",
  "-5",
  " 7",
  "7 ",
  "0x10",
  "1e3",
  "1.0",
  "٣",
  "9000000000000000000",
  "9000000000000000001",
  "9223372036854775807",
  "9223372036854775808",
  "-9223372036854775808",
  "-9223372036854775809",
  String(2n ** 256n - 1n),
  String(2n ** 256n),
  "9".repeat(79),
  "ACCOUNT_TYPE_GENERAL",
  "ACCOUNT_TYPE_NEW",
  "\u0000",
  [],
  {},
  [{}],
  { timestamp: "1", balance: "1" },
]
const fields = ["timestamp", "balance", "partyId", "assetId", "marketId", "accountType", "party", "type", "__proto__"]

const dice = makeDice("balance changes")
const one = <A>(list: ReadonlyArray<A>): A => list[Math.floor(dice.next() * list.length)]!
const seldom = (): boolean => dice.next() < 0.04

/** As JSON.parse makes it: "__proto__" is a field like any other. */
const withField = (value: object, key: string, to: unknown): unknown =>
  JSON.parse(
    `{${[...Object.entries(value).filter(([k]) => k !== key), [key, to] as const]
      .map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)
      .join(",")}}`,
  )

const node = (): unknown => {
  const plain = {
    timestamp: String(1_795_220_000_000_000_000n + BigInt(Math.floor(dice.next() * 3))),
    balance: String(Math.floor(dice.next() * 1e15)),
    partyId: "a".repeat(64),
    assetId: "b".repeat(64),
    marketId: "",
    accountType: "ACCOUNT_TYPE_GENERAL",
  }
  if (seldom()) return one(odd)
  return dice.next() < 0.3 ? withField(plain, one(fields), one(odd)) : plain
}
const edge = (): unknown =>
  seldom() ? one(odd) : dice.next() < 0.05 ? { node: node() } : { cursor: "c", node: node() }
const pageInfo = (): unknown => {
  const plain = { hasNextPage: false, hasPreviousPage: true, startCursor: "s", endCursor: "e" }
  if (seldom()) return one(odd)
  return seldom() ? withField(plain, one(Object.keys(plain)), one(odd)) : plain
}
const answer = (): unknown => {
  const edges = seldom() ? one(odd) : Array.from({ length: Math.floor(dice.next() * 4) }, edge)
  const balances = seldom() ? one(odd) : seldom() ? { pageInfo: pageInfo() } : { edges, pageInfo: pageInfo() }
  return seldom() ? one(odd) : { balances }
}

const agree = (sent: unknown): boolean => {
  const read = readBalanceChanges(sent)
  const exit = strictly(sent)
  if (Exit.isSuccess(exit)) assert.deepStrictEqual<unknown>(read, exit.value, JSON.stringify(sent))
  else assert.isUndefined(read, JSON.stringify(sent))
  return Exit.isSuccess(exit)
}

describe("reading balance changes by hand", () => {
  it("takes what the schema takes, to the same value, and refuses what it refuses", () => {
    let taken = 0
    for (let i = 0; i < runs; i++) if (agree(answer())) taken++
    assert.isAbove(taken, runs / 10, "good answers are among them")
    assert.isAbove(runs - taken, runs / 10, "bad ones too")
  })

  it("agrees on every odd value in every field of a row", () => {
    const plain = { timestamp: "1", balance: "1", partyId: "p", assetId: "a", marketId: "m", accountType: "t" }
    const info = { hasNextPage: false, hasPreviousPage: false, startCursor: "", endCursor: "" }
    for (const field of fields) {
      for (const value of odd) {
        const odd = withField(plain, field, value)
        agree({
          balances: {
            edges: [
              { cursor: "c", node: odd },
              { cursor: "c", node: plain },
            ],
            pageInfo: info,
          },
        })
      }
    }
  })
})
