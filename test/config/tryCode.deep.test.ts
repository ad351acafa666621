import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { callCofferer } from "../support/CommandLine.ts"
import { codeTreasury } from "../support/RulesInCode.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-try-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

let folders = 0
const check = async (body: string, start = "") => {
  const at = join(dir, String(folders++))
  mkdirSync(at)
  writeFileSync(join(at, "treasury.yaml"), codeTreasury("./rules.ts"))
  writeFileSync(
    join(at, "rules.ts"),
    `import type { Rules, Seen } from "cofferer/rules"
${start}
const even = ({ balances, one, assets, time }: Seen): any => {
  const [rich, poor] = [balances["maker-1/USDT"]!, balances["maker-2/USDT"]!]
  ${body}
  if (rich - poor <= 10_000n * one) return undefined
  return { to: "maker-2", pay: (rich - poor) / 2n, because: "they are 10,000 apart" }
}

export const rules: Rules = [
  {
    name: "even-makers",
    code: {
      accounts: [{ party: "maker-1", asset: "USDT" }, { party: "maker-2", asset: "USDT" }],
      from: "maker-1",
      to: ["maker-2", "reserve"],
      asset: "USDT",
      need: even,
    },
  },
]
`,
  )
  const { code, stdout, stderr } = await callCofferer(["check", join(at, "treasury.yaml")])
  const about = (text: string) => text.split("\n").filter((line) => line.includes("rules.ts:"))
  return { code, refused: about(stderr), warned: about(stdout), all: stdout + stderr }
}

/** What the function does, and what is said of it. */
const refused: ReadonlyArray<readonly [what: string, body: string, says: RegExp]> = [
  [
    "throws",
    'throw new Error("boom")',
    /its code fails at rules\.ts:5:\d+: boom \(tried with 0\.00 maker-1\/USDT, 0\.00 ma/,
  ],
  ["loops", "for (;;) {}", /its code does not end within 500 ms/],
  ["answers a number", "return 5", /its code answers 5: return undefined, or \{ pay: "1_000", to: "party" \}/],
  ["answers null", "return null", /its code answers null/],
  [
    "asks for a number",
    'return { to: "maker-2", pay: 5 }',
    /its code asks for 5, no amount: write a text such as "1_000"/,
  ],
  [
    "pays a stranger",
    'return { to: "maker-3", pay: "5" }',
    /pays "maker-3", none of its receivers: did you mean "maker-2"/,
  ],
  ["answers with an unknown key", 'return { to: "maker-2", amount: "5" }', /an unknown key "amount"/],
  ["does not say whom to pay", 'return { pay: "5" }', /does not say whom to pay: add to, one of maker-2, reserve/],
  ["asks for less than nothing", 'return { to: "maker-2", pay: -5n }', /asks for -5 base units, which is no amount/],
  ["waits", "return Promise.resolve(undefined)", /answers with a promise/],
  [
    "misspells an account",
    'return balances["maker1/USDT"]',
    /no balance "maker1\/USDT" is told; did you mean "maker-1\/US/,
  ],
  ["looks at the clock", "if (Date.now() > 5) return undefined", /Date\.now is not for rules/],
  ["takes chances", "if (Math.random() > 2) return undefined", /Math\.random is not for rules/],
  ["prints", "console.log(rich)", /console is not for rules/],
  ["counts in numbers", "if (rich > 10_000 * one) return undefined", /Cannot mix BigInt and other types/],
  ["changes what it is told", 'Object.assign(balances, { "maker-1/USDT": 1n })', /its code fails at rules\.ts:5/],
  [
    "pays a number only where there is much",
    'if (rich > poor) return { to: "maker-2", pay: 5 }',
    /asks for 5, no amount/,
  ],
  ["loops only where there is nothing", "while (rich + poor === 0n) {}", /does not end within 500 ms/],
]

describe("a function of rules that check has tried", () => {
  it.each(refused)("is refused where it %s", async (_what, body, says) => {
    const { code, refused, all } = await check(body)
    assert.strictEqual(code, 3, all)
    assert.lengthOf(refused, 1, all)
    assert.match(refused[0] ?? "", says)
    assert.match(refused[0] ?? "", /rules\.ts:\d+:\d+ {2}rule even-makers: .+; \S/)
  })

  it("gets a warning if it throws for some balances only", async () => {
    const { code, warned, all } = await check("if ((100n * rich) / (rich + poor) > 200n) return undefined")
    assert.strictEqual(code, 0, all)
    assert.lengthOf(warned, 1, all)
    assert.match(
      warned[0] ?? "",
      /rule even-makers: .+Division by zero \(tried with 0\.00 maker-1\/USDT, 0\.00 maker-2\/USDT\)/,
    )
  })

  it("passes where it is sound, with balances, statuses and the time", async () => {
    const body = 'if (assets["USDT"]!.status !== "enabled" || time % 2 === 1) return undefined'
    const { code, warned, all } = await check(body)
    assert.strictEqual(code, 0, all)
    assert.deepStrictEqual(warned, [])
  })
})
