import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { loadTreasury } from "../src/config/Treasury.ts"
import { it } from "./support/it.ts"
import {
  classesExtend,
  columnsMax,
  exportsHaveNames,
  failuresStayVisible,
  fileLinesMax,
  filesAreShort,
  functionLinesMax,
  functionsFitAScreen,
  linesFitTheWindow,
  testsAssert,
  testsRun,
  typesAreHonest,
  worldIsReadAtTheEdge,
} from "./tidy/code.ts"
import { filesInFolderMax, foldersAreSmall, importsHaveNoCircles, namesAreExportedOnce } from "./tidy/graph.ts"
import {
  importsPointDown,
  layers,
  lowLayersArePure,
  outsideIsTouchedOnce,
  sandboxStandsAlone,
  writerIsForSubmitter,
} from "./tidy/layers.ts"
import {
  hintsLead,
  isPage,
  linksLead,
  pageBytesMax,
  pagesAreListed,
  pagesAreShort,
  pagesSayWhatFor,
  pathsExist,
  readmeBytesMax,
} from "./tidy/pages.ts"
import { dependenciesAreExplained, lockNamesNoHost, topIsSmall, versionsAreExact } from "./tidy/project.ts"
import { type Code, listFiles, parseCode, readSource, root, type Source } from "./tidy/Source.ts"
import { plain, wordsAreClean } from "./tidy/words.ts"

const files = listFiles().filter((path) => !/\.(png|svg|wasm|sqlite|gz|bin|ico)$/.test(path))
const text = files.map(readSource)
const code = text.filter(({ path }) => path.endsWith(".ts")).map(({ path, text }) => parseCode(path, text))
const src = code.filter(({ path }) => path.startsWith("src/"))
const tests = code.filter(({ path }) => /^test\/.*\.test\.ts$/.test(path))
const pages = text.filter(isPage)

interface Rule<A extends Source> {
  readonly says: string
  readonly over: ReadonlyArray<A>
  readonly check: (source: A) => ReadonlyArray<string>
  /** Path and text of files that break the rule. */
  readonly broken: ReadonlyArray<readonly [path: string, text: string]>
  /** Path and text of files that look alike and do not. */
  readonly whole: ReadonlyArray<readonly [path: string, text: string]>
}

const codeRules: ReadonlyArray<Rule<Code>> = [
  {
    says: "imports point down",
    over: src,
    check: importsPointDown,
    broken: [
      ["src/domain/A.ts", 'import { b } from "../rules/b.ts"'],
      ["src/rules/A.ts", 'import { b } from "../tx/b.ts"'],
      ["src/config/A.ts", 'import type { B } from "../telemetry/B.ts"'],
      ["src/store/A.ts", 'import "../gateway/b.ts"'],
      ["src/gateway/A.ts", 'import { b } from "../signer/b.ts"'],
      ["src/poller/A.ts", 'const b = await import("../engine/b.ts")'],
      ["src/alerts/A.ts", 'export { b } from "../http/b.ts"'],
      ["src/http/A.ts", 'import { b } from "../daemon.ts"'],
      ["src/engine/A.ts", 'import { b } from "../../test/b.ts"'],
      ["src/engine/A.ts", 'import { b } from "./b"'],
      ["src/utils/A.ts", "export const a = 1"],
    ],
    whole: [
      ["src/rules/A.ts", 'import { b } from "../domain/b.ts"; import { c } from "./c.ts"'],
      ["src/daemon.ts", 'import { b } from "./cli/b.ts"; import { c } from "./http/c.ts"'],
      ["src/submitter/A.ts", 'import { b } from "../pow/b.ts"; import { Effect } from "effect"'],
    ],
  },
  {
    says: "the sandbox stands alone",
    over: src,
    check: sandboxStandsAlone,
    broken: [
      ["src/sandbox/A.ts", 'import { Treasury } from "../config/Treasury.ts"'],
      ["src/sandbox/A.ts", 'import { b } from "../store/Outbox.ts"'],
      ["src/sandbox/A.ts", 'import { b } from "../gateway/GatewayReader.ts"'],
      ["src/daemon.ts", 'import { b } from "./sandbox/b.ts"'],
      ["src/http/A.ts", 'import { b } from "../sandbox/b.ts"'],
    ],
    whole: [
      ["src/cli/A.ts", 'import { b } from "../sandbox/b.ts"'],
      ["src/sandbox/A.ts", 'import { b } from "../gateway/schema/b.ts"; import { c } from "../tx/c.ts"'],
      [
        "src/sandbox/A.ts",
        'import { readYaml } from "../config/yaml/Yaml.ts"; import { d } from "../store/database/NodeSqlite.ts"',
      ],
    ],
  },
  {
    says: "only the submitter holds the writer",
    over: src,
    check: writerIsForSubmitter,
    broken: [
      ["src/poller/A.ts", 'import { GatewayWriter } from "../gateway/GatewayWriter.ts"'],
      ["src/engine/A.ts", 'import type { GatewayWriter } from "../gateway/GatewayWriter.ts"'],
      ["src/http/A.ts", 'import { GatewayWriter } from "../gateway/GatewayWriter.ts"'],
    ],
    whole: [["src/submitter/A.ts", 'import { GatewayWriter } from "../gateway/GatewayWriter.ts"']],
  },
  {
    says: "domain, rules, tx and payments are pure",
    over: src,
    check: lowLayersArePure,
    broken: [
      ["src/rules/A.ts", 'import { Effect, Schema } from "effect"'],
      ["src/domain/A.ts", 'import * as E from "effect"'],
      ["src/rules/A.ts", 'import { Clock } from "effect"'],
      ["src/rules/A.ts", 'import * as Clock from "effect/Clock"'],
      ["src/tx/A.ts", 'import { randomBytes } from "node:crypto"'],
      ["src/tx/A.ts", 'import { createPrivateKey } from "node:crypto"'],
      ["src/tx/A.ts", 'import * as crypto from "node:crypto"'],
      ["src/domain/A.ts", 'import { readFileSync } from "node:fs"'],
      ["src/domain/A.ts", 'import pino from "pino"'],
      ["src/rules/A.ts", "const at = Date.now()"],
      ["src/rules/A.ts", "const at = new Date()"],
      ["src/rules/A.ts", "const n = Math.random()"],
      ["src/rules/A.ts", 'import { DateTime } from "effect"; const at = DateTime.nowUnsafe()'],
      ["src/tx/A.ts", "const id = globalThis.crypto.randomUUID()"],
      ["src/rules/A.ts", "setTimeout(() => {}, 1)"],
      ["src/rules/A.ts", "console.log(process.env)"],
    ],
    whole: [
      ["src/rules/A.ts", 'import { Option, Result, Schema } from "effect"; const at = new Date(0)'],
      ["src/tx/A.ts", 'import { hash, verify } from "node:crypto"; import { sha3_256 } from "@noble/hashes/sha3.js"'],
      ["src/engine/A.ts", 'import { Effect } from "effect"; const at = Date.now()'],
    ],
  },
  {
    says: "each outside thing is touched in one place",
    over: src,
    check: outsideIsTouchedOnce,
    broken: [
      ["src/engine/A.ts", 'import { DatabaseSync } from "node:sqlite"'],
      ["src/poller/A.ts", 'import { SqlClient } from "effect/sql"'],
      ["src/signer/A.ts", 'import { PgClient } from "@effect/sql-pg"'],
      ["src/submitter/A.ts", 'import { HttpClient } from "effect/http"'],
      ["src/http/A.ts", 'import { HttpRouter, FetchHttpClient } from "effect/http"'],
      ["src/daemon.ts", 'import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"'],
      ["src/alerts/A.ts", 'import { request } from "node:http"'],
      ["src/alerts/A.ts", 'import * as http from "node:http"'],
      ["src/submitter/A.ts", 'import { Worker } from "node:worker_threads"'],
      ["src/store/A.ts", 'import { Counter } from "prom-client"'],
      ["src/gateway/A.ts", 'import { pino } from "pino"'],
      ["src/gateway/A.ts", 'import { readFileSync } from "node:fs"'],
      ["src/engine/A.ts", 'import { readFile } from "node:fs/promises"'],
      ["src/submitter/A.ts", 'import { sign } from "node:crypto"'],
      ["src/gateway/A.ts", 'import { signAsync } from "@noble/ed25519"'],
      ["src/http/A.ts", 'import { parse } from "yaml"'],
      ["src/cli/A.ts", 'import { spawn } from "node:child_process"'],
    ],
    whole: [
      ["src/store/A.ts", 'import { SqlClient } from "effect/sql"; import { statSync } from "node:fs"'],
      ["src/http/A.ts", 'import { HttpRouter } from "effect/http"; import { createServer } from "node:http"'],
      ["src/daemon.ts", 'import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"'],
      ["src/store/A.ts", 'import { createHash } from "node:crypto"'],
    ],
  },
  {
    says: "the environment, fetch and WebAssembly are used in one place",
    over: src,
    check: worldIsReadAtTheEdge,
    broken: [
      ["src/gateway/A.ts", "const url = process.env.URL"],
      ["src/engine/A.ts", 'const r = await fetch("http://x")'],
      ["src/tx/A.ts", "const m = new WebAssembly.Module(bytes)"],
    ],
    whole: [
      ["src/config/A.ts", 'const url = process.env["URL"]'],
      ["src/pow/A.ts", "const m = new WebAssembly.Module(bytes)"],
      ["src/telemetry/A.ts", 'const plain = process.env["NO_COLOR"] !== undefined'],
    ],
  },
  {
    says: `a source file has less than ${fileLinesMax} lines`,
    over: src,
    check: filesAreShort,
    broken: [["src/store/A.ts", "// line\n".repeat(fileLinesMax)]],
    whole: [
      ["src/store/A.ts", "// line\n".repeat(fileLinesMax - 1)],
      ["src/tx/proto/a_pb.ts", "// line\n".repeat(500)],
    ],
  },
  {
    says: `a function has at most ${functionLinesMax} lines`,
    over: src,
    check: functionsFitAScreen,
    broken: [
      ["src/store/A.ts", `const f = () => {\n${"g()\n".repeat(functionLinesMax - 1)}}`],
      ["src/store/A.ts", `function* f() {\n${"yield 1\n".repeat(functionLinesMax)}}`],
    ],
    whole: [
      ["src/store/A.ts", `const f = () => {\n${"g()\n".repeat(functionLinesMax - 2)}}`],
      ["src/store/A.ts", `const f = () => {\n${`const g = () => {\n${"h()\n".repeat(30)}}\n`.repeat(4)}}`],
    ],
  },
  {
    says: `lines have at most ${columnsMax} columns`,
    over: code,
    check: linesFitTheWindow,
    broken: [
      ["src/store/A.ts", `const a = ${"b + ".repeat(40)}c`],
      ["src/store/A.ts", `// ${"word ".repeat(30)}`],
      ["src/store/A.ts", `const a = "b"; // ${"c".repeat(120)}`],
    ],
    whole: [
      ["src/store/A.ts", `const a = "${"b".repeat(140)}"`],
      ["src/store/A.ts", `const a = \`\n${"b ".repeat(70)}\n\``],
      ["src/store/A.ts", `//${"x".repeat(columnsMax - 2)}`],
    ],
  },
  {
    says: "types are honest: no any, enum or namespace",
    over: code,
    check: typesAreHonest,
    broken: [
      ["src/store/A.ts", "const f = (a: any) => a"],
      ["test/a.test.ts", "const a = b as any"],
      ["src/store/A.ts", "export type Rows = Array<Record<string, any>>"],
      ["src/store/A.ts", "enum A { B }"],
      ["src/store/A.ts", "namespace A { export const b = 1 }"],
    ],
    whole: [["src/store/A.ts", "// any\nconst any = 1; const b: unknown = any"]],
  },
  {
    says: "exports have names and one home",
    over: src,
    check: exportsHaveNames,
    broken: [
      ["src/store/A.ts", "export default 1"],
      ["src/store/A.ts", 'export * from "./B.ts"'],
      ["src/store/A.ts", 'export { b } from "./B.ts"'],
      ["src/store/index.ts", "const a = 1"],
    ],
    whole: [["src/store/A.ts", "const a = 1; export { a }"]],
  },
  {
    says: "classes are services, schemas and errors",
    over: src,
    check: classesExtend,
    broken: [["src/store/A.ts", "class A { b = 1 }"]],
    whole: [["src/store/A.ts", 'class A extends Context.Service<A, {}>()("cofferer/store/A") {}']],
  },
  {
    says: "failures stay visible",
    over: src,
    check: failuresStayVisible,
    broken: [
      ["src/store/A.ts", "const a = b.pipe(Effect.orDie)"],
      ["src/gateway/A.ts", "const a = Layer.orDie(b)"],
      ["src/poller/A.ts", "const a = loop.pipe(Effect.catchCause(() => Effect.void))"],
      ["src/daemon.ts", "const a = Effect.catchDefect(loop, () => Effect.void)"],
    ],
    whole: [["src/store/A.ts", "// Effect.orDie\nconst a = b.pipe(Effect.tapCause(log), Effect.catchTag(c, d))"]],
  },
  {
    says: "every test runs on the real modules",
    over: code.filter(({ path }) => path.startsWith("test/")),
    check: testsRun,
    broken: [
      ["test/a.test.ts", 'it.skip("a", () => {})'],
      ["test/a.test.ts", 'it.todo("a")'],
      ["test/a.test.ts", 'describe.only("a", () => {})'],
      ["test/a.test.ts", 'it.effect.skip("a", () => b)'],
      ["test/a.test.ts", 'vi.mock("../src/store/A.ts")'],
    ],
    whole: [["test/a.test.ts", 'it("skips it.skip", () => list.only)']],
  },
  {
    says: "every test file asserts",
    over: tests,
    check: testsAssert,
    broken: [["test/a.test.ts", 'import { assert, it } from "@effect/vitest"\nit("a", () => {})']],
    whole: [["test/a.test.ts", 'import { assert, it } from "@effect/vitest"\nit("a", () => assert.isTrue(true))']],
  },
]

const textRules: ReadonlyArray<Rule<Source>> = [
  {
    says: "words are clean",
    over: text,
    check: wordsAreClean,
    broken: [
      "// TO·DO: later",
      "// FIX·ME",
      "/* X·XX */",
      "returns a place·holder",
      "this is not imple·mented",
      "see /wo·rk/main/src",
      "cd /ro·ot/x",
      "in /tmp/bash·_jobs.0",
      "https://reg·istry.npm·js.org/x",
      "as archi·tecture.md says",
      "network-wri·te.md, section 8",
      "written by an A·I",
      "ask the assis·tant",
    ].map((line) => ["README.md", plain(line)] as const),
    whole: [
      ["README.md", "An unattended agent. Proof of work/nonce; the registry; src/work/x; ~/.npmrc; maintain; /api/v2"],
      ["src/README.md", "A prompt on a terminal. Operators decide; decisions are recorded."],
    ],
  },
  {
    says: "links lead to a file and a heading",
    over: pages,
    check: linksLead,
    broken: [
      ["docs/a.md", "[x](nowhere.md)"],
      ["docs/a.md", "[x](docs/security.md)"],
      ["docs/a.md", "[x](security.md#nowhere)"],
      ["README.md", "# One\n\nSee [x](#two)."],
      ["README.md", "# One\n\n    # two\n\nSee [x](#two)."],
      ["src/README.md", "- [x](../docs/rules.md#why-a-rule-is-loud)"],
    ],
    whole: [
      ["docs/a.md", "[x](security.md#walls) [y](../LICENSE) [z](https://gateway.example/nowhere.md)"],
      ["README.md", "# One, `two`: three?\n\nSee [x](#one-two-three)."],
      ["README.md", "# One\n\n## Two\n\n## Two\n\nSee [x](#two-1)."],
      ["README.md", "`[x](nowhere.md)`\n\n    [x](nowhere.md)\n\n```text\n[x](nowhere.md)\n```"],
    ],
  },
  {
    says: "paths between backticks exist",
    over: pages,
    check: pathsExist,
    broken: [
      ["README.md", "`src/nowhere.ts`"],
      ["docs/a.md", "`test/tidy/nowhere`"],
    ],
    whole: [
      ["docs/a.md", "`src/cofferer.sh`, `test/tidy`, `nowhere.ts`, `/data/read-token`"],
      ["src/README.md", "`config/Treasury.ts`"],
    ],
  },
  {
    says: "pages and headings that a text names exist",
    over: text.filter(({ path }) => !path.startsWith("test/tidy")),
    check: hintsLead,
    broken: [
      ["src/engine/A.ts", "see docs/nowhere.md"],
      ["src/engine/A.ts", 'see "Nowhere" in docs/commands.md'],
    ],
    whole: [["src/engine/A.ts", 'see "Exit codes" in docs/commands.md, or docs/security.md']],
  },
  {
    says: "a page of docs begins with one line that says what it is for",
    over: pages,
    check: pagesSayWhatFor,
    broken: [
      ["docs/a.md", "# A\n\n## B\n"],
      ["docs/a.md", "# A\n\nWhat a is,\nand b.\n"],
      ["docs/a.md", "What a is.\n"],
    ],
    whole: [["docs/a.md", "# A\n\nWhat a is.\n\nMore.\n"]],
  },
]

describe("the code base is tidy", () => {
  for (const rule of codeRules) defineRule(rule, parseCode)
  for (const rule of textRules) defineRule(rule, (path, text) => ({ path, text }))
})

function defineRule<A extends Source>(rule: Rule<A>, parse: (path: string, text: string) => A): void {
  it(rule.says, () => {
    assert.isNotEmpty(rule.over)
    assert.deepStrictEqual(rule.over.flatMap(rule.check), [])
  })
  it.each([...rule.broken])(`${rule.says}: refuses %s with %j`, (path, text) => {
    assert.isNotEmpty(rule.check(parse(path, text)))
  })
  it.each([...rule.whole])(`${rule.says}: lets pass %s with %j`, (path, text) => {
    assert.deepStrictEqual(rule.check(parse(path, text)), [])
  })
}

describe("the project is tidy", () => {
  const read = (path: string) => readSource(path).text
  const readme = existsSync(join(root, "README.md")) ? read("README.md") : undefined

  it("pins every dependency to one version", () => {
    assert.deepStrictEqual(versionsAreExact(read("package.json")), [])
  })

  it.each(["^1.0.0", "~1.0.0", "1.x", "*", "latest", "git+ssh://x"])("refuses the version %s", (version) => {
    for (const kind of ["dependencies", "devDependencies", "optionalDependencies"]) {
      assert.lengthOf(versionsAreExact(JSON.stringify({ [kind]: { a: version, b: "1.0.0" } })), 1)
    }
  })

  it("names no host in the lock file", () => {
    assert.deepStrictEqual(lockNamesNoHost(read("package-lock.json")), [])
    assert.lengthOf(lockNamesNoHost('{\n  "resolved": "https://x/y.tgz"\n}'), 1)
  })

  it("explains every dependency in the README", () => {
    assert.deepStrictEqual(dependenciesAreExplained(read("package.json"), readme), [])
  })

  it("refuses a README that names a dependency outside its table, or not at all", () => {
    const packageJson = JSON.stringify({ dependencies: { a: "1.0.0", b: "1.0.0" }, devDependencies: { c: "1.0.0" } })
    assert.lengthOf(dependenciesAreExplained(packageJson, "Uses `a`.\n| `b` | why |\n"), 2)
    assert.deepStrictEqual(dependenciesAreExplained(packageJson, "| `a`, `b` | why |\n| `c` | why |\n"), [])
  })

  it("keeps the README and the pages short", () => {
    assert.deepStrictEqual(pages.flatMap(pagesAreShort), [])
    const page = (path: string, bytes: number) => pagesAreShort({ path, text: "x".repeat(bytes) })
    assert.lengthOf([...page("README.md", readmeBytesMax), ...page("docs/a.md", pageBytesMax)], 0)
    assert.lengthOf([...page("README.md", readmeBytesMax + 1), ...page("docs/a.md", pageBytesMax + 1)], 2)
    assert.lengthOf(pagesAreShort({ path: "README.md", text: "ü".repeat(readmeBytesMax / 2 + 1) }), 1)
  })

  it("keeps images small", () => {
    const images = listFiles().filter((path) => /^docs\/images\/.*\.png$/.test(path))
    assert.isAbove(images.length, 0)
    for (const path of images) assert.isBelow(statSync(join(root, path)).size, 150_000, path)
  })

  it.each(["README.md", "docs/llms.txt"])("lists in %s each page and the code", (index) => {
    const paths = pages.map(({ path }) => path).filter((path) => path.startsWith("docs/") && path.endsWith(".md"))
    assert.isAbove(paths.length, 8)
    assert.deepStrictEqual(pagesAreListed(readSource(index), [...paths, "src/README.md"]), [])
    const short = { path: "docs/llms.txt", text: "[a](a.md)" }
    assert.lengthOf(pagesAreListed(short, ["docs/a.md", "docs/b.md"]), 1)
  })

  const handWritten = src.filter(({ path }) => !path.endsWith("_pb.ts"))

  it("keeps folders of the source small", () => {
    assert.deepStrictEqual(foldersAreSmall(handWritten.map(({ path }) => path)), [])
    const crowd = Array.from({ length: filesInFolderMax + 1 }, (_, i) => `src/store/a${i}.ts`)
    assert.lengthOf(foldersAreSmall(crowd), 1)
    assert.deepStrictEqual(foldersAreSmall([...crowd.slice(1), "src/store/rules/a.ts"]), [])
  })

  it("has no circles of imports", () => {
    assert.deepStrictEqual(importsHaveNoCircles(handWritten), [])
    const a = parseCode("src/a/a.ts", 'import type { B } from "./b.ts"')
    const b = parseCode("src/a/b.ts", 'import { c } from "./c.ts"')
    assert.lengthOf(importsHaveNoCircles([a, b, parseCode("src/a/c.ts", 'export { A } from "./a.ts"')]), 1)
    assert.deepStrictEqual(importsHaveNoCircles([a, b, parseCode("src/a/c.ts", "export const c = 1")]), [])
  })

  it("exports each name once", () => {
    assert.deepStrictEqual(namesAreExportedOnce(handWritten), [])
    const twice = ["src/a/a.ts", "src/b/b.ts"].map((path) => parseCode(path, "export const a = 1"))
    assert.lengthOf(namesAreExportedOnce(twice), 1)
    assert.deepStrictEqual(namesAreExportedOnce(twice.slice(1)), [])
  })

  it("keeps the top to config, docs, src and test", () => {
    const folders = readdirSync(root, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? [e.name] : []))
    const ignored = read(".gitignore")
      .split("\n")
      .map((line) => line.replace(/\/$/, ""))
    assert.deepStrictEqual(topIsSmall(folders, ignored), [])
    assert.lengthOf(topIsSmall(["src", "notes", ".ci", "node_modules"], ignored), 1)
  })

  it("draws in src/README.md the layers that are tested", () => {
    const drawn = read("src/README.md")
      .split("\n")
      .flatMap((line) => /^ +L(\d) {2}(\S.*?)(?: {3,}.*)?$/.exec(line)?.[2] ?? [])
    const names = drawn.map((line) => line.split(/\s+/).map((name) => name.replace(/\/$/, "")))
    assert.deepStrictEqual(names.toReversed(), layers)
  })
})

describe("the example configurations", () => {
  const complaints = (file: string) =>
    loadTreasury(file).pipe(
      Effect.result,
      Effect.map(Result.match({ onFailure: (error) => [`${file}: ${error.message}`], onSuccess: () => [] })),
    )
  const examples = files.filter((path) => /^config\/[^/]*\.yaml$/.test(path) && path !== "config/compose.yaml")

  it.effect("load", function* () {
    const found = yield* Effect.forEach(examples, (path) => complaints(join(root, path)))
    assert.deepStrictEqual(found.flat(), [])
  })

  it.effect("would be refused with an unknown key", function* () {
    const folder = mkdtempSync(join(tmpdir(), "cofferer-tidy-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
    const file = join(folder, "broken.yaml")
    writeFileSync(file, "mood: live\n")
    assert.lengthOf(yield* complaints(file), 1)
  })
})
