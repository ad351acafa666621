import { Effect, Layer } from "effect"
import { ChainContext } from "../../gateway/ChainContext.ts"
import { GatewayError } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import { NetworkParameters } from "../../gateway/NetworkParameters.ts"
import { gatewayOptions, Transport } from "../../gateway/Transport.ts"
import { walkAssets } from "../../gateway/walkPages.ts"
import type { Share } from "../../rules/Account.ts"
import { fraction } from "../../rules/Snapshot.ts"
import { layerMetrics } from "../run/logging.ts"

const gateway = "init"
const requestDeadlineMillis = 5_000

/** Facts of a gateway for a treasury file: chain id, assets, and the transfer fee (undefined if it is not served). */
export const readNetwork = Effect.fnUntraced(
  function* (url: string) {
    const transport = yield* Transport.make(gatewayOptions({ name: gateway, url, requestDeadlineMillis }))
    const { chainId } = yield* ChainContext.make(transport).head
    const { rows, complete } = yield* walkAssets(GatewayReader.make(transport))
    if (!complete) {
      const detail = "the pages of the asset listing do not end"
      return yield* new GatewayError({ gateway, operation: "assets", reason: { _tag: "Unreadable", detail } })
    }
    const parameters = yield* NetworkParameters.make(transport).parameters.pipe(
      Effect.catchReason("GatewayError", "Unsupported", () => Effect.succeed(new Map<string, string>())),
    )
    const feeFactor: Share | undefined = fraction(parameters.get("transfer.fee.factor") ?? "")
    return { chainId, assets: rows, feeFactor }
  },
  Effect.scoped,
  Effect.provide(
    Layer.merge(Transport.layerHttp, layerMetrics({ name: gateway, network: { gateways: [{ name: gateway }] } })),
  ),
)

export type ReadNetwork = Effect.Success<ReturnType<typeof readNetwork>>
