import { Effect, Schema } from "effect"
import { type exitCodes, failWith } from "./CliFailure.ts"
import { exchange } from "./exchange.ts"
import { socketOf } from "./socketOf.ts"

export interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

const timeoutMillisUsual = 10_000

const notOurs = (why: string) =>
  failWith(
    "failure",
    `${why}: nothing was said to who listens there; run this as the daemon's user, and shut the directory with chmod 700`,
  )

/** One request to the daemon of a data directory; undefined where none runs. */
export const control = Effect.fnUntraced(function* (
  dataDir: string,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  timeoutMillis = timeoutMillisUsual,
): Effect.fn.Return<ControlAnswer | undefined, ReturnType<typeof failWith>> {
  const found = socketOf(dataDir)
  if ("problem" in found) return yield* notOurs(found.problem)
  const { socketPath } = found
  const headers = { "content-type": "application/json", host: "localhost" }
  const answer = yield* exchange({ socketPath, method, path, headers, timeout: timeoutMillis }, body).pipe(
    Effect.catchTag("NoAnswer", ({ kind, detail }) => {
      if (kind === "absent") return Effect.undefined
      return kind === "late"
        ? failWith("timeOut", "the daemon does not answer")
        : failWith("failure", `the daemon cannot be reached: ${detail}`)
    }),
  )
  if (answer === undefined) return undefined
  const { status, text } = answer
  return yield* Effect.try({
    try: (): ControlAnswer => ({ status, body: JSON.parse(text) }),
    catch: () => failWith("failure", `the daemon answered with no JSON: ${text.slice(0, 100)}`),
  })
})

/** The kind of failure that a status of HTTP stands for. */
export const codeOf = (status: number): keyof typeof exitCodes => {
  if (status === 404) return "notFound"
  if (status === 422) return "configuration"
  if (status === 403 || status === 409) return "refused"
  if (status === 504) return "timeOut"
  return status >= 500 ? "failure" : "usage"
}

const Refusal = Schema.Struct({ error: Schema.String, remedy: Schema.optional(Schema.String) })

/** The body of a good answer; a refusal becomes a failure with the daemon's own words. */
export const bodyOf = (answer: ControlAnswer): Effect.Effect<unknown, ReturnType<typeof failWith>> => {
  if (answer.status < 300) return Effect.succeed(answer.body)
  return Schema.decodeUnknownEffect(Refusal)(answer.body).pipe(
    Effect.mapError(() => failWith("failure", `the daemon refused with status ${answer.status}`)),
    Effect.flatMap(({ error, remedy }) => {
      return Effect.fail(failWith(codeOf(answer.status), remedy === undefined ? error : `${error}; ${remedy}`))
    }),
  )
}
