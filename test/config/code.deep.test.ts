import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { readTests } from "../../src/backtest/readTests.ts"
import { runPlan } from "../../src/backtest/runPlan.ts"
import { partHashes } from "../../src/config/needsRestart.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { originsOf } from "../../src/config/yaml/Yaml.ts"
import { it } from "../support/it.ts"
import { asTypeScript, codeTreasury } from "../support/RulesInCode.ts"
import { ruleExamples } from "../support/ruleExamples.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("code")

let folders = 0
/** A folder of its own with these files; returns where it is. */
const folder = (files: Readonly<Record<string, string>>): string => {
  const made = join(dir, String(folders++))
  mkdirSync(join(made, "secrets"), { recursive: true })
  for (const name of ["reserve", "maker-1", "maker-2"]) writeFileSync(join(made, "secrets", name), "key")
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text)
  return made
}

const good = `import type { Rules, Seen } from "cofferer/rules"
import { low } from "./levels.ts"

const lack = ({ balances, one }: Seen) => {
  const missing = low * one - balances["maker-2/USDT"]!
  return missing > 0n ? { pay: missing, because: "it runs low" } : undefined
}

export const rules: Rules = [
  {
    name: "fund-maker",
    topUp: { from: "reserve", levels: [{ party: "maker-1", asset: "USDT", below: "10_000", target: "25_000" }] },
    for: "30s",
  },
  {
    name: "own",
    code: {
      accounts: [{ party: "maker-2", asset: "USDT" }],
      from: "reserve",
      to: "maker-2",
      asset: "USDT",
      need: lack,
    },
    cooldown: "10m",
  },
]
`
const levels = "export const low: bigint = 20_000n\n"

const made = (edits: Readonly<Record<string, string>> = {}): string => {
  let text = good
  for (const [from, to] of Object.entries(edits)) {
    assert.include(good, from)
    text = text.replace(from, to)
  }
  return folder({ "treasury.yaml": codeTreasury("./rules.ts"), "rules.ts": text, "levels.ts": levels })
}

const load = (at: string, ...overlays: ReadonlyArray<string>) =>
  loadTreasury(join(at, "treasury.yaml"), ...overlays.map((name) => join(at, name)))

const problemsOf = (at: string) =>
  Effect.map(Effect.flip(load(at)), ({ message }) => message.replaceAll(`${at}/`, "").split("\n"))

const yamlBlocks = ruleExamples.filter((text) => /^rules:\n/m.test(text))

describe("a file of rules in TypeScript", () => {
  it.effect("replaces a list or an entry", function* () {
    const { rules } = yield* load(made())
    assert.deepStrictEqual(
      rules.map(({ name, kind }) => [name, kind]),
      [
        ["fund-maker", "topUp"],
        ["own", "code"],
      ],
    )
    const mixed = codeTreasury(`
  - { name: fee, split: { from: maker-1, asset: USDT, above: "60_000", target: "40_000", to: { ops: 1 } } }
  - rules.ts`)
    const both = yield* load(folder({ "treasury.yaml": mixed, "rules.ts": good, "levels.ts": levels }))
    assert.deepStrictEqual(
      both.rules.map(({ name }) => name),
      ["fee", "fund-maker", "own"],
    )
  })

  it.effect("means what the same rules mean in YAML, value by value", function* () {
    assert.isAtLeast(yamlBlocks.length, 9)
    for (const block of yamlBlocks) {
      const rules = /^rules:\n(?: .*\n)*/m.exec(block)![0]
      const tests = block.slice(block.search(/^tests:/m))
      const at = folder({
        "yaml.yaml": codeTreasury(rules.slice("rules:".length), block),
        "code.yaml": codeTreasury("rules.ts", block),
        "rules.ts": asTypeScript(rules),
        "tests.yaml": tests,
      })
      const load = (name: string) => loadTreasury(join(at, name))
      const [one, other] = [yield* load("yaml.yaml"), yield* load("code.yaml")]
      assert.deepStrictEqual(other.rules, one.rules)
      assert.strictEqual(partHashes(other.document.value).rules, partHashes(one.document.value).rules)
      const played = (name: string) =>
        Effect.flatMap(readTests(join(at, "tests.yaml"), [join(at, name)]), (plans) =>
          Effect.forEach(plans, (plan) =>
            Effect.map(
              Effect.promise(() => runPlan(plan)),
              ({ unmet, payments, raised }) => ({ unmet, payments, raised }),
            ),
          ),
        )
      assert.deepStrictEqual(yield* played("code.yaml"), yield* played("yaml.yaml"))
    }
  })

  it.effect("has the place of its rule for each value, and a text for each function", function* () {
    const at = made()
    const { document } = yield* load(at)
    const origins = new Map(originsOf(document.tree).map((origin) => [origin.path, origin]))
    const placeOf = (path: string) => {
      const { file, line, column } = origins.get(path)!.at
      return `${file.replace(`${at}/`, "")}:${line}:${column}`
    }
    assert.strictEqual(placeOf("rules.0.name"), "rules.ts:11:5")
    assert.strictEqual(placeOf("rules.0.topUp.levels.0.below"), "rules.ts:11:5")
    assert.strictEqual(placeOf("rules.1.code.need"), "rules.ts:16:5")
    assert.strictEqual(placeOf("name"), "treasury.yaml:3:7")
    assert.match(origins.get("rules.1.code.need")!.value, /^rules\.ts#own [0-9a-f]{64}$/)
  })

  it.effect("is read again when it or what it imports was changed, and only then", function* () {
    const at = made()
    const file = (name: string, text: string) => writeFileSync(join(at, name), text)
    const before = yield* load(at)
    const again = yield* load(at)
    const hash = (treasury: typeof before) => partHashes(treasury.document.value).all
    assert.strictEqual(hash(again), hash(before))
    file("levels.ts", "export const low: bigint = 5_000n\n")
    const after = yield* load(at)
    assert.notStrictEqual(hash(after), hash(before))
    const answer = (treasury: typeof before) => {
      const rule = treasury.rules[1]
      if (rule?.kind !== "code") return assert.fail("no code")
      const { code } = rule
      return Effect.promise(async () => {
        const told = { balances: { "maker-2/USDT": 0n }, one: 10n, assets: {}, time: 0 }
        const { answer: said } = await code.ask(told, 0)
        return said._tag === "Pays" ? said.payments : said.detail
      })
    }
    assert.deepStrictEqual(
      [yield* answer(before), yield* answer(after)],
      [[{ to: 0, amount: 200_000n }], [{ to: 0, amount: 50_000n }]],
    )
    file("rules.ts", `${good}// a word\n`)
    assert.notStrictEqual(hash(yield* load(at)), hash(after), "code may be anything")
  })

  it.effect("is replaced as a whole by an overlay, which leaves it unread", function* () {
    const at = made()
    writeFileSync(join(at, "rules.ts"), "this is no TypeScript")
    writeFileSync(join(at, "over.yaml"), "rules: other/rules.ts\n")
    mkdirSync(join(at, "other"))
    writeFileSync(
      join(at, "other/rules.ts"),
      'export const rules = [{ name: "news", notify: { asset: "any", becomes: ["enabled"] } }]',
    )
    const { rules } = yield* load(at, "over.yaml")
    assert.deepStrictEqual(
      rules.map(({ name }) => name),
      ["news"],
    )
  })

  it.effect("joins the parts of a folder", function* () {
    const at = folder({
      "a.yaml": codeTreasury("rules.ts"),
      "b.yaml": "rules:\n  - { name: news, notify: { asset: any, becomes: [enabled] } }\n",
      "rules.ts": good,
      "levels.ts": levels,
    })
    const { rules } = yield* loadTreasury(at)
    assert.deepStrictEqual(
      rules.map(({ name }) => name),
      ["fund-maker", "own", "news"],
    )
  })
})

/** What is wrong, the edits that make it so, and the lines that say it. */
const broken: ReadonlyArray<readonly [title: string, edits: Record<string, string>, says: ReadonlyArray<RegExp>]> = [
  ["no rules", { "export const rules:": "export const rule:" }, [/^rules\.ts:1:1 {2}it exports no "rules"; write/]],
  ["rules that are no list", { ": Rules = [": " = {}; [" }, [/^rules\.ts:9:1 {2}"rules" is not a list; write "export/]],
  [
    "a syntax error",
    { '    for: "30s",': '    for: "30s"; x' },
    [/^rules\.ts:13:15 {2}Expected ',', got ';'; correct it/],
  ],
  ["an enum", { "const lack": "enum A { B }\nconst lack" }, [/^rules\.ts:4:1 {2}TypeScript enum is not supported/]],
  [
    "a name that is not there",
    { "need: lack": "need: lacks" },
    [/^rules\.ts:22:\d+ {2}it cannot be run: lacks is not defined/],
  ],
  ["a file that is not there", { "./levels.ts": "./lvls.ts" }, [/^rules\.ts:2:21 {2}no such file: \.\/lvls\.ts; name/]],
  [
    "an import of the world",
    { "import type { Rules, Seen } from": 'import "node:fs"\nimport type { Rules, Seen } from' },
    [/^rules\.ts:1:8 {2}"node:fs" cannot be imported: rules decide from their input alone; import files/],
  ],
  [
    "the clock at its top",
    { "const lack": "const now = Date.now()\nconst lack" },
    [/^rules\.ts:4:18 {2}it cannot be run: Date\.now is not available to rules/],
  ],
  [
    "a promise at its top",
    { "const lack": "await 1\nconst lack" },
    [/^treasury\.yaml:20:8 {2}\.\/rules\.ts: it waits for something at its top; remove "await"/],
  ],
  ["an unknown key", { 'for: "30s"': 'fro: "30s"' }, [/^rules\.ts:11:5 {2}unknown key "fro"; did you mean "for"\?/]],
  [
    "an amount that is too fine",
    { 'below: "10_000"': 'below: "1.0000001"' },
    [/^rules\.ts:11:5 {2}"1\.0000001" is finer than the asset: it has 6 decimals/],
  ],
  [
    "a number",
    { 'cooldown: "10m"': "cooldown: 10" },
    [/^rules\.ts:16:5 {2}rules #2 cooldown is not a text: it is 10; write it in quotes/],
  ],
  [
    "what is not a rule",
    { '  {\n    name: "fund': '  null,\n  {\n    name: "fund' },
    [/^rules\.ts:9:1 {2}rules #1 is not a rule: it is null; remove it, as with \.filter\(Boolean\)/],
  ],
  [
    "a file that is named among its rules",
    { '  {\n    name: "fund': '  "./levels.ts",\n  {\n    name: "fund' },
    [/^rules\.ts:9:1 {2}rules #1 is not a rule: it is \.\/levels\.ts; remove it/],
  ],
  [
    "types that are imported as values",
    { "import type { Rules": "import { Rules" },
    [/^treasury\.yaml:20:8 {2}\.\/rules\.ts: it cannot be run: .* named 'Rules'; .*"import type/],
  ],
  [
    "rules that are its default",
    { "export const rules: Rules =": "export default" },
    [/^rules\.ts:1:1 {2}it exports no "rules"; write "export const rules: Rules = /],
  ],
  ["a function elsewhere", { '"reserve",\n': "() => 1,\n" }, [/^rules\.ts:16:5 {2}rules #2 code\.from is a function/]],
  [
    "a need that is not a function",
    { "need: lack": 'need: "lack"' },
    [/^rules\.ts:16:5 {2}need is not a function; write/],
  ],
  [
    "a receiver who is nobody",
    { 'to: "maker-2"': 'to: ["maker-2", "maker-3", "reserve"]' },
    [/^rules\.ts:16:5 {2}"maker-3" is not a party; did you mean "maker-1"\?/, /^rules\.ts:16:5 {2}reserve would pay/],
  ],
  [
    "a modifier without meaning",
    { 'cooldown: "10m"': 'clear: "1"' },
    [/^rules\.ts:16:5 {2}clear means nothing for code; remove clear/],
  ],
]

describe("a broken file of rules", () => {
  it.effect.each(broken)("names place and remedy of %s", function* ([, edits, says]) {
    const lines = yield* problemsOf(made(edits))
    assert.lengthOf(lines, says.length, lines.join("\n"))
    for (const [i, form] of says.entries()) assert.match(lines[i] ?? "", form)
  })

  it.effect("is refused at its name if it loops, is missing or is no TypeScript", function* () {
    const lines = yield* problemsOf(made({ "const lack": "for (;;) {}\nconst lack" }))
    assert.match(lines[0] ?? "", /^treasury\.yaml:20:8 {2}\.\/rules\.ts: it does not end within (5|60) s.*; remove/)
    const python = yield* problemsOf(folder({ "treasury.yaml": codeTreasury("rules.py") }))
    assert.match(python[0] ?? "", /^treasury\.yaml:20:8 {2}"rules\.py" is not a rule, and not a file of rules/)
    const none = yield* problemsOf(folder({ "treasury.yaml": codeTreasury("./rules.ts") }))
    assert.match(none[0] ?? "", /^treasury\.yaml:20:8 {2}\.\/rules\.ts: no such file; name a file of rules/)
  })

  it.effect("is refused where no policy line allows what its code may pay", function* () {
    const at = made({ 'from: "reserve",\n': 'from: "maker-1",\n', 'to: "maker-2"': 'to: ["maker-2", "cold"]' })
    const file = join(at, "treasury.yaml")
    writeFileSync(file, readFileSync(file, "utf8").replace("mode: shadow", "mode: live"))
    const lines = yield* problemsOf(at)
    assert.lengthOf(lines, 1, lines.join("\n"))
    assert.match(lines[0] ?? "", /^rules\.ts:\d+:\d+ {2}no policy line allows own to pay .*cold/)
  })

  it.effect("cannot be had by writing the kind in YAML", function* () {
    const rule = `
  - name: own
    code: { accounts: [{ party: ops, asset: USDT }], from: reserve, to: ops, asset: USDT, need: "rules.ts#own" }`
    const lines = yield* problemsOf(folder({ "treasury.yaml": codeTreasury(rule) }))
    assert.lengthOf(lines, 1)
    assert.match(lines[0] ?? "", /^treasury\.yaml:22:\d+ {2}need is not a function; write the rule in a file of rules/)
  })
})
