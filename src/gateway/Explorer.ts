import { Clock, Context, Effect } from "effect"
import { GatewayError } from "./GatewayError.ts"
import { type IncludedTransaction, TransactionAnswer } from "./schema/Explorer.ts"
import type { Transport } from "./Transport.ts"

/** Whether a transaction is in a block. Most gateways have no explorer beside them: the error is Unsupported there. */
export class Explorer extends Context.Service<
  Explorer,
  {
    /** By its hash, in either case of letters. Undefined: the explorer knows none, which proves nothing. */
    readonly transaction: (hash: string) => Effect.Effect<IncludedTransaction | undefined, GatewayError>
  }
>()("cofferer/gateway/Explorer") {
  static readonly make = (transport: Transport["Service"]): Explorer["Service"] => {
    let askAgainAt = 0
    const fail = (reason: GatewayError["reason"]) =>
      Effect.fail(new GatewayError({ gateway: transport.gateway, operation: "explorer", reason }))
    return Explorer.of({
      transaction: Effect.fnUntraced(function* (hash) {
        const now = yield* Clock.currentTimeMillis
        if (now < askAgainAt) return yield* fail({ _tag: "Unsupported", detail: "it had no explorer before" })
        const found = yield* lookUp(transport, hash).pipe(
          Effect.tapError(({ reason }) =>
            Effect.sync(() => {
              if (reason._tag === "Unsupported") askAgainAt = now + askAgainMillis
            }),
          ),
        )
        if (found === undefined || found.hash === hash.toLowerCase()) return found
        return yield* fail({ _tag: "Unreadable", detail: "answered with another transaction than was asked for" })
      }),
    })
  }
}

/** Where there is no explorer, none is asked for so long. */
const askAgainMillis = 600_000

const lookUp = (transport: Transport["Service"], hash: string) =>
  transport
    .request({
      operation: "transfer",
      title: "explorer",
      path: `/rest/transactions/${encodeURIComponent(hash)}`,
      schema: TransactionAnswer,
    })
    .pipe(
      Effect.map(({ value }): IncludedTransaction | undefined => value),
      Effect.catchReason("GatewayError", "NotFound", () => Effect.undefined),
    )
