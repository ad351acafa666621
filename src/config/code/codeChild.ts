import { readSync, writeSync } from "node:fs"
import nodeModule, { createRequire, registerHooks, stripTypeScriptTypes } from "node:module"
import { dirname, resolve } from "node:path"
import type { Problem } from "../yaml/ConfigError.ts"
import { askNeed, encode, lineCharsMax, literally, type Numbered, placeAt, type Reply, thrownBy } from "./codeWire.ts"

/**
 * Replacements in a rules file for globals through which an answer could depend on more than its arguments. Authors of
 * rules mean no harm: this finds mistakes and is no security boundary.
 */
const refuse = (what: string): never => {
  throw new Error(`${what} is not available to rules: they decide from their input alone`)
}

const refused = (what: string): object => {
  const touch = () => refuse(what)
  return new Proxy(() => {}, { get: touch, set: touch, apply: touch, construct: touch, has: touch })
}

const PureDate = new Proxy(globalThis.Date, {
  apply: () => refuse("Date()"),
  construct: (target, given: ReadonlyArray<unknown>) =>
    given.length === 0 ? refuse("new Date()") : (Reflect.construct(target, given) as Date),
})

/** A format without a date is one of now. Changed at its prototype, since its instances lead there. */
const withholdNow = ({ prototype }: typeof Intl.DateTimeFormat): void => {
  const { apply } = Reflect
  const format = Object.getOwnPropertyDescriptor(prototype, "format")?.get
  const { formatToParts } = prototype
  const dated = (date: unknown) => (date === undefined ? refuse("Intl.DateTimeFormat without a date") : date)
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const own = apply(format!, this, []) as (date: unknown) => string
      return (date: unknown) => own(dated(date))
    },
    configurable: false,
  })
  Object.defineProperty(prototype, "formatToParts", {
    value(this: Intl.DateTimeFormat, date: unknown): unknown {
      return apply(formatToParts, this, [dated(date)])
    },
    configurable: false,
    writable: false,
  })
}

const names = ["process", "fetch", "setTimeout", "setInterval", "performance", "crypto", "console", "globalThis"]

/** Replaces clock, chance and all access to the outside. No prototype or property leads to the originals. */
const purify = (world: typeof globalThis): void => {
  const put = (on: object, name: string, value: unknown) => Object.defineProperty(on, name, { value, writable: true })
  withholdNow(world.Intl.DateTimeFormat)
  put(world.Math, "random", () => refuse("Math.random"))
  put(world.Date, "now", () => refuse("Date.now"))
  put(world.Date.prototype, "constructor", PureDate)
  put(world, "Date", PureDate)
  for (const name of names) put(world, name, refused(name))
}

/**
 * The process in which files of rules are run, and nothing else: it holds no key, sees no environment and no file but
 * this program's, and never turns its event loop, so that no promise that waits ever resolves. Its output is not
 * trusted: `codeProcess.ts` bounds it, `askCode.ts` judges its answers.
 */

const { parse, stringify } = JSON
const { wait } = Atomics
const exit = process.exit.bind(process)
const sleeper = new Int32Array(new SharedArrayBuffer(4))
const decoder = new TextDecoder()
const { from: bytesOf } = Buffer
const chunk = Buffer.alloc(65_536)
let unread = ""

/** The next line from the program; the process ends with the program. */
const readLine = (): string => {
  for (;;) {
    const end = unread.indexOf("\n")
    if (end >= 0) {
      const line = unread.slice(0, end)
      unread = unread.slice(end + 1)
      return line
    }
    try {
      const length = readSync(0, chunk, 0, chunk.length, null)
      if (length === 0) exit(0)
      unread += decoder.decode(chunk.subarray(0, length), { stream: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") exit(0)
      wait(sleeper, 0, 0, 1)
    }
  }
}

const write = (reply: Reply, n?: number): void => {
  const line = stringify({ ...reply, n })
  const tooMuch: Reply = { thrown: { message: "its answer is too long", stack: "", code: "" } }
  const bytes = bytesOf(`${line.length > lineCharsMax ? stringify({ ...tooMuch, n }) : line}\n`)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") exit(0)
      wait(sleeper, 0, 0, 1)
    }
  }
}

/** Each run has addresses of its own, so that files do not share the modules that they import. */
const virtual = /^(?:file:\/\/)?\/cofferer-rules\/([0-9]+)(\/.*)$/
const urlOf = (path: string, run: string): string =>
  `file:///cofferer-rules/${run}${path.split("/").map(encodeURIComponent).join("/")}`

/** Replacement for this program's own module: its types. */
const own = { specifier: "cofferer/rules", url: new URL("./RulesFile.ts", import.meta.url).href }

let texts = new Map<string, string>()
/** The fault with its place: errors of the loader have no useful one. */
let fault: Problem | undefined

const fail = (found: Problem): never => {
  fault ??= found
  throw new Error(found.message)
}

/** Another file may be loaded only while a file runs. */
let isLoading = false

/** A file's text; undefined where there is no such file. */
const textOf = (path: string): string | undefined => {
  const known = texts.get(path)
  if (known !== undefined || !isLoading) return known
  write({ file: path })
  const { text, problem } = parse(readLine()) as { readonly text?: string; readonly problem?: string }
  if (problem !== undefined) {
    return fail({ file: path, line: 0, column: 0, message: problem, remedy: "name a file of rules in TypeScript" })
  }
  if (text !== undefined) texts.set(path, text)
  return text
}

const resolveFrom = (parent: string, specifier: string): string => {
  const path = /^\.\.?\/.*\.ts$/.test(specifier) ? resolve(dirname(parent), specifier) : undefined
  if (path !== undefined && textOf(path) !== undefined) return path
  const text = texts.get(parent) ?? ""
  const at = placeAt(parent, text, text.search(new RegExp(`["']${literally(specifier)}["']`)))
  if (path !== undefined) return fail({ ...at, message: `no such file: ${specifier}`, remedy: "name a file beside it" })
  const message = `"${specifier}" cannot be imported: rules decide from their input alone`
  return fail({ ...at, message, remedy: 'import files beside it, such as "./levels.ts"' })
}

/** Where a text imports a file that would have to be waited for; -1 where it does not. */
const waitedFor = (text: string): number => {
  for (const { index } of text.matchAll(/\bimport\s*\(/g)) {
    const before = text.slice(text.lastIndexOf("\n", index) + 1, index)
    if (!/^\s*(\/\/|\*|\/\*)/.test(before) && !before.includes("//")) return index
  }
  return -1
}

/** The file's text, without its types. */
const sourceOf = (path: string): string => {
  const text = textOf(path)
  if (text === undefined) {
    return fail({
      file: path,
      line: 0,
      column: 0,
      message: "no such file",
      remedy: "name a file of rules in TypeScript",
    })
  }
  const later = waitedFor(text)
  if (later >= 0) {
    const remedy = 'write "import { … } from" at its top'
    return fail({ ...placeAt(path, text, later), message: "import() waits for a file: rules cannot wait", remedy })
  }
  try {
    return stripTypeScriptTypes(text, { mode: "strip" })
  } catch (error) {
    const { message, stack } = error as Error
    const [, line = "1", indent = ""] = /^[^\n]*:([0-9]+)\n(?:[^\n]*\n){1,4}?( *)\^+\n/.exec(String(stack)) ?? []
    const remedy = "correct it there; only types are removed, so enum, namespace and the like are not supported"
    return fail({ file: path, line: Number(line), column: indent.length + 1, message, remedy })
  }
}

registerHooks({
  resolve: (specifier, context, next) => {
    if (virtual.test(specifier)) return { url: specifier, format: "module", shortCircuit: true }
    const [, run, parent] = virtual.exec(context.parentURL ?? "") ?? []
    if (run === undefined || parent === undefined) return next(specifier, context)
    if (specifier === own.specifier) return next(own.url, context)
    const path = resolveFrom(decodeURIComponent(parent), specifier)
    return { url: urlOf(path, run), format: "module", shortCircuit: true }
  },
  load: (url, context, next) => {
    const path = virtual.exec(url)?.[2]
    if (path === undefined) return next(url, context)
    return { format: "module", source: sourceOf(decodeURIComponent(path)), shortCircuit: true }
  },
})

/** Globals of the language alone. All others are removed: rules get none of them. */
const language = new Set(
  (
    "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Promise RegExp Error " +
    "AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl " +
    "ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float32Array Float64Array " +
    "Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set WeakMap WeakSet WeakRef Proxy Reflect Date " +
    "decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape isFinite isNaN Iterator"
  ).split(" "),
)

const requireHere = createRequire(import.meta.url)
const world = globalThis

/** Loads the own modules and the type stripper first, then removes the globals that both need. */
const takeWorldAway = (): void => {
  stripTypeScriptTypes("type A = 1")
  requireHere("./RulesFile.ts")
  for (const name of [
    "kill",
    "_kill",
    "_debugProcess",
    "_debugEnd",
    "getBuiltinModule",
    "dlopen",
    "binding",
  ] as const) {
    Object.defineProperty(process, name, { value: undefined, configurable: false })
  }
  Object.defineProperty(nodeModule, "createRequire", { value: undefined })
  for (const name of Reflect.ownKeys(world)) {
    if (typeof name === "string" && !language.has(name)) Reflect.deleteProperty(world, name)
  }
  purify(world)
}

/** Freezes the language: a change to it by one file would change the answers of others. */
const freezeLanguage = (): void => {
  const frozen = new Set<unknown>()
  const freeze = (one: unknown): void => {
    if ((typeof one !== "object" && typeof one !== "function") || one === null || frozen.has(one)) return
    frozen.add(one)
    Object.freeze(one)
    freeze(Object.getPrototypeOf(one))
    for (const name of Reflect.ownKeys(one)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(one, name)!
      for (const inner of [value, get, set] as const) freeze(inner)
    }
  }
  const generator = function* () {}
  const later = async function* () {}
  const iterators = [[][Symbol.iterator](), ""[Symbol.iterator](), new Map().entries(), new Set().values(), generator()]
  const more = ["".matchAll(/a/g), generator, later, later(), async () => {}]
  for (const one of [world, ...iterators, ...more]) freeze(one)
}

/** Functions of each file that was run, by their numbers. */
const functions = new Map<number, ReadonlyArray<unknown>>()

const load = (id: number, file: string): Reply => {
  isLoading = true
  texts = new Map()
  fault = undefined
  try {
    const exported = requireHere(urlOf(file, String(id))) as Readonly<Record<string, unknown>>
    const { rules } = exported
    const own: Array<unknown> = []
    functions.set(id, own)
    return { loaded: { rules: "rules" in exported ? encode(rules, own) : undefined } }
  } catch (error) {
    return fault === undefined ? { thrown: thrownBy(error) } : { fault }
  } finally {
    isLoading = false
  }
}

takeWorldAway()
freezeLanguage()
for (;;) {
  const request = parse(readLine()) as Numbered
  const { id, n } = request
  if (request.op === "load") write(load(id, request.file), n)
  else write({ told: askNeed(functions.get(id)?.[request.f], request.seen) }, n)
}
