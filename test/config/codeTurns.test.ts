import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
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
    const paid = async (units: bigint) => {
      const { answer } = await code!.askLater(seen(units), 0)
      return answer._tag === "Pays" ? answer.payments[0]?.amount : answer.detail
    }
    assert.strictEqual(await paid(1n), 1n)
    endThread()
    assert.strictEqual(await paid(2n), 2n, "by the text that was read")
    assert.strictEqual(await paid(3n), 3n)
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

describe("a file of rules in code", () => {
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

  it("is asked again and again, each time run anew, and never takes more memory than it has", () => {
    const top = Array.from({ length: 4_000 }, (_, i) => `const f${i} = (n: bigint) => n * ${i}n + 1n`).join("\n")
    const [code] = codesOf(written([paysAll], top))
    for (let n = 1n; n <= 150n; n++) {
      const answer = code!.ask(seen(n), Number(n))
      assert.strictEqual(answer._tag === "Pays" ? answer.payments[0]?.amount : answer.detail, n)
    }
  })
})
