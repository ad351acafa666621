import { Cause, Clock, Effect, Exit, Option } from "effect"
import { type Attempt, deadlineHeight, isFinalAttempt, marginBlocks } from "../domain/Attempt.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { dayMillis } from "../domain/Time.ts"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { blocksLeft } from "../payments/planSend.ts"
import type { PowError } from "../pow/Pool.ts"
import { ProofOfWork } from "../pow/ProofOfWork.ts"
import { raise } from "../store/alerts/raise.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { StoreError } from "../store/database/StoreError.ts"
import { haltOnStoreError } from "../store/database/storeErrors.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { sha3Hex } from "../tx/Transaction.ts"
import { type Solved, sendable, solutionOf, solvedBy } from "./beginSend.ts"
import { ChainHeadCache } from "./ChainHeadCache.ts"
import { InFlight } from "./InFlight.ts"

/** Interval at which a search checks that it is still needed. */
const checkMillis = 100

/**
 * The attempt with its proof of work, to be stored when its send begins. Undefined if the search still runs in the
 * background, which stores the work for the next round; or if none is begun: it would not end before the window's
 * margin, or the network's parameters are odd.
 */
export const solveWork = Effect.fnUntraced(function* (attempt: Attempt, height: bigint) {
  if ((yield* (yield* ChainState).oddWork) !== undefined) return undefined
  const millisMax = Number(blocksLeft(attempt, height)) * (yield* (yield* Observations).blockMillis)
  const search = Effect.raceFirst(solve(attempt, millisMax), untilOver(attempt, height))
  const noted = Effect.catchTag(search, "PowError", (error) => reportUnsolved(attempt, error))
  return yield* (yield* InFlight).search(attempt, noted, saveLate(attempt))
})

/**
 * The work of an attempt, known before its signature. Its tid follows from the nonce, which nobody else knows before it
 * is sent: a crash solves the same work again.
 */
export const workOf = ({
  party,
  nonce,
  anchorHash: blockHash,
  difficulty,
  workIndex,
}: Pick<Attempt, "party" | "nonce" | "anchorHash" | "difficulty" | "workIndex">) => ({
  blockHash,
  difficulty,
  tid: sha3Hex(`cofferer tid v2/${party}/${nonce}/${blockHash}/${workIndex}`),
})

const solve = Effect.fn("Submitter.solve")(function* (attempt: Attempt, millisMax: number) {
  const work = workOf(attempt)
  const { nonce } = yield* (yield* ProofOfWork).solve({ ...work, millisMax })
  return solvedBy(attempt, { tid: work.tid, nonce })
})

/** Returns once the search is useless: the attempt may not be sent any more, or may need other work. */
const untilOver = Effect.fnUntraced(function* (attempt: Attempt, height: bigint) {
  const headCache = yield* ChainHeadCache
  const state = yield* ChainState
  const isNeeded = Effect.gen(function* () {
    if ((yield* state.oddWork) !== undefined) return false
    const heads = (yield* headCache.recent).filter(({ chainId }) => chainId === attempt.chainId)
    const newest = heads.reduce((most, head) => (head.height > most ? head.height : most), height)
    return (yield* sendable(attempt, newest)) !== undefined
  })
  do yield* Effect.sleep(checkMillis)
  while (yield* isNeeded)
  yield* logEvent("proof-of-work search ended", { intent: attempt.intentId, attempt: attempt.k })
  return undefined
})

/** True if the same work would be refused again in the next round. */
const isHopeless = ({ reason: { _tag } }: PowError): boolean =>
  _tag === "TooSlow" || _tag === "DifficultyRefused" || _tag === "WorkRefused"

/** Shows why the attempt is not sent, and calls people if even its whole window would be too short. */
const reportUnsolved = Effect.fn("Submitter.reportUnsolved")(function* (attempt: Attempt, error: PowError) {
  if (!isHopeless(error)) return yield* error
  const outbox = yield* Outbox
  const { intentId, k, difficulty, windowBlocks } = attempt
  const words = `attempt ${k} is not sent: its proof of work would not be ready in time`
  const unshown = Effect.gen(function* () {
    const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
    const isLive = (yield* outbox.attempts(intentId)).some((one) => one.k === k && !isFinalAttempt(one.state))
    return isLive && intent?.detail.startsWith(words) === false ? intent : undefined
  })
  if ((yield* unshown) === undefined) return undefined
  const last = deadlineHeight(attempt)
  const end =
    attempt.sends === 0 ? `it ends after block ${last}` : `what was sent of it may execute until block ${last}`
  const detail = `${words} (${error.words}); ${end}, and the payment is judged again then`
  const needed = yield* (yield* ProofOfWork).judge({ difficulty, millisMax: yield* usefulMillis(windowBlocks) })
  // It may have ended meanwhile: what the transaction reads counts.
  const shown = Effect.gen(function* () {
    const intent = yield* unshown
    if (intent === undefined) return
    yield* outbox.move(intent, intent.state, { detail })
    if (isReported(needed)) yield* raise("work_late", { ...paymentFacts(intent), k, detail })
  })
  yield* (yield* Database).write(shown)
  yield* logEvent("attempt lacks its proof of work", { intent: intentId, attempt: k, reason: error.message })
  return undefined
})

/** True if the refusal is reported. Waiting for other searches is not. */
const isReported = (refused: PowError | undefined): boolean =>
  refused !== undefined && !(refused.reason._tag === "TooSlow" && refused.reason.isQueued)

/** Milliseconds after an anchor in which an attempt on it may be sent. */
const usefulMillis = Effect.fnUntraced(function* (windowBlocks: number) {
  return (windowBlocks - Number(marginBlocks(windowBlocks))) * (yield* (yield* Observations).blockMillis)
})

/**
 * Why nothing may be signed on this head: its proof of work would not be ready within the window; undefined if it
 * would. People are alerted at once, since no payment can go on.
 */
export const alertIfTooSlow = Effect.fn("Submitter.alertIfTooSlow")(function* ({
  pow: { difficulty, pastBlocks },
}: ChainHead) {
  const millisMax = yield* usefulMillis(pastBlocks)
  if (millisMax <= 0) return undefined
  const refused = yield* (yield* ProofOfWork).judge({ difficulty, millisMax })
  if (refused === undefined) return undefined
  const detail = `the network's proof of work would not be ready within its window of ${pastBlocks} blocks: ${refused.words}`
  if (!isReported(refused)) return detail
  const day = Math.floor((yield* Clock.currentTimeMillis) / dayMillis)
  yield* raise("work_slow", { difficulty, window: pastBlocks, day, detail })
  return detail
})

/** Stores the work of a background search, or reports its failure. */
const saveLate =
  ({ intentId, k }: Attempt) =>
  (exit: Exit.Exit<Solved | undefined, PowError | StoreError>) => {
    if (Exit.isSuccess(exit)) return exit.value === undefined ? Effect.void : storeWork(exit.value)
    const { cause } = exit
    const fields = { intent: intentId, attempt: k }
    if (Cause.hasInterruptsOnly(cause)) return logEvent("proof-of-work search ended", fields)
    const error = Option.getOrUndefined(Cause.findErrorOption(cause))
    if (error instanceof StoreError) return haltOnStoreError(error)
    if (error === undefined)
      return logEvent("proof of work failed", { ...fields, reason: "defect" }, { severity: "page", cause })
    return logEvent("proof of work failed", { ...fields, reason: error.message })
  }

const storeWork = (solved: Solved) =>
  Effect.gen(function* () {
    yield* (yield* Outbox).saveWork(solved, solutionOf(solved))
    yield* (yield* Signals).wake("submitter")
  }).pipe(Effect.catchTag("StoreError", haltOnStoreError))
