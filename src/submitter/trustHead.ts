import { Clock, Effect } from "effect"
import { type Attempt, deadlineHeight } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { unsettledFrom } from "../domain/IntentWait.ts"
import { type HeadBounds, isPlausible, taken } from "../rules/headBelief.ts"
import { Database } from "../store/Database.ts"
import { Journal } from "../store/Journal.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { TrustedHead } from "../store/TrustedHead.ts"
import { say } from "../telemetry/say.ts"
import { VerbRefused } from "./endIntent.ts"
import { doubtfulUntil, isOver, type Reached, sureHeight } from "./evidence.ts"
import { reachedNow } from "./reached.ts"

/** A person's word for the newest block. */
export interface TrustedByPeople {
  readonly treasury: string
  readonly chainId: string
  /** What another source than the doubted gateway shows. */
  readonly height: bigint
  readonly bounds: HeadBounds
  readonly author: string
  readonly reason: string
}

/**
 * Asked before something is believed: whoever must agree to it. In words that stay the same while it is doubted, and
 * are others for a later doubt: nothing else uses up what was signed for this one.
 */
export type Agree<E, R> = (words: string) => Effect.Effect<unknown, E, R>

/**
 * Believes a doubted newest block on people's word: the one that the gateways tell by now, which may have grown since
 * people looked. Refused where nothing is doubted, where the latest answers contradict each other or their row headers,
 * where they tell another block than people name, and while a payment that is out could thereby count as over that is
 * not: it would be paid twice.
 */
export const trustHead = Effect.fn("People.trustHead")(function* <E, R>(asked: TrustedByPeople, agree: Agree<E, R>) {
  const belief = yield* (yield* Database).atomically(trust(asked, agree))
  yield* (yield* TrustedHead).keep(asked.chainId, belief)
  const signals = yield* Signals
  for (const loop of ["submitter", "confirm", "reconcile"] as const) yield* signals.wake(loop)
  return { trusted: String(belief.trusted?.height) }
})

const trust = Effect.fnUntraced(function* <E, R>(asked: TrustedByPeople, agree: Agree<E, R>) {
  const { treasury, chainId, height, bounds, author, reason } = asked
  const now = yield* Clock.currentTimeMillis
  const belief = yield* (yield* TrustedHead).of(chainId)
  const { doubt } = belief
  const reached = yield* reachedNow(chainId)
  if (doubt === undefined) return yield* refused("no head is doubted", "nothing is left to do")
  if (doubt.begunBelow !== undefined) {
    const message = `the chain begins again below block ${doubt.begunBelow}, which was known`
    return yield* refused(
      message,
      'correct the address; where the network was reset, "resume" ends the halt that comes',
    )
  }
  const { trustable } = doubt
  if (trustable === undefined) {
    const message = "the latest answers show no newest block that the others and the row headers bear out"
    return yield* refused(message, "replace the gateway that is wrong, or ask again once they agree")
  }
  if (!isPlausible(trustable, { height, at: doubt.since }, now, bounds)) {
    const message = `the gateway tells block ${trustable}, which cannot follow block ${height}`
    return yield* refused(message, "where another source shows yours, the gateway is wrong: replace it")
  }
  const open = (yield* (yield* Outbox).live).find((attempt) =>
    isEndedBy(attempt, trustable, { ...reached, told: belief.trusted?.height ?? 0n }),
  )
  if (open !== undefined) {
    const until = new Date(unsettledFrom(open)).toISOString()
    return yield* refused(
      `payment ${shortId(open.intentId)} may execute until block ${deadlineHeight(open)}, and would count as over`,
      `"intents resolve" it where the ledger shows it as executed, or ask again after ${until}`,
    )
  }
  const before = belief.trusted === undefined ? "none" : `block ${belief.trusted.height}`
  // The block that is taken may grow from one signature to the next.
  const since = new Date(doubt.since).toISOString()
  yield* agree(`block ${height} as begun, where ${before} was believed, doubted since ${since}`)
  const detail = `${author} trusts the newest block ${trustable}: ${reason}`
  yield* (yield* Journal).append({
    kind: "config",
    subject: treasury,
    body: { detail, trusted: String(trustable), named: String(height), before, reason, author },
  })
  yield* say("trusted", { subject: treasury, detail })
  return taken(belief, trustable, now)
})

/** Whether an attempt that is out would count as over by this block, and by what is sure and by time need not be. */
const isEndedBy = (attempt: Attempt, height: bigint, before: Reached): boolean =>
  attempt.state !== "signed" &&
  height > doubtfulUntil(attempt) &&
  !isOver(attempt, sureHeight(attempt, before)) &&
  before.now < unsettledFrom(attempt)

const refused = (message: string, remedy: string) => new VerbRefused({ message, remedy, isBusy: false })
