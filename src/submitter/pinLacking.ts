import { Effect } from "effect"
import { assetsReadKey, assetsUnlistedKey } from "../domain/readings.ts"
import { contradiction, pinRemedy } from "../rules/contradiction.ts"
import { Listings } from "../store/Listings.ts"
import { Settings } from "../store/Settings.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * Why nothing of the asset may be signed as it is pinned: its decimals are not compared with the listing yet, or are
 * others there, whatever a person resumed. Undefined where they agree, and where no gateway lists assets. Ask in the
 * transaction that signs.
 */
export const pinLacking = Effect.fnUntraced(function* (assetId: string) {
  const pin = [...(yield* SubmitterOptions).assets.values()].find(({ id }) => id === assetId)
  if (pin === undefined) return undefined
  const settings = yield* Settings
  const assets = yield* (yield* Listings).assets
  if (assets.length === 0 || (yield* settings.get(assetsReadKey)) === undefined) {
    const isUnlisted = (yield* settings.get(assetsUnlistedKey)) !== undefined
    return isUnlisted ? undefined : `${pin.symbol} is not compared with the asset listing yet`
  }
  const listed = assets.find(({ id }) => id === assetId)
  if (listed === undefined || listed.decimals === pin.decimals) return undefined
  const enabled = { decimals: listed.decimals, status: "enabled" } as const
  return `${contradiction(pin, enabled)}; ${pinRemedy(pin, enabled)}`
})
