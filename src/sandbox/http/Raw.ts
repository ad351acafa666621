import { Effect, Queue, Schema } from "effect"
import type { SandboxError } from "../SandboxError.ts"
import { type Answer, nodeError, ok, plainError, type Refusal, refuse } from "./Answer.ts"
import { readTransaction } from "./JsonTransaction.ts"
import type { Ask, Route, World } from "./Route.ts"

const internal = (message: string): Answer => nodeError("Internal", { code: 10_000, message, inner: "" })

const RawBody = Schema.fromJsonString(
  Schema.Struct({ tx: Schema.optionalKey(Schema.String), type: Schema.optionalKey(Schema.String) }),
)

/** The serialised transaction of a request, and how it is to be submitted. */
const readRaw = (ask: Ask): Effect.Effect<{ readonly bytes: Uint8Array; readonly type: string }, Refusal> =>
  Effect.gen(function* () {
    const text = yield* ask.body
    const body = yield* Schema.decodeEffect(RawBody)(text === "" ? "{}" : text).pipe(
      Effect.mapError(() => refuse(plainError("InvalidArgument", "unexpected EOF", false))),
    )
    const base64 = body.tx ?? ""
    if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
      return yield* refuse(plainError("InvalidArgument", "illegal base64 data at input byte 0", false))
    }
    return { bytes: Uint8Array.from(Buffer.from(base64, "base64")), type: body.type ?? "TYPE_UNSPECIFIED" }
  })

/** Texts go out as the upper-case hex of their bytes. */
const hexOf = (text: string): string => Buffer.from(text).toString("hex").toUpperCase()

/** How long a submission that waits for its block waits. */
const commitPatience = "10 seconds"

/** The height of the block that took the transaction; undefined where none did in time. */
const included = (world: World, hash: string): Effect.Effect<number | undefined, SandboxError> =>
  Effect.gen(function* () {
    const { seen, reader } = yield* world.node.listen(
      (chain) => chain.included.findLast((entry) => entry.hash === hash)?.height,
    )
    if (seen !== undefined) return seen
    for (;;) {
      const news = yield* Queue.take(reader.news)
      if (news.included.some((entry) => entry.hash === hash)) return news.height
    }
  }).pipe(Effect.scoped, Effect.timeoutOrElse({ duration: commitPatience, orElse: () => Effect.undefined }))

/**
 * Hands serialised bytes to the mempool. `success` says only that the node answered: callers look at the code. Here the
 * type counts: without one the request is refused, ASYNC does not tell of the check, COMMIT waits for the block.
 */
export const submitRaw: Route = {
  operation: "submitRaw",
  method: "POST",
  path: "/transaction/raw",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const { bytes, type } = yield* readRaw(ask)
      if (!["TYPE_ASYNC", "TYPE_SYNC", "TYPE_COMMIT"].includes(type)) {
        return nodeError("InvalidArgument", { code: 10_000, message: "Invalid TX Type", inner: "" })
      }
      const said = yield* world.node.submit(bytes)
      if (said._tag === "Turned") return internal(said.text)
      const body = { success: true, txHash: said.hash.toUpperCase(), code: 0, data: "", log: "", height: "0" }
      const answer = { ...ok(body), accepted: said.code === 0 }
      if (type === "TYPE_SYNC") return { ...answer, body: { ...body, code: said.code, data: hexOf(said.text) } }
      if (type === "TYPE_ASYNC" || said.code !== 0) return answer
      const height = yield* included(world, said.hash)
      return height === undefined
        ? internal("timed out waiting for tx to be included in a block")
        : { ...answer, body: { ...body, height: String(height) } }
    }),
}

const checked = (code: number, data: string): Answer =>
  ok({ success: code === 0, code, gasWanted: "1", gasUsed: "0", data, log: "", info: "" })

/** The mempool's check without a submission. It burns the id of the work all the same. */
export const check: Route = {
  operation: "check",
  method: "POST",
  path: "/transaction/check",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const bytes = yield* readTransaction(yield* ask.body)
      if (bytes === undefined) return internal("proto: Marshal called with nil")
      const { code, text } = yield* world.node.check(bytes)
      return checked(code, text)
    }),
}

export const checkRaw: Route = {
  operation: "check",
  method: "POST",
  path: "/transaction/raw/check",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const { bytes } = yield* readRaw(ask)
      const { code, text } = yield* world.node.check(bytes)
      return checked(code, hexOf(text))
    }),
}
