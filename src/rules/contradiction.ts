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

/** What to do where the listing contradicts the configuration, for people. */
export const pinRemedy = (asset: PinnedAsset, listed: Pick<Listed, "status" | "decimals"> | undefined): string => {
  const mended = (what: string): string =>
    `${what}, then "cofferer reload --reason TEXT"; if not, the gateway is wrong: ask who runs it`
  if (listed === undefined) return mended("if its id in the treasury file is wrong, mend it")
  if (listed.status !== "enabled") return "it goes on once the listing says enabled"
  const right = `write "decimals: ${listed.decimals}" for ${asset.symbol} in the treasury file`
  return mended(`if the listing is right, ${right}`)
}

/** Scope of the pause by which a contradiction stops an asset; a person's own is "asset:SYMBOL". */
export const pinScope = (symbol: string): string => `pin:${symbol}`

/** Scopes that stop payments of an asset. */
export const assetScopes = (symbol: string): ReadonlyArray<string> => [`asset:${symbol}`, pinScope(symbol)]
