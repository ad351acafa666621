import { type RequestOptions, request } from "node:http"
import { Effect, Schema } from "effect"

/** No answer: nobody listens there, nobody answers in time, or the connection failed. */
class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  kind: Schema.Literals(["absent", "late", "failed"]),
  detail: Schema.String,
}) {}

interface Exchanged {
  readonly status: number
  readonly text: string
}

const absent: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED"])

/** One request of the command line to a process on this machine, and its whole answer. */
export const exchange = (options: RequestOptions & { readonly timeout: number }, body?: unknown) =>
  Effect.callback<Exchanged, NoAnswer>((resume) => {
    const fail = (kind: NoAnswer["kind"], detail = "") => resume(Effect.fail(new NoAnswer({ kind, detail })))
    // A connection that is kept for the next request may be closed by then.
    const call = request({ ...options, agent: false }, (response) => {
      const chunks: Array<Buffer> = []
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
