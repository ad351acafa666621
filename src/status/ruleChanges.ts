/** What differs between two files about one rule, in words. */
export interface RuleChange {
  readonly rule: string
  readonly change: "added" | "removed" | "changed"
  /** "topUp.levels.1.below: 10_000 -> 12_000" */
  readonly words: ReadonlyArray<string>
}

interface RuleText {
  readonly name: string
}

const isRule = (value: unknown): value is RuleText =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"

const rulesOf = (file: unknown): ReadonlyArray<RuleText> => {
  const rules = typeof file === "object" && file !== null && "rules" in file ? file.rules : undefined
  return Array.isArray(rules) ? rules.filter(isRule) : []
}

/** Every value of a rule as written, by its path. */
const leaves = (value: unknown, path: string, into: Map<string, string>): ReadonlyMap<string, string> => {
  if (typeof value !== "object" || value === null) return into.set(path, String(value))
  for (const [key, inner] of Object.entries(value)) leaves(inner, path === "" ? key : `${path}.${key}`, into)
  return into
}

/** Rules that one of two files, as written and joined, has and the other has not or has otherwise. */
export const ruleChanges = (before: unknown, after: unknown): ReadonlyArray<RuleChange> => {
  const [old, next] = [rulesOf(before), rulesOf(after)]
  const removed = old
    .filter(({ name }) => next.every((rule) => rule.name !== name))
    .map(({ name }): RuleChange => ({ rule: name, change: "removed", words: [] }))
  const others = next.flatMap((rule): ReadonlyArray<RuleChange> => {
    const was = old.find(({ name }) => name === rule.name)
    if (was === undefined) return [{ rule: rule.name, change: "added", words: [] }]
    const words = differences(leaves(was, "", new Map()), leaves(rule, "", new Map()))
    return words.length === 0 ? [] : [{ rule: rule.name, change: "changed", words }]
  })
  return [...removed, ...others]
}

const differences = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...new Set([...a.keys(), ...b.keys()])]
    .filter((path) => a.get(path) !== b.get(path))
    .map((path) => `${path}: ${a.get(path) ?? "none"} -> ${b.get(path) ?? "none"}`)
