import { Console, Effect, Layer, Option, Schema } from "effect"
import { Prompt } from "effect/cli"
import { AssetIdText, Name, UrlText } from "../../config/schema/Fields.ts"
import type { Mode } from "../../config/Treasury.ts"
import { parseAmount } from "../../domain/Amount.ts"
import { type Asset, statusWord } from "../../domain/Asset.ts"
import { escapeText, GatewayError, ifSupported, wordsOf } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import { gatewayOptions, makeTransport } from "../../gateway/Transport.ts"
import { walkAssets } from "../../gateway/walkPages.ts"
import type { PinnedAsset, Share } from "../../rules/Account.ts"
import { fraction } from "../../rules/Snapshot.ts"
import { layerHttp } from "../../sockets/client.ts"
import { pinOf } from "../assets.ts"
import { failureOf, failWith } from "../common/output.ts"
import { layerMetrics } from "../run/logging.ts"

interface InitFlags {
  readonly gateway: ReadonlyArray<string>
  readonly asset: Option.Option<string>
  readonly below: Option.Option<string>
  readonly target: Option.Option<string>
}

/** Answers of the flags or the person, with the gateway's facts. */
export type InitAnswers = Effect.Success<ReturnType<typeof askMissing>>

/** Flags without which a treasury cannot be written. */
export const missingFlags = ({ gateway, asset, below, target }: InitFlags): ReadonlyArray<string> => [
  ...(gateway.length === 0 ? ["--gateway URL"] : []),
  ...(Option.isNone(asset) ? ["--asset SYMBOL"] : []),
  ...(Option.isNone(below) ? ["--below AMOUNT"] : []),
  ...(Option.isNone(target) ? ["--target AMOUNT"] : []),
]

/** One gateway is named main, several get letters; names become labels of metrics. */
export const gatewaysOf = (urls: ReadonlyArray<string>) =>
  urls.map((url, i) => [urls.length === 1 ? "main" : String.fromCharCode(97 + i), url] as const)

const ask = <A>(prompt: Prompt.Prompt<A>) =>
  Prompt.run(prompt).pipe(Effect.mapError(() => failWith("failure", "stopped; nothing was written")))

const decodeUrl = Schema.decodeUnknownEffect(UrlText)
const decodeName = Schema.decodeUnknownEffect(Name)

const askGateway = Effect.fnUntraced(function* () {
  for (;;) {
    const url = yield* ask(
      Prompt.String({
        message: "Address of the gateway, such as https://gateway.example or http://127.0.0.1:3008",
        validate: (text) => decodeUrl(text).pipe(Effect.mapError(({ message }) => message)),
      }),
    )
    const read = yield* Effect.result(readNetwork(url))
    if (read._tag === "Success") return { url, network: read.success }
    yield* Console.log(explainUnread(url, read.failure).message)
  }
})

/** The error, with a message for someone who knows only the address. */
const explainUnread = (url: string, error: GatewayError) => ({
  ...error,
  message: `gateway ${url}: ${wordsOf(error.reason)}; check the address, and that this host reaches it`,
})

/** Reads each gateway; all must be on one chain. Returns the facts of the first, undefined without a URL. */
const readGateways = Effect.fnUntraced(function* (urls: ReadonlyArray<string>) {
  let first: ReadNetwork | undefined
  for (const url of urls) {
    yield* decodeUrl(url).pipe(Effect.mapError(({ message }) => failWith("usage", `--gateway: ${message}`)))
    const network = yield* readNetwork(url).pipe(Effect.mapError((error) => failureOf(explainUnread(url, error))))
    if (first !== undefined && network.chainId !== first.chainId) {
      const chains = `${escapeText(network.chainId)}, and ${urls[0]} on ${escapeText(first.chainId)}`
      return yield* failWith("refused", `${url} is on chain ${chains}; name gateways of one network`)
    }
    first ??= network
  }
  return first
})

const isEnabled = ({ status }: Asset): boolean => statusWord(status) === "enabled"

const askAsset = (assets: ReadonlyArray<Asset>) => {
  const choices = assets.filter(isEnabled).map((asset) => ({
    title: `${escapeText(asset.symbol)}  ${escapeText(asset.name)}, ${asset.decimals} decimals, ${asset.id.slice(0, 12)}…`,
    value: asset.id,
  }))
  return choices.length === 0
    ? failWith("notFound", "the gateway lists no enabled asset")
    : ask(Prompt.Select({ message: "Asset that the rule pays", choices, maxPerPage: 10 }))
}

const isId = Schema.is(AssetIdText)

/** The pin of an asset that is named by its symbol or its id. */
const pinFor = (assets: ReadonlyArray<Asset>, named: string) => {
  const byId = isId(named) ? assets.find(({ id }) => id === named) : undefined
  return byId === undefined ? pinOf(named, assets, []) : pinOf(byId.symbol, assets, [named])
}

const askAmount = (message: string, { symbol, decimals }: PinnedAsset) =>
  ask(
    Prompt.String({
      message: `${message}, in ${symbol}`,
      validate: (text) => {
        const read = parseAmount(text, decimals)
        return "error" in read ? Effect.fail(read.error) : Effect.succeed(text)
      },
    }),
  )

/** Reads the gateways, and asks for whatever the flags leave out. */
export const askMissing = Effect.fnUntraced(function* (
  given: InitFlags & { readonly name: string; readonly mode: Mode },
) {
  const named = yield* readGateways(given.gateway)
  const asked = named === undefined ? yield* askGateway() : undefined
  const network = named ?? asked!.network
  const { chainId, assets, feeFactor } = network
  if (missingFlags(given).length > 0) {
    yield* Console.log(`chain ${escapeText(chainId)}, ${assets.filter(isEnabled).length} enabled assets`)
  }
  const asset = yield* pinFor(assets, Option.getOrUndefined(given.asset) ?? (yield* askAsset(assets)))
  const below = Option.getOrUndefined(given.below) ?? (yield* askAmount("Pay when the balance is below", asset))
  const target = Option.getOrUndefined(given.target) ?? (yield* askAmount("Restore the balance to", asset))
  const name = yield* decodeName(given.name).pipe(Effect.mapError(({ message }) => failWith("usage", message)))
  return {
    name,
    mode: given.mode,
    gateway: asked === undefined ? given.gateway : [asked.url],
    chainId,
    feeFactor,
    asset,
    /** As a person wrote them, in units of the asset. */
    below,
    target,
  }
})

/** Shows the file, and asks whether to write it. */
export const confirmWrite = (text: string) =>
  Effect.andThen(
    Console.log(`\n${text}`),
    ask(Prompt.Confirm({ message: "Write this file and its keys", initial: true })),
  )

const gatewayName = "init"
const requestDeadlineMillis = 5_000

/** Facts of a gateway for a treasury file: chain id, assets, and the transfer fee (undefined if it is not served). */
const readNetwork = Effect.fnUntraced(
  function* (url: string) {
    const transport = yield* makeTransport(gatewayOptions({ name: gatewayName, url, requestDeadlineMillis }))
    const reader = GatewayReader.make(transport)
    const { chainId } = yield* reader.head
    const { rows, complete } = yield* walkAssets(reader)
    if (!complete) {
      const detail = "the pages of the asset listing do not end"
      return yield* new GatewayError({
        gateway: gatewayName,
        operation: "assets",
        reason: { _tag: "Unreadable", detail },
      })
    }
    const parameters = yield* ifSupported(reader.parameters)
    const feeFactor: Share | undefined = fraction(parameters?.get("transfer.fee.factor") ?? "")
    return { chainId, assets: rows, feeFactor }
  },
  Effect.scoped,
  Effect.provide(
    Layer.merge(layerHttp, layerMetrics({ name: gatewayName, network: { gateways: [{ name: gatewayName }] } })),
  ),
)

type ReadNetwork = Effect.Success<ReturnType<typeof readNetwork>>
