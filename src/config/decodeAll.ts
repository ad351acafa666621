import { Exit, Schema, SchemaIssue } from "effect"
import { nearest } from "./nearest.ts"
import { pathWords } from "./pathWords.ts"
import { type Ast, childOf, knownKeys, literalsOf, nameFormOf } from "./schemaKeys.ts"
import { type Around, unknownKey } from "./unknownKey.ts"

type Path = ReadonlyArray<PropertyKey>

/** One thing that a schema refuses, before its place is looked up. */
interface Complaint {
  readonly path: Path
  /** Whether the name itself is wrong, not the value behind it. */
  readonly at: "name" | "value"
  readonly message: string
  readonly remedy: string
  /** Where the name was most likely meant to stand. */
  readonly meant?: Path | undefined
  readonly isMissing?: boolean
}

/**
 * Decodes strictly: an unknown name is a complaint as well. All paths begin with `under`, where the value stands in the
 * `whole` file, by whose names items of lists are told.
 */
export const decodeAll = <A>(
  schema: Schema.ConstraintDecoder<A>,
  value: unknown,
  under: Path = [],
  whole: unknown = value,
): { readonly value: A } | { readonly complaints: ReadonlyArray<Complaint> } => {
  const exit = Schema.decodeUnknownExit(schema)(value, { errors: "all", onExcessProperty: "error" })
  if (Exit.isSuccess(exit)) return { value: exit.value }
  const complaints: Array<Complaint> = []
  for (const reason of exit.cause.reasons) {
    if (reason._tag !== "Fail") throw new Error("a schema of the configuration needs no service and has no defect")
    complaints.push(...collect(reason.error.issue, under, { around: [], value, whole, under }))
  }
  return { complaints: withoutMeant(complaints) }
}

/** That a key is missing follows from its misspelling, and is not said beside that. */
const withoutMeant = (complaints: ReadonlyArray<Complaint>): ReadonlyArray<Complaint> => {
  const meant = new Set(complaints.flatMap((one) => (one.meant === undefined ? [] : [JSON.stringify(one.meant)])))
  return complaints.filter(({ isMissing, path }) => isMissing !== true || !meant.has(JSON.stringify(path)))
}

interface Context {
  /** The maps on the way, the innermost last. */
  readonly around: ReadonlyArray<Around>
  /** The whole value that was decoded, and where it stands. */
  readonly value: unknown
  readonly whole: unknown
  readonly under: Path
}

/** Of one map or list: each costs a look at its neighbours. */
const complaintsMax = 200

const format = SchemaIssue.makeFormatterDefault()

const collect = (issue: SchemaIssue.Issue, path: Path, context: Context): ReadonlyArray<Complaint> => {
  const into = (inner: SchemaIssue.Issue, at = path, next = context) => collect(inner, at, next)
  const name = pathWords(context.whole, path)
  switch (issue._tag) {
    case "Pointer":
      return into(issue.issue, [...path, ...issue.path])
    case "Composite": {
      const around = [...context.around, { ast: issue.ast as Ast, path }]
      const complaints: Array<Complaint> = []
      for (const inner of issue.issues) {
        if (complaints.length >= complaintsMax) break
        complaints.push(...into(inner, path, { ...context, around }))
      }
      return complaints
    }
    case "Encoding":
      return into(issue.issue)
    case "UnexpectedKey":
      return [unexpected(path, context)]
    case "MissingKey": {
      const remedy = `add it${exampleOf(String(path.at(-1)), context.around.at(-1)?.ast)}`
      return [{ path, at: "value", message: `${name} is missing`, remedy, isMissing: true }]
    }
    case "AnyOf":
      if (issue.issues.length > 0) return into(bestOf(issue.issues))
      break
    case "Filter":
      if (issue.issue._tag === "Pointer" || issue.issue._tag === "Composite") return into(issue.issue)
  }
  return [{ path, at: "value", ...worded(name, issue, valueAt(context, path)) }]
}

const unexpected = (path: Path, context: Context): Complaint => {
  const key = String(path.at(-1))
  const nameForm = nameFormOf(context.around.at(-1)?.ast ?? {})
  const item = pathWords(context.whole, path.slice(0, path.findLastIndex((step) => typeof step === "number") + 1))
  const before = item === "the file" ? "" : `${item}: `
  if (nameForm !== undefined) {
    const message = `${before}"${key}" cannot be a name here`
    return { path, at: "name", message, remedy: `write ${nameForm}` }
  }
  const unknown = unknownKey(key, context.around.at(-1) ?? { ast: {}, path: [] })
  return { path, at: "name", ...unknown, message: `${before}${unknown.message}` }
}

/** Of several forms that a value may have, the one that it comes nearest to: the one that looked inside it. */
const bestOf = (issues: ReadonlyArray<SchemaIssue.Issue>): SchemaIssue.Issue =>
  issues.find(({ _tag }) => _tag === "Composite") ?? issues.find(({ _tag }) => _tag === "Filter") ?? issues[0]!

const valueAt = ({ value, under }: Context, path: Path): unknown =>
  path
    .slice(under.length)
    .reduce<unknown>((inner, step) => (inner as Record<PropertyKey, unknown> | undefined)?.[step], value)

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? "a list" : typeof value === "object" && value !== null ? "a map" : "a text"

const shownMax = 40
const shown = (value: unknown): string => {
  if (typeof value !== "string") return kindOf(value)
  return value === "" ? "empty" : `"${value.length > shownMax ? `${value.slice(0, shownMax)}…` : value}"`
}

/** A message may carry its remedy behind a semicolon; else what was expected is the remedy. */
const worded = (name: string, issue: SchemaIssue.Issue, value: unknown): { message: string; remedy: string } => {
  const text = format(issue)
  const at = text.indexOf("; ")
  if (at >= 0 && issue._tag === "Filter")
    return { message: `${name}: ${text.slice(0, at)}`, remedy: text.slice(at + 2) }
  const message = `${name} is not valid: it is ${shown(value)}`
  const literals = "ast" in issue ? literalsOf(issue.ast as Ast) : []
  if (literals.length > 0) {
    const all = literals.filter((each) => each !== "")
    const near = typeof value === "string" && all.length > 1 ? nearest(value, all) : undefined
    const one = all.length === 1 ? "write" : "write one of"
    return { message, remedy: near === undefined ? `${one} ${all.join(", ")}` : `did you mean "${near}"?` }
  }
  const wanted = issue._tag === "Filter" || !("ast" in issue) ? undefined : wantedOf(issue.ast as Ast, value)
  if (wanted !== undefined) return { message, remedy: `write ${wanted}` }
  const expected = text.replace(/^Expected /, "").replace(/, got .*$/s, "")
  return { message, remedy: `write ${expected}` }
}

const wantedOf = (ast: Ast, value: unknown): string | undefined => {
  if (ast.types !== undefined) {
    return ast.types.map((type) => wantedOf(type, value)).find((wanted) => wanted !== undefined)
  }
  if (ast._tag === "String") return "one text"
  if (ast._tag === "Arrays") return listWanted(ast, value)
  if (ast._tag !== "Objects") return undefined
  return (ast.indexSignatures?.length ?? 0) > 0 ? namesWanted(value) : `a map${keysText(knownKeys(ast))}`
}

const isName = (value: unknown): value is string => typeof value === "string" && /^[A-Za-z][\w-]{0,40}$/.test(value)
const isPlain = (value: unknown): value is string => typeof value === "string" && /^[\w./:-]{1,40}$/.test(value)

const listWanted = ({ rest }: Ast, value: unknown): string => {
  if (value === "") return "a list, or [] for none"
  if (rest?.some(({ _tag }) => _tag === "Objects")) return 'a list: begin each item with "- "'
  return `a list, such as [ ${isPlain(value) ? value : "a, b"} ]`
}

/** A map of free names, with an example made of what stands in its place. */
const namesWanted = (value: unknown): string => {
  const [first, ...others] = Array.isArray(value) ? (value as ReadonlyArray<unknown>) : [value]
  const isNames = Array.isArray(value) && isName(first) && others.every(isName)
  const example = isNames
    ? [first, ...others].map((name) => `${name}: …`).join(", ")
    : `name: ${isPlain(first) ? `"${first}"` : "…"}`
  return `a map of names and values, such as { ${example} }`
}

const keysMax = 9

const keysText = (keys: ReadonlyArray<string>): string => {
  if (keys.length === 0) return ""
  return ` with ${keys.slice(0, keysMax).join(", ")}${keys.length > keysMax ? ` and ${keys.length - keysMax} more` : ""}`
}

/** What a missing key may hold, where that is one thing or a map. */
const exampleOf = (key: string, around: Ast | undefined): string => {
  const ast = around === undefined ? undefined : childOf(around, key)
  const [only, ...others] = ast === undefined ? [] : literalsOf(ast)
  if (only !== undefined && others.length === 0) return `: ${key}: ${only}`
  const keys = ast?._tag === "Objects" ? knownKeys(ast) : []
  return keys.length === 0 ? "" : `: a map${keysText(keys)}`
}
