import { Effect } from "effect"
import { nodeError, ok } from "./Answer.ts"
import { readTransaction } from "./JsonTransaction.ts"
import type { Route } from "./Route.ts"

const internal = (message: string) => nodeError("Internal", { code: 10_000, message, inner: "" })

/** Hands a transaction to the mempool and tells what it says. The type of submission has no effect. */
export const submit: Route = {
  operation: "submit",
  method: "POST",
  path: "/transaction",
  specified: true,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const bytes = yield* readTransaction(yield* ask.body)
      if (bytes === undefined) return internal("proto: Marshal called with nil")
      const said = yield* world.node.submit(bytes)
      if (said._tag === "Turned") return internal(said.text)
      const success = said.code === 0
      const txHash = said.hash.toUpperCase()
      return {
        ...ok({ success, txHash, code: said.code, data: said.text, log: "", height: "0" }),
        accepted: success,
      }
    }),
}
