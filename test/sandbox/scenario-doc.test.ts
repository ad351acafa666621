import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, SchemaAST } from "effect"
import { ScenarioText } from "../../src/sandbox/ScenarioText.ts"
import { root } from "../support/Cofferer.ts"
import { it } from "../support/it.ts"
import { scenarioOf } from "../support/TestSandbox.ts"

const document = readFileSync(join(root, "src/sandbox/SCENARIO.md"), "utf8")

/** Cells of the rows of the tables in a part of the document, without heads and rulers. */
const rowsOf = (part: string): ReadonlyArray<ReadonlyArray<string>> =>
  part.split("\n").flatMap((line) => {
    const cells = line.split("|").slice(1, -1)
    return /^\| `/.test(line) ? [cells.map((cell) => cell.trim())] : []
  })

/** Parts of the document that have a key for their heading, by that key. */
const parts = new Map(
  document.split(/^#{2,3} /m).flatMap((part) => {
    const heading = /^`([\w.]+)`\n/.exec(part)?.[1]
    return heading === undefined ? [] : [[heading, rowsOf(part)] as const]
  }),
)

const bare = (cell: string | undefined): string => (cell ?? "").replace(/`/g, "")

/** What an array holds, or the thing itself. */
const insideOf = (ast: SchemaAST.AST): SchemaAST.AST =>
  SchemaAST.isArrays(ast) && ast.rest[0] !== undefined ? ast.rest[0] : ast

interface Key {
  readonly name: string
  readonly mandatory: boolean
  readonly literals: string | undefined
}

/** The keys of a schema, and of all inside of it, by the path of what holds them. */
const keysOf = (ast: SchemaAST.AST, path: string): ReadonlyArray<readonly [string, ReadonlyArray<Key>]> => {
  if (!SchemaAST.isObjects(ast) || ast.propertySignatures.length === 0) return []
  const own = ast.propertySignatures.map(({ name, type }): Key => {
    const words = SchemaAST.isUnion(type) ? type.types.flatMap((t) => (SchemaAST.isLiteral(t) ? [t.literal] : [])) : []
    return {
      name: String(name),
      mandatory: type.context?.isOptional !== true,
      literals: words.length === 0 ? undefined : words.join(", "),
    }
  })
  const deeper = ast.propertySignatures.flatMap(({ name, type }) =>
    keysOf(insideOf(type), path === "sandbox" ? String(name) : `${path}.${String(name)}`),
  )
  return [[path, own], ...deeper]
}

const schema = keysOf(ScenarioText.ast, "sandbox")

type Fields = Record<string, unknown>

/** A scenario with one of everything. */
const base = () => ({
  seed: "s",
  pow: {} as Fields,
  powChanges: [{ block: "5" }] as ReadonlyArray<Fields>,
  parties: ["a", "b"],
  assets: [
    {
      id: "aa",
      name: "A",
      symbol: "A",
      decimals: "0",
      quantum: "1",
      builtin: {} as Fields,
      status: { enabled: "0" } as Fields,
    },
    {
      id: "bb",
      name: "B",
      symbol: "B",
      decimals: "0",
      quantum: "1",
      erc20: { contractAddress: "0x" } as Fields,
      status: { enabled: "0" },
    },
  ],
  deposits: [{ party: "a", asset: "B", amount: "7" }] as ReadonlyArray<Fields>,
  spenders: [
    {
      from: "a",
      to: "b",
      asset: "B",
      at: [{ block: "2", amount: "1" }] as ReadonlyArray<Fields>,
      every: { blocks: "3", amount: "1" } as Fields,
    },
  ],
  faults: [{ block: "1", operation: "any", kind: "drop_before" }] as ReadonlyArray<Fields>,
})
type Base = ReturnType<typeof base>

/** Where the keys of each path stand in it. */
const places: Readonly<Record<string, (scenario: Base) => Fields | undefined>> = {
  sandbox: (s) => s,
  pow: (s) => s.pow,
  powChanges: (s) => s.powChanges[0],
  assets: (s) => s.assets[0],
  "assets.builtin": (s) => s.assets[0]?.builtin,
  "assets.erc20": (s) => s.assets[1]?.erc20,
  "assets.status": (s) => s.assets[0]?.status,
  deposits: (s) => s.deposits[0],
  spenders: (s) => s.spenders[0],
  "spenders.at": (s) => s.spenders[0]?.at[0],
  "spenders.every": (s) => s.spenders[0]?.every,
  faults: (s) => s.faults[0],
}

const decoded = (path: string, key: string, value: string | undefined) => {
  const scenario = base()
  const place = places[path]?.(scenario) ?? assert.fail(`no place for ${path}`)
  if (value === undefined) delete place[key]
  else place[key] = value
  return scenarioOf(JSON.stringify({ sandbox: scenario }))
}

/** Values at the ends of a range as the document writes it, and the next ones outside of it. */
const endsOf = (
  written: string,
): { readonly inside: ReadonlyArray<string>; readonly outside: ReadonlyArray<string> } => {
  const whole = /^(\d+) to (\d+)$/.exec(written)
  if (whole !== null) {
    const [least, most] = [Number(whole[1]), Number(whole[2])]
    return { inside: [String(least), String(most)], outside: [String(least - 1), String(most + 1)] }
  }
  switch (written) {
    case "1ms to 1d":
      return { inside: ["1ms", "1d"], outside: ["0ms", "86400001ms", "1"] }
    case "-1d to 1d":
      return { inside: ["-1d", "1d"], outside: ["-86400001ms", "2d"] }
    case "1ms or more":
      return { inside: ["1ms", "400d"], outside: ["0s"] }
    case "0.000001 to 1":
      return { inside: ["0.000001", "1"], outside: ["0.0000009", "1.1", "0"] }
    case "1 to 64 characters":
      return { inside: ["x", "x".repeat(64)], outside: ["", "x".repeat(65)] }
    case "decimal":
      return { inside: ["0", "999999999.123456789012345678"], outside: ["1000000000", "-1", ".5"] }
    default:
      return { inside: [], outside: [] }
  }
}

describe("SCENARIO.md", () => {
  it("names every key of the schema, in its order, and none besides", () => {
    const told = [...parts].map(([path, rows]) => [path, rows.map(([key]) => bare(key))])
    assert.deepStrictEqual(
      told,
      schema.map(([path, keys]) => [path, keys.map(({ name }) => name)]),
    )
  })

  it("says which keys are mandatory, and all words that a key takes", () => {
    const told = [...parts].flatMap(([path, rows]) =>
      rows.map(([key, , values, or]) => [path, bare(key), or === "mandatory", values]),
    )
    const meant = schema.flatMap(([path, keys]) =>
      keys.map(({ name, mandatory, literals }, i) => [path, name, mandatory, literals ?? parts.get(path)?.[i]?.[2]]),
    )
    assert.deepStrictEqual(told, meant)
  })

  const rows = [...parts].flatMap(([path, all]) =>
    all.map(([key, , values, or]) => ({ path, key: bare(key), values: values ?? "", or: or ?? "" })),
  )

  it.effect("gives the defaults that a scenario gets where a key is left out", function* () {
    const defaults = rows.filter(({ or }) => or.startsWith("`"))
    assert.isAtLeast(defaults.length, 18)
    for (const { path, key, or } of defaults) {
      const without = yield* decoded(path, key, undefined)
      assert.deepStrictEqual(yield* decoded(path, key, bare(or)), without, `${path}.${key}`)
    }
  })

  it.effect("gives the bounds that are kept", function* () {
    let tried = 0
    for (const { path, key, values } of rows) {
      const { inside, outside } = endsOf(values)
      for (const value of inside) yield* decoded(path, key, value)
      for (const value of outside) {
        const error = yield* Effect.flip(decoded(path, key, value))
        assert.match(error.message, /^test\.yaml:\d+:\d+ {2}.+; .+$/m, `${path}.${key}: ${value}`)
        tried++
      }
    }
    assert.isAtLeast(tried, 60)
  })
})
