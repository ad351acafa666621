import { Clock, Effect } from "effect"
import { assetsReadKey, parametersReadKey, parametersServedKey } from "../domain/readings.ts"
import { type FeeTerms, feeAgeMillisMax } from "../rules/FeeTerms.ts"
import type { Share } from "../rules/Rule.ts"
import { fraction } from "../rules/Snapshot.ts"
import { Listings } from "../store/Listings.ts"
import { Settings } from "../store/Settings.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * What the network takes of a transfer of the asset, for the signer to judge; undefined where that is not known. What a
 * person wrote down counts where the gateways say that they have no parameters, and nowhere else.
 */
export const feeTermsOf = Effect.fnUntraced(function* (assetId: string) {
  const settings = yield* Settings
  const quantum = yield* quantumOf(assetId)
  const capOf = (maxQuantum: Share | undefined): bigint | undefined =>
    quantum === undefined || maxQuantum === undefined
      ? undefined
      : (quantum * maxQuantum.numerator) / maxQuantum.denominator
  if ((yield* settings.get(parametersServedKey)) === "no") {
    const { fee } = yield* SubmitterOptions
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
