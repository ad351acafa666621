import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { askMillis, codeOf } from "../../src/config/code/askCode.ts"
import { type LoadedFunction, loadRules } from "../../src/config/code/loadRules.ts"
import type { Seen } from "../../src/config/code/RulesFile.ts"
import type { Code, CodeAnswer, CodeSeen } from "../../src/rules/Code.ts"
import { codeHere } from "../support/CodeHere.ts"
import { plainParty } from "../support/Rules.ts"
import { tempDir } from "../support/tempDir.ts"

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const to = [plainParty("hot"), plainParty("ops")]
const told: CodeSeen = {
  balances: { "hot/TOK": 12_345n },
  one: 100n,
  assets: { TOK: { one: 100n, decimals: 2, status: "enabled" } },
  time: 1_772_445_600_000,
}

type Need = (seen: Seen) => unknown

/** Makes the function, so that each adapter has one of its own. It may name nothing outside of itself. */
interface Case {
  readonly title: string
  readonly make: () => Need
  readonly says: string | RegExp
  readonly timed?: true
  readonly isEndless?: true
}

const cases: ReadonlyArray<Case> = [
  { title: "nothing", make: () => () => undefined, says: "" },
  { title: "no payments", make: () => () => [], says: "" },
  { title: "a payment of nothing", make: () => () => ({ pay: 0n, to: "ops" }), says: "" },
  {
    title: "base units",
    make:
      () =>
      ({ one }) => ({ pay: 3n * one, to: "ops" }),
    says: "ops 300",
  },
  { title: "text", make: () => () => ({ pay: "1_000.5", to: "hot" }), says: "hot 100050" },
  {
    title: "several",
    make:
      () =>
      ({ balances }) => [
        { pay: balances["hot/TOK"]!, to: "ops", because: "so much" },
        { pay: "1", to: "hot" },
      ],
    says: "ops 12345, hot 100, so much",
  },
  {
    title: "by the time",
    make:
      () =>
      ({ time }) => ({ pay: BigInt(new Date(time).getUTCHours()), to: "hot" }),
    says: "hot 10",
    timed: true,
  },
  {
    title: "by all that it is told",
    make: () => (seen) => void { ...seen },
    says: "",
    timed: true,
  },
  {
    title: "by an asset",
    make:
      () =>
      ({ assets }) => ({ pay: assets["TOK"]!.status === "enabled" ? 1n : 2n, to: "hot" }),
    says: "hot 1",
  },
  {
    title: "of an account that it is not told",
    make:
      () =>
      ({ balances }) => ({ pay: balances["cold/TOK"]! + 1n }),
    says: /^its code fails: its input has no balance "cold\/TOK"; did you mean "hot\/TOK"/,
  },
  {
    title: "of an asset that it is not told",
    make:
      () =>
      ({ assets }) => ({ pay: assets["KOT"]!.one }),
    says: /^its code fails: its input has no asset "KOT"/,
  },
  {
    title: "by an error",
    make: () => () => {
      throw new Error("not on Sundays")
    },
    says: "its code fails: not on Sundays",
  },
  {
    title: "by throwing what is no error",
    make: () => () => {
      throw 5
    },
    says: "its code fails: 5",
  },
  { title: "later", make: () => async () => ({ pay: "1", to: "hot" }), says: /^its code answers with a promise/ },
  {
    title: "later, by an error",
    make: () => () => Promise.reject(new Error("late")),
    says: /^its code answers with a promise/,
  },
  {
    title: "by changing what it is told",
    make: () => (seen) => Object.assign(seen.balances, { "hot/TOK": 1n }),
    says: /^its code fails: Cannot assign/,
  },
  { title: "a number", make: () => () => ({ pay: 12.5, to: "hot" }), says: /^its code asks for 12\.5, no amount/ },
  { title: "too fine an amount", make: () => () => ({ pay: "1.005", to: "hot" }), says: /"1\.005" is finer than the/ },
  { title: "less than nothing", make: () => () => ({ pay: -1n, to: "hot" }), says: /^its code asks for -1 base units/ },
  { title: "more than there is", make: () => () => ({ pay: 2n ** 256n, to: "hot" }), says: /which is not an amount/ },
  {
    title: "more than can be read",
    make: () => () => ({ pay: 2n ** 5_000n, to: "hot" }),
    says: "its code gives an answer that cannot be read",
  },
  {
    title: "somebody else",
    make: () => () => ({ pay: "1", to: "hto" }),
    says: /^its code pays "hto", none of its receivers: did you mean "hot"/,
  },
  { title: "nobody", make: () => () => ({ pay: "1" }), says: /^its code does not say whom to pay: add to, one of hot/ },
  {
    title: "somebody twice",
    make: () => () => [1, 2].map(() => ({ pay: "1", to: "hot" })),
    says: /^its code pays hot twice at once/,
  },
  {
    title: "with an unknown key",
    make: () => () => ({ pya: "1", to: "hot" }),
    says: /^its code answers with an unknown key "pya": did you mean "pay"/,
  },
  { title: "five", make: () => () => 5, says: /^its code answers 5: return undefined, or \{ pay/ },
  { title: "null", make: () => () => null, says: /^its code answers null: return undefined/ },
  {
    title: "with no words",
    make: () => () => ({ pay: "1", to: "hot", because: 1 }),
    says: /^its code gives a because that is not text/,
  },
  {
    title: "a list without end",
    make: () => () => new Array(100_001).fill(""),
    says: /more than 100,000 values/,
  },
  {
    title: "deeper than anybody reads",
    make: () => () => {
      let deep: unknown = []
      for (let i = 0; i < 500; i++) deep = [deep]
      return deep
    },
    says: /^its code answers/,
  },
  {
    title: "never",
    isEndless: true,
    make: () => () => {
      for (;;);
    },
    says: /^its code does not end within (500 ms|10 s)/,
  },
]

const dir = tempDir("code-contract")

/** Functions in the process of their file. */
const there = async (): Promise<ReadonlyArray<LoadedFunction>> => {
  const file = join(dir, "rules.ts")
  const rules = cases.map(({ make }, i) => `{ name: "case ${i}", code: { need: (${make.toString()})() } }`)
  writeFileSync(file, `export const rules = [\n${rules.join(",\n")}\n]\n`)
  const loaded = await loadRules(file)
  if ("problem" in loaded) return assert.fail(loaded.problem.message)
  return (loaded.rules as ReadonlyArray<{ readonly code: { readonly need: LoadedFunction } }>).map(
    ({ code }) => code.need,
  )
}

const adapters: ReadonlyArray<readonly [name: string, functions: () => Promise<ReadonlyArray<LoadedFunction>>]> = [
  ["in a process of its own", there],
  [
    "in this process",
    async () => cases.map(({ make, isEndless }) => codeHere(make(), isEndless ? askMillis : undefined)),
  ],
]

/** Where it fails is told by the process of a file alone. */
const wordsOf = (answer: CodeAnswer): string => {
  if (answer._tag === "Broken") return answer.detail.replace(/ at rules\.ts:[0-9]+:[0-9]+/, "")
  const payments = answer.payments.map((payment) => `${to[payment.to]?.name} ${payment.amount}`)
  return [...payments, ...(answer.because === undefined ? [] : [answer.because])].join(", ")
}

const holds = (answer: CodeAnswer, { says, timed }: Case): void => {
  if (typeof says === "string") assert.strictEqual(wordsOf(answer), says)
  else assert.match(wordsOf(answer), says)
  assert.strictEqual(answer.timed, timed === true)
}

describe.each(adapters)("an operator's function %s", (_, functions) => {
  let all: ReadonlyArray<LoadedFunction> = []
  beforeAll(async () => {
    all = await functions()
  })
  const code = (i: number): Code => codeOf(all[i]!, { to, asset }, "")

  it.each(cases.map((one, i) => [one.title, i] as const))("answers %s", async (_title, i) => {
    const { seen, answer } = await code(i).ask(told, told.time)
    holds(answer, cases[i]!)
    assert.strictEqual(seen, told)
  })
})
