import { Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import type { Metrics } from "../telemetry/Metrics.ts"
import { ChainContext, type FixedChain } from "./ChainContext.ts"
import { Confirmation, withReach } from "./Confirmation.ts"
import { GatewayReader } from "./GatewayReader.ts"
import { type Gateway, Gateways, makeGateways } from "./Gateways.ts"
import { GatewayWriter } from "./GatewayWriter.ts"
import { Health, isUnheard } from "./Health.ts"
import { LedgerHistory } from "./LedgerHistory.ts"
import { NetworkEpoch } from "./NetworkEpoch.ts"
import { NetworkParameters } from "./NetworkParameters.ts"
import { onChain } from "./onChain.ts"
import { type GatewayOptions, Transport } from "./Transport.ts"
import { layerTogether } from "./together.ts"

interface NetworkOptions {
  readonly chainId: string
  /** At least one. */
  readonly gateways: ReadonlyArray<GatewayOptions>
  readonly quorum: number
  /** A head written down by a person, if no gateway reports one. */
  readonly fixedChain?: FixedChain | undefined
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
  const { chainId, gateways, quorum, fixedChain, isOwn = false } = options
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
        chain: fixedChain === undefined ? ChainContext.make(transport, chainId) : ChainContext.makeFixed(fixedChain),
      }),
    )
    // Where no gateway tells a head, its chain is what a person wrote down.
    const all =
      fixedChain === undefined
        ? yield* Effect.forEach(bare, (gateway) => onChain(gateway, chainId))
        : bare.map((gateway) => ({
            ...gateway,
            confirmation: withReach(gateway.confirmation, () => fixedChain.head.height),
          }))
    const writers = transports.map((transport) => [transport.gateway, GatewayWriter.make(transport)] as const)
    const health = yield* Health
    const quarantined = Effect.map(health.all, (views) => new Set(views.filter(isUnheard).map(({ name }) => name)))
    return Layer.mergeAll(
      Layer.effect(Gateways, makeGateways({ all, quorum, ranked: health.ranked, quarantined })),
      Layer.succeed(GatewayWriter, GatewayWriter.together(new Map(writers), writers[0]![1])),
    )
  })
  return layerTogether({ chainId, isFixed: fixedChain !== undefined, isOwn }).pipe(
    Layer.provideMerge(Layer.unwrap(single)),
    Layer.provideMerge(Health.layer(gateways.map(({ name }) => name))),
  )
}
