import { basename, dirname, resolve } from "node:path"
import { Effect } from "effect"
import type { Problem } from "./ConfigError.ts"
import { literally, placeAt } from "./codeWire.ts"
import { pathText } from "./decodeAll.ts"
import { isLoadedFunction, loadRules, type RulesModule, rulesIn } from "./loadRules.ts"
import type { Entry, Place, Placed } from "./Placed.ts"
import { documentOf, type YamlDocument } from "./Yaml.ts"

/** One part with its rules as a list, where a file of rules stands in its place: so those of parts can be joined. */
export const listedRules = (tree: Placed): Placed => {
  const rules = tree.kind === "map" ? tree.entries.get("rules") : undefined
  if (tree.kind !== "map" || rules?.value.kind !== "text" || rules.value.text === "") return tree
  const value: Placed = { kind: "list", at: rules.value.at, items: [rules.value] }
  return { ...tree, entries: new Map(tree.entries).set("rules", { ...rules, value }) }
}

type Named = Extract<Placed, { kind: "text" }>

/** The document with the rules of its TypeScript files in their places; these files are read and run. */
export const withCode = Effect.fnUntraced(function* (document: YamlDocument) {
  const tree = listedRules(document.tree)
  const rules = tree.kind === "map" ? tree.entries.get("rules") : undefined
  if (tree.kind !== "map" || rules?.value.kind !== "list") return document
  const { value: list } = rules
  if (list.items.every(({ kind }) => kind !== "text")) return document
  const code = new Map(document.code)
  const problems: Array<Problem> = [...document.problems]
  const placed: Array<Placed> = []
  for (const item of list.items) {
    if (item.kind !== "text") {
      placed.push(item)
      continue
    }
    const own = yield* Effect.promise(() => rulesOf(item))
    problems.push(...own.problems)
    for (const [name, need] of own.code) code.set(name, need)
    placed.push(...own.items)
  }
  const value: Placed = { ...list, items: placed }
  const entries = new Map(tree.entries).set("rules", { ...rules, value })
  return documentOf({ ...document, problems, code, tree: { ...tree, entries } })
})

const rulesOf = async (item: Named): Promise<ReturnType<typeof placedRules>> => {
  const { at, text } = item
  const failed = (problem: Problem) => ({ items: [], code: new Map(), problems: [problem] })
  if (!text.endsWith(".ts")) {
    const message = `"${text}" is no rule, and no file of rules in TypeScript`
    return failed({ ...at, message, remedy: "write a rule, or name a file that ends in .ts" })
  }
  const file = resolve(dirname(at.file), text)
  const loaded = await loadRules(file)
  if (!("problem" in loaded)) return placedRules(file, basename(file), loaded)
  const { problem } = loaded
  const isWhole = problem.file === file && problem.line === 0
  return failed(isWhole ? { ...problem, ...at, message: `${text}: ${problem.message}` } : problem)
}

/** Rules of a module as if a file of texts had held them, and their functions by the texts that stand for them. */
interface PlacedRules {
  readonly items: ReadonlyArray<Placed>
  readonly code: ReadonlyMap<string, unknown>
  readonly problems: ReadonlyArray<Problem>
}

const levelsMax = 40

interface Walk {
  readonly file: string
  readonly text: string
  /** What stands for the function of this rule: it changes with every file that the function may come from. */
  readonly codeName: string
  readonly code: Map<string, unknown>
  readonly problems: Array<Problem>
  /** Offset behind the last name that was found, and the end of the rule. */
  at: number
  readonly end: number
}

/**
 * Values have no places, so the text is searched for their names, in their order, between the rule's own name and the
 * next rule's. What is computed has the place of what it stands in.
 */
const placedRules = (file: string, named: string, { rules, text, hash }: RulesModule): PlacedRules => {
  const code = new Map<string, unknown>()
  const problems: Array<Problem> = []
  const start = rulesIn(text)
  let from = start
  const starts = rules.map((rule) => {
    const found = offsetOfName(text, nameOf(rule), from)
    if (found !== undefined) from = found + 1
    return found
  })
  const items = rules.flatMap((rule, i) => {
    const own = starts[i]
    const what = noRule(rule)
    if (what !== undefined) {
      problems.push({
        ...placeAt(file, text, start),
        message: `rules #${i + 1} is no rule: it is ${what[0]}`,
        remedy: what[1],
      })
      return []
    }
    const end = starts.slice(i + 1).find((next) => next !== undefined) ?? text.length
    // Only a rule that begins with its name is known to end where the next begins.
    const isSearched = own !== undefined && Object.keys(rule as object)[0] === "name"
    const codeName = `${named}#${nameOf(rule)} ${hash}`
    const walk = { file, text, codeName, code, problems, at: own ?? start, end: isSearched ? end : 0 }
    return placed(rule, placeAt(file, text, own ?? start), ["rules", String(i)], walk)
  })
  return { items, code, problems }
}

/** The hash of the files that a function comes from, of the text that stands for it. */
export const hashIn = (codeName: string): string => codeName.slice(codeName.lastIndexOf(" ") + 1)

const nameOf = (rule: unknown): string =>
  String((typeof rule === "object" && rule !== null && "name" in rule && rule.name) || "")

const offsetOfName = (text: string, name: string, from: number): number | undefined => {
  const form = new RegExp(`\\bname["']?\\s*:\\s*(["'\`])${literally(name)}\\1`, "g")
  form.lastIndex = from
  return form.exec(text)?.index
}

const placed = (value: unknown, at: Place, path: ReadonlyArray<string>, walk: Walk): Placed => {
  const complain = (message: string, remedy: string, text = ""): Placed => {
    walk.problems.push({ ...at, message, remedy })
    return { kind: "text", at, text }
  }
  const where = pathText(path.map((step) => (/^[0-9]+$/.test(step) ? Number(step) : step)))
  if (typeof value === "string") return { kind: "text", at, text: value }
  if (isLoadedFunction(value)) {
    if (path.slice(2).join(".") !== "code.need") return complain(`${where} is a function`, "only code.need is one")
    walk.code.set(walk.codeName, value)
    return { kind: "text", at, text: walk.codeName }
  }
  if (typeof value !== "object" || value === null) {
    const said = String(value)
    return complain(`${where} is no text: it is ${said}`, `write it in quotes, as in YAML: "${said}"`, said)
  }
  if (path.length > levelsMax) return complain(`${where} has more than ${levelsMax} levels`, "write it flatter")
  if (Array.isArray(value)) {
    return { kind: "list", at, items: value.map((item, i) => placed(item, at, [...path, String(i)], walk)) }
  }
  const entries = new Map<string, Entry>()
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    const found = placesOf(name, walk)
    entries.set(name, {
      name: found?.name ?? at,
      value: placed(inner, found?.value ?? at, [...path, name], walk),
    })
  }
  return { kind: "map", at, entries }
}

/** What stands among the rules and is none, and what to do about it. */
const noRule = (value: unknown): readonly [what: string, remedy: string] | undefined => {
  if (typeof value === "string") return [`"${value}"`, "import that file's rules, and write ...rules in their place"]
  if (Array.isArray(value)) return ["a list", "write ... before it"]
  if (isLoadedFunction(value)) return ["a function", "take it out, as with .filter(Boolean)"]
  if (typeof value === "object" && value !== null) return undefined
  return [String(value), "take it out, as with .filter(Boolean)"]
}

const placesOf = (name: string, walk: Walk): { readonly name: Place; readonly value: Place } | undefined => {
  const form = new RegExp(`(?<![\\w$.-])(["']?)${literally(name)}\\1\\s*:\\s*`, "g")
  form.lastIndex = walk.at
  const found = form.exec(walk.text)
  if (found === null || found.index >= walk.end) return undefined
  const after = found.index + found[0].length
  walk.at = after
  return { name: placeAt(walk.file, walk.text, found.index), value: placeAt(walk.file, walk.text, after) }
}
