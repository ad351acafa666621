import { basename } from "node:path"
import { type Code, complaint, folderOf, isNode, lineAt, member, type Node, walk } from "./Source.ts"

const isGenerated = (path: string): boolean => path.endsWith("_pb.ts")

/** Complains at each node for which `what` has an answer. */
const atNodes =
  (what: (node: Node, around: ReadonlyArray<Node>, code: Code) => string | undefined) =>
  (code: Code): ReadonlyArray<string> => {
    const complaints: Array<string> = []
    if (isGenerated(code.path)) return complaints
    walk(code.tree, (node, around) => {
      const answer = what(node, around, code)
      if (answer !== undefined) complaints.push(complaint(code.path, lineAt(code.text, node.start), answer))
    })
    return complaints
  }

export const fileLinesMax = 400

export const filesAreShort = (code: Code): ReadonlyArray<string> => {
  const lines = code.text.trimEnd().split("\n").length
  return isGenerated(code.path) || lines < fileLinesMax
    ? []
    : [complaint(code.path, lines, `${fileLinesMax} lines or more`)]
}

export const functionLinesMax = 70

const functionTypes = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])

/**
 * The lines of a function without those of the functions inside it: what one must read at once. So the body of a layer
 * counts per method, as does a test file's `describe`.
 */
export const functionsFitAScreen = atNodes((node, _, code) => {
  if (!functionTypes.has(node.type)) return undefined
  const linesOf = (n: Node) => lineAt(code.text, n.end) - lineAt(code.text, n.start) + 1
  let inner = 0
  walk(node, (child, around) => {
    const nested = around.some((n) => n !== node && functionTypes.has(n.type))
    if (child !== node && functionTypes.has(child.type) && !nested) inner += linesOf(child) - 1
  })
  const lines = linesOf(node) - inner
  return lines > functionLinesMax ? `a function of ${lines} lines, ${functionLinesMax} are a screen` : undefined
})

export const columnsMax = 120

/** A line may be longer only where it is cut off inside a literal, which nothing can break without changing it. */
export const linesFitTheWindow = ({ path, text, tree }: Code): ReadonlyArray<string> => {
  if (isGenerated(path)) return []
  const literals: Array<Node> = []
  walk(tree, (node) => {
    if (node.type === "Literal" || node.type === "TemplateLiteral") literals.push(node)
  })
  let start = 0
  return text.split("\n").flatMap((line, i) => {
    const window = start + columnsMax
    start += line.length + 1
    if (line.length <= columnsMax || literals.some((literal) => literal.start < window && window <= literal.end))
      return []
    return [complaint(path, i + 1, `${line.length} columns`)]
  })
}

export const typesAreHonest = atNodes((node) => {
  switch (node.type) {
    case "TSAnyKeyword":
      return "any switches the compiler off"
    case "TSEnumDeclaration":
      return "an enum"
    case "TSModuleDeclaration":
      return "a namespace"
    default:
      return undefined
  }
})

export const exportsHaveNames = atNodes((node, _, { path }) => {
  if (node.type === "ExportDefaultDeclaration") return "a default export has no name to search for"
  if (node.type === "ExportAllDeclaration" || (node.type === "ExportNamedDeclaration" && isNode(node["source"]))) {
    return "a barrel: import the file that owns the name"
  }
  return node.type === "Program" && basename(path) === "index.ts" ? "a barrel named index.ts" : undefined
})

export const classesExtend = atNodes((node) =>
  (node.type === "ClassDeclaration" || node.type === "ClassExpression") && !isNode(node["superClass"])
    ? "a class that is no service, schema or error"
    : undefined,
)

/** Files in which every cause is caught on purpose, each with its reason. */
const catchesCauses: ReadonlyMap<string, string> = new Map()

export const failuresStayVisible = atNodes((node, _, { path }) => {
  const [object, property] = member(node) ?? []
  if (object === undefined || property === undefined) return undefined
  const what = `${object}.${property}`
  if (/^(Effect|Layer)\.orDie/.test(what)) return `${what} turns an expected failure into a defect`
  if (/^Effect\.(catchCause|catchCauseIf|catchCauseFilter|catchDefect)$/.test(what) && !catchesCauses.has(path)) {
    return `${what} hides defects`
  }
  return undefined
})

const environmentFolders = ["config", "cli", "main.ts"]

export const worldIsReadAtTheEdge = atNodes((node, around, { path }) => {
  const folder = folderOf(path)
  // NO_COLOR is a custom of terminals, not a setting of ours.
  const isCustom = member(around.at(-1))?.[1] === "NO_COLOR"
  if (member(node)?.join(".") === "process.env" && !isCustom && !environmentFolders.includes(folder)) {
    return `the environment is read in ${environmentFolders.join(", ")}`
  }
  const callee = node["callee"]
  if (node.type === "CallExpression" && isNode(callee) && callee["name"] === "fetch" && folder !== "gateway") {
    // The page's own code runs in a browser, where fetch is the only client.
    return folder === "http" ? undefined : "fetch belongs to gateway"
  }
  return node.type === "Identifier" && node["name"] === "WebAssembly" && folder !== "pow"
    ? "WebAssembly belongs to pow"
    : undefined
})

const suites = new Set(["it", "test", "describe", "effect", "live"])

/** Every test runs, on the real modules. */
export const testsRun = atNodes((node) => {
  const [object, property] = member(node) ?? []
  if (object === undefined || property === undefined) return undefined
  if (suites.has(object) && /^(skip|skipIf|runIf|todo|only|fails)$/.test(property)) return `${object}.${property}`
  return object === "vi" && /^(mock|doMock|hoisted)$/.test(property) ? "fake the wire, not the module" : undefined
})

/** An assertion, or a contract suite that holds them for each adapter. */
const named = /\b(assert|expect)\w*\b|\b\w+Contract\(/

export const testsAssert = (code: Code): ReadonlyArray<string> =>
  named.test(code.text.replaceAll(/^import .*$/gm, ""))
    ? []
    : [complaint(code.path, 1, "a test file without assertion")]
