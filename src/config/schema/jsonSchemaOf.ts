import { Schema } from "effect"
import texts from "./keyTexts.json" with { type: "json" }

/**
 * Descriptions of a treasury file's keys, for editors. In `keys`, "*" stands for a free name, "[]" for an item of a
 * list; the other tables are of keys that several kinds of rules or receivers have, and of conditions, which may be
 * nested.
 */
const { keys, rules, receivers, conditions }: Readonly<Record<keyof typeof texts, Readonly<Record<string, string>>>> =
  texts

/** The sentence about a key; undefined if it has none. The path of a shared definition begins with "?". */
const describing = (path: string): string | undefined => {
  if (path.startsWith("?")) {
    const key = path.slice("?.".length)
    return conditions[key] ?? conditions[key.replace(/^.*\./, "*.")]
  }
  if (Object.hasOwn(keys, path)) return keys[path]
  const ofRule = /^rules\[\]\.\w+\.(\w+)$/.exec(path)?.[1]
  if (ofRule !== undefined) return rules[ofRule]
  const ofReceiver = /^alerts\.receivers\.\*\.\w+\.(.+)$/.exec(path)?.[1]
  return ofReceiver === undefined ? undefined : (receivers[ofReceiver] ?? receivers[ofReceiver.replace(/^.*\./, "")])
}

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Numbers up to this are tried to find the bound of a form. */
const numberMax = 99_999

/** Schema of the numbers that a YAML 1.2 reader makes of texts of this form. */
const numbersOf = (pattern: string): JsonSchema | undefined => {
  const form = new RegExp(pattern, "u")
  const isWhole = (n: number) => form.test(String(n))
  const least = [0, 1].find(isWhole)
  if (least === undefined) return undefined
  const isEndless = isWhole(numberMax)
  const range = Array.from({ length: isEndless ? 0 : numberMax }, (_, n) => n).findLast(isWhole)
  return {
    type: form.test("0.5") ? "number" : "integer",
    ...(form.test("-1") ? {} : { minimum: least }),
    ...(range === undefined ? {} : { maximum: range }),
  }
}

/** The values that a YAML 1.2 reader may take a plain word for. */
const readingsOf = (word: string): ReadonlyArray<unknown> => {
  if (word === "") return ["", null]
  if (word === "true" || word === "false") return [word, word === "true"]
  return /^[0-9]+$/.test(word) ? [word, Number(word)] : [word]
}

/** Numbers and "true" may be written without quotes. */
const loosened = (node: JsonSchema): JsonSchema => {
  const { type, pattern, enum: words, ...rest } = node
  if (type !== "string") return node
  if (Array.isArray(words)) return { ...rest, enum: words.flatMap((word) => readingsOf(String(word))) }
  const numbers = typeof pattern === "string" ? numbersOf(pattern) : undefined
  if (numbers === undefined) return node
  return { ...rest, anyOf: [{ type, pattern }, numbers] }
}

/** An optional key must not be null. */
const withoutNull = (node: JsonSchema): JsonSchema => {
  const { anyOf, ...rest } = node
  if (!Array.isArray(anyOf)) return node
  const kept = (anyOf as ReadonlyArray<JsonSchema>).filter(({ type }) => type !== "null")
  return kept.length === 1 ? { ...kept[0], ...rest } : { ...rest, anyOf: kept }
}

const isNode = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const mapValues = (value: JsonSchema, change: (inner: JsonSchema, name: string) => unknown): JsonSchema =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, isNode(inner) ? change(inner, name) : inner]))

/** Walks the schema of the value at `path`: "rules[].topUp.levels[].below", with "*" for a free name. */
const walk = (node: JsonSchema, path: string): JsonSchema => {
  const { properties, patternProperties, items, additionalProperties, anyOf, allOf, ...rest } = node
  const under = (name: string) => (path === "" ? name : `${path}.${name}`)
  const words = describing(path)
  return loosened({
    ...rest,
    ...(isNode(properties)
      ? { properties: mapValues(properties, (inner, name) => walk(withoutNull(inner), under(name))) }
      : {}),
    ...(isNode(patternProperties)
      ? { patternProperties: mapValues(patternProperties, (inner) => walk(inner, under("*"))) }
      : {}),
    ...(isNode(items) ? { items: walk(items, `${path}[]`) } : {}),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties: isNode(additionalProperties)
            ? walk(additionalProperties, under("*"))
            : additionalProperties,
        }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((inner: JsonSchema) => walk(inner, path)) } : {}),
    ...(Array.isArray(allOf) ? { allOf: allOf.map((inner: JsonSchema) => walk(inner, path)) } : {}),
    ...(words === undefined ? {} : { description: words }),
  })
}

/** JSON Schema (draft 2020-12) of the files that a schema takes, for editors: strict, each key with its description. */
export const jsonSchemaOf = (schema: Schema.Constraint): JsonSchema => {
  const options = { onExcessProperty: "error", generateDescriptions: true } as const
  const document = Schema.toJsonSchemaDocument(schema, options)
  const { definitions, schema: root } = document
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Treasury file of Cofferer",
    ...walk(root, ""),
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: mapValues(definitions, (inner) => walk(inner, "?")) }),
  }
}
