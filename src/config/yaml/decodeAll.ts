import { Exit, Schema, SchemaIssue } from "effect"
import { closest, distance } from "fastest-levenshtein"
import { excerpt } from "../../domain/text.ts"

/** The known name that was most likely meant; undefined where none is near. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (known.length === 0 || name === "") return undefined
  const near = closest(
    name.toLowerCase(),
    known.map((each) => each.toLowerCase()),
  )
  const found = known.find((each) => each.toLowerCase() === near)
  return distance(name.toLowerCase(), near) <= Math.max(2, name.length / 2) ? found : undefined
}

const listedMax = 20

/** A remedy for an unknown name: the nearest known one, or all of them. */
export const nameRemedy = (name: string, known: ReadonlyArray<string>, none: string): string => {
  if (known.length === 0) return none
  const near = nearest(name, known)
  if (near !== undefined) return `did you mean "${near}"?`
  const more = known.length > listedMax ? ` and ${known.length - listedMax} more` : ""
  return `known here: ${known.slice(0, listedMax).join(", ")}${more}`
}

/** Removed keys that a file may still have, with their replacement. */
const removed: Readonly<Record<string, string>> = {
  "network.chain": "remove it: the gateway is asked for the newest block and its work",
  "network.gateways.*.reads": "remove it: each gateway is read by the time of a balance",
  "network.head": "remove it: a head may be 10 blocks ahead of the last one, and 20 for each second since",
  "network.streams": "remove it: the gateways are asked each second while money moves or is about to",
  "network.submitType": "remove it: each submission waits for the mempool's check",
  "network.work": "remove it: windows of 5 to 500 blocks are accepted, with work that this machine solves in time",
  "policy.cancel": "remove it: nothing is cancelled; whoever holds the key ends a recurring transfer",
  "rules.cancel": "remove the rule: whoever holds the key ends a recurring transfer",
  "sandbox.trading": "remove it: there are no markets to trade on",
  "sandbox.faults.difficulty": "write powChanges: [{ block: 5, difficulty: 18 }] instead",
}

/** Replacement of a removed key; undefined for any other. `path` is that of its map. */
const replacementOf = (path: ReadonlyArray<PropertyKey>, key: string): string | undefined => {
  const steps = path.filter((step) => typeof step === "string")
  const ways = [
    [...steps, key],
    [...steps.slice(0, -1), "*", key],
  ]
  const way = ways.map((one) => one.join(".")).find((one) => Object.hasOwn(removed, one))
  return way === undefined ? undefined : removed[way]
}

type Path = ReadonlyArray<PropertyKey>

/** One thing that a schema refuses, without its line. */
interface Complaint {
  readonly path: Path
  /** "name" if the name itself is wrong, "value" if the value behind it is. */
  readonly at: "name" | "value"
  readonly message: string
  readonly remedy: string
  /** Set for an unknown key, with the known one that was most likely meant, if any is near. */
  readonly unknown?: { readonly meant: string | undefined }
}

/** The parts of a schema's syntax tree that are used here. */
interface Ast {
  readonly _tag?: string
  readonly types?: ReadonlyArray<Ast>
  readonly literal?: unknown
  readonly propertySignatures?: ReadonlyArray<{
    readonly name: PropertyKey
    readonly type?: { readonly context?: { readonly isOptional?: boolean } | undefined }
  }>
  readonly indexSignatures?: ReadonlyArray<{ readonly parameter: Ast }>
  readonly checks?: ReadonlyArray<{ readonly annotations?: { readonly expected?: unknown } }>
}

/** Decodes strictly: unknown names are complaints too. All paths begin with `under`, the place of the value. */
export const decodeAll = <A>(
  schema: Schema.ConstraintDecoder<A>,
  value: unknown,
  under: Path = [],
): { readonly value: A } | { readonly complaints: ReadonlyArray<Complaint> } => {
  const exit = Schema.decodeUnknownExit(schema)(value, { errors: "all", onExcessProperty: "error" })
  if (Exit.isSuccess(exit)) return { value: exit.value }
  const complaints = exit.cause.reasons.flatMap((reason) => {
    if (reason._tag !== "Fail") throw new Error("a schema of the configuration needs no service and has no defect")
    return collect(reason.error.issue, under, { around: {}, value, under })
  })
  return { complaints }
}

interface Context {
  /** The innermost map around the place. */
  readonly around: Ast
  /** The whole value that was decoded, and where it stands. */
  readonly value: unknown
  readonly under: Path
}

/** Complaints of one map or list at most. */
const complaintsMax = 200

const format = SchemaIssue.makeFormatterDefault()

const collect = (issue: SchemaIssue.Issue, path: Path, context: Context): ReadonlyArray<Complaint> => {
  switch (issue._tag) {
    case "Pointer":
      return collect(issue.issue, [...path, ...issue.path], context)
    case "Composite": {
      const inside = { ...context, around: issue.ast as Ast }
      return issue.issues.slice(0, complaintsMax).flatMap((inner) => collect(inner, path, inside))
    }
    case "Encoding":
      return collect(issue.issue, path, context)
    case "UnexpectedKey":
      return [unexpected(path, context.around)]
    case "MissingKey":
      return [{ path, at: "value", message: `${pathText(path)} is missing`, remedy: "add it" }]
    case "AnyOf":
      if (issue.issues.length > 0) return collect(bestOf(issue.issues), path, context)
      break
    case "Filter":
      if (issue.issue._tag === "Pointer" || issue.issue._tag === "Composite") return collect(issue.issue, path, context)
  }
  return [{ path, at: "value", ...worded(issue, path, valueAt(context.value, path.slice(context.under.length))) }]
}

/** "rules #1 topUp.levels #2 below", items counted from 1. */
export const pathText = (path: Path): string =>
  path.reduce<string>((text, step, i) => {
    if (typeof step === "number") return `${text} #${step + 1}`
    return i === 0 ? String(step) : `${text}${typeof path[i - 1] === "number" ? " " : "."}${String(step)}`
  }, "")

const knownKeys = ({ propertySignatures = [] }: Ast): ReadonlyArray<string> =>
  propertySignatures.map(({ name }) => String(name))

const unexpected = (path: Path, around: Ast): Complaint => {
  const key = String(path.at(-1))
  const nameForm = around.indexSignatures?.[0]?.parameter.checks?.[0]?.annotations?.expected
  if (typeof nameForm === "string") {
    return { path, at: "name", message: `"${key}" cannot be a name here`, remedy: `write ${nameForm}` }
  }
  const replacement = replacementOf(path.slice(0, -1), key)
  if (replacement !== undefined) {
    const message = `there is no "${key}" any more`
    return { path, at: "name", message, remedy: replacement, unknown: { meant: undefined } }
  }
  const known = knownKeys(around)
  const remedy = nameRemedy(key, known, "remove it")
  return { path, at: "name", message: `unknown key "${key}"`, remedy, unknown: { meant: nearest(key, known) } }
}

/** The nearest of several forms that a value may have: the one whose check reached inside the value. */
const bestOf = (issues: ReadonlyArray<SchemaIssue.Issue>): SchemaIssue.Issue =>
  issues.find(({ _tag }) => _tag === "Composite") ?? issues.find(({ _tag }) => _tag === "Filter") ?? issues[0]!

/** The part of a plain value that the path leads to; undefined where there is none. */
export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inner, step) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[step], value)

const shown = (value: unknown, wanted: string | undefined): string => {
  if (Array.isArray(value)) return "a list"
  if (typeof value !== "string") return "a map"
  // In place of a map it is often a secret in place of its file.
  return wanted?.startsWith("a map") ? "a text" : excerpt(value)
}

/** A filter's message may contain its remedy after a semicolon; otherwise the expected form is the remedy. */
const worded = (
  issue: SchemaIssue.Issue,
  path: Path,
  value: unknown,
): { readonly message: string; readonly remedy: string } => {
  const name = pathText(path) || "the file"
  const text = format(issue)
  const [before, after] = issue._tag === "Filter" ? text.split(/; (.*)/s) : []
  if (after !== undefined) return { message: `${name}: ${before}`, remedy: after }
  const ast = "ast" in issue ? (issue.ast as Ast) : {}
  const form = issue._tag === "Filter" ? undefined : formOf(ast)
  const isEmpty = value === "" || (Array.isArray(value) && value.length === 0)
  const message = isEmpty ? `${name} is empty` : `${name}: ${shown(value, form)} is not valid`
  const literals = literalsOf(ast).filter((each) => each !== "")
  const near = typeof value === "string" && literals.length > 1 ? nearest(value, literals) : undefined
  if (near !== undefined) return { message, remedy: `did you mean "${near}"?` }
  const expected = text.replace(/^Expected /, "").replace(/, got .*$/s, "")
  return { message, remedy: `write ${literals.length > 0 ? literals.join(" or ") : (form ?? expected)}` }
}

/** The literals that a union or a literal takes. */
const literalsOf = ({ types, literal }: Ast): ReadonlyArray<string> =>
  literal === undefined ? (types?.flatMap(literalsOf) ?? []) : [String(literal)]

const formOf = (ast: Ast): string | undefined => {
  if (ast.types !== undefined) return ast.types.map(formOf).find((form) => form !== undefined)
  if (ast._tag === "String") return "one text"
  if (ast._tag === "Arrays") return 'a list: begin each item with "- ", or write [ a, b ]'
  if (ast._tag !== "Objects") return undefined
  const keys = knownKeys(ast)
  if (keys.length === 0) return "a map of names and values, such as { name: … }"
  const isOptional = (i: number) => ast.propertySignatures?.[i]?.type?.context?.isOptional === true
  const [optional, needed] = [keys.filter((_, i) => isOptional(i)), keys.filter((_, i) => !isOptional(i))]
  if (needed.length === 0) return `a map with ${keys.join(" or ")}`
  if (optional.length === 0) return `a map with ${keys.join(", ")}`
  return `a map with ${needed.join(", ")} (optional: ${optional.join(", ")})`
}
