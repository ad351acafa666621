import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { lintTreasury, loadTreasury, problemOf, treasuryOf } from "../../src/config/Treasury.ts"
import { formatProblem } from "../../src/config/yaml/ConfigError.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { lintKinds } from "../../src/rules/lint/Finding.ts"
import { root } from "../support/Cofferer.ts"
import { it } from "../support/it.ts"
import { lintCases } from "./Lints.ts"

const load = (text: string) => Effect.flatMap(parseYaml("lint.yaml", text), treasuryOf)

const lineOf = (text: string, mark: string): number => text.slice(0, text.indexOf(mark)).split("\n").length

describe("rules that are sound one by one and wrong together", () => {
  it("have a case of every kind", () => {
    assert.deepStrictEqual([...new Set(lintCases.map(({ lint }) => lint))].sort(), [...lintKinds].sort())
    for (const { text, title } of lintCases) assert.lengthOf(text.split("# here"), 2, `${title}: one marked line`)
  })

  it.effect.each(lintCases.filter(({ severity }) => severity === "error"))(
    "are refused for $title, on its line",
    function* ({ text, says }) {
      const { problems } = yield* Effect.flip(load(text))
      const all = problems.map(formatProblem).join("\n")
      assert.lengthOf(problems, 1, all)
      assert.match(all, says)
      assert.strictEqual(problems[0]?.line, lineOf(text, "# here"), all)
      assert.isAbove(problems[0]?.column ?? 0, 1)
    },
  )

  it.effect.each(lintCases.filter(({ severity }) => severity === "warning"))(
    "are warned of for $title, on its line",
    function* ({ text, says, lint }) {
      const treasury = yield* load(text)
      const findings = lintTreasury(treasury)
      assert.deepStrictEqual(
        findings.map((finding) => [finding.lint, finding.severity]),
        [[lint, "warning"]],
      )
      const problem = problemOf(treasury, findings[0]!)
      assert.match(formatProblem(problem), says)
      assert.strictEqual(problem.line, lineOf(text, "# here"))
    },
  )

  it.effect.each(lintCases)("pass without $title", function* ({ text, mend: [from, to] }) {
    assert.include(text, from)
    assert.deepStrictEqual(lintTreasury(yield* load(text.replace(from, to))), [])
  })

  const examples = readdirSync(join(root, "config")).filter((name) => name.endsWith(".yaml") && name !== "compose.yaml")
  it.effect.each(examples)("are not in %s", function* (name) {
    assert.deepStrictEqual(lintTreasury(yield* loadTreasury(join(root, "config", name))), [])
  })
})
