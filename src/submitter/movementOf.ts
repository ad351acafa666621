import { Effect, Option } from "effect"
import { general } from "../domain/AccountType.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { type AccountBalance, Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"

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
  const fits = yield* fitsOf(intent, attempt.createdAt)
  return fits.length === 1 ? fits[0] : undefined
})

/** The blocks since a time (Unix milliseconds) in which both ends moved by exactly the payment. */
const fitsOf = Effect.fnUntraced(function* (intent: Intent, sinceMillis: number) {
  const observations = yield* Observations
  const { fromKey, toKey, assetId, amount } = intent.payment
  const signedAt = BigInt(sinceMillis) * 1_000_000n
  const since = signedAt - openingNanos
  const lost = stepsOf(yield* observations.history(fromKey, assetId, since))
  const gained = stepsOf(yield* observations.history(toKey, assetId, since))
  return lost.flatMap(({ at, by }) => {
    const fee = -by - amount
    const matches = at > signedAt && fee >= 0n && fee <= intent.feeMax
    return matches && gained.some((step) => step.at === at && step.by === amount) ? [{ fee, settledAt: at }] : []
  })
})

/**
 * By intent: how many executions of a payment the balances show beyond those that payments explain. Only blocks count
 * in which both ends moved by exactly such a payment, so what else an account does is never taken for one.
 */
export const excessOf = Effect.fnUntraced(function* (attempts: ReadonlyArray<Attempt>) {
  const outbox = yield* Outbox
  const found = new Map<string, number>()
  const since = Math.min(...attempts.map((attempt) => attempt.createdAt))
  const known = [...(yield* outbox.settledSince(since)), ...(yield* outbox.open)]
  for (const attempt of attempts) {
    const intent = Option.getOrUndefined(yield* outbox.byId(attempt.intentId))
    if (intent === undefined) continue
    const alike = known.filter(
      ({ payment, state }) =>
        payment.fromKey === intent.payment.fromKey &&
        payment.toKey === intent.payment.toKey &&
        payment.assetId === intent.payment.assetId &&
        payment.amount === intent.payment.amount &&
        (state === "confirmed" || !isFinalIntent(state)),
    )
    const excess = (yield* fitsOf(intent, since)).length - alike.length
    if (excess > 0) found.set(intent.id, excess)
  }
  return found
})
