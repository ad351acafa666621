import { Context, Effect } from "effect"
import { GatewayError } from "./GatewayError.ts"
import { paginationParameters } from "./GatewayReader.ts"
import { ParametersAnswer } from "./schema/ChainHead.ts"
import { pageOf } from "./schema/Numbers.ts"
import type { Transport } from "./Transport.ts"
import { pageSize, walkPages } from "./walkPages.ts"

/** The network's own settings, such as transfer.fee.factor, as text by key. */
export class NetworkParameters extends Context.Service<
  NetworkParameters,
  {
    /** All of them, or an error: half a list is never given. */
    readonly parameters: Effect.Effect<ReadonlyMap<string, string>, GatewayError>
  }
>()("cofferer/gateway/NetworkParameters") {
  static readonly make = (transport: Transport["Service"]): NetworkParameters["Service"] =>
    NetworkParameters.of({
      parameters: Effect.gen(function* () {
        const { rows, complete } = yield* walkPages((after) => onePage(transport, after), 10)
        if (!complete) {
          return yield* new GatewayError({
            gateway: transport.gateway,
            operation: "parameters",
            reason: { _tag: "Unreadable", detail: "the pages of the network parameters do not end" },
          })
        }
        return new Map(rows.map(({ key, value }) => [key, value]))
      }).pipe(Effect.withSpan("NetworkParameters.parameters")),
    })
}

/** Counted with the chain's height in the metrics: both say what the chain asks for. */
const onePage = (transport: Transport["Service"], after: string | undefined) =>
  transport
    .request({
      operation: "height",
      title: "parameters",
      path: "/api/v2/network/parameters",
      query: paginationParameters({ first: pageSize, ...(after === undefined ? {} : { after }) }),
      schema: ParametersAnswer,
    })
    .pipe(Effect.map(({ value, mark }) => pageOf(value.networkParameters, mark)))
