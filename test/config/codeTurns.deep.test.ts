import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { codeOf } from "../../src/config/code/askCode.ts"
import { type LoadedFunction, loadRules } from "../../src/config/code/loadRules.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Party } from "../../src/rules/Account.ts"
import type { Code, CodeSeen } from "../../src/rules/Code.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("code-turns")

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const hot: Party = {
  name: "hot",
  publicKey: "ab".repeat(32) as PublicKey,
  signer: { sandbox: "hot" },
  floor: new Map(),
  transfersKept: 0,
}
const seen = (units: bigint): CodeSeen => ({ balances: { "hot/TOK": units }, one: 100n, assets: {}, time: 0 })

/** The process of rules that this process has started. */
const processesOf = (): ReadonlyArray<number> =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number)

let files = 0
/** A file of rules whose functions have these bodies, and what stands above them. */
const written = (bodies: ReadonlyArray<string>, top = ""): string => {
  const file = join(dir, `rules-${files++}.ts`)
  const rules = bodies.map((body, i) => `{ name: "own-${i}", code: { need: (seen: any) => { ${body} } } }`)
  writeFileSync(file, `${top}\nexport const rules = [${rules.join(", ")}]\n`)
  return file
}

const codesOf = async (file: string): Promise<ReadonlyArray<Code>> => {
  const loaded = await loadRules(file)
  if ("problem" in loaded) return assert.fail(loaded.problem.message)
  const rules = loaded.rules as ReadonlyArray<{ readonly code: { readonly need: LoadedFunction } }>
  return rules.map(({ code }) => codeOf(code.need, { to: [hot], asset }, ""))
}

/** The amount that is paid, or why none is. */
const saidBy = async (code: Code, units: bigint, time = 0) => {
  const { answer } = await code.ask({ ...seen(units), time }, Number(units))
  return answer._tag === "Pays" ? (answer.payments[0]?.amount ?? 0n) : answer.detail
}

/** Why a file is refused as it is read. */
const refusal = async (file: string): Promise<string> => {
  const loaded = await loadRules(file)
  return "problem" in loaded ? `${loaded.problem.message}; ${loaded.problem.remedy}` : "it is read"
}

const paysAll = 'return { pay: seen.balances["hot/TOK"] }'

const noEnd = "its code does not end within 500 ms"
const stands = "its code does not end within 10 s: it waits, or this host is too busy"

describe("rules in code", () => {
  it("answer in the same round as others that do not end, however many", async () => {
    const loops = await codesOf(written(new Array(3).fill("for (;;);")))
    const [good] = await codesOf(written([paysAll]))
    const all = await Promise.all([...loops, good!, loops[0]!].map((code) => saidBy(code, 7n)))
    // On a busy machine a loop may get less than 500 ms of the processor until it is ended by the clock.
    const ends = all.map((said) => (said === stands ? noEnd : said))
    assert.deepStrictEqual(ends, [noEnd, noEnd, noEnd, 7n, noEnd])
  })

  it("are told apart, though one reads a file while it is asked", async () => {
    const reads = 'if (has === 17n) void import/* */("./extra.ts")'
    const first = `const has = seen.balances["hot/TOK"]; ${reads}; return { pay: "9_000" }`
    const [one, other] = await codesOf(written([first, 'return { pay: "1" }']))
    for (const units of [1n, 17n, 18n, 17n, 100n]) {
      const [a, b] = await Promise.all([saidBy(one!, units), saidBy(other!, units)])
      if (typeof a === "bigint") assert.strictEqual(a, 900_000n)
      if (typeof b === "bigint") assert.strictEqual(b, 100n, `at ${units}`)
    }
  })

  it("are asked whatever was read since, be it sound or broken", async () => {
    const [[first], [second]] = [await codesOf(written([paysAll])), await codesOf(written([paysAll]))]
    const draft = written([paysAll])
    for (const text of ["export const rules = [", "export const rules = [] //", "for (;;);"]) {
      writeFileSync(draft, text)
      await loadRules(draft)
    }
    assert.strictEqual(await saidBy(first!, 5n), 5n)
    assert.strictEqual(await saidBy(second!, 6n), 6n)
  })

  it("are asked again, by the text that was read, where their process was ended from outside", async ({ skip }) => {
    skip(!existsSync("/proc/self/task"), "needs /proc")
    const file = written([paysAll])
    const [code] = await codesOf(file)
    assert.strictEqual(await saidBy(code!, 1n), 1n)
    writeFileSync(file, "export const rules = []\n")
    const mine = processesOf()
    assert.lengthOf(mine, 1)
    for (const pid of mine) process.kill(pid, "SIGKILL")
    assert.strictEqual(await saidBy(code!, 2n), 2n)
  })

  it("are held where their process gets no processor time, and asked again by another one", async ({ skip }) => {
    skip(!existsSync("/proc/self/task"), "needs /proc")
    const [code] = await codesOf(written([paysAll]))
    assert.strictEqual(await saidBy(code!, 1n), 1n)
    for (const pid of processesOf()) process.kill(pid, "SIGSTOP")
    assert.strictEqual(await saidBy(code!, 2n), stands)
    assert.strictEqual(await saidBy(code!, 60_002n), 60_002n)
  })

  it.each([
    ["a list", "(Array as any).from = () => [9]"],
    ["the name of lists", "(Array as any) = null"],
    ["the name of numbers", "(BigInt as any) = () => 9n"],
    ["the time", "(Date as any) = null"],
    ["what all lists are made of", "(Array.prototype as any).map = () => [9]"],
    ["what is printed of numbers", "(BigInt.prototype as any).toString = () => '9'"],
    ["a format", "(Intl.NumberFormat as any).prototype.formatToParts = () => '9'"],
    ["an iterator", "Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true })"],
    ["a match", "Object.getPrototypeOf(''.matchAll(/a/g)).next = () => ({ done: true })"],
  ])("change nothing of %s for others", async (_, change) => {
    const [liar] = await codesOf(written([`${change}; return { pay: 1n }`]))
    const [good] = await codesOf(
      written(["return { pay: BigInt([...seen.balances['hot/TOK'].toString()].map(Number)[0]) }"]),
    )
    assert.match(String(await saidBy(liar!, 1n)), /^its code fails at .*: Cannot assign to read only property/)
    assert.strictEqual(await saidBy(good!, 5n), 5n)
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
    ["does not end at its top", "for (;;);", /^it does not end within (5|60) s/],
    [
      "grows without end",
      "for (const all = []; ; ) all.push(new Uint8Array(50_000_000).fill(1))",
      /^it takes more than 64 MB of heap, or 512 MB in all; reduce the memory that it needs/,
    ],
  ])("that %s is refused as it is read", async (_, top, says) => {
    assert.match(await refusal(written([paysAll], top)), says)
  })

  it("may name import() in a comment, and extend what is its own", async () => {
    const top =
      "// import() is not for rules\nclass Low extends Error { name = 'Low' }\nconst o = { toString: () => 'o' }"
    const [code] = await codesOf(written(["void new Low(); void String(o); return { pay: 3n }"], top))
    assert.strictEqual(await saidBy(code!, 1n), 3n)
  })
})
