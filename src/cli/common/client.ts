import { existsSync, realpathSync, statSync } from "node:fs"
import type { RequestOptions } from "node:http"
import { join, resolve } from "node:path"
import { Effect, Layer, Logger, Option, Schedule, Schema } from "effect"
import { foreignLink, secureDataDir, thisUser } from "../../config/ownFiles.ts"
import { socketFile } from "../../http/ControlServer.ts"
import { type HttpProblem, isProblem } from "../../http/stories.ts"
import { storeLayer } from "../../layers.ts"
import { lastFiles } from "../../store/controls/starts.ts"
import { databaseFile, layer as databaseOf } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { type exitCodes, failureOf, failWith, toJson } from "./output.ts"
import {
  type Chosen,
  dataDirOf,
  fileOf,
  namesFile,
  nearPath,
  notRunning,
  type Setup,
  setup,
  severalIn,
} from "./setup.ts"

/** Not imported: sockets/boundedServer.ts says why. */
const { request } = process.getBuiltinModule("node:http")

/** `absent`: nobody listens; `late`: no answer in time; `failed`: the connection broke. */
class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  kind: Schema.Literals(["absent", "late", "failed"]),
  detail: Schema.String,
}) {}

interface HttpReply {
  readonly status: number
  readonly text: string
}

const absent: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED"])

/** One request of the command line to a process on this machine, and its whole answer. */
export const exchange = (options: RequestOptions & { readonly timeout: number }, body?: unknown) =>
  Effect.callback<HttpReply, NoAnswer>((resume) => {
    const fail = (kind: NoAnswer["kind"], detail = "") => resume(Effect.fail(new NoAnswer({ kind, detail })))
    // Without an agent: a connection kept for the next request may be closed by then.
    const call = request({ ...options, agent: false }, (response) => {
      const chunks: Array<Buffer> = []
      // A connection that breaks within the answer is an error of the response, not of the request.
      response.on("error", (error) => fail("failed", error.message))
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() })),
      )
    })
    call.on("timeout", () => {
      fail("late")
      call.destroy()
    })
    call.on("error", (error: NodeJS.ErrnoException) =>
      fail(absent.has(error.code) ? "absent" : "failed", error.message),
    )
    call.end(body === undefined ? undefined : JSON.stringify(body))
    return Effect.sync(() => call.destroy())
  })

/**
 * The socket of a data directory's daemon, or why it is not used: the directory must be this user's, or root asks, and
 * nobody else may enter it. A missing socket is not a problem: no daemon runs.
 */
export const socketOf = (dataDir: string): { readonly socketPath: string } | { readonly problem: string } => {
  const socketPath = join(dataDir, socketFile)
  try {
    const link = foreignLink(dataDir)
    if (link !== undefined) return { problem: `${dataDir} ${link}` }
    const real = realpathSync(dataDir)
    const { uid, mode } = statSync(real)
    // Fails where this user may not enter the directory: connecting would only say EACCES.
    statSync(join(real, socketFile))
    const own = thisUser().uid
    if (uid !== own && own !== 0) return { problem: `${dataDir} belongs to user ${uid}` }
    if ((mode & 0o077) === 0) return { socketPath: join(real, socketFile) }
    return { problem: `${dataDir} has mode ${(mode & 0o777).toString(8).padStart(4, "0")}, not 0700` }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return { socketPath }
    return { problem: `${dataDir} cannot be read (${code})` }
  }
}

interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

const timeoutMillisDefault = 10_000
/** Time for an answer for which the daemon loads files of rules in TypeScript: each of them may take a minute. */
export const loadingMillis = 300_000

const notOurs = (why: string) =>
  failWith(
    "failure",
    `${why}: the request was not sent; run this as the daemon's user, and restrict the directory with chmod 700`,
  )

/** A daemon with all connections in use closes a new one. Only reading requests are repeated. */
const retries = { schedule: Schedule.spaced("100 millis"), times: 20 }

/** One request to the daemon of a data directory, a POST if it has a body; undefined where no daemon runs. */
export const askDaemon = Effect.fnUntraced(function* (
  dataDir: string,
  path: string,
  { body, timeoutMillis = timeoutMillisDefault }: Pick<Call, "body" | "timeoutMillis"> = {},
): Effect.fn.Return<ControlAnswer | undefined, ReturnType<typeof failWith>> {
  const found = socketOf(dataDir)
  if ("problem" in found) return yield* notOurs(found.problem)
  const { socketPath } = found
  const method = body === undefined ? "GET" : "POST"
  const headers = { "content-type": "application/json", host: "localhost" }
  const answer = yield* exchange({ socketPath, method, path, headers, timeout: timeoutMillis }, body).pipe(
    Effect.retry({ ...retries, while: ({ kind }) => kind === "failed" && method === "GET" }),
    Effect.catchTag("NoAnswer", ({ kind, detail }) => {
      if (kind === "absent") return Effect.undefined
      return kind === "late"
        ? failWith("timeOut", `the daemon does not answer within ${timeoutMillis / 1_000} s; its log shows why`)
        : failWith("failure", `the daemon cannot be reached: ${detail}`)
    }),
  )
  if (answer === undefined) return undefined
  const { status, text } = answer
  return yield* Effect.try({
    try: (): ControlAnswer => ({ status, body: JSON.parse(text) }),
    catch: () => failWith("failure", `the daemon's answer is not JSON: ${text.slice(0, 100)}`),
  })
})

/** Exit code of an HTTP status. */
const codeOf = (status: number): keyof typeof exitCodes => {
  if (status === 404) return "notFound"
  if (status === 422) return "configuration"
  if (status === 403 || status === 409) return "refused"
  if (status === 504) return "timeOut"
  return status >= 500 ? "failure" : "usage"
}

const Refusal = Schema.Struct({ error: Schema.String, remedy: Schema.optional(Schema.String) })

/** The body of a successful answer; a refusal becomes a failure with the daemon's message. */
export const bodyOf = (answer: ControlAnswer): Effect.Effect<unknown, ReturnType<typeof failWith>> => {
  if (answer.status < 300) return Effect.succeed(answer.body)
  return Schema.decodeUnknownEffect(Refusal)(answer.body).pipe(
    Effect.mapError(() => failWith("failure", `the daemon refused with status ${answer.status}`)),
    Effect.flatMap(({ error, remedy }) =>
      failWith(codeOf(answer.status), remedy === undefined ? error : `${error}; ${remedy}`),
    ),
  )
}

type Stored = Layer.Success<ReturnType<typeof storeLayer>>

interface Call {
  /** With a body the request is a POST. */
  readonly body?: unknown
  /** Default `timeoutMillisDefault`. */
  readonly timeoutMillis?: number | undefined
  /** True if it may create a database. Default false: without one there is nothing to query. */
  readonly mayCreate?: boolean
  /** True if it may write while another process has the lease of a shared store: a stop or a resume. Default false. */
  readonly isGuest?: boolean
  /** The data directory, if the caller has found it: a second search would repeat its warnings. */
  readonly dataDir?: string
}

const Live = Schema.Struct({ files: Schema.NonEmptyArray(Schema.String) })

/** Files of the daemon of a data directory; where none runs and `mayReadStore`, those of its last start. */
const daemonFiles = Effect.fnUntraced(
  function* (dataDir: string, mayReadStore: boolean) {
    const answer = yield* askDaemon(dataDir, "/api/v1/live")
    if (answer !== undefined) return (yield* Schema.decodeUnknownEffect(Live)(answer.body)).files
    const filename = join(dataDir, databaseFile)
    if (!mayReadStore || !existsSync(filename)) return undefined
    return yield* lastFiles.pipe(
      Effect.provide(Settings.layer.pipe(Layer.provide(databaseOf({ filename, access: "reader" })))),
    )
  },
  Effect.orElseSucceed(() => undefined),
)

/**
 * If no file is named: the choice with the files of the data directory's daemon, because the default file without the
 * daemon's overlays would be another configuration. If the default file exists and --data is not given, this applies
 * only while a daemon runs with that file.
 */
export const withLastFiles = Effect.fnUntraced(function* <A extends Chosen>(chosen: A, dataDir?: string) {
  if (namesFile(chosen) || severalIn(chosen) !== undefined) return chosen
  const isAnyFile = Option.isSome(chosen.data) || !existsSync(fileOf(chosen))
  const files = yield* daemonFiles(dataDir ?? (yield* dataDirOf(chosen)), isAnyFile)
  if (files === undefined || !(isAnyFile || files[0] === resolve(fileOf(chosen)))) return chosen
  return { ...chosen, config: files.map(nearPath) }
})

/** The setup of a data directory whose daemon does not run. */
export const storedSetup = Effect.fnUntraced(function* (asked: Chosen, dataDir: string, mayCreate = false) {
  const chosen = yield* withLastFiles(asked, dataDir)
  if (!mayCreate && !existsSync(join(dataDir, databaseFile))) {
    const found = Option.getOrUndefined(yield* Effect.option(setup(chosen)))
    if (found?.postgresUrlFile === undefined) return yield* notRunning(chosen, dataDir, ", and it has no database")
  }
  yield* secureDataDir(dataDir)
  return yield* setup({ ...chosen, data: Option.some(dataDir) })
})

/** Timeout of a guest. A holder that hangs within a transaction keeps the store locked for less. */
const guestWaitMillis = 15_000

/**
 * Stops or resumes payments in a shared store, whichever process runs the treasury. Fails with the reason as text.
 */
export const asGuest = <A, E extends { readonly message: string }>(
  place: Parameters<typeof storeLayer>[0],
  effect: Effect.Effect<A, E, Stored>,
) =>
  effect.pipe(
    Effect.provide(storeLayer(place, "guest")),
    Effect.timeout(guestWaitMillis),
    Effect.mapError(({ message }) => message),
  )

/** A value after JSON: integers of 64 bits and more are text. */
export type AsJson<A> = A extends bigint
  ? string
  : A extends string | number | boolean
    ? A
    : A extends object
      ? { [K in keyof A]: AsJson<A[K]> }
      : A

/** First line of a list that is read from the database because no daemon runs. */
export const noDaemonLine = "no daemon runs here; the database says:"

/**
 * Calls the daemon; if none runs, performs the same on its database. Both answers are JSON with large integers as text.
 * The daemon has the same version as this command line, so its answer is not decoded.
 */
export const throughDaemon = Effect.fnUntraced(function* <A, E extends { readonly message: string }>(
  chosen: Chosen,
  path: string,
  perform: (found: Setup) => Effect.Effect<A, E, Stored>,
  { body, timeoutMillis, mayCreate, isGuest = false, dataDir: known }: Call = {},
) {
  const dataDir = known ?? (yield* dataDirOf(chosen))
  const answer = yield* askDaemon(dataDir, path, { body, timeoutMillis })
  if (answer !== undefined) return { running: true, body: (yield* bodyOf(answer)) as AsJson<Exclude<A, HttpProblem>> }
  const found = yield* storedSetup(chosen, dataDir, mayCreate)
  const done = yield* perform(found).pipe(
    // Log lines would stand between the lines of the result.
    Effect.provide(
      Layer.merge(storeLayer(found, body === undefined ? "reader" : isGuest ? "guest" : "holder"), Logger.layer([])),
    ),
    Effect.mapError(failureOf),
  )
  if (isProblem(done)) return yield* failWith(codeOf(done.status), `${done.problem}; ${done.remedy}`)
  return { running: false, body: JSON.parse(toJson(done)) as AsJson<Exclude<A, HttpProblem>> }
})
