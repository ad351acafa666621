import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { parse } from "yaml"
import { schemaOfFiles } from "../../src/cli/check.ts"
import type { JsonSchema } from "../../src/config/schema/jsonSchemaOf.ts"
import { lintTreasury, loadTreasury } from "../../src/config/Treasury.ts"
import { root } from "../support/Cofferer.ts"
import { it } from "../support/it.ts"

const file = join(root, "config/treasury.example.yaml")
const text = readFileSync(file, "utf8")
const schema = schemaOfFiles()

/** With the lines that are a comment and a key: they show what may stand in the place of others. */
const uncommented = text.replace(/^( *)# ([\w-]+: (?:\{.*\}|\/\S+))(?: {2,}.*)?$/gm, "$1$2")

/** The embedded network's keys stand elsewhere, which the file says. */
const isElsewhere = (path: string): boolean => path === "sandbox" || path.startsWith("sandbox.")

const parts = (node: JsonSchema): ReadonlyArray<readonly [way: string, inner: JsonSchema]> => {
  const { properties, patternProperties, additionalProperties, items, anyOf, allOf, $ref } = node
  const named = Object.entries((properties ?? {}) as Record<string, JsonSchema>)
  const free = [...Object.values((patternProperties ?? {}) as Record<string, JsonSchema>), additionalProperties]
  const defs = schema["$defs"] as Record<string, JsonSchema>
  const ways: ReadonlyArray<readonly [string, unknown]> = [
    ...named.map(([name, inner]) => [`.${name}`, inner] as const),
    ...free.map((inner) => [".*", inner] as const),
    ["[]", items],
    ...[anyOf, allOf].flat().map((inner) => ["", inner] as const),
    ["", typeof $ref === "string" ? defs[$ref.split("/").at(-1) ?? ""] : undefined],
  ]
  return ways.flatMap(([way, inner]) =>
    typeof inner === "object" && inner !== null ? [[way, inner as JsonSchema] as const] : [],
  )
}

/** Every place of a value, "rules[].topUp.from"; conditions, which stand in one another, as one: "…not". */
const keysOfSchema = (): ReadonlySet<string> => {
  const found = new Set<string>()
  const walk = (node: JsonSchema, path: string): void => {
    for (const [way, inner] of parts(node)) {
      const at = nested(`${path}${way}`.replace(/^\./, ""))
      if (isElsewhere(at) || (way !== "" && found.has(at))) continue
      if (way !== "") found.add(at)
      else if (typeof inner["$ref"] === "string" && found.has(`${at} refers`)) continue
      if (typeof inner["$ref"] === "string") found.add(`${at} refers`)
      walk(inner, at)
    }
  }
  walk(schema, "")
  return new Set([...found].filter((path) => !path.endsWith(" refers") && !/(\.\*|\[\])$/.test(path)))
}

/** Conditions within conditions have the keys of conditions. */
const nested = (path: string): string =>
  path
    .replace(/^(rules\[\]\.)(?:notify\.when|clear)(?=[.[])/, "$1when")
    .replace(/(\.when)(?:\.(?:all|any)\[\]|\.not)(?=\.)/g, "$1")

/** The same of a file: a name that is no key stands where names are free. */
const keysOfFile = (yaml: string, known: ReadonlySet<string>): ReadonlySet<string> => {
  const found = new Set<string>()
  const walk = (value: unknown, path: string): void => {
    if (Array.isArray(value)) for (const inner of value) walk(inner, `${path}[]`)
    else if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        const own = nested(path === "" ? name : `${path}.${name}`)
        const at = known.has(own) ? own : nested(`${path}.*`)
        found.add(at)
        walk(inner, at)
      }
    }
  }
  walk(parse(yaml, { uniqueKeys: false }), "")
  return found
}

describe("the example of a treasury file", () => {
  it("has every key that a treasury file can have", () => {
    const known = keysOfSchema()
    assert.isAtLeast(known.size, 130)
    const own = new Set([...keysOfFile(text, known), ...keysOfFile(uncommented, known)])
    assert.deepStrictEqual(
      [...known].filter((path) => !own.has(path)),
      [],
    )
  })

  it.effect("is a sound treasury, and warned of nothing", function* () {
    const treasury = yield* loadTreasury(file)
    assert.deepStrictEqual(lintTreasury(treasury), [])
  })
})
