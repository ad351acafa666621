import { createHash } from "node:crypto"
import { dirname, relative } from "node:path"
import { Result } from "effect"
import type { CodeSeen } from "../../rules/Code.ts"
import type { Problem } from "../yaml/ConfigError.ts"
import { readUtf8 } from "../yaml/readBytes.ts"
import { askCode, loadCode } from "./codeProcess.ts"
import { type CodeReply, decode, placeAt, type Thrown, type WireSeen } from "./codeWire.ts"

/** Result of a call, or why there is none. */
export type CodeResult = CodeReply | { readonly ended: string }

/** A function of a file of rules, wherever it runs. */
export interface LoadedFunction {
  readonly ask: (seen: CodeSeen) => CodeResult | Promise<CodeResult>
}

const functions = new WeakSet<object>()

/** Marks a value as a function that was loaded: a file of rules cannot make one. */
export const asFunction = (loaded: LoadedFunction): LoadedFunction => {
  functions.add(loaded)
  return loaded
}

export const isLoadedFunction = (value: unknown): value is LoadedFunction =>
  typeof value === "object" && value !== null && functions.has(value)

/** A file of rules in TypeScript, as it was when it was read. */
export interface RulesModule {
  /** Its export `rules`, not validated yet. Each function is a `LoadedFunction`. */
  readonly rules: ReadonlyArray<unknown>
  readonly text: string
  /** SHA-256 in hex over its text and those of all files that it imports. */
  readonly hash: string
}

type Texts = ReadonlyMap<string, string>

const bytesMax = 4_000_000
const wordsMax = 2_000

const loadedFiles = new Map<string, { readonly texts: Texts; readonly module: RulesModule }>()

/** Where in a file of rules an error arose; undefined where it does not say. */
export const placeOfStack = (said: string) => {
  const stack = `${said}\n`
  // The lines of calls name a column; the line before them may name the line alone.
  const found =
    /\/cofferer-rules\/[0-9]+(\/[^\n]+?):([0-9]+):([0-9]+)[)\n]/.exec(stack) ??
    /\/cofferer-rules\/[0-9]+(\/[^\n]+?):([0-9]+)\n/.exec(stack)
  if (found === null) return undefined
  return { file: pathOf(found[1]!), line: Number(found[2]), column: Number(found[3] ?? 1) }
}

const pathOf = (coded: string): string =>
  Result.getOrElse(
    Result.try(() => decodeURIComponent(coded)),
    () => coded,
  )

/** Offset at which the rules of a text begin. */
export const rulesIn = (text: string): number => Math.max(0, text.search(/\bexport\s+(const|let|var)\s+rules\b/))

const isAsRead = (texts: Texts): boolean => [...texts].every(([path, text]) => readUtf8(path, bytesMax) === text)

type Read = RulesModule | { readonly problem: Problem }

/** The rules of a TypeScript file, by its absolute path, as it is now. Its code is run in a process of its own. */
export const loadRules = async (file: string): Promise<Read> => {
  const known = loadedFiles.get(file)
  if (known !== undefined && isAsRead(known.texts)) return known.module
  return readIn(file, await loadCode(file))
}

const readIn = (file: string, loaded: Awaited<ReturnType<typeof loadCode>>): Read => {
  if ("ended" in loaded) return { problem: { ...whole(file), ...endedWords(loaded.ended) } }
  const { reply, reading } = loaded
  const { texts } = reading
  const text = texts.get(file) ?? ""
  // Its process may print anything: an invalid reply throws in one of these steps.
  try {
    if ("fault" in reply) return { problem: faultOf(file, reply.fault) }
    if ("thrown" in reply) return { problem: thrown(file, reply.thrown) }
    if (!("loaded" in reply))
      return { problem: { ...whole(file), message: "its answer cannot be understood", remedy: "correct it" } }
    const askerOf = (f: number): LoadedFunction =>
      asFunction({ ask: (seen) => askCode(reading, f, wireOf(seen)).then(resultIn) })
    const rules = reply.loaded.rules === undefined ? undefined : decode(reply.loaded.rules, askerOf)
    if (!Array.isArray(rules)) return { problem: withoutRules(file, text, rules !== undefined) }
    const module = { rules, text, hash: hashOf(file, texts) }
    loadedFiles.set(file, { texts, module })
    return module
  } catch {
    return { problem: { ...whole(file), message: "its rules cannot be read", remedy: "correct it" } }
  }
}

/** Decodes a reply of its process. The reply is untrusted: an invalid one ends that process alone. */
const resultIn = (reply: unknown): CodeResult => {
  const { told, ended } = (reply ?? {}) as { readonly told?: unknown; readonly ended?: unknown }
  if (typeof told === "object" && told !== null && ("v" in told || "e" in told)) return told as CodeReply
  return { ended: typeof ended === "string" ? ended : "its answer cannot be understood" }
}

/** Encodes a function's input for its process. */
export const wireOf = ({ balances, one, assets, time }: CodeSeen): WireSeen => ({
  balances: Object.entries(balances).map(([name, units]) => [name, String(units)] as const),
  one: String(one),
  assets: Object.entries(assets).map(([name, { one: unit, decimals, status }]) => [
    name,
    [String(unit), decimals, status] as const,
  ]),
  time,
})

const whole = (file: string) => ({ file, line: 0, column: 0 })

/** Decodes a problem from the process's loader, length-limited: the text is untrusted. */
const faultOf = (file: string, said: Problem): Problem => ({
  file: typeof said.file === "string" ? said.file : file,
  line: Number.isSafeInteger(said.line) ? said.line : 0,
  column: Number.isSafeInteger(said.column) ? said.column : 0,
  message: String(said.message).slice(0, wordsMax),
  remedy: String(said.remedy).slice(0, wordsMax),
})

const endedWords = (why: string): Pick<Problem, "message" | "remedy"> => {
  if (why === "cpu") return { message: "it does not end within 5 s", remedy: "remove the loop" }
  if (why === "wall")
    return {
      message: "it does not end within 60 s: it waits, or this host is too busy",
      remedy: "remove what waits, or relieve the host",
    }
  if (why === "memory")
    return { message: "it takes more than 64 MB of heap, or 512 MB in all", remedy: "reduce the memory that it needs" }
  if (why === "exit") return { message: "it ends the process that runs it", remedy: "remove that" }
  return { message: `it cannot be run: ${why}`, remedy: "correct it" }
}

const withoutRules = (file: string, text: string, isThere: boolean): Problem => {
  const write = 'write "export const rules: Rules = [ … ]"'
  const at = placeAt(file, text, rulesIn(text))
  if (isThere) return { ...at, message: '"rules" is not a list', remedy: write }
  return { file, line: 1, column: 1, message: 'it exports no "rules"', remedy: write }
}

const thrown = (file: string, said: Thrown): Problem => {
  const [message, stack, code] = [said.message, said.stack, said.code].map(String) as [string, string, string]
  const at = placeOfStack(stack) ?? whole(file)
  if (code === "ERR_REQUIRE_ASYNC_MODULE") {
    return { ...at, message: "it waits for something at its top", remedy: 'remove "await"' }
  }
  const isType = /provide an export named/.test(message)
  const remedy = isType ? 'export it there; types are imported by "import type { … }"' : "correct it"
  return { ...at, message: `it cannot be run: ${message}`, remedy }
}

const hashOf = (file: string, texts: Texts): string => {
  const named = [...texts].map(([path, text]) => [relative(dirname(file), path), text] as const)
  return createHash("sha256")
    .update(JSON.stringify(named.toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex")
}
