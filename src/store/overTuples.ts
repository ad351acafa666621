import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * Tuples in one statement at most. A shorter rest goes in halves of it, so that few forms of a statement are prepared
 * for lists of any length.
 */
const tuplesMax = 128

/** A statement over tuples of parameters, run over lists of any length. Answers what all of it answered. */
export const overTuples = (sql: SqlClient.SqlClient, width: number, write: (tuples: string) => string) => {
  const mark = sql.onDialectOrElse({ pg: () => (n: number) => `$${n}`, orElse: () => () => "?" })
  const texts = new Map<number, string>()
  const textOf = (count: number): string => {
    const known = texts.get(count)
    if (known !== undefined) return known
    const tuple = (i: number) => `(${Array.from({ length: width }, (_, j) => mark(i * width + j + 1)).join(",")})`
    const text = write(Array.from({ length: count }, (_, i) => tuple(i)).join(","))
    texts.set(count, text)
    return text
  }
  return Effect.fnUntraced(function* (
    parameters: ReadonlyArray<unknown>,
  ): Effect.fn.Return<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError> {
    const answers: Array<ReadonlyArray<unknown>> = []
    let size = tuplesMax
    for (let i = 0; i < parameters.length; i += size * width) {
      while (i + size * width > parameters.length) size /= 2
      for (const row of yield* sql.unsafe(textOf(size), parameters.slice(i, i + size * width)).values) answers.push(row)
    }
    return answers
  })
}
