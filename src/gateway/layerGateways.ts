import { Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import type { Metrics } from "../telemetry/Metrics.ts"
import { ChainContext } from "./ChainContext.ts"
import { Confirmation } from "./Confirmation.ts"
import { GatewayReader } from "./GatewayReader.ts"
import { type Gateway, Gateways, makeGateways } from "./Gateways.ts"
import { GatewayWriter } from "./GatewayWriter.ts"
import { Health, isUnheard } from "./Health.ts"
import { LedgerHistory } from "./LedgerHistory.ts"
import { NetworkEpoch, NetworkParameters } from "./NetworkFacts.ts"
import { onChain } from "./onChain.ts"
import { type GatewayOptions, Transport } from "./Transport.ts"
import { layerTogether } from "./together.ts"

interface NetworkOptions {
  readonly chainId: string
  /** At least one. */
  readonly gateways: ReadonlyArray<GatewayOptions>
  readonly quorum: number
  /** True if the network runs in this process. */
  readonly isOwn?: boolean
}

/** The gateways of a network, each by itself and all together. */
export const layerGateways = (
  options: NetworkOptions,
): Layer.Layer<
  | Gateways
  | Health
  | GatewayReader
  | GatewayWriter
  | Confirmation
  | LedgerHistory
  | NetworkParameters
  | NetworkEpoch
  | ChainContext,
  never,
  HttpClient.HttpClient | Metrics
> => {
  const { chainId, gateways, quorum, isOwn = false } = options
  const single = Effect.gen(function* () {
    const transports = yield* Effect.forEach(gateways, Transport.make)
    const bare = transports.map(
      (transport): Gateway => ({
        name: transport.gateway,
        reader: GatewayReader.make(transport),
        confirmation: Confirmation.make(transport),
        history: LedgerHistory.make(transport),
        parameters: NetworkParameters.make(transport),
        epoch: NetworkEpoch.make(transport),
        chain: ChainContext.make(transport, chainId),
      }),
    )
    const all = yield* Effect.forEach(bare, (gateway) => onChain(gateway, chainId))
    const writers = transports.map((transport) => [transport.gateway, GatewayWriter.make(transport)] as const)
    const health = yield* Health
    const quarantined = Effect.map(health.all, (views) => new Set(views.filter(isUnheard).map(({ name }) => name)))
    return Layer.mergeAll(
      Layer.effect(Gateways, makeGateways({ all, quorum, ranked: health.ranked, quarantined })),
      Layer.succeed(GatewayWriter, GatewayWriter.together(new Map(writers), writers[0]![1])),
    )
  })
  return layerTogether({ chainId, isOwn }).pipe(
    Layer.provideMerge(Layer.unwrap(single)),
    Layer.provideMerge(Health.layer(gateways.map(({ name }) => name))),
  )
}
