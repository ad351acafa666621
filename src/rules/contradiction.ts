import { statusText } from "../domain/Asset.ts"
import type { PinnedAsset } from "./Rule.ts"
import type { Listed } from "./Snapshot.ts"

/** How the listing contradicts what the configuration says of an asset, in words; undefined where it agrees. */
export const contradiction = (
  asset: PinnedAsset,
  listed: Pick<Listed, "status" | "decimals"> | undefined,
): string | undefined => {
  if (listed === undefined) return `${asset.symbol} (${asset.id}) is not listed`
  if (listed.status !== "enabled") return `${asset.symbol} is ${statusText(listed.status)}`
  if (listed.decimals === asset.decimals) return undefined
  return `${asset.symbol} is listed with ${listed.decimals} decimals, pinned with ${asset.decimals}`
}

/** Scope of the pause by which a contradiction stops an asset; a person's own is "asset:SYMBOL". */
export const pinScope = (symbol: string): string => `pin:${symbol}`

/** Scopes that stop payments of an asset. */
export const assetScopes = (symbol: string): ReadonlyArray<string> => [`asset:${symbol}`, pinScope(symbol)]
