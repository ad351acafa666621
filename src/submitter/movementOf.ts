import { Effect } from "effect"
import { general } from "../domain/AccountType.ts"
import type { Attempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import { type AccountBalance, Observations } from "../store/Observations.ts"

/** A step of one account's balance, at a block time. */
interface Step {
  readonly at: bigint
  readonly by: bigint
}

/** The steps between consecutive rows of the general account. */
export const stepsOf = (rows: ReadonlyArray<AccountBalance>): ReadonlyArray<Step> => {
  const own = rows.filter((row) => row.type === general && row.market === "")
  return own.slice(1).map((row, i) => ({ at: row.timestamp, by: row.balance - own[i]!.balance }))
}

/** How far before the signature the opening balances are looked for. */
const openingNanos = 86_400_000_000_000n

/**
 * The execution of an attempt as both accounts show it: in one block the receiver gained exactly the amount and the
 * sender lost it with a fee of at most feeMax. Undefined unless exactly one block fits.
 */
export const movementOf = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt) {
  const observations = yield* Observations
  const { fromKey, toKey, assetId, amount } = intent.payment
  const signedAt = BigInt(attempt.createdAt) * 1_000_000n
  const since = signedAt - openingNanos
  const lost = stepsOf(yield* observations.history(fromKey, assetId, since))
  const gained = stepsOf(yield* observations.history(toKey, assetId, since))
  const fits = lost.flatMap(({ at, by }) => {
    const fee = -by - amount
    const matches = at > signedAt && fee >= 0n && fee <= intent.feeMax
    return matches && gained.some((step) => step.at === at && step.by === amount) ? [{ fee, settledAt: at }] : []
  })
  return fits.length === 1 ? fits[0] : undefined
})
