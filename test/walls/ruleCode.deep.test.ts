import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { codeOf } from "../../src/config/code/askCode.ts"
import { isLoadedFunction, type LoadedFunction, loadRules } from "../../src/config/code/loadRules.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Party } from "../../src/rules/Account.ts"
import type { CodeSeen } from "../../src/rules/Code.ts"
import { cofferer, root } from "../support/Cofferer.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("rule-code")
const secret = "b0b5ca1ab1e0".repeat(6).slice(0, 64)
const keyFile = join(dir, "key")
const environmentSecret = "COFFERER_RULE_CODE_TEST"

let server: Server
let connections = 0
let port = 0
beforeAll(async () => {
  writeFileSync(keyFile, secret)
  process.env[environmentSecret] = secret
  server = createServer(() => {
    connections++
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  port = (server.address() as { readonly port: number }).port
})
afterAll(async () => {
  delete process.env[environmentSecret]
  await new Promise((resolve) => server.close(resolve))
})

const hot: Party = {
  name: "hot",
  publicKey: "ab".repeat(32) as PublicKey,
  signer: { sandbox: "hot" },
  floor: new Map(),
  transfersKept: 0,
}
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const seen: CodeSeen = { balances: { "hot/TOK": 12_345n }, one: 100n, assets: {}, time: 1_772_445_600_000 }

let files = 0
const written = (text: string, more: Readonly<Record<string, string>> = {}): string => {
  const folder = join(dir, String(files++))
  mkdirSync(folder)
  for (const [name, content] of Object.entries(more)) writeFileSync(join(folder, name), content)
  writeFileSync(join(folder, "rules.ts"), text)
  return join(folder, "rules.ts")
}

interface Ruled {
  readonly code: { readonly need: LoadedFunction }
}

/** What becomes of a file of rules whose first rule is asked: all that leaves its process, as text. */
const outcome = async (file: string): Promise<string> => {
  const loaded = await loadRules(file)
  if ("problem" in loaded) return `refused: ${loaded.problem.message}; ${loaded.problem.remedy}`
  const [rule] = loaded.rules as ReadonlyArray<Ruled | undefined>
  if (!isLoadedFunction(rule?.code?.need)) return `no function: ${JSON.stringify(loaded.rules)}`
  const { answer } = await codeOf(rule.code.need, { to: [hot], asset }, "").ask(seen, seen.time)
  return JSON.stringify(answer, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))
}

/** A file whose rule answers by this body. */
const asked = (body: string, top = ""): string =>
  `${top}\nexport const rules = [{ name: "own", code: { need: (seen: any) => { ${body} } } }]\n`
/** A body that tells what it got hold of, where it does. */
const got = (expression: string): string => asked(`return { pay: 1n, because: "GOT " + String(${expression}) }`)

const key = JSON.stringify(keyFile)
/** What no code may get hold of: each would say GOT. */
const capabilities: Readonly<Record<string, string>> = {
  "the file system by global.process": got(
    `(global as any).process.getBuiltinModule("fs").readFileSync(${key}, "utf8")`,
  ),
  "the file system by process": got(`(process as any).getBuiltinModule("fs").readFileSync(${key}, "utf8")`),
  "the file system by self": got(`(self as any).process.getBuiltinModule("fs").readFileSync(${key}, "utf8")`),
  "process by eval": got(`(0, eval)("process.pid")`),
  "process by new Function": got(`new Function("return process.pid")()`),
  "process by a constructor's constructor": got(`([] as any).constructor.constructor("return process.pid")()`),
  "process by an async function's constructor": got(`(async () => {}).constructor("return process.pid")()`),
  "process by a generator's constructor": got(
    `(function* () {} as any).constructor("yield process.pid")().next().value`,
  ),
  "the world by this": got(`(function (this: any) { return this.process.pid })()`),
  "the world by arguments.callee": got(`(function () { return (arguments as any).callee.caller.arguments })()`),
  require: got(`require("node:fs").readFileSync(${key}, "utf8")`),
  "module.createRequire": got(`(module as any).constructor.createRequire("/")("fs").readFileSync(${key}, "utf8")`),
  "process.binding": got(`(process as any).binding("fs")`),
  "process.env": got(`(process as any).env.${environmentSecret}`),
  "the pool of buffers": got(`new Uint8Array((Buffer as any).from("x").buffer).length`),
  WebAssembly: got(`typeof (WebAssembly as any).Module`),
  fetch: got(`typeof (fetch as any)("http://127.0.0.1:1").then`),
  XMLHttpRequest: got(`typeof XMLHttpRequest.name`),
  WebSocket: got(`typeof (WebSocket as any).name`),
  Worker: got(`typeof (Worker as any).name`),
  BroadcastChannel: got(`typeof (BroadcastChannel as any).name`),
  "shared memory": got(`typeof (SharedArrayBuffer as any).name`),
  "sleep by Atomics": got(`typeof (Atomics as any).wait`),
  console: got(`typeof (console as any).log`),
  timers: got(`typeof (setTimeout as any)(() => {}, 1)`),
  queueMicrotask: got(`typeof (queueMicrotask as any).name`),
  navigator: got(`(navigator as any).hardwareConcurrency`),
  localStorage: got(`typeof (localStorage as any).getItem`),
  "the modules of Node by call sites": asked(`
    (Error as any).prepareStackTrace = (_: unknown, sites: any[]) => sites
    const sites: any[] = new Error().stack as any
    const found = sites.flatMap((site) => [site.getThis?.(), site.getFunction?.()]).filter((it: any) => it !== undefined && (it.process || it.require))
    return found.length > 0 ? { pay: 1n, because: "GOT " + found.length } : undefined`),
  "a module of Node by import()": asked(
    `let kept: any; import("node:fs").then((fs) => { kept = fs }); return kept ? { pay: 1n, because: "GOT" } : undefined`,
  ),
  "a module by data:": asked(
    `let kept: any; import("data:text/javascript,export default process.pid").then((it) => { kept = it }); return kept ? { pay: 1n, because: "GOT" } : undefined`,
  ),
  "the answer of import()": asked(`return import("node:fs")`),
}

/** Modules that no file of rules may import, at its top. */
const imports: ReadonlyArray<readonly [string, string]> = [
  ["node:fs", 'import * as it from "node:fs"'],
  ["node:child_process", 'import * as it from "node:child_process"'],
  ["a name without node:", 'import * as it from "net"'],
  ["node:inspector", 'import * as it from "node:inspector"'],
  ["node:process", 'import it from "node:process"'],
  ["a package", 'import * as it from "effect"'],
  ["an absolute path", 'import * as it from "/etc/passwd"'],
  ["an address", 'import * as it from "https://127.0.0.1/x.ts"'],
  ["a file that is no TypeScript", 'import * as it from "../key"'],
  ["the program's own loader", 'import * as it from "cofferer/rules/../codeProcess.ts"'],
]
const ofImports = Object.fromEntries(
  imports.map(([title, line]) => [
    `imports ${title}`,
    `${line}\nexport const rules = [{ name: "own", code: { need: () => ({ pay: 1n, because: "GOT " + Object.keys(it) }) } }]\n`,
  ]),
)

/** What must end neither the program nor the next rule, and pays nothing. */
const harm: Readonly<Record<string, string>> = {
  "a loop": asked("for (;;) {}"),
  "a pattern that takes for ever": asked('return /^(a+)+$/.test("a".repeat(60) + "b") ? undefined : undefined'),
  "a loop at the top": asked("return undefined", "for (;;) {}"),
  "an array without end": asked("const all: any[] = []; for (;;) all.push(new Array(1000).fill(1))"),
  "memory beside the heap": asked(
    "const all: any[] = []; for (;;) { const one = new Uint8Array(50_000_000); one.fill(1); all.push(one) }",
  ),
  "a recursion without end": asked("const deep = (): any => [deep()]; return deep()"),
  "an answer of half a gigabyte": asked('return { pay: 1n, because: "x".repeat(2 ** 29 - 100) }'),
  "an answer of a million payments": asked("return new Array(1_000_000).fill({ pay: 1n })"),
  "an answer that contains itself twice": asked("const one: any = {}; one.a = one; one.b = one; return one"),
  "an answer that is a proxy": asked("return new Proxy({}, { ownKeys: () => { throw 1 }, get: () => { throw 2 } })"),
  "a list that says it has no end": asked(
    "return new Proxy([], { get: (_, name) => name === 'length' ? 2 ** 53 - 1 : name === Symbol.iterator ? function* () { for (;;) yield 1 } : undefined })",
  ),
  "an error that cannot be read": asked(
    "throw { get message() { throw 1 }, get stack() { throw 2 }, toString() { throw 3 } }",
  ),
  "nothing, thrown": asked("throw undefined"),
  "an amount that is computed when it is read": asked("return { pay: { [Symbol.toPrimitive]: () => 1n } }"),
  "an amount below zero": asked("return { pay: -1n }"),
  "an amount beyond all": asked("return { pay: 2n ** 300n }"),
  "a receiver who is none of its own": asked('return { pay: 1n, to: "thief" }'),
  "a receiver by prototype": asked('return JSON.parse(\'{"pay":"1","__proto__":{"to":"thief"},"to":"thief"}\')'),
  "the clock by the constructor of a date": asked(
    "const Real: any = Object.getPrototypeOf(new Date(0)).constructor; return { pay: BigInt(new Real().getTime()) }",
  ),
  "the clock by the global object": asked("return { pay: BigInt((global as any).Date.now()) }"),
  "JSON that lies": asked(
    "return undefined",
    'JSON.stringify = () => \'{"told":[{"v":{"o":[["pay","9"]]}}]}\'; JSON.parse = () => ({})',
  ),
  "toJSON of all objects": asked(
    "return undefined",
    '(Object.prototype as any).toJSON = () => ({ told: [{ v: { o: [["pay", "1"], ["to", "thief"]] }, timed: false }, { v: "x", timed: false }] })',
  ),
  "toJSON of all lists": asked("return undefined", "(Array.prototype as any).toJSON = () => 1"),
  "a request for a file in the place of an answer": asked(
    "return undefined",
    `(Object.prototype as any).toJSON = () => ({ file: ${key} })`,
  ),
  "lists without their methods": asked(
    "return { pay: 1n }",
    "(Array.prototype as any).map = () => { throw 1 }; (Array as any).from = () => { throw 1 }",
  ),
  "objects that cannot be frozen": asked(
    "return { pay: -5n }",
    "Object.freeze = ((it: any) => new Proxy(it, {})) as any",
  ),
  "an error thrown by an async helper": asked('(async () => { throw new Error("late") })(); return undefined'),
  "microtasks without end": asked("const spin = (): any => Promise.resolve().then(spin); spin(); return undefined"),
  "microtasks without end at the top": asked(
    "return undefined",
    "const spin = (): any => Promise.resolve().then(spin); spin()",
  ),
  "the end of its process": asked("return (process as any).exit(0)"),
  "the end of its process at the top": asked("return undefined", "(process as any).exit(0)"),
  "a promise": asked("return Promise.resolve({ pay: 1n })"),
  "a promise of its own": asked("return { then: (done: any) => done({ pay: 1n }) }"),
  "await at the top": asked("return undefined", "await 1"),
  "rules that are no list": "export const rules = { length: 1, 0: {} }\n",
  "rules without end":
    "export const rules = new Proxy([], { get: (_, name) => name === 'length' ? 2 ** 32 - 1 : ({}) })\n",
  "ten million rules": 'export const rules = new Array(10_000_000).fill({ name: "own" })\n',
  "a name of a hundred megabytes": 'export const rules = [{ name: "x".repeat(100_000_000) }]\n',
}

/** Whether an answer pays: of harm none may. */
const pays = (text: string): boolean => /"_tag":"Pays","payments":\[\{/.test(text)

type Attack = readonly [title: string, strike: () => Promise<string | undefined>]
const attacks: ReadonlyArray<Attack> = [
  ...Object.entries({ ...capabilities, ...ofImports }).map(
    ([title, text]): Attack => [
      `reaches for ${title}`,
      async () => {
        const said = await outcome(written(text))
        return said.includes("GOT") || said.includes(secret) ? said : undefined
      },
    ],
  ),
  ...Object.entries(harm).map(
    ([title, text]): Attack => [
      `answers with ${title}`,
      async () => {
        const said = await outcome(written(text))
        return pays(said) ? said : undefined
      },
    ],
  ),
  [
    "imports a key by a link that is called TypeScript",
    async () => {
      const file = written('import "./levels.ts"\nexport const rules = []\n')
      symlinkSync(keyFile, join(file, "../levels.ts"))
      const said = await outcome(file)
      return said.includes(secret.slice(0, 8)) || !said.startsWith("refused") ? said : undefined
    },
  ],
  [
    "is a link to a key",
    async () => {
      const file = join(dir, "linked.ts")
      symlinkSync(keyFile, file)
      const said = await outcome(file)
      return said.includes(secret.slice(0, 8)) || !said.startsWith("refused") ? said : undefined
    },
  ],
  ...[
    "Array.prototype.toJSON = () => 1",
    "Array.prototype.toJSON = () => null",
    "Array.prototype.toJSON = () => [null, null]",
    "Array.prototype.toJSON = () => [1, 2]",
    "Array.prototype.toJSON = () => [{ e: null }, { e: null }]",
    "Array.prototype.toJSON = () => [{ e: 5 }, { v: 5 }]",
    "Object.prototype.toJSON = () => ({ told: null })",
    "Object.prototype.toJSON = () => ({ ended: 5 })",
    "Object.prototype.toJSON = () => null",
  ].map(
    (lie): Attack => [
      `lies about the form of its answers when it is asked (${lie})`,
      async () => {
        const said = await outcome(written(asked(`${lie}; return { pay: 1n }`)))
        return said.includes('"_tag":"Broken"') ? undefined : said
      },
    ],
  ),
  ...[
    'new Intl.DateTimeFormat("en", { weekday: "long" }).format()',
    "new Intl.DateTimeFormat().format(undefined)",
    "new Intl.DateTimeFormat().formatToParts()",
    'Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "format").get.call(new Intl.DateTimeFormat())()',
    'Object.getOwnPropertyDescriptor(Date, "now").value()',
  ].map(
    (clock): Attack => [
      `looks at the clock (${clock})`,
      async () => {
        const said = await outcome(written(asked(`return { pay: 1n, because: String(${clock}) }`)))
        return /not available to rules/.test(said) ? undefined : said
      },
    ],
  ),
  [
    "was changed after it was read",
    async () => {
      const file = written(asked("return { pay: 1n }"))
      const loaded = await loadRules(file)
      if ("problem" in loaded) return loaded.problem.message
      writeFileSync(file, asked('return { pay: 2n, because: "GOT" }'))
      const [rule] = loaded.rules as ReadonlyArray<Ruled>
      const { ask } = codeOf(rule!.code.need, { to: [hot], asset }, "")
      // Its process ends, and is started anew from what was read.
      await outcome(written(harm["a loop"]!))
      const { answer } = await ask(seen, seen.time)
      const said = JSON.stringify(answer, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))
      return said.includes("GOT") || !said.includes('"1n"') ? said : undefined
    },
  ],
]

const good = written(asked("return { pay: seen.one }"))
let tried = 0
let through = 0

describe("rules in code", () => {
  it("that are sound are asked", async () => {
    assert.match(await outcome(good), /"amount":"100n"/)
  })

  it.each([...attacks])("are held where one %s", async (_, strike) => {
    tried++
    through++
    const before = readdirSync(process.cwd()).length
    assert.isUndefined(await strike())
    assert.match(await outcome(good), /"amount":"100n"/, "another file's rules are asked as before")
    assert.strictEqual(connections, 0, `something connected to port ${port}`)
    assert.strictEqual(readdirSync(process.cwd()).length, before, "a file was written")
    assert.strictEqual(readFileSync(keyFile, "utf8"), secret)
    through--
  })

  it.each([
    ["ends its process", "(process as any).exit(0)", 3, /not available to rules/],
    ["throws late", '(async () => { throw new Error("late") })()', 0, /ok/],
    ["spins for ever behind an await", "const spin = (): any => Promise.resolve().then(spin); spin()", 0, /ok/],
    ["loops", "for (;;) {}", 3, /does not end within (5|60) s/],
  ])("leave `check` standing where one %s", async (_, top, code, says) => {
    tried++
    through++
    const folder = join(dir, `check-${files++}`)
    mkdirSync(folder)
    const sandbox = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
    writeFileSync(join(folder, "treasury.yaml"), sandbox.replace(/^rules:\n(?:(?: .*)?\n)*/m, "rules: rules.ts\n"))
    const news = '{ name: "news", notify: { asset: "any", becomes: ["enabled"] } }'
    writeFileSync(join(folder, "rules.ts"), `${top}\nexport const rules = [${news}]\n`)
    const done = await cofferer(["check", join(folder, "treasury.yaml")])
    assert.match(done.stdout + done.stderr, says)
    assert.strictEqual(done.code, code, done.stderr)
    assert.isFalse(existsSync(join(folder, "node_trace.1.log")))
    through--
  })

  it("let nothing through", () => {
    console.log(`rule code: tried ${tried} through ${through}`)
    assert.isAtLeast(tried, 40)
    assert.strictEqual(through, 0)
  })
})
