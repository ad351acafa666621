import { Clock, Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { assetsReadKey, assetsUnlistedKey, parametersReadKey, parametersServedKey } from "../domain/Time.ts"
import type { Share } from "../rules/Account.ts"
import { contradiction, pinRemedy } from "../rules/checks/stops.ts"
import { type FeeTerms, feeAgeMillisMax } from "../rules/policy/FeeTerms.ts"
import { fraction } from "../rules/Snapshot.ts"
import { Settings } from "../store/database/Settings.ts"
import { Listings } from "../store/network/Listings.ts"

/**
 * Network fee of a transfer of the asset, for the signer to judge; undefined if it is unknown. The configured fee
 * counts only if the gateways report that they have no parameters.
 */
export const feeTermsOf = Effect.fnUntraced(function* (assetId: string) {
  const settings = yield* Settings
  const quantum = yield* quantumOf(assetId)
  const capOf = (maxQuantum: Share | undefined): bigint | undefined =>
    quantum === undefined || maxQuantum === undefined
      ? undefined
      : (quantum * maxQuantum.numerator) / maxQuantum.denominator
  if ((yield* settings.get(parametersServedKey)) === "no") {
    const { fee } = (yield* CycleConfig).treasury.network
    const written: FeeTerms | undefined =
      fee === undefined ? undefined : { factor: fee.factor, cap: capOf(fee.maxQuantum), readAt: undefined }
    return written
  }
  const parameters = yield* (yield* Listings).parameters
  const readAt = yield* settings.get(parametersReadKey)
  const factor = fraction(parameters.get("transfer.fee.factor") ?? "")
  if (factor === undefined || readAt === undefined) return undefined
  const cap = capOf(fraction(parameters.get("transfer.fee.maxQuantumAmount") ?? ""))
  const read: FeeTerms = { factor, cap, readAt: Number(readAt) }
  return read
})

/** The asset's quantum as listed of late: an old one may cap a fee that is higher by now. */
const quantumOf = Effect.fnUntraced(function* (assetId: string) {
  const readAt = Number((yield* (yield* Settings).get(assetsReadKey)) ?? Number.NaN)
  const age = (yield* Clock.currentTimeMillis) - readAt
  if (!(age >= 0 && age <= feeAgeMillisMax)) return undefined
  return (yield* (yield* Listings).assets).find(({ id }) => id === assetId)?.quantum
})

/**
 * Why nothing of the asset may be signed as it is pinned: its decimals are not compared with the listing yet, or are
 * others there, whatever a person resumed. Undefined where they agree, and where no gateway lists assets. Ask in the
 * transaction that signs.
 */
export const pinLacking = Effect.fnUntraced(function* (assetId: string) {
  const pin = [...(yield* CycleConfig).treasury.assets.values()].find(({ id }) => id === assetId)
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
