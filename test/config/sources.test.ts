import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { originsOf } from "../../src/config/yaml/Yaml.ts"
import { root } from "../support/Cofferer.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"
import { goodText } from "./Broken.ts"

const dir = tempDir("sources")

const write = (name: string, text: string): string => {
  const file = join(dir, name)
  mkdirSync(join(file, ".."), { recursive: true })
  writeFileSync(file, text)
  return file
}
const base = write("harbor.yaml", goodText)

const originOf = (
  treasury: { readonly document: { readonly tree: Parameters<typeof originsOf>[0] } },
  path: string,
) => {
  const found = originsOf(treasury.document.tree).find((origin) => origin.path === path)
  return found === undefined ? undefined : `${found.at.file.replace(`${dir}/`, "")}:${found.at.line} ${found.value}`
}

/** Blocks of the page on configuration, by the name in their first line. */
const examples = new Map(
  [
    ...readFileSync(join(root, "docs/configuration.md"), "utf8").matchAll(
      /```yaml\n# (\S+\.yaml)[^\n]*\n([\s\S]*?)```/g,
    ),
  ].map(([, name, text]) => [name!, text!]),
)

describe("an overlay", () => {
  it.effect("replaces single values, and lists and gateways as a whole", function* () {
    const text = examples.get("staging.yaml") ?? assert.fail("the page shows a staging.yaml")
    const staging = write("staging.yaml", text)
    const treasury = yield* loadTreasury(base, staging)
    assert.strictEqual(treasury.mode, "shadow")
    assert.strictEqual(treasury.name, "harbor")
    assert.deepStrictEqual(
      treasury.network.gateways.map(({ name }) => name),
      ["s"],
    )
    assert.strictEqual(treasury.network.maxAgeMillis, 30_000)
    assert.strictEqual(originOf(treasury, "mode"), "staging.yaml:1 shadow")
    assert.strictEqual(originOf(treasury, "network.maxAge"), "harbor.yaml:10 30s")
    assert.deepStrictEqual(treasury.files, [base, staging])
  })

  it.effect("replaces policy, rules and parties as a whole, so that no line slips in", function* () {
    const over = write(
      "policy.yaml",
      'mode: shadow\npolicy:\n  allow:\n    - { from: hot, to: [cold], asset: VEGA, perTransfer: "1", per24h: "1", transfersPer24h: 1 }\n',
    )
    const treasury = yield* loadTreasury(base, over)
    assert.lengthOf(treasury.policy.lines, 1)
    assert.isUndefined(originOf(treasury, "policy.maxFee"))
    const alone = write("parties.yaml", `parties:\n  hot: { publicKey: "${"a".repeat(64)}" }\n`)
    const error = yield* Effect.flip(loadTreasury(base, alone))
    assert.match(error.message, /harbor\.yaml:\d+:\d+ {2}.*"reserve" is not a party; known here: hot/)
  })

  it.effect("is named by an error that lies in it", function* () {
    const over = write("typo.yaml", "# comment\nnetwork: { maxaeg: 3s }\nmode: lvie\n")
    const error = yield* Effect.flip(loadTreasury(base, over))
    assert.match(error.message, /typo\.yaml:2:12 {2}unknown key "maxaeg"; did you mean "maxAge"\?/)
    assert.match(error.message, /typo\.yaml:3:7 {2}mode: .+ is not valid/)
  })

  it.effect("names files relative to itself", function* () {
    const over = write("elsewhere/store.yaml", "store: { dir: here }\n")
    assert.strictEqual((yield* loadTreasury(base, over)).storeDir, join(dir, "elsewhere", "here"))
  })
})

describe("a folder", () => {
  const folder = (name: string, parts: Readonly<Record<string, string>>): string => {
    for (const [part, text] of Object.entries(parts)) write(join(name, part), text)
    return join(dir, name)
  }
  const at = goodText.indexOf("rules:")
  const until = goodText.indexOf("policy:")
  const daemonAt = goodText.indexOf("daemon:")
  const rest = goodText.slice(0, at) + goodText.slice(until, daemonAt)
  const rules = goodText.slice(at, until)
  const [first, ...others] = rules.split("\n  - name: ")

  it.effect("of parts is one treasury, its rules in the order of the files' names", function* () {
    const made = folder("whole", {
      "20-more.yaml": `rules:\n  - name: ${others.slice(1).join("\n  - name: ")}`,
      "10-rules.yaml": `${first}\n  - name: ${others[0]}\n`,
      "harbor.yaml": rest,
      "daemon.yaml": goodText.slice(daemonAt),
      "notes.txt": "not read",
    })
    const treasury = yield* loadTreasury(made)
    const names = treasury.rules.map(({ name }) => name)
    assert.deepStrictEqual(names, ["keep-hot-funded", "skim", "new-asset", "to-vault"])
    assert.strictEqual(originOf(treasury, "rules.1.name"), "whole/20-more.yaml:2 skim")
  })

  it.effect("in which two files say the same key names both places", function* () {
    const made = folder("twice", { "a.yaml": goodText.slice(0, daemonAt), "b.yaml": "mode: shadow\npolicy: {}\n" })
    const error = yield* Effect.flip(loadTreasury(made))
    assert.match(error.message, /b\.yaml:1:1 {2}mode is given twice, first in a\.yaml:3; keep one of the two/)
    assert.match(error.message, /b\.yaml:2:1 {2}policy is given twice, first in a\.yaml:\d+/)
  })

  it.effect("says how the process runs in daemon.yaml alone", function* () {
    const error = yield* Effect.flip(loadTreasury(folder("wrong", { "a.yaml": goodText })))
    assert.match(error.message, /a\.yaml:\d+:1 {2}"daemon" stands in a part; move it to daemon\.yaml beside it/)
  })

  it.effect("without a file, or that is none, is told", function* () {
    mkdirSync(join(dir, "empty"))
    assert.match((yield* Effect.flip(loadTreasury(join(dir, "empty")))).message, /the folder holds no \*\.yaml/)
    assert.match((yield* Effect.flip(loadTreasury(join(dir, "none.yaml")))).message, /no such file/)
  })
})

describe("what is printed of a treasury", () => {
  it.effect("masks the addresses of receivers, which often hold a token", function* () {
    const origins = originsOf((yield* loadTreasury(base)).document.tree)
    assert.isUndefined(origins.find(({ value }) => value.includes("desk.example")))
    assert.strictEqual(origins.find(({ path }) => path === "alerts.receivers.desk.webhook.url")?.value, "***")
  })
})
