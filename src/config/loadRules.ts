import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module"
import { dirname, relative, resolve } from "node:path"
import type { Problem } from "./ConfigError.ts"
import { nearest } from "./nearest.ts"
import { readUtf8 } from "./readBytes.ts"
import { isTimeout, within } from "./within.ts"

/** A file of rules in TypeScript, as it was when it was read. */
export interface RulesModule {
  /** What it exports as `rules`; not looked at yet. */
  readonly rules: ReadonlyArray<unknown>
  readonly text: string
  /** SHA-256 in hex over its text and those of all files that it imports. */
  readonly hash: string
}

type Texts = Map<string, string>

/** Longer than this no file of rules takes to be evaluated. */
const loadMillis = 5_000
const charsMax = 1_000_000
const bytesMax = 4_000_000

/**
 * Each reading has paths of its own, in which the loader's caches know nothing of an earlier one: a file that was
 * changed is read again, and so is what it imports.
 */
const virtual = /^(?:file:\/\/)?\/cofferer-rules\/([0-9]+)(\/.*)$/
const urlOf = (reading: string | number, path: string): string =>
  `file:///cofferer-rules/${reading}${path.split("/").map(encodeURIComponent).join("/")}`

const pureNames = "Date,Math,process,fetch,setTimeout,setInterval,performance,crypto,console,globalThis"
/** On the first line, so that all others keep their places. */
const header = `import{pureGlobals as $pure}from"cofferer:pure";const{${pureNames}}=$pure;`
/** Specifiers that stand for files of this program. */
const own: Readonly<Record<string, string>> = {
  "cofferer:pure": new URL("./pureGlobals.ts", import.meta.url).href,
  "cofferer/rules": new URL("./RulesFile.ts", import.meta.url).href,
}

interface Reading {
  readonly texts: Texts
  /** What is wrong, at its place: errors of the loader have none that helps. */
  problem: Problem | undefined
}

let reading: Reading = { texts: new Map(), problem: undefined }
let readings = 0
const held = new Map<string, { readonly texts: Texts; readonly module: RulesModule }>()
const requireHere = createRequire(import.meta.url)

/** A text as a pattern that finds it. */
export const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")

/** Where an offset of a text is, 1-based. */
export const placeAt = (file: string, text: string, offset: number) => {
  const before = text.slice(0, Math.max(0, offset)).split("\n")
  return { file, line: before.length, column: before.at(-1)!.length + 1 }
}

/** Where in a file of rules an error arose; undefined where it does not say. */
export const placeOfError = (error: unknown) => {
  const stack = `${String((error as { readonly stack?: unknown } | undefined)?.stack)}\n`
  // Calls name a column; what stands before them may name the line alone.
  const found =
    /\/cofferer-rules\/[0-9]+(\/[^\n]+?):([0-9]+):([0-9]+)[)\n]/.exec(stack) ??
    /\/cofferer-rules\/[0-9]+(\/[^\n]+?):([0-9]+)\n/.exec(stack)
  if (found === null) return undefined
  const [line, column] = [Number(found[2]), Number(found[3] ?? 1)]
  const shift = line === 1 ? header.length : 0
  return { file: decodeURIComponent(found[1]!), line, column: Math.max(1, column - shift) }
}

/** Offset at which the rules of a text begin. */
export const rulesIn = (text: string): number => Math.max(0, text.search(/\bexport\s+(const|let|var)\s+rules\b/))

const fail = (problem: Problem): never => {
  reading.problem ??= problem
  throw new Error(problem.message)
}

const resolveFrom = (parent: string, specifier: string): string => {
  const path = /^\.\.?\/.*\.ts$/.test(specifier) ? resolve(dirname(parent), specifier) : undefined
  if (path !== undefined && existsSync(path)) return path
  const text = reading.texts.get(parent) ?? ""
  const at = placeAt(parent, text, text.search(new RegExp(`["']${literally(specifier)}["']`)))
  if (path !== undefined) return fail({ ...at, message: `no such file: ${specifier}`, remedy: "name a file beside it" })
  const message = `"${specifier}" cannot be imported: rules answer from what they are told alone`
  return fail({ ...at, message, remedy: 'import files beside it, such as "./levels.ts"' })
}

/** The file's text, without its types. */
const sourceOf = (path: string): string => {
  const text = readSource(path)
  reading.texts.set(path, text)
  try {
    return header + stripTypeScriptTypes(text, { mode: "strip" })
  } catch (error) {
    const { message, stack } = error as Error
    const [, line = "1", indent = ""] = /^[^\n]*:([0-9]+)\n(?:[^\n]*\n){1,4}?( *)\^+\n/.exec(String(stack)) ?? []
    const remedy = "mend it there; types alone are taken out, so that enum, namespace and the like cannot stand in it"
    return fail({ file: path, line: Number(line), column: indent.length + 1, message, remedy })
  }
}

const readSource = (path: string): string => {
  const whole = { file: path, line: 0, column: 0, remedy: "name a file of rules in TypeScript" }
  const text = readUtf8(path, bytesMax)
  if (typeof text !== "string") return fail({ ...whole, message: text.problem })
  return text.length > charsMax ? fail({ ...whole, message: "has more than a million characters" }) : text
}

let isHooked = false
const hook = (): void => {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve: (specifier, context, next) => {
      if (virtual.test(specifier)) return { url: specifier, format: "module", shortCircuit: true }
      const [, number, parent] = virtual.exec(context.parentURL ?? "") ?? []
      if (number === undefined || parent === undefined) return next(specifier, context)
      const known = own[specifier]
      if (known !== undefined) return next(known, context)
      return {
        url: urlOf(number, resolveFrom(decodeURIComponent(parent), specifier)),
        format: "module",
        shortCircuit: true,
      }
    },
    load: (url, context, next) => {
      const path = virtual.exec(url)?.[2]
      if (path === undefined) return next(url, context)
      return { format: "module", source: sourceOf(decodeURIComponent(path)), shortCircuit: true }
    },
  })
}

const isAsRead = (texts: Texts): boolean => [...texts].every(([path, text]) => readUtf8(path, bytesMax) === text)

/** The rules of a TypeScript file, by its absolute path, as it is now. Its code is run here, for a while at most. */
export const loadRules = (file: string): RulesModule | { readonly problem: Problem } => {
  const known = held.get(file)
  if (known !== undefined && isAsRead(known.texts)) return known.module
  hook()
  reading = { texts: new Map(), problem: undefined }
  readings++
  try {
    const exported = within(loadMillis, () => requireHere(urlOf(readings, file)) as Readonly<Record<string, unknown>>)
    const { texts } = reading
    const text = texts.get(file) ?? ""
    const { rules } = exported
    if (!Array.isArray(rules)) return { problem: withoutRules(file, text, exported) }
    const module = { rules, text, hash: hashOf(file, texts) }
    held.set(file, { texts, module })
    return module
  } catch (error) {
    return { problem: reading.problem ?? thrown(file, error) }
  }
}

const withoutRules = (file: string, text: string, exported: Readonly<Record<string, unknown>>): Problem => {
  const write = 'write "export const rules: Rules = [ … ]"'
  const at = placeAt(file, text, rulesIn(text))
  if ("rules" in exported) return { ...at, message: '"rules" is no list', remedy: write }
  const message = 'it exports no "rules"'
  const near = nearest("rules", Object.keys(exported))
  return { file, line: 1, column: 1, message, remedy: near === undefined ? write : `did you mean "${near}"?` }
}

const thrown = (file: string, error: unknown): Problem => {
  const at = placeOfError(error) ?? { file, line: 0, column: 0 }
  if (isTimeout(error)) {
    return { ...at, message: `it does not end within ${loadMillis / 1_000} s`, remedy: "take out what loops" }
  }
  const isAsync = (error as NodeJS.ErrnoException | undefined)?.code === "ERR_REQUIRE_ASYNC_MODULE"
  if (isAsync) return { ...at, message: "it waits for something at its top", remedy: 'take "await" out' }
  const said = error instanceof Error ? error.message : String(error)
  const isType = /provide an export named/.test(said)
  const remedy = isType ? 'export it there; types are imported by "import type { … }"' : "mend it"
  return { ...at, message: `it cannot be run: ${said}`, remedy }
}

const hashOf = (file: string, texts: Texts): string => {
  const named = [...texts].map(([path, text]) => [relative(dirname(file), path), text] as const)
  return createHash("sha256")
    .update(JSON.stringify(named.toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex")
}
