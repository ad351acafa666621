import { Runtime, Schema } from "effect"
import { visible } from "../../domain/text.ts"

/** A mistake in a file: its position, the problem, and what to do. */
const Problem = Schema.Struct({
  file: Schema.String,
  /** 1-based; 0 where the file as a whole is meant. */
  line: Schema.Int,
  column: Schema.Int,
  message: Schema.String,
  remedy: Schema.String,
})
export type Problem = typeof Problem.Type

const textMax = 400
/** More than people read at once. */
const shownMax = 100

/** The text as one line, cut at `textMax`. */
const oneLine = (text: string): string => visible(text.slice(0, textMax))

/** "treasury.yaml:12:3  unknown key "chianId"; did you mean "chainId"?": one line, in a form that editors follow. */
export const formatProblem = (p: Problem): string => `${problemWithPlace(p)}; ${oneLine(p.remedy)}`

/** The same without its remedy. */
export const problemWithPlace = (p: Pick<Problem, "file" | "line" | "column" | "message">): string =>
  `${p.file}${p.line > 0 ? `:${p.line}:${p.column}` : ""}  ${oneLine(p.message)}`

/** The configuration cannot be used. Holds every problem found, not the first alone; the process exits with 3. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  problems: Schema.Array(Problem),
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

/** All problems as one error, each once, in the order of the file. */
export const inOrder = (problems: ReadonlyArray<Problem>): ConfigError => {
  const texts = new Map(problems.map((problem) => [formatProblem(problem), problem]))
  return new ConfigError({ problems: [...texts.values()].toSorted(byPlace) })
}

const byPlace = (a: Problem, b: Problem): number =>
  a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1
