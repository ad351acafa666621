import { Clock, Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { general } from "../domain/Balance.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { millisOf, nanosOf } from "../domain/Time.ts"
import { ifSupported, warnOf } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { type ChainProgress, isProofOverdue, sureHeight } from "../payments/judgeAttempt.ts"
import {
  behindNanos,
  type Ends,
  hasMoved,
  inMicros,
  isAlike,
  overlapMillis,
  signedAfterOf,
  signedBy,
  stepsOf,
} from "../payments/movements.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Signals } from "../store/database/Signals.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { AuditMemory } from "./AuditMemory.ts"

/** Counts the ledger's movements for each of the attempts; undefined if the gateway cannot report them. */
export const loadSends = Effect.fn("Reconcile.sends")(function* (party: string, attempts: ReadonlyArray<Attempt>) {
  const reader = yield* GatewayReader
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const newest = (yield* (yield* Observations).watermark)?.timestamp ?? now
  const since = attempts.map(signedBy).reduce((first, time) => (time < first ? time : first)) - behindNanos
  return yield* ifSupported(reader.sends(party, since, newest > now ? newest : now))
})

/** Changes of the balances of payer (`lost`) and receiver (`gained`) since a block time (Unix nanoseconds). */
export const loadSteps = Effect.fnUntraced(function* ({ payment }: Intent, since: bigint) {
  const observations = yield* Observations
  const { fromKey, toKey, assetId: asset, amount } = payment
  const stepsFor = Effect.fnUntraced(function* (party: string, opens?: bigint) {
    const before = yield* observations.before({ party, asset, market: "", type: general }, since)
    return stepsOf(yield* observations.history(party, asset, since), before, opens)
  })
  return { lost: yield* stepsFor(fromKey), gained: yield* stepsFor(toKey, amount) }
})

/** Balance changes of both ends, since the first block that may hold the attempt or one of `others`. */
export const loadEnds = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt) {
  const { id, payment } = intent
  const outbox = yield* Outbox
  const settled = yield* outbox.settledSince(attempt.createdAt - overlapMillis)
  const others = settled.filter(
    (other) =>
      other.id !== id &&
      other.state === "confirmed" &&
      other.payment.fromKey === payment.fromKey &&
      other.payment.assetId === payment.assetId,
  )
  const times = others.flatMap(({ settledAt }) => (settledAt === undefined ? [] : [inMicros(settledAt)]))
  const since = times.reduce((first, time) => (time < first ? time : first), signedAfterOf(attempt))
  const until = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const steps = yield* loadSteps(intent, since)
  const places = new Set(steps.lost.map(({ at }) => inMicros(at)))
  const isPlaced = ({ settledAt }: Intent) => settledAt !== undefined && places.has(inMicros(settledAt))
  const signed = { ...signedOn(attempt), blockMillis: yield* (yield* Observations).blockMillis }
  const mayBeHere = (one: Attempt) => !isProofOverdue(one, sureHeight(one, signed))
  // One whose block is not known, as where people resolved it, is in none of these if its window was over before.
  const here = yield* Effect.filter(others, (other) =>
    isPlaced(other)
      ? Effect.succeed(true)
      : Effect.map(outbox.attempts(other.id), (all) => all.length === 0 || all.some(mayBeHere)),
  )
  return { ...steps, others: here, until } satisfies Ends
})

/** How far the chain was when the attempt was signed. */
export const signedOn = (attempt: Attempt) => ({
  reported: attempt.anchorHeight,
  now: millisOf(signedAfterOf(attempt)),
})

/**
 * Another payment of one of the accounts that may execute in a later block than these, as text: there the balances do
 * not tell which of them moved money. Undefined without one. `reported` and `now` are the height and the time of the
 * block. An equal payment counts until it has ended, since a wrong clock or head must not swap the two.
 */
export const otherUnderWay = Effect.fnUntraced(function* (
  intent: Intent,
  after: Pick<ChainProgress, "reported" | "now">,
) {
  const { fromKey, toKey, assetId } = intent.payment
  const { chainId } = (yield* CycleConfig).treasury.network
  const outbox = yield* Outbox
  const progress = { ...after, blockMillis: yield* (yield* Observations).blockMillis }
  // Bytes of another chain execute on none of these blocks.
  const live = (yield* outbox.live).filter((attempt) => attempt.chainId === chainId)
  const mayExecute = (other: Intent) => (attempt: Attempt) =>
    attempt.intentId === other.id && (isAlike(other, intent) || !isProofOverdue(attempt, sureHeight(attempt, progress)))
  const other = (yield* outbox.open).find(
    (one) =>
      one.id !== intent.id &&
      one.payment.assetId === assetId &&
      [one.payment.fromKey, one.payment.toKey].some((key) => key === fromKey || key === toKey) &&
      live.some(mayExecute(one)),
  )
  if (other === undefined) return undefined
  const [id, state] = [shortId(other.id), other.state === "manual" ? "manual" : "under way"]
  return `payment ${id} of ${other.payment.from} is ${state}, and only balances show here which payment executed`
})

/** Shortest interval between queries of the ledger's movements for one payment that balances do not show. */
const askMillisMin = 5_000

/**
 * Records the movement of each confirmed payment once it is seen. Until then both ends stay reserved, so that a single
 * gateway's false confirmation causes no second payment while the bytes may still execute.
 */
export const recordMovements = Effect.fn("Confirm.moved")(function* () {
  const outbox = yield* Outbox
  for (const intent of yield* outbox.unmoved) {
    const attempt = (yield* outbox.attempts(intent.id)).find(({ state }) => state === "confirmed")
    if (attempt === undefined) continue
    const isShown = hasMoved(intent, attempt, yield* loadEnds(intent, attempt))
    if (!isShown && !(yield* isMovementListed(attempt))) continue
    const detail = isShown ? "the balances moved by the amount" : "the ledger lists the movement"
    yield* outbox.addEvidence(attempt, "moved", { gateway: "", height: undefined, detail })
    yield* (yield* Signals).wake("engine")
  }
})

/** True if the ledger lists the movement. False also within `askMillisMin` of the last query, and without an answer. */
const isMovementListed = Effect.fnUntraced(function* (attempt: Attempt) {
  const now = yield* Clock.currentTimeMillis
  if (!(yield* (yield* AuditMemory).claimDue(`moved/${attempt.transferId}`, now, askMillisMin))) return false
  return yield* loadSends(attempt.party, [attempt]).pipe(
    Effect.map((sends) => sends?.counts.has(attempt.transferId) === true),
    Effect.catchTag("GatewayError", (error) => Effect.as(warnOf("payment movements not looked up", error), false)),
  )
})
