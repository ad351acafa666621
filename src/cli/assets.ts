import { Effect, Layer, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { withCode } from "../config/code/withCode.ts"
import { AssetIdText, Name } from "../config/schema/Fields.ts"
import { TreasuryFile } from "../config/schema/TreasuryFile.ts"
import { type GatewayConfig, type Treasury, treasuryOf } from "../config/Treasury.ts"
import { decodeYaml } from "../config/yaml/decodeParts.ts"
import { readYaml } from "../config/yaml/Yaml.ts"
import { type Asset, statusText, statusWord } from "../domain/Asset.ts"
import { plural, several } from "../domain/text.ts"
import { escapeText, type GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import type { Pagination } from "../gateway/readRows.ts"
import { walkAssets } from "../gateway/walkPages.ts"
import { gatewayLayer } from "../layers.ts"
import type { PinnedAsset } from "../rules/Account.ts"
import { withLastFiles } from "./common/client.ts"
import { failureOf, failWith, outputFlag, printResult, table } from "./common/output.ts"
import {
  configFlag,
  dataFlag,
  fileArgument,
  fileOf,
  optionalInt,
  optionalText,
  setup,
  switchFlag,
} from "./common/setup.ts"
import { layerMetrics } from "./run/logging.ts"

/** The page parameters that both listings of the gateway take. */
export const pagingFlags = {
  first: optionalInt("first", "Number of rows after the cursor --after, 1 to 5000"),
  after: optionalText("after", "Cursor of the last row of the previous page"),
  last: optionalInt("last", "Number of rows before the cursor --before, 1 to 5000"),
  before: optionalText("before", "Cursor of the first row of the next page, to page backwards"),
  newestFirst: Flag.Boolean("newest-first").pipe(
    Flag.withDescription("Newest rows first; --no-newest-first: oldest first; default: the gateway's order"),
    Flag.optional,
  ),
  config: configFlag,
  data: dataFlag,
  gateway: optionalText("gateway", "Name or address of the gateway; default: the first in the treasury file"),
  output: outputFlag,
}

type ChosenPage = Command.Command.Config.Infer<typeof pagingFlags>

export const paginationOf = (chosen: ChosenPage): Pagination => ({
  first: Option.getOrUndefined(chosen.first),
  after: Option.getOrUndefined(chosen.after),
  last: Option.getOrUndefined(chosen.last),
  before: Option.getOrUndefined(chosen.before),
  newestFirst: Option.getOrUndefined(chosen.newestFirst),
})

/** The gateway chosen by name or address; default the first. Another address gets no headers: they hold secrets. */
export const gatewayOf = ({ network: { gateways } }: Treasury, asked: Option.Option<string>): GatewayConfig => {
  const named = Option.getOrElse(asked, () => gateways[0].name)
  const known = gateways.find(({ name }) => name === named) ?? gateways.find(({ url }) => url === named)
  return known ?? { name: named, url: named, headerFiles: new Map() }
}

/** One gateway of the treasury by itself. */
const layerAlone = (treasury: Treasury, gateway: GatewayConfig) => {
  const alone = { ...treasury, network: { ...treasury.network, gateways: [gateway] as const, quorum: 1 } }
  return gatewayLayer({ treasury: alone }).pipe(Layer.provide(layerMetrics(alone)))
}

/** Reads from one gateway of the treasury. The gateway's error becomes the command's failure. */
export const readFromGateway = <A>(chosen: ChosenPage, read: Effect.Effect<A, GatewayError, GatewayReader>) =>
  Effect.gen(function* () {
    const { treasury } = yield* setup(chosen)
    return yield* read.pipe(Effect.provide(layerAlone(treasury, gatewayOf(treasury, chosen.gateway))))
  }).pipe(Effect.catchTag("GatewayError", failureOf))

const symbolsIn = (value: object): ReadonlyArray<string> =>
  Object.entries(value).flatMap(([key, inner]) => {
    // Maps by the names of parties.
    if (key === "weights" || key === "to") return []
    if (typeof inner !== "object" || inner === null) return key === "asset" ? [String(inner)] : []
    return key === "floor" || key === "min" ? Object.keys(inner) : symbolsIn(inner)
  })

/** Symbols in the rules, the policy and the floors of a file. */
const symbolsOf = ({ parties = {}, rules = [], policy }: TreasuryFile): ReadonlyArray<string> => {
  const symbols = symbolsIn([...Object.values(parties), ...rules, { policy }])
  return [...new Set(symbols)].filter((symbol) => symbol !== "any").toSorted()
}

/** All assets of the file's gateway. Rules are left out: they may name assets that are not pinned yet. */
const listingOf = Effect.fnUntraced(function* (file: string, address: Option.Option<string>) {
  const document = yield* withCode(yield* readYaml(file))
  const raw = yield* decodeYaml(TreasuryFile, document)
  const { rules: _, policy: __, parties: ___, assets: ____, ...rest } = document.value as Record<string, unknown>
  const treasury = yield* treasuryOf({ ...document, value: rest })
  const walk = yield* Effect.flatMap(GatewayReader, walkAssets).pipe(
    Effect.provide(layerAlone(treasury, gatewayOf(treasury, address))),
  )
  if (!walk.complete) return yield* failWith("failure", "the asset listing does not end")
  return { raw, assets: walk.rows }
})

const isSymbol = Schema.is(Name)
const isId = Schema.is(AssetIdText)

/** Pin of the listed asset with the symbol. If several have it, `chosen` must have the id of one of them. */
export const pinOf = (symbol: string, listed: ReadonlyArray<Asset>, chosen: ReadonlyArray<string>) => {
  const all = listed.filter((asset) => asset.symbol === symbol && statusWord(asset.status) !== "rejected")
  const wanted = all.length > 1 ? all.filter(({ id }) => chosen.includes(id)) : all
  const [asset, ...others] = wanted
  if (all.length > 1 && (asset === undefined || others.length > 0)) {
    const list = all.map(
      ({ id, name, status, decimals }) =>
        `  --asset-id ${id}   ${escapeText(name)}, ${statusText(statusWord(status))}, ${decimals} decimals`,
    )
    return failWith("refused", [`${all.length} assets call themselves ${symbol}; choose one:`, ...list].join("\n"))
  }
  if (asset === undefined) {
    const symbols = several([...new Set(listed.map((one) => escapeText(one.symbol)))]) || "none"
    return failWith("notFound", `no asset of the gateway calls itself ${symbol}; it lists ${symbols}`)
  }
  if (!isSymbol(symbol) || !isId(asset.id)) {
    return failWith("refused", `"${escapeText(symbol)}" (${escapeText(asset.id)}) cannot stand in a treasury file`)
  }
  return Effect.succeed({ symbol, id: asset.id, decimals: asset.decimals })
}

/** Options of `assets --pin`. */
interface Pinning {
  readonly file: string
  /** Empty: those that the file uses. */
  readonly symbols: ReadonlyArray<string>
  /** Ids that decide between assets of one symbol. */
  readonly ids: ReadonlyArray<string>
  readonly gateway: Option.Option<string>
}

/**
 * Pins for a treasury file from its gateway's listing. Fails if the file has a different pin: a person must decide
 * which one is right.
 */
const pinAssets = Effect.fn("Cli.pinAssets")(function* (pinning: Pinning) {
  const { raw, assets } = yield* listingOf(pinning.file, pinning.gateway)
  const byId = assets.filter(({ id }) => pinning.ids.includes(id)).map(({ symbol }) => symbol)
  const asked = [...new Set([...pinning.symbols, ...byId])]
  const symbols = asked.length > 0 ? asked : symbolsOf(raw)
  if (symbols.length === 0) return yield* failWith("usage", "the file names no asset; name one by --symbol")
  const pins: Array<PinnedAsset> = []
  for (const symbol of symbols) pins.push(yield* pinOf(symbol, assets, pinning.ids))
  for (const pin of pins) {
    const pinned = raw.assets?.[pin.symbol]
    if (pinned === undefined) continue
    if (pinned.id !== pin.id || Number(pinned.decimals) !== pin.decimals) {
      const both = `${pinned.id} with ${pinned.decimals} decimals, listed as ${pin.id} with ${pin.decimals}`
      return yield* failWith("refused", `${pin.symbol} is pinned as ${both}; remove the pin if it is wrong`)
    }
  }
  const lines = pins.map(({ symbol, id, decimals }) => `  ${symbol}: { id: "${id}", decimals: ${decimals} }`)
  return { pins, text: ["assets:", ...lines].join("\n") }
})

export const assetsCommand = Command.make(
  "assets",
  {
    file: fileArgument,
    assetId: optionalText("asset-id", "Show only the asset with this id"),
    pin: switchFlag("pin", "Print the assets section for a treasury file"),
    symbol: Flag.String("symbol").pipe(
      Flag.withDescription("With --pin: print this asset, instead of all that the file uses; may be repeated"),
      Flag.atLeast(0),
    ),
    ...pagingFlags,
  },
  Effect.fn(function* (chosen) {
    if (chosen.pin) {
      const { pins, text } = yield* pinAssets({
        file: fileOf(chosen),
        symbols: chosen.symbol,
        ids: Option.toArray(chosen.assetId),
        gateway: chosen.gateway,
      }).pipe(Effect.catchTag("GatewayError", (error) => failWith("failure", error.message)))
      const assets = Object.fromEntries(pins.map(({ symbol, ...pin }) => [symbol, pin]))
      return yield* printResult(chosen.output, { assets }, () => text)
    }
    const page = yield* readFromGateway(
      yield* withLastFiles(chosen),
      Effect.flatMap(GatewayReader, (reader) =>
        reader.assets({ assetId: Option.getOrUndefined(chosen.assetId), ...paginationOf(chosen) }),
      ),
    )
    yield* printResult(chosen.output, page, () =>
      [
        table([
          ["symbol", "status", "decimals", "quantum", "source", "id"],
          ...page.rows.map(({ node }) => [
            node.symbol,
            statusText(statusWord(node.status)),
            String(node.decimals),
            String(node.quantum),
            node.source.kind,
            node.id,
          ]),
        ]),
        `${plural(page.rows.length, "asset")}${page.pageInfo.hasNextPage ? `; more with --after ${page.pageInfo.endCursor}` : ""}`,
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("List the assets of the network"))
