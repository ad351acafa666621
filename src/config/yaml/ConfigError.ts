import { Runtime, Schema } from "effect"

/** One thing that is wrong in a file: where, what, and what to do about it. */
export interface Problem {
  readonly file: string
  /** 1-based; 0 where the file as a whole is meant. */
  readonly line: number
  readonly column: number
  readonly message: string
  readonly remedy: string
}

const textMax = 400
/** More than people read at once. */
const shownMax = 100

/** One line whatever the file holds: control characters are shown, and what is too long is cut. */
const oneLine = (text: string): string =>
  text
    .slice(0, textMax)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** "treasury.yaml:12:3  unknown key "chianId"; did you mean "chainId"?": one line, fit for an editor to jump to. */
export const formatProblem = (p: Problem): string => `${problemWithPlace(p)}; ${oneLine(p.remedy)}`

/** The same without its remedy. */
export const problemWithPlace = (p: Pick<Problem, "file" | "line" | "column" | "message">): string =>
  `${p.file}${p.line > 0 ? `:${p.line}:${p.column}` : ""}  ${oneLine(p.message)}`

/** The configuration cannot be used. Holds every problem found, not the first alone; the process exits with 3. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  problems: Schema.Array(
    Schema.Struct({
      file: Schema.String,
      line: Schema.Int,
      column: Schema.Int,
      message: Schema.String,
      remedy: Schema.String,
    }),
  ),
}) {
  override get message() {
    const left = this.problems.length - shownMax
    const shown = this.problems.slice(0, shownMax).map(formatProblem)
    return [...shown, ...(left > 0 ? [`and ${left} more of the same files`] : [])].join("\n")
  }
  override readonly [Runtime.errorExitCode] = 3
}

/** A single problem with a file or a value as a whole. */
export const configProblem = (file: string, message: string, remedy: string): ConfigError =>
  new ConfigError({ problems: [{ file, line: 0, column: 0, message, remedy }] })

/** In the order of the file, each once. */
export const inOrder = (problems: ReadonlyArray<Problem>): ConfigError => {
  const texts = new Map(problems.map((problem) => [formatProblem(problem), problem]))
  return new ConfigError({ problems: [...texts.values()].toSorted(byPlace) })
}

const byPlace = (a: Problem, b: Problem): number =>
  a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1
