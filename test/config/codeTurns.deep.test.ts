import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { codeOf } from "../../src/config/askCode.ts"
import { endThread } from "../../src/config/CodeProcess.ts"
import { type LoadedFunction, loadRules, loadRulesLater } from "../../src/config/loadRules.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Code, CodeSeen } from "../../src/rules/code.ts"
import type { Party } from "../../src/rules/Rule.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-code-turns-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const hot: Party = {
  name: "hot",
  publicKey: "ab".repeat(32) as PublicKey,
  signer: { sandbox: "hot" },
  floor: new Map(),
  transfersKept: 0,
}
const seen = (units: bigint): CodeSeen => ({ balances: { "hot/TOK": units }, one: 100n, assets: {}, time: 0 })

/** Processes of rules that the threads of this process have started. */
const processesOf = (): ReadonlyArray<number> =>
  readdirSync("/proc/self/task")
    .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "latin1").trim().split(" "))
    .filter(Boolean)
    .map(Number)

let files = 0
/** A file of rules whose functions have these bodies, and what stands above them. */
const written = (bodies: ReadonlyArray<string>, top = ""): string => {
  const file = join(dir, `rules-${files++}.ts`)
  const rules = bodies.map((body, i) => `{ name: "own-${i}", code: { need: (seen: any) => { ${body} } } }`)
  writeFileSync(file, `${top}\nexport const rules = [${rules.join(", ")}]\n`)
  return file
}

const codesOf = (file: string): ReadonlyArray<Code> => {
  const loaded = loadRules(file)
  if ("problem" in loaded) return assert.fail(loaded.problem.message)
  const rules = loaded.rules as ReadonlyArray<{ readonly code: { readonly need: LoadedFunction } }>
  return rules.map(({ code }) => codeOf(code.need, { to: [hot], asset }, ""))
}

/** The amount that is paid, or why none is. */
const saidBy = async (code: Code, units: bigint, time = 0) => {
  const { answer } = await code.askLater({ ...seen(units), time }, Number(units))
  return answer._tag === "Pays" ? (answer.payments[0]?.amount ?? 0n) : answer.detail
}

/** Why a file is refused as it is read. */
const refusal = (file: string): string => {
  const loaded = loadRules(file)
  return "problem" in loaded ? `${loaded.problem.message}; ${loaded.problem.remedy}` : "it is read"
}

const paysAll = 'return { pay: seen.balances["hot/TOK"] }'

describe("rules in code of several files", () => {
  it("answer while another file's do not end, however many", async () => {
    const loops = codesOf(written(new Array(4).fill("for (;;);")))
    const [good] = codesOf(written([paysAll]))
    const ended: Array<string> = []
    const all = loops.map(async (code, i) => {
      assert.strictEqual((await code.askLater(seen(1n), 0)).answer._tag, "Broken")
      ended.push(`loop ${i}`)
    })
    const { answer } = await good!.askLater(seen(7n), 0)
    ended.push("good")
    assert.strictEqual(answer._tag === "Pays" && answer.payments[0]?.amount, 7n)
    assert.deepStrictEqual(ended, ["good"])
    await Promise.all(all)
  })

  it("are asked by the thread that takes the place of one that is gone", async () => {
    const file = written([paysAll])
    const [code] = codesOf(file)
    writeFileSync(file, "export const rules = []\n")
    assert.strictEqual(await saidBy(code!, 1n), 1n)
    endThread()
    assert.strictEqual(await saidBy(code!, 2n), 2n, "by the text that was read")
    assert.strictEqual(await saidBy(code!, 3n), 3n)
    endThread()
    const answer = code!.ask(seen(4n))
    assert.strictEqual(answer._tag, "Pays", "waited for as well")
  })

  it("are broken, and not silent, where the thread goes while they are asked", async () => {
    const [code] = codesOf(written(["for (;;);"]))
    const asked = code!.askLater(seen(1n), 0)
    endThread()
    const { answer } = await asked
    assert.match(answer._tag === "Broken" ? answer.detail : "", /the thread that keeps its process gives no answer/)
  })
})

describe("rules in code of one file", () => {
  it("get their own answers, though one reads a file while another asks", async () => {
    const asks = 'if (has === 17n && !asked) { asked = true; void import/* */("./extra.ts") }'
    const first = `const has = seen.balances["hot/TOK"]; ${asks} return { pay: "9_000" }`
    const [one, other] = codesOf(written([first, 'return { pay: "1" }'], "let asked = false"))
    for (const units of [1n, 17n, 18n, 17n, 100n]) {
      const [a, b] = await Promise.all([saidBy(one!, units), saidBy(other!, units)])
      if (typeof a === "bigint") assert.strictEqual(a, 900_000n)
      if (typeof b === "bigint") assert.strictEqual(b, 100n, `at ${units}`)
    }
  })

  it("are asked whatever was read since, be it sound or broken", { timeout: 300_000 }, async () => {
    const [first, second] = [codesOf(written([paysAll])), codesOf(written([paysAll]))].flat()
    const draft = written([paysAll])
    for (let i = 0; i < 66; i++) {
      writeFileSync(draft, i % 2 === 0 ? "export const rules = [\n" : `export const rules = [] // ${i}\n`)
      loadRules(draft)
    }
    assert.strictEqual(await saidBy(first!, 5n), 5n)
    assert.strictEqual(second!.ask(seen(6n))._tag, "Pays")
  })

  it("are asked anew where their process was ended from outside", async ({ skip }) => {
    skip(!existsSync("/proc/self/task"), "needs /proc")
    const [code] = codesOf(written([paysAll]))
    assert.strictEqual(await saidBy(code!, 1n), 1n)
    assert.strictEqual(await saidBy(code!, 2n), 2n)
    const mine = processesOf()
    assert.isAbove(mine.length, 0)
    for (const pid of mine) process.kill(pid, "SIGKILL")
    assert.strictEqual(await saidBy(code!, 3n), 3n)
  })

  it.each([
    [
      "a count behind a time that is looked at now and then",
      "let n = 0",
      'if (n++ % 2 === 0) void seen.time; return { pay: n > 10 ? "999" : "1" }',
    ],
    ["a count on a list", "let n = 0; const all: any = []", "all.n = (all.n ?? 0) + 1; return { pay: BigInt(all.n) }"],
    [
      "a count on what all lists are made of",
      "",
      "const p = Array.prototype as any; p.n = (p.n ?? 0) + 1; return { pay: BigInt(p.n) }",
    ],
  ])("pay nothing by %s", async (_, top, body) => {
    const [code] = codesOf(written([body], top))
    const said = []
    for (let n = 1n; n <= 12n; n++) said.push(await saidBy(code!, n, Number(n) * 60_000))
    assert.isEmpty(said.filter((one) => typeof one === "bigint" && one !== 100n).map(String))
    assert.match(String(said.at(-1)), /two answers|not extensible/)
  })
})

describe("a file of rules in code", () => {
  it.each([
    [
      "imports what it would have to wait for",
      'const later = () => import("./other.ts")',
      /^import\(\) waits for a file/,
    ],
    [
      "adds to the language",
      'Object.defineProperty(Array.prototype, "last", { get: () => 1 })',
      /^it cannot be run: .*not extensible/,
    ],
    [
      "takes its time at its top",
      "let s = 0; for (let i = 0; i < 2.5e8; i++) s = (s + i) % 7",
      /^to run it takes \d+ ms of processor time, and it is run at each asking; let less than 500 ms stand outside/,
    ],
  ])("that %s is refused as it is read", (_, top, says) => {
    assert.match(refusal(written([paysAll], top)), says)
  })

  it("may name import() in a comment, and extend what is its own", async () => {
    const top =
      "// import() is not for rules\nclass Low extends Error { name = 'Low' }\nconst o = { toString: () => 'o' }"
    const [code] = codesOf(written(["void new Low(); void String(o); return { pay: 3n }"], top))
    assert.strictEqual(await saidBy(code!, 1n), 3n)
  })

  it("that makes a large table at its top is asked again and again", { timeout: 120_000 }, async () => {
    const top = 'const table = new Map(Array.from({ length: 60_000 }, (_, i) => ["k" + i, { i, v: i * 2 }]))'
    const [code] = codesOf(written([`void table; ${paysAll}`], top))
    for (let n = 1n; n <= 30n; n++) assert.strictEqual(await saidBy(code!, n), n)
  })

  it("that does not end at its top keeps nobody who waits for something else", async () => {
    const [good] = codesOf(written([paysAll]))
    const loading = loadRulesLater(written([], "for (;;);")).then((read) => ["loop", read] as const)
    let turns = 0
    const first = await Promise.race([
      loading,
      (async () => {
        for (; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve))
        const { answer } = await good!.askLater(seen(5n), 0)
        return ["good", answer] as const
      })(),
    ])
    assert.strictEqual(first[0], "good")
    const [, read] = await loading
    assert.match("problem" in read ? read.problem.message : "", /does not end within 5 s/)
  })

  it("runs anew for each question, within its memory", () => {
    const top = Array.from({ length: 4_000 }, (_, i) => `const f${i} = (n: bigint) => n * ${i}n + 1n`).join("\n")
    const [code] = codesOf(written([paysAll], top))
    for (let n = 1n; n <= 150n; n++) {
      const answer = code!.ask(seen(n), Number(n))
      assert.strictEqual(answer._tag === "Pays" ? answer.payments[0]?.amount : answer.detail, n)
    }
  })
})
