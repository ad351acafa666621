import { request } from "node:http"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { socketFile } from "../status/ControlServer.ts"
import { type exitCodes, failWith } from "./CliFailure.ts"

export interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

const timeoutMillisUsual = 10_000

/** Whether the failure says that no daemon listens there. */
const isAbsent = (code: string | undefined): boolean => code === "ENOENT" || code === "ECONNREFUSED"

/** One request to the daemon of a data directory; undefined where none runs. */
export const control = (
  dataDir: string,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  timeoutMillis = timeoutMillisUsual,
): Effect.Effect<ControlAnswer | undefined, ReturnType<typeof failWith>> =>
  Effect.callback((resume) => {
    const call = request(
      {
        socketPath: join(dataDir, socketFile),
        method,
        path,
        headers: { "content-type": "application/json", host: "localhost" },
        timeout: timeoutMillis,
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          try {
            resume(Effect.succeed({ status: response.statusCode ?? 0, body: JSON.parse(text) as unknown }))
          } catch {
            resume(Effect.fail(failWith("failure", `the daemon answered with no JSON: ${text.slice(0, 100)}`)))
          }
        })
      },
    )
    call.on("timeout", () => call.destroy(new Error("timeout")))
    call.on("error", (error: NodeJS.ErrnoException) => {
      if (isAbsent(error.code)) return resume(Effect.undefined)
      if (error.message === "timeout") return resume(Effect.fail(failWith("timeOut", "the daemon does not answer")))
      return resume(Effect.fail(failWith("failure", `the daemon cannot be reached: ${error.message}`)))
    })
    if (body !== undefined) call.write(JSON.stringify(body))
    call.end()
    return Effect.sync(() => call.destroy())
  })

/** The kind of failure that a status of HTTP stands for. */
export const codeOf = (status: number): keyof typeof exitCodes => {
  if (status === 404) return "notFound"
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
