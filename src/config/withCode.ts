import { basename, dirname, resolve } from "node:path"
import { Effect } from "effect"
import type { Problem } from "./ConfigError.ts"
import { loadRules } from "./loadRules.ts"
import type { Placed } from "./Placed.ts"
import { placedRules } from "./placedRules.ts"
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
