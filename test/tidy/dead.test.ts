import { assert, describe, it } from "@effect/vitest"
import { WrittenTreasury } from "../../src/config/schema/TreasuryFile.ts"
import { exportsAreUsed, helpersAreShared, type KeyTree, keysAreRead, tablesAreRead } from "./dead.ts"
import { listFiles, parseCode, readSource } from "./Source.ts"

const code = [...listFiles(), ...listFiles("test/recordings")]
  .filter((path) => path.endsWith(".ts"))
  .map(readSource)
  .map(({ path, text }) => parseCode(path, text))
const src = code.filter(({ path }) => path.startsWith("src/") && !path.endsWith("_pb.ts"))
const support = code.filter(({ path }) => path.startsWith("test/support/"))

const used = parseCode("src/a/A.ts", "export const a = 1\nexport type B = 2\nclass C {}\nexport { C }")
const from = (text: string, path = "src/b/B.ts") => [used, parseCode(path, text)]

describe("an export", () => {
  it("is imported by another file", () => {
    assert.isNotEmpty(src)
    assert.deepStrictEqual([...src, ...support].flatMap(exportsAreUsed(code)), [])
  })

  it.each([
    ['import { a, type B, C } from "../a/A.ts"', []],
    ['import { a as b } from "../a/A.ts"', ["src/a/A.ts:2 nothing imports B", "src/a/A.ts:4 nothing imports C"]],
    ['import * as A from "../a/A.ts"; A.a(A.C)', ["src/a/A.ts:2 nothing imports B"]],
    ['const { C, a } = await import("../a/A.ts")', ["src/a/A.ts:2 nothing imports B"]],
  ])("is looked for in %s", (text, complaints) => {
    assert.deepStrictEqual(exportsAreUsed(from(text))(used), complaints)
  })
})

describe("a helper of tests", () => {
  it("is used by more than one file, or stands beside the one", () => {
    assert.isNotEmpty(support)
    assert.deepStrictEqual(support.flatMap(helpersAreShared(code)), [])
  })

  it.each([
    ["test/b/b.test.ts", ["src/a/A.ts:1 test/b/b.test.ts uses it alone"]],
    ["test/support/B.ts", []],
  ])("that %s uses alone is found", (path, complaints) => {
    assert.deepStrictEqual(helpersAreShared(from('import { a } from "../../src/a/A.ts"', path))(used), complaints)
  })
})

describe("a table", () => {
  it("is read by a statement", () => assert.deepStrictEqual(tablesAreRead(src), []))

  it.each([
    ["SELECT a FROM t", 0],
    ["SELECT a FROM s JOIN t ON a", 0],
    ["DELETE FROM t", 1],
    ["INSERT INTO t SELECT a FROM s", 1],
  ])("is read by %s, or is not", (text, complaints) => {
    assert.lengthOf(tablesAreRead([{ path: "src/store/A.ts", text: `CREATE TABLE t (a)\n${text}` }]), complaints)
  })
})

describe("a key of a treasury file", () => {
  it("is read by the program", () => assert.deepStrictEqual(keysAreRead(WrittenTreasury.ast as KeyTree, src), []))

  it("is found that nothing reads", () => {
    const schema = { propertySignatures: [{ name: "mood", type: {} }] }
    const reads = (path: string) => keysAreRead(schema, [{ path, text: "const a = file.mood" }])
    assert.deepStrictEqual(reads("src/config/resolve/resolveMood.ts"), [])
    assert.deepStrictEqual(reads("src/config/schema/jsonSchemaOf.ts"), ["nothing reads the key mood"])
  })
})
