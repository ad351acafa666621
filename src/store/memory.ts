import { Effect } from "effect"
import type { Writes } from "./Writes.ts"

/** Answers kept by one memory; where there are more questions, it begins anew. */
const answersMax = 1_000

/**
 * Reads, unless the same question was answered since the tables were last written. Inside a
 * transaction that wrote them it always reads, so what is not committed is never known to anybody else.
 */
export type Memory<A> = <E, R>(question: string, read: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const roundMillis = 600_000

/** A time at most ten minutes before, the same for ten minutes: what is asked since then can be remembered. */
export const rounded = (millis: number): number => Math.floor(millis / roundMillis) * roundMillis

interface Held<A> {
  readonly version: number
  readonly answers: Map<string, A>
}

/** A memory of what was read of these tables. */
export const makeMemory = <A>(writes: Writes["Service"], tables: ReadonlyArray<string>): Memory<A> => {
  let held: Held<A> | undefined
  return <E, R>(question: string, read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend((): Effect.Effect<A, E, R> => {
      const version = writes.versionOf(tables)
      if (version === undefined) return read
      if (held?.version !== version || held.answers.size >= answersMax) {
        held = { version, answers: new Map() }
      }
      const { answers } = held
      const known = answers.get(question)
      if (known !== undefined) return Effect.succeed(known)
      // Where something was written meanwhile, nobody asks for these answers any more.
      return Effect.tap(read, (answer) => Effect.sync(() => answers.set(question, answer)))
    })
}
