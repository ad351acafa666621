import { Exit, Schema, SchemaIssue } from "effect"
import { nameRemedy, nearest } from "./nearest.ts"

type Path = ReadonlyArray<PropertyKey>

/** One thing that a schema refuses, before its place is looked up. */
export interface Complaint {
  readonly path: Path
  /** Whether the name itself is wrong, not the value behind it. */
  readonly at: "name" | "value"
  readonly message: string
  readonly remedy: string
}

/** Decodes strictly: an unknown name is a complaint as well. All paths begin with `under`, where the value stands. */
export const decodeAll = <A>(
  schema: Schema.ConstraintDecoder<A>,
  value: unknown,
  under: Path = [],
): { readonly value: A } | { readonly complaints: ReadonlyArray<Complaint> } => {
  const exit = Schema.decodeUnknownExit(schema)(value, { errors: "all", onExcessProperty: "error" })
  if (Exit.isSuccess(exit)) return { value: exit.value }
  const complaints: Array<Complaint> = []
  for (const reason of exit.cause.reasons) {
    if (reason._tag !== "Fail") throw new Error("a schema of the configuration needs no service and has no defect")
    complaints.push(...collect(reason.error.issue, under, { siblings: [], nameForm: undefined, value, under }))
  }
  return { complaints }
}

interface Context {
  readonly siblings: ReadonlyArray<string>
  /** The form that names have, where they are free. */
  readonly nameForm: string | undefined
  /** The whole value that was decoded, and where it stands. */
  readonly value: unknown
  readonly under: Path
}

const format = SchemaIssue.makeFormatterDefault()

const collect = (issue: SchemaIssue.Issue, path: Path, context: Context): ReadonlyArray<Complaint> => {
  const into = (inner: SchemaIssue.Issue, at = path, around = context) => collect(inner, at, around)
  const name = nameOf(path)
  switch (issue._tag) {
    case "Pointer":
      return into(issue.issue, [...path, ...issue.path])
    case "Composite":
      return issue.issues.flatMap((inner) =>
        into(inner, path, { ...context, siblings: knownKeys(issue.ast), nameForm: nameFormOf(issue.ast) }),
      )
    case "Encoding":
      return into(issue.issue)
    case "UnexpectedKey": {
      const key = String(path.at(-1))
      if (context.nameForm !== undefined) {
        return [{ path, at: "name", message: `"${key}" cannot be a name here`, remedy: `write ${context.nameForm}` }]
      }
      const remedy = nameRemedy(key, context.siblings, "remove it")
      return [{ path, at: "name", message: `unknown key "${key}"`, remedy }]
    }
    case "MissingKey":
      return [{ path, at: "value", message: `${name} is missing`, remedy: "add it" }]
    case "AnyOf":
      if (issue.issues.length > 0) return into(bestOf(issue.issues))
      break
    case "Filter":
      if (issue.issue._tag === "Pointer" || issue.issue._tag === "Composite") return into(issue.issue)
  }
  const value = valueAt(context.value, path.slice(context.under.length))
  return [{ path, at: "value", ...worded(name, issue, value) }]
}

/** Of several forms that a value may have, the one that it comes nearest to: the one that looked inside it. */
const bestOf = (issues: ReadonlyArray<SchemaIssue.Issue>): SchemaIssue.Issue =>
  issues.find(({ _tag }) => _tag === "Composite") ?? issues.find(({ _tag }) => _tag === "Filter") ?? issues[0]!

const nameOf = (path: Path): string => path.map(String).join(".") || "the file"

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce((inner, step) => (inner as Record<PropertyKey, unknown> | undefined)?.[step], value)

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? "a list" : typeof value === "object" && value !== null ? "a map" : "a text"

const shownMax = 40
const shown = (value: unknown): string => {
  if (typeof value !== "string") return kindOf(value)
  return value === "" ? "empty" : `"${value.length > shownMax ? `${value.slice(0, shownMax)}…` : value}"`
}

/** The literals that a union or a literal takes. */
const literalsOf = (ast: unknown): ReadonlyArray<string> => {
  const { types, literal } = ast as { readonly types?: ReadonlyArray<unknown>; readonly literal?: unknown }
  if (literal !== undefined) return [String(literal)]
  return types?.flatMap(literalsOf) ?? []
}

/** A message may carry its remedy behind a semicolon; else what was expected is the remedy. */
const worded = (name: string, issue: SchemaIssue.Issue, value: unknown): { message: string; remedy: string } => {
  const text = format(issue)
  const at = text.indexOf("; ")
  if (at >= 0 && issue._tag === "Filter")
    return { message: `${name}: ${text.slice(0, at)}`, remedy: text.slice(at + 2) }
  const literals = "ast" in issue ? literalsOf(issue.ast) : []
  if (literals.length > 0) {
    const all = literals.filter((each) => each !== "")
    const near = typeof value === "string" && all.length > 1 ? nearest(value, all) : undefined
    const one = all.length === 1 ? "write" : "write one of"
    const remedy = near === undefined ? `${one} ${all.join(", ")}` : `did you mean "${near}"?`
    return { message: `${name} is not valid: it is ${shown(value)}`, remedy }
  }
  const wanted = issue._tag === "Filter" || !("ast" in issue) ? undefined : wantedOf(issue.ast)
  if (wanted !== undefined) return { message: `${name} is not valid: it is ${shown(value)}`, remedy: `write ${wanted}` }
  const remedy = text.replace(/^Expected/, "write").replace(/, got .*$/s, "")
  return { message: `${name} is not valid: it is ${shown(value)}`, remedy }
}

const wantedOf = (ast: unknown): string | undefined => {
  const { _tag, types } = ast as { readonly _tag?: string; readonly types?: ReadonlyArray<unknown> }
  if (types !== undefined) return types.map(wantedOf).find((wanted) => wanted !== undefined)
  if (_tag === "String") return "one text"
  if (_tag === "Arrays") return "a list, such as [ a, b ]"
  if (_tag === "Objects") return `a map${keysText(knownKeys(ast))}`
  return undefined
}

const keysText = (keys: ReadonlyArray<string>): string => (keys.length === 0 ? "" : ` with ${keys.join(", ")}`)

const knownKeys = (ast: unknown): ReadonlyArray<string> => {
  const properties = (ast as { propertySignatures?: ReadonlyArray<{ name: PropertyKey }> }).propertySignatures
  return properties?.map((p) => String(p.name)) ?? []
}

/** What the names of a map of free names look like. */
const nameFormOf = (ast: unknown): string | undefined => {
  interface Signature {
    readonly parameter: { readonly checks?: ReadonlyArray<{ readonly annotations?: { readonly expected?: unknown } }> }
  }
  const [signature] = (ast as { readonly indexSignatures?: ReadonlyArray<Signature> }).indexSignatures ?? []
  const expected = signature?.parameter.checks?.[0]?.annotations?.expected
  return typeof expected === "string" ? expected : undefined
}
