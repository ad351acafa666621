import { Effect, Layer, Option } from "effect"
import { Flag } from "effect/cli"
import type { GatewayConfig, Treasury } from "../../config/Treasury.ts"
import type { GatewayError } from "../../gateway/GatewayError.ts"
import type { GatewayReader, Pagination } from "../../gateway/GatewayReader.ts"
import { gatewayLayer } from "../../layers.ts"
import { layerMetrics } from "../run/logging.ts"
import { failureOf, outputFlag } from "./output.ts"
import { type Chosen, configFlag, dataFlag, setup } from "./setup.ts"

/** The page parameters that both listings of the gateway take. */
export const pagingFlags = {
  first: Flag.Int("first").pipe(Flag.withDescription("Rows after the cursor --after, 1 to 5000"), Flag.optional),
  after: Flag.String("after").pipe(Flag.withDescription("Cursor of the last row of the page before"), Flag.optional),
  last: Flag.Int("last").pipe(Flag.withDescription("Rows before the cursor --before, 1 to 5000"), Flag.optional),
  before: Flag.String("before").pipe(Flag.withDescription("Cursor for paging backwards"), Flag.optional),
  newestFirst: Flag.Boolean("newest-first").pipe(
    Flag.withDescription("Newest rows first, the gateway's default; --no-newest-first for oldest first"),
    Flag.optional,
  ),
  config: configFlag,
  data: dataFlag,
  gateway: Flag.String("gateway").pipe(
    Flag.withDescription("Address of the gateway, instead of the treasury file's"),
    Flag.optional,
  ),
  output: outputFlag,
}

interface ChosenPage extends Chosen {
  readonly first: Option.Option<number>
  readonly after: Option.Option<string>
  readonly last: Option.Option<number>
  readonly before: Option.Option<string>
  readonly newestFirst: Option.Option<boolean>
  readonly gateway: Option.Option<string>
}

/** An object with the key only where there is a value. */
export const given = <K extends string, A>(key: K, value: Option.Option<A>): { readonly [P in K]?: A } =>
  Option.isSome(value) ? ({ [key]: value.value } as { readonly [P in K]?: A }) : {}

export const paginationOf = (chosen: ChosenPage): Pagination => ({
  ...given("first", chosen.first),
  ...given("after", chosen.after),
  ...given("last", chosen.last),
  ...given("before", chosen.before),
  ...given("newestFirst", chosen.newestFirst),
})

/** The gateway chosen by name or address; default the first. */
export const gatewayOf = ({ network }: Treasury, asked: Option.Option<string>): GatewayConfig => {
  const [first] = network.gateways
  const named = Option.getOrElse(asked, () => first.name)
  return network.gateways.find(({ name }) => name === named) ?? { ...first, url: named }
}

/** One gateway of the treasury by itself. */
export const layerAlone = (treasury: Treasury, gateway: GatewayConfig) => {
  const alone = { ...treasury, network: { ...treasury.network, gateways: [gateway] as const, quorum: 1 } }
  return gatewayLayer({ treasury: alone }).pipe(Layer.provide(layerMetrics(alone)))
}

/** Runs a read against one gateway of the treasury; what it says against it is the failure's text. */
export const reading = <A>(chosen: ChosenPage, read: Effect.Effect<A, GatewayError, GatewayReader>) =>
  Effect.gen(function* () {
    const { treasury } = yield* setup(chosen)
    return yield* read.pipe(Effect.provide(layerAlone(treasury, gatewayOf(treasury, chosen.gateway))))
  }).pipe(Effect.catchTag("GatewayError", failureOf))
