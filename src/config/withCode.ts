import { basename, dirname, resolve } from "node:path"
import type { Problem } from "./ConfigError.ts"
import { loadRules, type Read } from "./loadRules.ts"
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

/** The list of rules of a document, where it has one. */
const listIn = (document: YamlDocument) => {
  const tree = listedRules(document.tree)
  const rules = tree.kind === "map" ? tree.entries.get("rules") : undefined
  return tree.kind === "map" && rules?.value.kind === "list" ? { tree, rules, list: rules.value } : undefined
}

/** Absolute paths of the files of rules in TypeScript that a document names. */
export const codeFilesOf = (document: YamlDocument): ReadonlyArray<string> => {
  const items = listIn(document)?.list.items ?? []
  return [...new Set(items.flatMap((item) => (item.kind === "text" && isCode(item.text) ? [fileOf(item)] : [])))]
}

type Named = Extract<Placed, { kind: "text" }>
const isCode = (text: string): boolean => text.endsWith(".ts")
const fileOf = ({ at, text }: Named): string => resolve(dirname(at.file), text)

/**
 * The document with the rules of its TypeScript files in their places. Files are read and run, but those that `read`
 * has by their paths.
 */
export const withCode = (document: YamlDocument, read: ReadonlyMap<string, Read> = new Map()): YamlDocument => {
  const found = listIn(document)
  if (found === undefined) return document
  const { tree, rules, list } = found
  const { items } = list
  if (items.every(({ kind }) => kind !== "text")) return document
  const code = new Map(document.code)
  const problems: Array<Problem> = [...document.problems]
  const placed = items.flatMap((item): ReadonlyArray<Placed> => {
    if (item.kind !== "text") return [item]
    const own = rulesOf(item, read)
    problems.push(...own.problems)
    for (const [name, need] of own.code) code.set(name, need)
    return own.items
  })
  const value: Placed = { ...list, items: placed }
  const entries = new Map(tree.entries).set("rules", { ...rules, value })
  return documentOf({ ...document, problems, code, tree: { ...tree, entries } })
}

const rulesOf = (item: Named, read: ReadonlyMap<string, Read>): ReturnType<typeof placedRules> => {
  const { at, text } = item
  const failed = (problem: Problem) => ({ items: [], code: new Map(), problems: [problem] })
  if (!isCode(text)) {
    const message = `"${text}" is no rule, and no file of rules in TypeScript`
    return failed({ ...at, message, remedy: "write a rule, or name a file that ends in .ts" })
  }
  const file = fileOf(item)
  const loaded = read.get(file) ?? loadRules(file)
  if (!("problem" in loaded)) return placedRules(file, basename(file), loaded)
  const { problem } = loaded
  const isWhole = problem.file === file && problem.line === 0
  return failed(isWhole ? { ...problem, ...at, message: `${text}: ${problem.message}` } : problem)
}
