import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { faultFields, faultKinds, hitsOfKinds, kinds, operations } from "../../src/sandbox/Faults.ts"
import * as Test from "../support/TestClient.ts"
import { withSandbox } from "../support/TestSandbox.ts"

/** The sandbox's own. */
const readme = readFileSync(new URL("../../src/sandbox/README.md", import.meta.url), "utf8")

/** The cells of a table of the README: the first one below a heading whose first column has this name. */
const tableOf = (heading: string, column: string): ReadonlyArray<ReadonlyArray<string>> => {
  const section = readme.split(/\n#+ /).find((part) => part.startsWith(`${heading}\n`)) ?? ""
  const lines = section.split("\n")
  const head = lines.findIndex((line) => line.startsWith(`| ${column} |`))
  const rows = head < 0 ? [] : lines.slice(head + 2)
  const end = rows.findIndex((line) => !line.startsWith("|"))
  return rows.slice(0, end < 0 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  )
}

/** What stands in code in a cell. */
const codes = (cell = ""): ReadonlyArray<string> => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "")

const told = tableOf("Kinds", "kind")

describe("the README's table of kinds", () => {
  it("has a row for each kind, in their order", () => {
    assert.deepStrictEqual(
      told.map(([kind]) => codes(kind)),
      faultKinds.map((kind) => [kind]),
    )
  })

  it.each(faultKinds)("tells what %s does, which operations it hits, and which keys it takes", (kind) => {
    const [, happens, hits, needed, optional] = told.find(([name]) => name === `\`${kind}\``) ?? []
    const { hits: own, needs, may = [] } = kinds[kind]
    assert.isAbove((happens ?? "").length, 10)
    assert.strictEqual(hits, own)
    assert.deepStrictEqual(codes(needed), needs === undefined ? [] : [needs])
    assert.deepStrictEqual(codes(optional), [...may])
  })
})

describe("the README's table of operations", () => {
  const rows = tableOf("Kinds", "operations")
  it("has a row for each word of the other table", () => {
    assert.deepStrictEqual(
      rows.map(([word]) => word),
      Object.keys(hitsOfKinds),
    )
  })

  it.each(Object.entries(hitsOfKinds))("tells what %s are", (word, meant) => {
    const [, text = ""] = rows.find(([name]) => name === word) ?? []
    const [head = "", exception = ""] = text.split("but")
    const all = /^all\b/.test(head) ? operations : codes(head)
    const left = all.filter((operation) => !codes(exception).includes(operation))
    assert.deepStrictEqual([...left].sort(), [...meant].sort())
  })
})

describe("the README's table of keys", () => {
  const rows = tableOf("Keys", "JSON")

  it("has a row for each key", () => {
    assert.deepStrictEqual(rows.map(([key]) => codes(key)[0]).sort(), ["rate", ...Object.keys(faultFields)].sort())
  })

  it.live("tells the bounds that hold", () =>
    withSandbox({}, function* (client) {
      const status = (key: string, value: unknown) => {
        const body = JSON.stringify({ operation: "any", kind: "drop_before", [key]: value })
        return Effect.map(Test.request(client, "/sandbox/faults", { body }), (reply) => reply.status)
      }
      const checked: Array<string> = []
      for (const [cell, , , values = ""] of rows) {
        const key = codes(cell)[0] ?? ""
        const range = /^(-?[0-9.]+) to ([0-9.]+)$/.exec(values)
        const listed = values.split(", ").map(Number)
        const good = range === null ? listed : [Number(range[1]), Number(range[2])]
        const step = key === "rate" ? 1e-7 : 1
        const bad = range === null ? [418] : [Number(range[1]) - step, Number(range[2]) + step]
        if (good.some(Number.isNaN)) continue
        checked.push(key)
        for (const value of good) assert.strictEqual(yield* status(key, value), 200, `${key} ${value}`)
        for (const value of bad) assert.strictEqual(yield* status(key, value), 400, `${key} ${value}`)
      }
      assert.strictEqual(checked.length, rows.length - ["operation", "kind", "effect", "chainId"].length)
      assert.deepStrictEqual(
        [yield* status("chainId", "x".repeat(50)), yield* status("chainId", "x".repeat(51))],
        [200, 400],
      )
    }),
  )
})
