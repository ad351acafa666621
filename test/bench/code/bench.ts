import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf } from "../../../src/config/code/askCode.ts"
import { type LoadedFunction, loadRules } from "../../../src/config/code/loadRules.ts"
import type { PublicKey } from "../../../src/domain/Hex.ts"
import type { Party } from "../../../src/rules/Account.ts"
import type { CodeSeen } from "../../../src/rules/Code.ts"
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

const millisOf = async (work: () => unknown): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** What a rule in code costs beside one of another kind: the run of its file, and each time it is asked. */
const run = async (say: (text: string) => void) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-code-"))
  try {
    const loads: Array<number> = []
    for (let i = 0; i < slices; i++) {
      const file = join(dir, `rules-${i}.ts`)
      writeFileSync(file, rules)
      loads.push(await millisOf(() => loadRules(file)))
    }
    say(`${slices} files were loaded`)
    const loaded = await loadRules(join(dir, "rules-9.ts"))
    if ("problem" in loaded) throw new Error(loaded.problem.message)
    const [rule] = loaded.rules as ReadonlyArray<{ readonly code: { readonly need: LoadedFunction } }>
    const code = codeOf(rule!.code.need, { to: [hot], asset }, "")
    const told = (units: number, time: number): CodeSeen => ({
      balances: { "hot/TOK": BigInt(units) },
      one: 1_000_000n,
      assets: {},
      time,
    })
    const asked: Array<number> = []
    for (let slice = 0; slice < slices; slice++) {
      const millis = await millisOf(async () => {
        for (let i = 0; i < askings; i++) {
          const { answer } = await code.ask(told(i, slice), slice)
          if (answer._tag !== "Pays") throw new Error(answer.detail)
        }
      })
      asked.push(millis / askings)
    }
    const known: Array<number> = []
    for (let slice = 0; slice < slices; slice++) {
      const same = told(0, 0)
      await code.ask(same, 0)
      const millis = await millisOf(() => {
        for (let i = 0; i < knownAskings; i++) void code.ask(same, 0)
      })
      known.push((millis / knownAskings) * 1_000)
    }
    return [
      figure("code read from its file", loads, { unit: "ms", better: "lower" }),
      figure("code asked once", asked, { unit: "ms", better: "lower" }),
      figure("code asked what it answered already", known, { unit: "µs", better: "lower" }),
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

export const code: Benchmark = {
  name: "code",
  about: "rules in TypeScript: how long a file takes to be read, and to answer",
  run,
}
