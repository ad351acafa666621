import { Effect, Schedule } from "effect"
import { codes } from "../checkTx.ts"
import type { SandboxError } from "../SandboxError.ts"
import { type Answer, nodeError, ok } from "./Answer.ts"
import { readRaw, readTransaction, submitTypes } from "./JsonTransaction.ts"
import type { Route, World } from "./Route.ts"

const internal = (message: string): Answer => nodeError("Internal", { code: 10_000, message, inner: "" })

/** Texts go out as the upper-case hex of their bytes. */
const hexOf = (text: string): string => Buffer.from(text).toString("hex").toUpperCase()

/** How long a submission that waits for its block waits, and between two looks for it. */
const commitPatience = "10 seconds"
const commitPause = "50 millis"

/** The height of the block that took the transaction; undefined where none did in time. */
const included = (world: World, hash: string): Effect.Effect<number | undefined, SandboxError> =>
  world.node
    .read((chain) => chain.included.findLast((entry) => entry.hash === hash)?.height)
    .pipe(
      Effect.repeat({ until: (height) => height !== undefined, schedule: Schedule.spaced(commitPause) }),
      Effect.timeoutOrElse({ duration: commitPatience, orElse: () => Effect.undefined }),
    )

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
      const { bytes, type } = yield* readRaw(yield* ask.body)
      if (type < submitTypes.TYPE_ASYNC || type > submitTypes.TYPE_COMMIT) {
        return nodeError("InvalidArgument", { code: 10_000, message: "Invalid TX Type", inner: "" })
      }
      const said = yield* world.node.submit(bytes)
      if (said._tag === "Turned") return internal(said.text)
      const body = { success: true, txHash: said.hash.toUpperCase(), code: 0, data: "", log: "", height: "0" }
      const answer = { ...ok(body), accepted: said.code === 0 }
      if (type === submitTypes.TYPE_SYNC)
        return { ...answer, body: { ...body, code: said.code, data: hexOf(said.text) } }
      if (type === submitTypes.TYPE_ASYNC || said.code !== 0) return answer
      const height = yield* included(world, said.hash)
      return height === undefined
        ? internal("timed out waiting for tx to be included in a block")
        : { ...answer, body: { ...body, height: String(height) } }
    }),
}

/** Of a refusal nobody counted the gas, and only those of shape and state repeat their text as the info. */
const checked = ({ code, text }: { readonly code: number; readonly text: string }): Answer => {
  const success = code === codes.ok
  const info = code === codes.malformed || code === codes.state ? text : ""
  return ok({ success, code, gasWanted: success ? "1" : "0", gasUsed: "0", data: text, log: "", info })
}

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
      return checked(yield* world.node.check(bytes))
    }),
}

export const checkRaw: Route = {
  operation: "check",
  method: "POST",
  path: "/transaction/raw/check",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const { bytes } = yield* readRaw(yield* ask.body)
      return checked(yield* world.node.check(bytes))
    }),
}
