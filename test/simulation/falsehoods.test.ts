import { assert, describe, it } from "vitest"
import { falsehoods } from "./falsehoods.ts"

const head = { height: "7", hash: "ab".repeat(32), spamPowDifficulty: 15, chainId: "simulation-1" }
const told = {
  status: 200,
  headers: { "X-Block-Height": "7", "X-Block-Timestamp": "1795255277432543000" },
  body: JSON.stringify(head),
}
const listing = {
  ...told,
  body: JSON.stringify({ accounts: { edges: [{ node: { balance: "1" } }, { node: { balance: "2" } }] } }),
}
const named = (name: string) => falsehoods.find((one) => one.name === name) ?? assert.fail(`no falsehood ${name}`)

describe("the lies of a gateway", () => {
  it("are more than 400, each under a name of its own", () => {
    assert.isAbove(falsehoods.length, 400)
    assert.strictEqual(new Set(falsehoods.map(({ name }) => name)).size, falsehoods.length)
  })

  it("say of one field another thing, and leave the rest as it is", () => {
    const lie = named("height spamPowDifficulty: 2^32-1").tell(told)
    assert.deepStrictEqual(JSON.parse(lie.body), { ...head, spamPowDifficulty: 4_294_967_295 })
    assert.deepStrictEqual(lie.headers, told.headers)
    assert.deepStrictEqual(JSON.parse(named("height chainId: missing").tell(told).body), {
      height: head.height,
      hash: head.hash,
      spamPowDifficulty: head.spamPowDifficulty,
    })
    const header = named("accounts X-Block-Height: 2^63").tell(told)
    assert.deepStrictEqual(header, { ...told, headers: { ...told.headers, "X-Block-Height": "9223372036854775808" } })
  })

  it("move values from row to row, and leave rows out", () => {
    const balances = (name: string) =>
      JSON.parse(named(name).tell(listing).body).accounts.edges.map((edge: { node: object }) => edge.node)
    assert.deepStrictEqual(balances("accounts balance: shifted by a row"), [{ balance: "2" }, { balance: "1" }])
    assert.deepStrictEqual(balances("accounts rows: without the last row"), [{ balance: "1" }])
  })

  it("return the same answer without such a field or with that value", () => {
    assert.strictEqual(named("height spamPowNumberOfPastBlocks: 0").tell(told), told)
    assert.strictEqual(named("accounts rows: rows backwards").tell(told), told)
    assert.strictEqual(named("height height: 0").tell({ ...told, status: 503 }).status, 503)
  })

  it("concern the requests of their operation alone", () => {
    const concerned = (method: string, path: string) =>
      new Set(falsehoods.filter(({ concerns }) => concerns({ method, path })).map(({ operation }) => operation))
    assert.deepStrictEqual([...concerned("GET", "/blockchain/height")], ["height"])
    assert.deepStrictEqual([...concerned("POST", "/transaction")], ["submit"])
    assert.deepStrictEqual([...concerned("GET", `/api/v2/transfer/${"0".repeat(64)}`)], ["transfer"])
    assert.deepStrictEqual([...concerned("GET", "/")], [])
  })
})
