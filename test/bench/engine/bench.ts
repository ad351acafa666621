import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf } from "../../../src/config/code/askCode.ts"
import { type LoadedFunction, loadRules } from "../../../src/config/code/loadRules.ts"
import { baseUnits } from "../../../src/domain/Amount.ts"
import type { Policy } from "../../../src/rules/policy/Policy.ts"
import type { TopUpRule } from "../../../src/rules/Rule.ts"
import { round } from "../../../src/rules/round.ts"
import type { Snapshot } from "../../../src/rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../../../src/rules/Subject.ts"
import type { Memory } from "../../../src/rules/SubjectFacts.ts"
import { type AccountOf, makeWatch } from "../../../src/rules/Watch.ts"
import { calmSnapshot, plainParty, plainRule } from "../../support/Rules.ts"
import { threadCpuMicros } from "../../support/threadCpu.ts"
import { type Benchmark, type Figure, figure } from "../Benchmark.ts"

const rulesMax = 10_000
const levelsEach = 10
const changesEach = 1_000
const rounds = 300
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 6 }
const unit = 1_000_000n

/** 10,000 rules of ten accounts each, all of one funder. */
const treasury = () => {
  const funder = plainParty("funder")
  const rules: Array<TopUpRule> = []
  for (let r = 0; r < rulesMax; r++) {
    const levels = Array.from({ length: levelsEach }, (_, l) => ({
      party: plainParty(`p${r * levelsEach + l}x`),
      asset,
      balance: "free" as const,
      trigger: baseUnits(1_000n * unit),
      target: baseUnits(2_000n * unit),
    }))
    rules.push({ ...plainRule, name: `rule-${r}`, kind: "topUp", from: funder, levels, forMillis: 30_000 })
  }
  return { funder, rules }
}

/** Repeatable numbers below a bound. */
const randomOf = (seed: number) => {
  let state = seed >>> 0
  return (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

/** One round a second, a thousand changed balances each; one in two hundred leaves its band, and comes back later. */
const decided = () => {
  const { funder, rules } = treasury()
  const subjects = rules.flatMap(subjectsOf)
  const watch = makeWatch(subjects)
  const parties = subjects.map(({ accounts: [account] }) => account!.party.publicKey as string)
  const balances = new Map(parties.map((key) => [key, 1_500n * unit]))
  balances.set(funder.publicKey, 10n ** 15n)
  const policy: Policy = { digest: "", hash: "", maxFee: { numerator: 2n, denominator: 1_000n }, lines: [] }
  const memories = new Map<Subject, Memory>()
  const random = randomOf(4_711)
  let now = 1_800_000_000_000
  const snapshot = (): Snapshot => ({
    ...calmSnapshot,
    now,
    asOf: BigInt(now - 1_000) * 1_000_000n,
    maxAgeMillis: 30_000,
    balance: (key) => balances.get(key),
    listed: new Map([[asset.id, { status: "enabled", decimals: 6, quantum: unit }]]),
    parameters: undefined,
    policy,
  })
  let looks = 0
  const decideOn = (changed: ReadonlyArray<AccountOf>) => {
    const due = watch.due(now, changed)
    for (const outcome of round(due, snapshot(), (subject) => memories.get(subject)).outcomes) {
      watch.evaluated(outcome)
      memories.set(outcome.facts.subject, { ...outcome.judgement.timer, episode: 1 })
    }
    looks += due.length
  }
  decideOn([])
  looks = 0
  const samples: Array<number> = []
  for (let i = 0; i < rounds; i++) {
    const changed: Array<AccountOf> = []
    for (let c = 0; c < changesEach; c++) {
      const party = parties[random(parties.length)]!
      balances.set(party, (random(200) === 0 ? 900n : 1_100n + BigInt(random(2_000))) * unit)
      changed.push({ party, asset: asset.id })
    }
    now += 1_000
    const before = threadCpuMicros()
    decideOn(changed)
    samples.push((changesEach * 1_000_000) / (threadCpuMicros() - before))
  }
  return { samples: samples.slice(rounds / 6), looks }
}

const rulesText = `export const rules = [{
  name: "own",
  code: { need: ({ balances, one }) => (balances["hot/TOK"] < 10n * one ? { pay: one } : undefined) },
}]
`
const askings = 500

/** What a rule in code costs beside one of another kind: each time it is asked, in a process of its own. */
const codeAsked = async (): Promise<Figure> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  try {
    const file = join(dir, "rules.ts")
    writeFileSync(file, rulesText)
    const loaded = await loadRules(file)
    if ("problem" in loaded) throw new Error(loaded.problem.message)
    const [rule] = loaded.rules as ReadonlyArray<{ readonly code: { readonly need: LoadedFunction } }>
    const code = codeOf(rule!.code.need, { to: [plainParty("hot")], asset }, "")
    const samples: Array<number> = []
    for (let slice = 0; slice < 10; slice++) {
      const began = performance.now()
      for (let i = 0; i < askings; i++) {
        const told = { balances: { "hot/TOK": BigInt(i) }, one: unit, assets: {}, time: slice }
        const { answer } = await code.ask(told, slice)
        if (answer._tag !== "Pays") throw new Error(answer.detail)
      }
      samples.push((performance.now() - began) / askings)
    }
    return figure("engine code asked", samples, { unit: "ms", better: "lower" })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** How fast the engine's step follows balances of a large treasury. */
export const engine: Benchmark = {
  name: "engine",
  about: "decisions of 10,000 rules over 100,000 accounts, of which a thousand change at a time, and of a rule in code",
  limits:
    "A round evaluates only the rules of changed accounts; each evaluation makes the checks and sentences of " +
    "its decision. Code runs in a separate process: a call costs a message there and one back.",
  run: async (say) => {
    const { samples, looks } = decided()
    say(`${looks} looks for ${rounds * changesEach} changes of ${rulesMax * levelsEach} accounts`)
    const changes = figure("engine changes decided", samples, {
      unit: "per second of processor time",
      better: "higher",
    })
    return [changes, await codeAsked()]
  },
}
