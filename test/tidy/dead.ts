import { type Code, complaint, isNode, lineAt, type Node, type Source } from "./Source.ts"

/** Files and folders whose names others take otherwise than by an import, each with who does. */
const taken: ReadonlyArray<readonly [path: string, by: string]> = [
  ["src/config/code/RulesFile.ts", "files of rules, as cofferer/rules"],
  ["src/config/code/codeChild.ts", "what stands before each file of rules"],
  ["src/gateway/schema/", "test/boundaries, which walks all that is exported there"],
]

const nameOf = (node: unknown): ReadonlyArray<string> =>
  isNode(node) && typeof node["name"] === "string" ? [node["name"]] : []

const listOf = (value: unknown): ReadonlyArray<Node> => (Array.isArray(value) ? value.filter(isNode) : [])

export const exportsOf = ({ tree }: Code): ReadonlyArray<readonly [name: string, at: number]> =>
  listOf(tree["body"])
    .filter(({ type }) => type === "ExportNamedDeclaration")
    .flatMap((node) => {
      const { declaration } = node
      const declared = isNode(declaration) ? [declaration, ...listOf(declaration["declarations"])] : []
      const names = [
        ...declared.flatMap(({ id }) => nameOf(id)),
        ...listOf(node["specifiers"]).flatMap(({ exported }) => nameOf(exported)),
      ]
      return names.map((name) => [name, node.start] as const)
    })

const isWord = (name: string, text: string): boolean => new RegExp(`\\b${name}\\b`).test(text)

/** Of a namespace, and of a module that is imported at run time, each name counts that its user's text holds. */
export const exportsAreUsed =
  (all: ReadonlyArray<Code>) =>
  (code: Code): ReadonlyArray<string> => {
    if (taken.some(([path]) => code.path.startsWith(path))) return []
    const users = all.flatMap(({ path, text, imports }) =>
      path === code.path ? [] : imports.flatMap(({ target, names }) => (target === code.path ? [{ names, text }] : [])),
    )
    const isUsed = (name: string) =>
      users.some(({ names, text }) => names.includes(name) || (names.includes("*") && isWord(name, text)))
    return exportsOf(code)
      .filter(([name]) => !isUsed(name))
      .map(([name, at]) => complaint(code.path, lineAt(code.text, at), `nothing imports ${name}`))
  }

/** A helper that one test file uses alone stands beside it. */
export const helpersAreShared =
  (all: ReadonlyArray<Code>) =>
  ({ path }: Code): ReadonlyArray<string> => {
    const users = all.filter(({ imports }) => imports.some(({ target }) => target === path)).map((user) => user.path)
    const [only] = users
    return users.length === 1 && only?.startsWith("test/support/") === false
      ? [complaint(path, 1, `${only} uses it alone`)]
      : []
  }

/** Tables and views that are created, and that no statement reads. */
export const tablesAreRead = (all: ReadonlyArray<Source>): ReadonlyArray<string> =>
  all.flatMap(({ path, text }) =>
    [...text.matchAll(/CREATE (?:TABLE|VIEW) (?!IF\b)(\w+)/g)].flatMap(([, table = ""]) => {
      const reading = new RegExp(`(?<!DELETE )\\b(FROM|JOIN) ${table}\\b`)
      const isRead = all.some((other) => reading.test(other.text))
      return isRead ? [] : [complaint(path, 1, `nothing selects from ${table}`)]
    }),
  )

/** A schema's tree, as far as keys stand in it. */
export interface KeyTree {
  readonly propertySignatures?: ReadonlyArray<{ readonly name: PropertyKey; readonly type: KeyTree }>
  readonly indexSignatures?: ReadonlyArray<{ readonly type: KeyTree }>
  readonly types?: ReadonlyArray<KeyTree>
  readonly rest?: ReadonlyArray<KeyTree>
}

const keysOf = ({ propertySignatures = [], indexSignatures = [], types = [], rest = [] }: KeyTree): Set<string> =>
  new Set([
    ...propertySignatures.flatMap(({ name, type }) => [String(name), ...keysOf(type)]),
    ...indexSignatures.flatMap(({ type }) => [...keysOf(type)]),
    ...[...types, ...rest].flatMap((inner) => [...keysOf(inner)]),
  ])

/** Where keys are written down without being read. */
const forms = /^src\/config\/(schema\/(TreasuryFile|RuleText|jsonSchemaOf)|code\/RulesFile)\.ts$/

/** Keys of a file that the program takes, and does nothing with. */
export const keysAreRead = (schema: KeyTree, all: ReadonlyArray<Source>): ReadonlyArray<string> => {
  const readers = all.filter(({ path }) => !forms.test(path))
  return [...keysOf(schema)]
    .filter((key) => {
      const reading = new RegExp(`(\\.|\\{ |, |^ +|")${key}\\b`, "m")
      return !readers.some(({ text }) => reading.test(text))
    })
    .map((key) => `nothing reads the key ${key}`)
}
