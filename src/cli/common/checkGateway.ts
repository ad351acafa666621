import { Effect, Layer } from "effect"
import { isEmbedded, type Treasury } from "../../config/Treasury.ts"
import { ConfigError, type Problem } from "../../config/yaml/ConfigError.ts"
import type { Asset } from "../../domain/Asset.ts"
import { ChainContext } from "../../gateway/ChainContext.ts"
import { escapeText } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import { walkAssets } from "../../gateway/walkPages.ts"
import { gatewayLayer } from "../../layers.ts"
import { wrongDecimals } from "../checks.ts"
import { layerMetrics } from "../run/logging.ts"

/** Milliseconds for which a command waits for gateways. */
export const gatewayPatience = 5_000

/** A comparison with the gateways: warnings, and why nothing or less was compared (undefined if all was). */
interface Comparison {
  readonly warnings: ReadonlyArray<Problem>
  readonly note: string | undefined
}

const whole = (warnings: ReadonlyArray<Problem>): Comparison => ({ warnings, note: undefined })
const without = (note: string): Comparison => ({ warnings: [], note })

/**
 * Compares chain id, ids, decimals and symbols of the file with those of its gateways. Other decimals are an error,
 * since amounts would be paid a power of ten too large or too small; other symbols are a warning.
 */
export const checkGateway = Effect.fn("Check.gateway")(
  function* (treasury: Treasury) {
    // The file's own network is held against the file itself.
    if (isEmbedded(treasury)) return whole([])
    const { chainId } = yield* (yield* ChainContext).head
    if (chainId !== treasury.network.chainId) return yield* otherChain(treasury, chainId)
    const listed = yield* listing
    if (listed === undefined) {
      return without("the gateway tells no whole listing of assets; ids and decimals were not compared")
    }
    const wrong = wrongDecimals(treasury, listed, "at the gateway", "if not, the gateway is wrong")
    if (wrong.length > 0) return yield* new ConfigError({ problems: [...wrong] })
    return whole(otherwise(treasury, listed))
  },
  (effect, treasury) =>
    effect.pipe(
      Effect.provide(gatewayLayer({ treasury }).pipe(Layer.provide(layerMetrics(treasury)))),
      Effect.timeoutOrElse({ duration: gatewayPatience, orElse: () => Effect.succeed(unanswered) }),
      Effect.catchTag("GatewayError", ({ reason }) =>
        reason._tag === "OtherChain" ? otherChain(treasury, reason.chainId) : Effect.succeed(unanswered),
      ),
    ),
)

const unanswered = without("no gateway answered; chain id, asset ids and decimals were not compared")

const otherChain = ({ document, network }: Treasury, told: string) => {
  const message = `the gateway is on chain ${escapeText(told)}, not on ${network.chainId}`
  const remedy = "correct network.chainId, or the address in network.gateways"
  return Effect.fail(new ConfigError({ problems: [document.problem(["network", "chainId"], message, remedy)] }))
}

/** Undefined if the gateway lists no assets, or its list has no end. */
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
