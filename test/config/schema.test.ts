import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { parse } from "yaml"
import { schemaOfFiles } from "../../src/cli/check.ts"
import type { JsonSchema } from "../../src/config/schema/jsonSchemaOf.ts"
import { TreasuryFile } from "../../src/config/schema/TreasuryFile.ts"
import { decodeAll } from "../../src/config/yaml/decodeAll.ts"
import { parsePlaced, valueOf } from "../../src/config/yaml/Yaml.ts"
import { root } from "../support/Cofferer.ts"
import { broken, goodText } from "./Broken.ts"
import { mutate } from "./mutate.ts"

const schema = schemaOfFiles()
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
const validate = ajv.compile(schema)

/** What an editor sees: YAML 1.2 with numbers and truth values; undefined where it is no YAML at all. */
const edited = (text: string): unknown => {
  try {
    return parse(text, { version: "1.2", logLevel: "silent", maxAliasCount: 1_000 })
  } catch {
    return undefined
  }
}

const complaints = (text: string): string => {
  validate(edited(text))
  return ajv.errorsText(validate.errors)
}

const isTaken = (text: string): boolean => {
  const { tree, problems } = parsePlaced("t.yaml", text)
  return problems.length === 0 && "value" in decodeAll(TreasuryFile, valueOf(tree))
}

/** YAML blocks of a text that describe a treasury. */
const blocksOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, block]) => block!)
    .filter((block) => block.startsWith("version:"))

const good: ReadonlyArray<readonly [name: string, text: string]> = [
  ...readdirSync(join(root, "config"))
    .filter((name) => name.endsWith(".yaml") && name !== "compose.yaml")
    .map((name) => [name, readFileSync(join(root, "config", name), "utf8")] as const),
  ...blocksOf(readFileSync(join(root, "README.md"), "utf8")).map((text, i) => [`README.md, block ${i}`, text] as const),
  ["the good file of these tests", goodText],
]

describe("the JSON Schema of treasury files", () => {
  it.each([...good])("takes %s", (_, text) => {
    assert.strictEqual(complaints(text), "No errors")
  })

  it("accepts a file of rules in TypeScript under rules alone", () => {
    const withRules = (rules: string) => complaints(goodText.replace(/^rules:\n(?: .*\n)*/m, `rules: ${rules}\n`))
    assert.strictEqual(withRules("./rules.ts"), "No errors")
    const news = "{ name: news, notify: { asset: any, becomes: [enabled] } }"
    assert.strictEqual(withRules(`[ rules.ts, ${news} ]`), "No errors")
    assert.notStrictEqual(withRules("./rules.py"), "No errors")
    const code = "code: { accounts: [{ party: hot, asset: VEGA }], from: hot, to: cold, asset: VEGA, need: x }"
    assert.notStrictEqual(withRules(`[{ name: own, ${code} }]`), "No errors")
  })

  it("is given for at least the files of config and one of the README", () => {
    assert.isAtLeast(good.length, 6)
  })

  it("refuses every mistake of structure that the decoder refuses, and nothing that it takes", () => {
    let refused = 0
    for (const { title, from, to } of broken) {
      const text = goodText.replace(from, to)
      if (edited(text) === undefined) continue
      const isFine = complaints(text) === "No errors"
      if (isFine === isTaken(text)) refused += isFine ? 0 : 1
      else assert.include(differing, title, complaints(text))
    }
    assert.isAtLeast(refused, 40)
  })

  it("agrees with the decoder on mutated files", () => {
    let refused = 0
    const apart: Array<string> = []
    for (let seed = 0; seed < 600; seed++) {
      const { text, kinds } = mutate(goodText, `schema ${seed}`)
      if (kinds.some((kind) => skipped.includes(kind)) || edited(text) === undefined) continue
      if (parsePlaced("t.yaml", text).problems.length > 0) continue
      const isFine = complaints(text) === "No errors"
      if (isFine && !isTaken(text)) apart.push(`seed ${seed}, ${kinds.join(", ")}: the schema takes it`)
      if (!isFine) refused++
    }
    assert.deepStrictEqual(apart, [])
    assert.isAtLeast(refused, 100)
  })

  it("describes every key of a treasury file", () => {
    const bare: Array<string> = []
    const look = (node: JsonSchema, path: string): void => {
      const { properties, patternProperties, items, additionalProperties, anyOf, allOf } = node
      for (const [name, inner] of Object.entries((properties ?? {}) as Record<string, JsonSchema>)) {
        const at = `${path}.${name}`
        if (at === ".sandbox") continue
        if (typeof inner["description"] !== "string") bare.push(at.slice(1))
        look(inner, at)
      }
      const free = Object.values((patternProperties ?? {}) as object)
      for (const inner of [...free, items, additionalProperties, ...[anyOf, allOf].flat()]) {
        if (typeof inner === "object" && inner !== null) look(inner as JsonSchema, path)
      }
    }
    look(schema, "")
    assert.deepStrictEqual(
      bare.filter((path) => !path.startsWith("rules")),
      [],
    )
  })
})

/** What only the decoder can know: addresses by their parts, and how long a hundred years are. */
const differing: ReadonlyArray<string> = [
  "a gateway in the clear",
  "a gateway with a password",
  "a duration of centuries",
  "centuries behind a zero",
  "a day that its month lacks",
  "an amount in floating point",
  "a key given twice",
  "a second document",
  "a party given twice",
  "a tag",
]
/** Kinds that make YAML of which readers differ, or numbers too large to be compared. */
const skipped: ReadonlyArray<string> = ["huge", "deep", "bomb"]
