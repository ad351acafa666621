import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { parseAst } from "rolldown/parseAst"

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** A node of the syntax tree, as far as the rules look at it. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

export interface Import {
  readonly specifier: string
  /** Imported names; "*" for a namespace, an import for its effect, or one at run time. */
  readonly names: ReadonlyArray<string>
  /** Path from the root for an import of our own file. */
  readonly target: string | undefined
  readonly line: number
}

/** A file of the project: its path from the root, with slashes. */
export interface Source {
  readonly path: string
  readonly text: string
}

export interface Code extends Source {
  readonly tree: Node
  readonly imports: ReadonlyArray<Import>
}

/** A violation of a rule at one place, as text. */
export const complaint = (path: string, line: number, what: string): string => `${path}:${line} ${what}`

export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/** Calls `visit` for every node, outermost first, with the nodes around it. */
export const walk = (
  node: Node,
  visit: (node: Node, around: ReadonlyArray<Node>) => void,
  around: ReadonlyArray<Node> = [],
): void => {
  visit(node, around)
  const inside = [...around, node]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, visit, inside)
  }
}

export const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

/** `a.b` as ["a", "b"], with only the last name of a longer chain before it. */
export const member = (node: unknown): readonly [string, string] | undefined => {
  if (!isNode(node) || node.type !== "MemberExpression" || !isNode(node["property"])) return undefined
  const object = node["object"]
  const name = isNode(object) ? (member(object)?.[1] ?? object["name"]) : undefined
  const property = node["property"]["name"] ?? node["property"]["value"]
  return typeof name === "string" && typeof property === "string" ? [name, property] : undefined
}

export const parseCode = (path: string, text: string): Code => {
  const tree = parseAst(text, { lang: "ts" }, path) as unknown as Node
  const imports: Array<Import> = []
  walk(tree, (node) => {
    const source = node["source"]
    if (!isNode(source) || typeof source["value"] !== "string") return
    const specifier = source["value"]
    const names = Array.isArray(node["specifiers"]) ? node["specifiers"].filter(isNode).map(importedName) : []
    const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined
    imports.push({ specifier, names: names.length === 0 ? ["*"] : names, target, line: lineAt(text, node.start) })
  })
  return { path, text, tree, imports }
}

const importedName = (specifier: Node): string => {
  if (specifier.type === "ImportNamespaceSpecifier") return "*"
  if (specifier.type === "ImportDefaultSpecifier") return "default"
  const name = specifier["imported"] ?? specifier["local"]
  return isNode(name) ? String(name["name"] ?? name["value"]) : "*"
}

const unread = new Set([
  "node_modules",
  ".git",
  ".cofferer",
  "coverage",
  "test/vectors",
  "test/recordings",
  "package-lock.json",
])

/** Paths of all files that people wrote, from the root. */
export const listFiles = (under = ""): ReadonlyArray<string> =>
  readdirSync(join(root, under), { withFileTypes: true })
    .map((entry) => ({ entry, path: under === "" ? entry.name : `${under}/${entry.name}` }))
    .filter(({ path }) => !unread.has(path))
    .flatMap(({ entry, path }) => (entry.isDirectory() ? listFiles(path) : entry.isFile() ? [path] : []))
    .sort()

export const readSource = (path: string): Source => ({ path, text: readFileSync(join(root, path), "utf8") })

/** First step of a path below src: the folder, or the file at its top. */
export const folderOf = (path: string): string => path.split("/")[1] ?? dirname(path)
