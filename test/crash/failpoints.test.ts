import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { failpoints, nameOf } from "./failpoints.ts"

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.startsWith("sandbox"))
  .map((path) => readFileSync(join(root, "src", path), "utf8"))

const spans = new Set(
  sources.flatMap((text) =>
    [...text.matchAll(/(?:Effect\.fn\(|withSpan\(|sql\s*\.change\()\s*"([^"]+)"/g)].map((found) => found[1]),
  ),
)

describe("the failpoints of the crash harness", () => {
  it.each(failpoints.flatMap(({ name, inside }) => (inside === undefined ? [name] : [name, inside])))(
    "%s is the name of a step of the program",
    (name) => {
      assert.isTrue(spans.has(name), `no span of src is called ${name}`)
    },
  )

  it("are at least forty, each named once", () => {
    const names = failpoints.map(nameOf)
    assert.strictEqual(new Set(names).size, names.length)
    assert.isAtLeast(names.length, 40)
  })

  it("name each step that writes to the outbox or the signer's memory", () => {
    const named = new Set(failpoints.map(({ name }) => name))
    const writes = /(?:Effect\.fn\(|sql\s*\.change\()\s*"((?:Outbox|SpendLog)\.[a-zA-Z]+)"/g
    const found = sources.flatMap((text) => [...text.matchAll(writes)].map((match) => match[1] ?? ""))
    assert.isAbove(found.length, 10)
    // Reads, and a write that no step asks for.
    const others = new Set(["SpendLog.attempts", "Outbox.schedule", "Outbox.noteWindow"])
    assert.deepStrictEqual(
      found.filter((name) => !named.has(name) && !others.has(name)),
      [],
    )
  })
})
