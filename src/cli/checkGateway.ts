import { Console, Effect, Layer, Option } from "effect"
import { ConfigError, type Problem } from "../config/ConfigError.ts"
import { isEmbedded, type Treasury } from "../config/Treasury.ts"
import type { Asset } from "../domain/Asset.ts"
import { ChainContext } from "../gateway/ChainContext.ts"
import { escapeText } from "../gateway/escapeText.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { walkAssets } from "../gateway/walkAssets.ts"
import { gatewayLayer } from "../services.ts"
import { wrongDecimals } from "./checkNetwork.ts"
import { layerMetrics } from "./layerMetrics.ts"

/** Whoever waits for `check` waits no longer for a gateway. */
const patience = "5 seconds"

/**
 * Holds chain id, ids, decimals and symbols of the file against what its gateways tell. Other decimals are an error,
 * since amounts would be paid a power of ten too large or too small; other symbols are a warning. Where nobody answers,
 * one line on standard error says that nothing was compared.
 */
export const checkGateway = Effect.fn("Check.gateway")(
  function* (treasury: Treasury) {
    // The file's own network is held against the file itself.
    if (isEmbedded(treasury)) return []
    const { chainId } = yield* (yield* ChainContext).head
    if (chainId !== treasury.network.chainId) return yield* otherChain(treasury, chainId)
    const listed = yield* listing
    if (listed === undefined) {
      yield* Console.error("note: the gateway tells no whole listing of assets; ids and decimals were not compared")
      return []
    }
    const wrong = wrongDecimals(treasury, listed, "at the gateway", "if not, the gateway is wrong")
    if (wrong.length > 0) return yield* new ConfigError({ problems: [...wrong] })
    return otherwise(treasury, listed)
  },
  (effect, treasury) =>
    effect.pipe(
      Effect.provide(gatewayLayer({ treasury }).pipe(Layer.provide(layerMetrics(treasury)))),
      Effect.timeoutOption(patience),
      Effect.map(Option.getOrUndefined),
      Effect.catchTag("GatewayError", ({ reason }) =>
        reason._tag === "OtherChain" ? otherChain(treasury, reason.chainId) : Effect.undefined,
      ),
      Effect.tap((found) =>
        found === undefined
          ? Console.error("note: no gateway answered; chain id, asset ids and decimals were not compared")
          : Effect.void,
      ),
      Effect.map((found): ReadonlyArray<Problem> => found ?? []),
    ),
)

const otherChain = ({ document, network }: Treasury, told: string) => {
  const message = `the gateway is on chain ${escapeText(told)}, not on ${network.chainId}`
  const remedy = "correct network.chainId, or the address in network.gateways"
  return Effect.fail(new ConfigError({ problems: [document.problem(["network", "chainId"], message, remedy)] }))
}

/** Undefined where the gateway tells none, or no end of it. */
const listing = Effect.flatMap(GatewayReader, walkAssets).pipe(
  Effect.map(({ rows, complete }) => (complete ? new Map(rows.map((asset) => [asset.id, asset])) : undefined)),
  Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined),
)

/** An id that the gateway does not list, or lists under another symbol. */
const otherwise = ({ assets, document }: Treasury, listed: ReadonlyMap<string, Asset>): ReadonlyArray<Problem> =>
  [...assets.values()].flatMap(({ symbol, id }) => {
    const found = listed.get(id)
    if (found?.symbol === symbol) return []
    const message =
      found === undefined
        ? `the gateway does not list ${symbol}: nothing of it is paid`
        : `the gateway calls ${symbol} "${escapeText(found.symbol)}"`
    return [document.problem(["assets", symbol, "id"], message, 'compare the id: "cofferer assets" lists them')]
  })
