import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import { readBalanceChanges, StrictBalanceChanges } from "../../src/gateway/schema/BalanceChanges.ts"

const strictly = Schema.decodeUnknownExit(StrictBalanceChanges)

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
  "x".repeat(128),
  "x".repeat(129),
  [],
  {},
  [{}],
  { timestamp: "1", balance: "1" },
]
const fields = ["timestamp", "balance", "partyId", "assetId", "marketId", "accountType", "party", "type", "__proto__"]

/** As JSON.parse makes it: "__proto__" is a field like any other. */
const withField = (value: object, key: string, to: unknown): unknown =>
  JSON.parse(
    `{${[...Object.entries(value).filter(([k]) => k !== key), [key, to] as const]
      .map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)
      .join(",")}}`,
  )

const agree = (sent: unknown): boolean => {
  const read = readBalanceChanges(sent)
  const exit = strictly(sent)
  if (Exit.isSuccess(exit)) assert.deepStrictEqual<unknown>(read, exit.value, JSON.stringify(sent))
  else assert.isUndefined(read, JSON.stringify(sent))
  return Exit.isSuccess(exit)
}

describe("reading balance changes by hand", () => {
  it("takes what the schema takes, to the same value, and refuses what it refuses", () => {
    const plain = { timestamp: "1", balance: "1", partyId: "p", assetId: "a", marketId: "m", accountType: "t" }
    const info = { hasNextPage: false, hasPreviousPage: false, startCursor: "", endCursor: "" }
    const answer = (node: unknown, pageInfo: unknown = info) => ({
      balances: { edges: [{ cursor: "c", node }, { node: plain }], pageInfo },
    })
    assert.isTrue(agree(answer(plain)))
    for (const value of odd) {
      for (const field of fields) agree(answer(withField(plain, field, value)))
      for (const field of Object.keys(info)) agree(answer(plain, withField(info, field, value)))
      for (const sent of [answer(value), answer(plain, value), { balances: { edges: value, pageInfo: info } }])
        agree(sent)
      for (const sent of [value, { balances: value }, { balances: { edges: [value], pageInfo: info } }]) agree(sent)
    }
  })
})
