import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Logger, Option, Predicate } from "effect"
import { secureDataDir } from "../config/ownFiles.ts"
import { storeLayer } from "../services.ts"
import type { Problem } from "../status/stories.ts"
import { databaseFile } from "../store/Database.ts"
import { failureOf, failWith } from "./CliFailure.ts"
import { bodyOf, codeOf, control } from "./controlClient.ts"
import { toJson } from "./output.ts"
import { type Chosen, dataDirOf, notRunning, type Setup, setup } from "./setup.ts"

type Stored = Layer.Success<ReturnType<typeof storeLayer>>

/** A request to the daemon, and the same on the database of a data directory in which none runs. */
interface Call<A, E> {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly timeoutMillis?: number
  readonly stored: (found: Setup) => Effect.Effect<A, E, Stored>
  /** Whether it may begin a database. Default false: without one there is nothing to ask. */
  readonly mayBegin?: boolean
}

/** The setup of a data directory whose daemon does not run. */
export const storedSetup = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string, mayBegin = false) {
  if (!mayBegin && !existsSync(join(dataDir, databaseFile))) {
    return yield* notRunning(chosen, dataDir, ", and no database lies there")
  }
  yield* secureDataDir(dataDir)
  return yield* setup({ ...chosen, data: Option.some(dataDir) })
})

/** As it comes out of JSON. */
type Plain<A> = A extends bigint
  ? string
  : A extends string | number | boolean
    ? A
    : A extends object
      ? { readonly [K in keyof A]: Plain<A[K]> }
      : A

const isProblem = (done: unknown): done is Problem => Predicate.hasProperty(done, "problem") && "remedy" in done

/**
 * Asks the daemon; where none runs, does the same on its database. The daemon is of the same version as this command
 * line: its answer is taken as it comes, both ways as JSON, large integers as text.
 */
export const throughDaemon = Effect.fnUntraced(function* <A, E extends { readonly message: string }>(
  chosen: Chosen,
  call: Call<A, E>,
) {
  const dataDir = yield* dataDirOf(chosen)
  const answer = yield* control(dataDir, call.method, call.path, call.body, call.timeoutMillis)
  if (answer !== undefined) return { running: true, body: (yield* bodyOf(answer)) as Plain<Exclude<A, Problem>> }
  const found = yield* storedSetup(chosen, dataDir, call.mayBegin)
  const done = yield* call.stored(found).pipe(
    // The answer is the result; what is logged beside it would stand between its lines.
    Effect.provide(Layer.merge(storeLayer(found), Logger.layer([]))),
    Effect.mapError(failureOf),
  )
  if (isProblem(done)) return yield* failWith(codeOf(done.status), `${done.problem}; ${done.remedy}`)
  return { running: false, body: JSON.parse(toJson(done)) as Plain<Exclude<A, Problem>> }
})
