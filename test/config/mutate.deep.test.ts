import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"
import { goodText } from "./Broken.ts"
import { mutate, mutationKinds } from "./mutate.ts"

const dir = tempDir("mutate")
const file = join(dir, "harbor.yaml")

const wanted = 1_000
const seedsMax = 4_000

describe("a mutated treasury file", () => {
  it.effect("loads, or is refused with place and remedy, a thousand times", function* () {
    const seen = new Map(mutationKinds.map((kind) => [kind, 0]))
    let refused = 0
    for (let seed = 0; refused < wanted; seed++) {
      assert.isBelow(seed, seedsMax, `only ${refused} of ${seed} mutated files were malformed`)
      const { text, kinds } = mutate(goodText, `mutation ${seed}`)
      writeFileSync(file, text)
      const exit = yield* Effect.exit(loadTreasury(file))
      if (Exit.isSuccess(exit)) continue
      refused++
      const [reason, ...others] = exit.cause.reasons
      if (reason?._tag !== "Fail" || others.length > 0) return assert.fail(`seed ${seed}: ${String(exit.cause)}`)
      assert.isNotEmpty(reason.error.problems)
      for (const problem of reason.error.problems) {
        const what = `seed ${seed} (${kinds.join(", ")}): ${JSON.stringify(problem)}`
        assert.isAtLeast(problem.line, 1, what)
        assert.isAtLeast(problem.column, 1, what)
        assert.isAtMost(problem.line, text.split(/\r\n|\n|\r/).length + 1, what)
        assert.isNotEmpty(problem.message, what)
        assert.isNotEmpty(problem.remedy, what)
        assert.notMatch(problem.message, /\bat \w+ \(|TypeError|undefined/, what)
      }
      for (const line of reason.error.message.split("\n")) {
        assert.match(line, /^\S.*\.yaml:[0-9]+:[0-9]+ {2}\S.*; \S/, `seed ${seed}`)
      }
      for (const kind of kinds) seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }
    for (const [kind, count] of seen) assert.isAbove(count, 5, `${kind} made too few files malformed`)
  })
})
