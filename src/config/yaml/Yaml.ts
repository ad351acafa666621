import { Effect, type Schema } from "effect"
import { ConfigError, configProblem, type Problem } from "./ConfigError.ts"
import { decodeAll } from "./decodeAll.ts"
import { type Placed, parsePlaced, placeOf, valueOf } from "./Placed.ts"
import { readUtf8 } from "./readBytes.ts"

type Path = ReadonlyArray<PropertyKey>

/** A YAML file whose scalars are all text as written: 0.1 stays "0.1", so no amount passes through a double. */
export interface YamlDocument {
  readonly file: string
  readonly text: string
  readonly value: unknown
  /** Every value with its place. */
  readonly tree: Placed
  /** Syntax problems with which the values can still be read: duplicate names, broken aliases. */
  readonly problems: ReadonlyArray<Problem>
  /** Functions of rules in TypeScript, by the texts that stand for them. */
  readonly code?: ReadonlyMap<string, unknown>
  /** A problem at the value (or, for `name`, at the name) that the path leads to, or at the nearest parent. */
  readonly problem: (path: Path, message: string, remedy: string, at?: "name" | "value") => Problem
}

/** The parser takes seconds for half a megabyte of brackets; nothing that people write comes near. */
const bytesMax = 500_000

/** Text of a file. Fails where it cannot be read, is no file, no UTF-8 or has more than 500 kB. */
export const readText = (file: string): Effect.Effect<string, ConfigError> =>
  Effect.suspend(() => {
    const text = readUtf8(file, bytesMax)
    if (typeof text === "string") return Effect.succeed(text)
    const remedy =
      text.problem === "is not UTF-8 text" ? "save it as UTF-8" : "name a YAML file, or a folder of several"
    return Effect.fail(configProblem(file, text.problem, remedy))
  })

/** Reads and parses a file. Fails with a ConfigError that names line and remedy. */
export const readYaml = (file: string): Effect.Effect<YamlDocument, ConfigError> =>
  Effect.flatMap(readText(file), (text) => parseYaml(file, text))

/** Parses text as if it were read from `file`. */
export const parseYaml = (file: string, text: string): Effect.Effect<YamlDocument, ConfigError> =>
  Effect.suspend(() => {
    const { tree, problems } = parsePlaced(file, text)
    if (problems.length > 0) return Effect.fail(new ConfigError({ problems: [...problems] }))
    return Effect.succeed(documentOf({ file, text, tree, problems }))
  })

/** A document of values with their places, which may come from several files. */
export const documentOf = (
  parts: Pick<YamlDocument, "file" | "text" | "tree" | "problems" | "code">,
): YamlDocument => ({
  ...parts,
  value: valueOf(parts.tree),
  problem: (path, message, remedy, at = "value") => ({ ...placeOf(parts.tree, path, at), message, remedy }),
})

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
    const decoded = decodeAll(schema, value, path)
    if ("value" in decoded) return Effect.succeed(decoded.value)
    const problems = decoded.complaints.map((c) => document.problem(c.path, c.message, c.remedy, c.at))
    return Effect.fail(new ConfigError({ problems }))
  })
