import type { AssetState } from "../Chain.ts"
import type { Profile } from "../Profiles.ts"
import { isAssetId } from "./Accounts.ts"
import { type Detail, nodeError, ok, reads, refuseRequest, scalar } from "./Answer.ts"
import { byText, listedPage, readPaging } from "./Paging.ts"

const notFound = (inner: string): Detail => ({ code: 200_002, message: "failed to get asset for ID", inner })

const listing = byText("id", (asset: AssetState) => asset.id)

/** All assets of every status, in order of their ids; or the one requested. */
export const assets = reads("assets", "/api/v2/assets", function* (world, ask) {
  const node = (asset: AssetState) => nodeOf(asset, world.profile)
  const id = yield* scalar(ask.query, "asset_id")
  if (id !== undefined && id !== "") {
    if (!isAssetId(id)) {
      const inner = `failed to get asset by ID: decoding '${id}': not a valid hex id (or well known exception)`
      return yield* refuseRequest(nodeError("InvalidArgument", notFound(inner)))
    }
    const asset = yield* world.node.read((chain) => chain.assets.get(id.toLowerCase()))
    if (asset === undefined) {
      const inner = `failed to get asset by ID: ${id}: no resource corresponding to this id`
      return yield* refuseRequest(nodeError("NotFound", notFound(inner)))
    }
    const one = { limit: 1, forward: true, newestFirst: true, cursor: undefined }
    return ok({ assets: listedPage([asset], one, listing, node) })
  }
  const paging = yield* readPaging(ask.query)
  return ok({ assets: yield* world.node.read(({ assets }) => listedPage(assets.values(), paging, listing, node)) })
})

const nodeOf = (asset: AssetState, profile: Profile) => {
  const about = {
    name: asset.name,
    symbol: asset.symbol,
    decimals: String(asset.decimals),
    quantum: asset.quantum.toString(),
  }
  const source = sourceOf(asset, profile)
  return profile.assetShape === "nested"
    ? { id: asset.id, details: { ...about, ...source }, status: asset.status }
    : { id: asset.id, ...about, status: asset.status, details: source }
}

const sourceOf = ({ source }: AssetState, profile: Profile) => {
  if (source.kind === "builtin") {
    // A built-in asset without a faucet limit shows no source at all.
    return source.maxFaucetAmountMint === ""
      ? {}
      : { builtinAsset: { maxFaucetAmountMint: source.maxFaucetAmountMint } }
  }
  const { contractAddress, lifetimeLimit, withdrawThreshold, chainId } = source
  const erc20 = { contractAddress, lifetimeLimit, withdrawThreshold }
  return { erc20: profile.erc20ChainId ? { ...erc20, chainId } : erc20 }
}
