import { Schema, SchemaGetter } from "effect"
import { type Asset, assetStatusNumbers } from "../../domain/Asset.ts"
import { Connection, enumText, OwnId, SafeUint, Text } from "./Numbers.ts"

const statusNames = new Map<number, string>(Object.entries(assetStatusNumbers).map(([name, n]) => [n, name]))
const Status = enumText((number) => statusNames.get(number) ?? String(number))

/** An amount that may be missing: "" is the default of a text field, and reads as 0. */
const Quantum = Schema.String.check(
  Schema.makeFilter((text: string) => /^(0|[1-9][0-9]{0,77})?$/.test(text), { expected: "a whole number as digits" }),
)

/** The four fields that the specification writes beside `details` and real networks inside it. */
const described = {
  name: Schema.optional(Schema.NullOr(Schema.String)),
  symbol: Schema.optional(Schema.NullOr(Schema.String)),
  decimals: Schema.optional(Schema.NullOr(SafeUint)),
  quantum: Schema.optional(Schema.NullOr(Quantum)),
}

const Details = Schema.Struct({
  ...described,
  builtinAsset: Schema.optional(Schema.NullOr(Schema.Struct({ maxFaucetAmountMint: Text }))),
  erc20: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        contractAddress: Text,
        lifetimeLimit: Text,
        withdrawThreshold: Text,
        chainId: Schema.optional(Schema.NullOr(Schema.String)),
      }),
    ),
  ),
})
type Details = typeof Details.Type

const Wire = Schema.Struct({
  id: OwnId,
  ...described,
  details: Schema.optional(Schema.NullOr(Details)),
  status: Status,
})
type Wire = typeof Wire.Type

/** At most one source is set on real networks; were there two, the external one says more. */
const source = (details: Details | undefined): Asset["source"] => {
  if (details?.erc20) {
    const { chainId, ...rest } = details.erc20
    return { kind: "erc20", ...rest, ...(typeof chainId === "string" ? { chainId } : {}) }
  }
  if (details?.builtinAsset) return { kind: "builtin", ...details.builtinAsset }
  return { kind: "unknown" }
}

const toAsset = (wire: Wire): Asset => {
  const details = wire.details ?? undefined
  return {
    id: wire.id,
    name: details?.name ?? wire.name ?? "",
    symbol: details?.symbol ?? wire.symbol ?? "",
    decimals: details?.decimals ?? wire.decimals ?? 0,
    quantum: BigInt(details?.quantum ?? wire.quantum ?? ""),
    status: wire.status,
    source: source(details),
  }
}

/** One asset in either shape; where a field stands twice, the one inside counts. */
export const AssetRow = Wire.pipe(
  Schema.decodeTo(
    Schema.declare((u: unknown): u is Asset => typeof u === "object" && u !== null),
    { decode: SchemaGetter.transform(toAsset), encode: SchemaGetter.forbidden(() => "assets are only read") },
  ),
)

/** Answer of GET /api/v2/assets. */
export const AssetsAnswer = Schema.Struct({ assets: Connection(AssetRow) })
