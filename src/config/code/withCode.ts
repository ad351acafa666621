import { basename, dirname, resolve } from "node:path"
import { Effect } from "effect"
import type { Problem } from "../yaml/ConfigError.ts"
import { pathText } from "../yaml/decodeAll.ts"
import { documentOf, type Place, type Placed, type YamlDocument } from "../yaml/Yaml.ts"
import { literally, placeAt } from "./codeWire.ts"
import { isLoadedFunction, loadRules, type RulesModule, rulesIn } from "./loadRules.ts"

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
    const message = `"${text}" is not a rule, and not a file of rules in TypeScript`
    return failed({ ...at, message, remedy: "write a rule, or name a file that ends in .ts" })
  }
  const file = resolve(dirname(at.file), text)
  const loaded = await loadRules(file)
  if (!("problem" in loaded)) return placedRules(file, basename(file), loaded)
  const { problem } = loaded
  const isWhole = problem.file === file && problem.line === 0
  return failed(isWhole ? { ...problem, ...at, message: `${text}: ${problem.message}` } : problem)
}

const levelsMax = 40

interface Walk {
  /** Place of the rule: values made by a program have none of their own. */
  readonly at: Place
  /** Text that stands for the function of this rule: it changes with every file the function may come from. */
  readonly codeName: string
  readonly code: Map<string, unknown>
  readonly problems: Array<Problem>
}

/** Rules of a module as if written in YAML, with a text in place of each function, and the functions by these texts. */
const placedRules = (file: string, named: string, { rules, text, hash }: RulesModule) => {
  const code = new Map<string, unknown>()
  const problems: Array<Problem> = []
  const start = rulesIn(text)
  const items = rules.flatMap((rule, i) => {
    if (typeof rule !== "object" || rule === null || Array.isArray(rule) || isLoadedFunction(rule)) {
      const message = `rules #${i + 1} is not a rule: it is ${Array.isArray(rule) ? "a list" : String(rule)}`
      const remedy = "remove it, as with .filter(Boolean), or write ... before a list"
      problems.push({ ...placeAt(file, text, start), message, remedy })
      return []
    }
    const name = nameOf(rule)
    const at = placeAt(file, text, offsetOfName(text, name, start) ?? start)
    return placed(rule, ["rules", i], { at, codeName: `${named}#${name} ${hash}`, code, problems })
  })
  return { items, code, problems }
}

/** Hash of the files of a function, by the text in its place. */
export const hashIn = (codeName: string): string => codeName.slice(codeName.lastIndexOf(" ") + 1)

const nameOf = (rule: object): string => String(("name" in rule && rule.name) || "")

const offsetOfName = (text: string, name: string, from: number): number | undefined => {
  const form = new RegExp(`\\bname["']?\\s*:\\s*(["'\`])${literally(name)}\\1`, "g")
  form.lastIndex = from
  return form.exec(text)?.index
}

const placed = (value: unknown, path: ReadonlyArray<string | number>, walk: Walk): Placed => {
  const { at } = walk
  const complain = (message: string, remedy: string): Placed => {
    walk.problems.push({ ...at, message: `${pathText(path)} ${message}`, remedy })
    return { kind: "text", at, text: "" }
  }
  if (typeof value === "string") return { kind: "text", at, text: value }
  if (isLoadedFunction(value)) {
    if (path.slice(2).join(".") !== "code.need") return complain("is a function", "only code.need is one")
    walk.code.set(walk.codeName, value)
    return { kind: "text", at, text: walk.codeName }
  }
  if (typeof value !== "object" || value === null) {
    return complain(`is not a text: it is ${String(value)}`, `write it in quotes, as in YAML: "${String(value)}"`)
  }
  if (path.length > levelsMax) return complain(`has more than ${levelsMax} levels`, "write it flatter")
  if (Array.isArray(value)) {
    return { kind: "list", at, items: value.map((item, i) => placed(item, [...path, i], walk)) }
  }
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([name, inner]) => [name, { name: at, value: placed(inner, [...path, name], walk) }] as const)
  return { kind: "map", at, entries: new Map(entries) }
}
