import { Schema } from "effect"
import { DaemonFile } from "../../src/config/DaemonFile.ts"
import {
  AddressText,
  AmountText,
  AssetIdText,
  CountText,
  DecimalsText,
  DecimalText,
  DurationText,
  Hex64Text,
  InstantText,
  ListenText,
  Name,
  PercentText,
  PeriodText,
  PortText,
  UrlText,
  WholeText,
} from "../../src/config/schema/Fields.ts"
import { type JsonSchema, jsonSchemaOf } from "../../src/config/schema/jsonSchemaOf.ts"
import { WrittenTreasury } from "../../src/config/schema/TreasuryFile.ts"

interface Key {
  readonly path: string
  readonly isMandatory: boolean
  readonly value: string
  readonly meaning: string
}

/** Names of the forms of text, as the pages explain them. */
const forms = Object.entries({
  name: Name,
  "64 hex": Hex64Text,
  "asset id": AssetIdText,
  address: AddressText,
  duration: DurationText,
  "duration > 0": PeriodText,
  number: WholeText,
  "0 to 77": DecimalsText,
  "number > 0": CountText,
  amount: AmountText,
  decimal: DecimalText,
  percent: PercentText,
  "1 to 65535": PortText,
  "host:port": ListenText,
  time: InstantText,
  url: UrlText,
})

const patternOf = (schema: Schema.Constraint): string =>
  /"pattern":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(Schema.toJsonSchemaDocument(schema).schema))?.[1] ?? ""

const formNames = new Map(forms.map(([name, schema]) => [patternOf(schema), name]))

const nodesOf = (value: unknown): ReadonlyArray<JsonSchema> => (Array.isArray(value) ? value : [])

/** A node with its alternatives, and what only holds for a part of them. */
const branches = (node: JsonSchema): ReadonlyArray<JsonSchema> => [
  node,
  ...[...nodesOf(node["anyOf"]), ...nodesOf(node["allOf"])].flatMap(branches),
]

const wordsOf = (values: unknown): ReadonlyArray<string> =>
  Array.isArray(values) ? values.filter((value) => typeof value === "string" && value !== "") : []

/** Longer lists of words have a table of their own. */
const wordsMax = 8

const isFile = (node: JsonSchema): boolean => Object.keys(node["properties"] ?? {}).join() === "file"

/** Forms of text that a value may have; none for a map. */
const formsOf = (node: JsonSchema): ReadonlyArray<string> =>
  branches(node).flatMap((one) => {
    if (Array.isArray(one["enum"])) {
      const words = wordsOf(one["enum"])
      return words.length > wordsMax ? ["hold reason"] : words
    }
    if ("$ref" in one) return ["condition"]
    if (isFile(one)) return ["file"]
    if (one["type"] === "array") {
      const inner = formsOf(one["items"] as JsonSchema).join(" \\| ")
      return inner === "" ? [] : [`[${inner}]`]
    }
    if (one["type"] !== "string") return []
    return [formNames.get(JSON.stringify(one["pattern"] ?? "")) ?? "text"]
  })

const valueOf = (node: JsonSchema): string => [...new Set(formsOf(node))].join(" \\| ")

const isNode = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null

/** The keys directly below a node, with their schemas. */
const insideOf = (node: JsonSchema, path: string): ReadonlyArray<readonly [string, boolean, JsonSchema]> =>
  branches(node).flatMap((one) => {
    if (isFile(one)) return []
    const required = wordsOf(one["required"])
    const below = (name: string) => (path === "" ? name : `${path}.${name}`)
    const own = Object.entries((one["properties"] ?? {}) as Record<string, JsonSchema>)
    const free = Object.values((one["patternProperties"] ?? {}) as Record<string, JsonSchema>)
    return [
      ...own.map(([name, inner]) => [below(name), required.includes(name), inner] as const),
      ...free.map((inner) => [below("*"), false, inner] as const),
      ...(isNode(one["additionalProperties"]) ? [[below("*"), false, one["additionalProperties"]] as const] : []),
      ...(isNode(one["items"]) ? insideOf(one["items"], `${path}[]`) : []),
    ]
  })

const keysBelow = (node: JsonSchema, path: string): ReadonlyArray<Key> =>
  insideOf(node, path).flatMap(([inner, isMandatory, schema]) => {
    const meaning = branches(schema).flatMap(({ description }) =>
      typeof description === "string" ? [description] : [],
    )
    return [
      { path: inner, isMandatory, value: valueOf(schema), meaning: meaning[0] ?? "" },
      ...keysBelow(schema, inner),
    ]
  })

/** Keys of the file of a process of several treasuries. */
export const daemonTable = (): string => table(keysBelow(jsonSchemaOf(DaemonFile), ""))

const written = jsonSchemaOf(WrittenTreasury)
const definitions = (written["$defs"] ?? {}) as Record<string, JsonSchema>

const everyKey = keysBelow(written, "")
const conditionKeys = Object.values(definitions).flatMap((node) => keysBelow(node, ""))

const table = (keys: ReadonlyArray<Key>): string => {
  const seen = new Set<string>()
  const rows = keys.flatMap(({ path, isMandatory, value, meaning }) => {
    if (seen.has(path) || (meaning === "" && value === "")) return []
    seen.add(path)
    return [`| \`${path}\`${isMandatory ? " *" : ""} | ${value} | ${meaning.replaceAll("|", "\\|")} |`]
  })
  return ["| key | value | meaning |", "|---|---|---|", ...rows, ""].join("\n")
}

/** Keys of a treasury file but those that have a page of their own, as a table of Markdown. */
export const keyTable = (): string =>
  table(everyKey.filter(({ path }) => !/^(rules|sandbox|alerts\.receivers)\b/.test(path)))

const shared = /^(text|allowPrivate|headers(\.\*)?)$/

/** Keys of receivers by their kind; those that several kinds have stand at the end once. */
export const receiverTable = (): string => {
  const keys = everyKey.flatMap((key) => {
    const [, kind, name] = /^alerts\.receivers\.\*\.(\w+)\.?(.*)$/.exec(key.path) ?? []
    if (kind === undefined || name === undefined) return []
    return [
      shared.test(name) ? { ...key, path: `*.${name}` } : { ...key, path: name === "" ? kind : `${kind}.${name}` },
    ]
  })
  return table([
    ...keys.filter(({ path }) => !path.startsWith("*")),
    ...keys.filter(({ path }) => path.startsWith("*")),
  ])
}

/** Keys of one rule: its kinds, or what modifies it. */
export const ruleTable = (isWanted: (key: string) => boolean): string =>
  table(
    everyKey.flatMap((key) => {
      const path = /^rules\[\]\.(.+)$/.exec(key.path)?.[1]
      return path !== undefined && isWanted(path) ? [{ ...key, path }] : []
    }),
  )

export const conditionTable = (): string => table(conditionKeys)
