import { readFileSync } from "node:fs"
import { Effect, Exit, Schema, SchemaIssue } from "effect"
import { closest, distance } from "fastest-levenshtein"
import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml"
import { ConfigError, type Problem } from "./ConfigError.ts"

type Path = ReadonlyArray<PropertyKey>

/** A YAML file whose scalars are all text as written: 0.1 stays "0.1", so no amount passes through a double. */
export interface YamlDocument {
  readonly file: string
  readonly text: string
  readonly value: unknown
  /** A problem at the value (or, for `key`, at the name) that the path leads to, or at the nearest parent. */
  readonly problem: (path: Path, message: string, remedy: string, at?: "key" | "value") => Problem
}

/** Reads and parses a file. Fails with a ConfigError that names line and remedy. */
export const readYaml = (file: string): Effect.Effect<YamlDocument, ConfigError> =>
  Effect.suspend(() => {
    let text: string
    try {
      text = readFileSync(file, "utf8")
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      const message = code === "ENOENT" ? "no such file" : `cannot be read (${code})`
      return Effect.fail(
        new ConfigError({ problems: [{ file, line: 0, column: 0, message, remedy: "name a readable YAML file" }] }),
      )
    }
    return parseYaml(file, text)
  })

/** Parses text as if it were read from `file`. */
export const parseYaml = (file: string, text: string): Effect.Effect<YamlDocument, ConfigError> =>
  Effect.suspend(() => {
    const counter = new LineCounter()
    const parsed = parseDocument(text, { schema: "failsafe", lineCounter: counter, prettyErrors: false })
    const place = (offset: number) => {
      const { line, col } = counter.linePos(offset)
      return { file, line, column: col }
    }
    if (parsed.errors.length > 0) {
      const problems = parsed.errors.map((e) => ({
        ...place(e.pos[0]),
        message: e.message.split("\n")[0]!,
        remedy: e.code === "DUPLICATE_KEY" ? "keep one of the two" : "mend the YAML there",
      }))
      return Effect.fail(new ConfigError({ problems }))
    }
    let value: unknown
    try {
      value = parsed.toJS({ maxAliasCount: 100 })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return Effect.fail(
        new ConfigError({ problems: [{ file, line: 1, column: 1, message, remedy: "write the values out" }] }),
      )
    }
    return Effect.succeed({
      file,
      text,
      value,
      problem: (path, message, remedy, at = "value") => ({
        ...place(offsetOf(parsed.contents, path, at)),
        message,
        remedy,
      }),
    })
  })

const offsetOf = (root: Node | null, path: Path, at: "key" | "value"): number => {
  let node: unknown = root
  let offset = root?.range?.[0] ?? 0
  for (const [i, step] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === String(step))
      if (pair === undefined) return offset
      const key = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
      const value = (pair.value as Node | null)?.range?.[0] ?? key
      offset = at === "key" && i === path.length - 1 ? key : value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = (node as Node | undefined)?.range?.[0] ?? offset
    } else return offset
  }
  return offset
}

/**
 * Decodes the value under `path` by a schema, strictly: an unknown key is a problem that names the nearest known one.
 * All problems are found, each with its line.
 */
export const decodeYaml = <A>(
  schema: Schema.ConstraintDecoder<A>,
  document: YamlDocument,
  path: Path = [],
): Effect.Effect<A, ConfigError> =>
  Effect.suspend(() => {
    let value = document.value
    for (const step of path) value = (value as Record<PropertyKey, unknown> | undefined)?.[step]
    const exit = Schema.decodeUnknownExit(schema)(value, { errors: "all", onExcessProperty: "error" })
    if (Exit.isSuccess(exit)) return Effect.succeed(exit.value)
    const problems: Array<Problem> = []
    for (const reason of exit.cause.reasons) {
      if (reason._tag !== "Fail") return Effect.failCause(exit.cause as never)
      collect(reason.error.issue, path, undefined, document, problems)
    }
    return Effect.fail(new ConfigError({ problems }))
  })

const format = SchemaIssue.makeFormatterDefault()

const collect = (
  issue: SchemaIssue.Issue,
  path: Path,
  siblings: ReadonlyArray<string> | undefined,
  document: YamlDocument,
  out: Array<Problem>,
): void => {
  const name = path.map(String).join(".") || "the file"
  const into = (inner: SchemaIssue.Issue, at = path, known = siblings) => collect(inner, at, known, document, out)
  if (issue._tag === "Pointer") into(issue.issue, [...path, ...issue.path])
  else if (issue._tag === "Composite") for (const inner of issue.issues) into(inner, path, knownKeys(issue.ast))
  else if (issue._tag === "Encoding") into(issue.issue)
  else if (issue._tag === "Filter" && (issue.issue._tag === "Pointer" || issue.issue._tag === "Composite")) {
    into(issue.issue)
  } else if (issue._tag === "AnyOf" && issue.issues.length > 0) into(issue.issues[0]!)
  else if (issue._tag === "UnexpectedKey") {
    const key = String(path.at(-1))
    out.push(document.problem(path, `unknown key "${key}"`, nearest(key, siblings ?? []), "key"))
  } else if (issue._tag === "MissingKey") out.push(document.problem(path, `${name} is missing`, "add it"))
  else out.push(document.problem(path, ...split(name, format(issue))))
}

const nearest = (key: string, known: ReadonlyArray<string>): string => {
  if (known.length === 0) return "remove it"
  const near = closest(key, known)
  return distance(key, near) <= Math.max(2, key.length / 2)
    ? `did you mean "${near}"?`
    : `known here: ${known.join(", ")}`
}

/** A message may carry its remedy behind a semicolon; else the expectation is the remedy. */
const split = (name: string, message: string): [string, string] => {
  const at = message.indexOf("; ")
  if (at >= 0) return [`${name}: ${message.slice(0, at)}`, message.slice(at + 2)]
  return [`${name} is not valid`, message.replace(/^Expected/, "write").replace(/, got .*$/s, "")]
}

const knownKeys = (ast: unknown): ReadonlyArray<string> => {
  const properties = (ast as { propertySignatures?: ReadonlyArray<{ name: PropertyKey }> }).propertySignatures
  return properties?.map((p) => String(p.name)) ?? []
}
