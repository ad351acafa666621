import { Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import type { Metrics } from "../telemetry/Metrics.ts"
import { GatewayReader } from "./GatewayReader.ts"
import { Gateways, makeGateways } from "./Gateways.ts"
import { GatewayWriter } from "./GatewayWriter.ts"
import { Health, isUnheard } from "./Health.ts"
import { onChain } from "./onChain.ts"
import { layerQuorum } from "./quorumGateway.ts"
import { type GatewayOptions, makeTransport } from "./Transport.ts"

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
): Layer.Layer<Gateways | Health | GatewayReader | GatewayWriter, never, HttpClient.HttpClient | Metrics> => {
  const { chainId, gateways, quorum, isOwn = false } = options
  const single = Effect.gen(function* () {
    const transports = yield* Effect.forEach(gateways, makeTransport)
    const all = yield* Effect.forEach(transports, (transport) =>
      onChain({ name: transport.gateway, ...GatewayReader.make(transport, chainId) }, chainId),
    )
    const writers = transports.map((transport) => [transport.gateway, GatewayWriter.make(transport)] as const)
    const health = yield* Health
    const quarantined = Effect.map(health.all, (views) => new Set(views.filter(isUnheard).map(({ name }) => name)))
    return Layer.mergeAll(
      Layer.effect(Gateways, makeGateways({ all, quorum, ranked: health.ranked, quarantined })),
      Layer.succeed(GatewayWriter, GatewayWriter.routed(new Map(writers), writers[0]![1])),
    )
  })
  return layerQuorum({ chainId, isOwn }).pipe(
    Layer.provideMerge(Layer.unwrap(single)),
    Layer.provideMerge(Health.layer(gateways.map(({ name }) => name))),
  )
}
