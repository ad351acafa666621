import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf } from "../../../src/config/askCode.ts"
import { type LoadedFunction, loadRules } from "../../../src/config/loadRules.ts"
import type { PublicKey } from "../../../src/domain/Hex.ts"
import type { CodeSeen } from "../../../src/rules/code.ts"
import type { Party } from "../../../src/rules/Rule.ts"
import { type Benchmark, figure } from "../Benchmark.ts"

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 6 }
const hot: Party = {
  name: "hot",
  publicKey: "ab".repeat(32) as PublicKey,
  signer: { sandbox: "hot" },
  floor: new Map(),
  transfersKept: 0,
}
const rules = `export const rules = [{
  name: "own",
  code: { need: ({ balances, one }) => (balances["hot/TOK"] < 10n * one ? { pay: one } : undefined) },
}]
`
const slices = 10
const askings = 500
const knownAskings = 10_000

const millisOf = (work: () => void): number => {
  const begun = performance.now()
  work()
  return performance.now() - begun
}

/** What a rule in code costs beside one of another kind: the start of its process, and each time it is asked. */
const run = async (say: (text: string) => void) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-code-"))
  try {
    const starts = Array.from({ length: slices }, (_, i) => {
      const file = join(dir, `rules-${i}.ts`)
      writeFileSync(file, rules)
      return millisOf(() => loadRules(file))
    })
    say(`${slices} files were loaded`)
    const loaded = loadRules(join(dir, "rules-9.ts"))
    if ("problem" in loaded) throw new Error(loaded.problem.message)
    const [rule] = loaded.rules as ReadonlyArray<{ readonly code: { readonly need: LoadedFunction } }>
    const code = codeOf(rule!.code.need, { to: [hot], asset }, "")
    const told = (units: number, time: number): CodeSeen => ({
      balances: { "hot/TOK": BigInt(units) },
      one: 1_000_000n,
      assets: {},
      time,
    })
    const samples = Array.from({ length: slices }, (_, slice) => {
      const millis = millisOf(() => {
        for (let i = 0; i < askings; i++) {
          const answer = code.ask(told(i, slice))
          if (answer._tag !== "Pays") throw new Error(answer.detail)
        }
      })
      return millis / askings
    })
    const later: Array<number> = []
    for (let slice = 0; slice < slices; slice++) {
      const begun = performance.now()
      for (let i = 0; i < askings; i++) {
        const { answer } = await code.askLater(told(askings + i, slice), slice)
        if (answer._tag !== "Pays") throw new Error(answer.detail)
      }
      later.push((performance.now() - begun) / askings)
    }
    const known = Array.from({ length: slices }, () => {
      const same = told(0, 0)
      code.ask(same)
      return (millisOf(() => void Array.from({ length: knownAskings }, () => code.ask(same))) / knownAskings) * 1_000
    })
    return [
      figure("code start of its process", starts, { unit: "ms", better: "lower" }),
      figure("code asked once", samples, { unit: "ms", better: "lower" }),
      figure("code asked before a look", later, { unit: "ms", better: "lower" }),
      figure("code asked what it answered already", known, { unit: "µs", better: "lower" }),
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

export const code: Benchmark = {
  name: "code",
  about: "rules in TypeScript: how long their process takes to start, and to answer",
  run,
}
