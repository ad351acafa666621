import { Clock, Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import type { TransferSighting } from "../gateway/Confirmation.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { withdrawn } from "../gateway/schema/LedgerEntries.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { endAndTell } from "./endAndTell.ts"
import { confirmed, contradicted, giveUp, hasExecuted, type Live, now } from "./endings.ts"
import { isOver } from "./evidence.ts"
import { Looks } from "./Looks.ts"
import { toMicros } from "./movementOf.ts"
import { noteExecution } from "./noteListing.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"
import { signedBy } from "./sendsOf.ts"

/** How far the ledger's clock may be behind ours. */
const behindNanos = 60_000_000_000n

type Where = "by id" | "in the listing"

/** What a sighting of the attempt under its own transfer id means. */
export const judgeFound = Effect.fnUntraced(function* (
  live: Live,
  { found, gateway, agreed }: TransferSighting,
  where: Where,
) {
  const { intent, attempt } = live
  if (found === undefined) return
  const outbox = yield* Outbox
  const { payment } = intent
  const same = found.from === payment.fromKey && found.to === payment.toKey && found.asset === payment.assetId
  if (!same || found.amount !== payment.amount) {
    const shown = `another payment (${found.amount} of ${found.asset.slice(0, 8)} to ${found.to.slice(0, 8)})`
    if (agreed) return yield* contradicted(live, shown, gateway)
    yield* Effect.logWarning("one gateway shows another payment under our transfer id", { intent: intent.id, gateway })
    return yield* giveUp(live, `one of ${gateway} shows ${shown} under its transfer id`)
  }
  if (yield* isToCome(found.timestamp)) {
    return yield* giveUp(live, `${gateway} shows it at a time that has not come`)
  }
  const seen = {
    gateway,
    height: undefined,
    detail: `${intent.command === "withdraw" ? "withdrawal" : "transfer"} ${where}: ${found.status}`,
  }
  const isRefused = found.status === "rejected" || found.status === "stopped" || found.status === "cancelled"
  if (!isRefused) yield* forgetRefusal(attempt)
  if (found.status === "done") {
    yield* noteExecution(attempt, found.timestamp)
    yield* outbox.addEvidence(attempt, "executed", seen)
    const how = intent.command === "withdraw" ? "found by its id" : "found by transfer id"
    return yield* confirmed(intent, attempt, {
      fee: found.fees,
      settledAt: yield* executedAt(intent, attempt, found.timestamp),
      how: where === "by id" ? how : "found in the listing",
    })
  }
  if (!isRefused) return yield* giveUp(live)
  if (!(yield* isRefusalSure(live))) return yield* giveUp(live)
  const executed = yield* hasExecuted(intent, attempt, found.timestamp)
  if (executed === "unknown") {
    return yield* giveUp(live, `${gateway} shows it ${found.status}, and nothing tells whether it executed before`)
  }
  if (executed === "yes") {
    yield* outbox.addEvidence(attempt, "executed", { ...seen, detail: "the ledger shows it done before" })
    const settledAt = yield* executedAt(intent, attempt, found.timestamp)
    return yield* confirmed(intent, attempt, { fee: undefined, settledAt, how: "seen on the ledger" })
  }
  if (intent.command === "withdraw" && (yield* hasLeft(intent, attempt))) return yield* giveUp(live)
  yield* outbox.addEvidence(attempt, "execution_failed", seen)
  const detail = `in a block and ${found.status}: ${found.reason ?? "no reason given"}`
  yield* endAndTell(
    intent,
    { state: "failed", sentence: `is failed: ${detail}`, detail, severity: "page" },
    outbox.settle(intent, attempt, "failed", "failed", { detail, settledAt: found.timestamp }),
  )
  yield* forgetRefusal(attempt)
})

/** Later than any block that can have been seen: taken for true, balances would never be known to hold the payment. */
const isToCome = Effect.fnUntraced(function* (timestamp: bigint) {
  const { maxAgeMillis } = yield* SubmitterOptions
  const clock = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const rows = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  return timestamp > (rows > clock ? rows : clock) + BigInt(maxAgeMillis) * 1_000_000n
})

/**
 * When it executed: told, where that is not before its signature and, where balances are known of that time, a row of
 * the payer is there. Otherwise now: rules look again only once the balances hold it for sure.
 */
const executedAt = Effect.fnUntraced(function* ({ command, payment }: Intent, attempt: Attempt, told: bigint) {
  const observations = yield* Observations
  const rows = (yield* observations.watermark)?.timestamp ?? 0n
  const clock = yield* now
  const latest = rows > clock ? rows : clock
  if (told <= signedBy(attempt)) return latest
  if (told >= rows || command === "withdraw") return told
  const block = toMicros(told)
  const known = yield* observations.history(payment.fromKey, payment.assetId, block)
  return known.some(({ timestamp }) => timestamp === block) ? told : latest
})

/** So long a lone gateway must tell that a payment was refused in its block, while its bytes could still execute. */
const refusedMillis = 30_000
const refusedName = ({ transferId }: Attempt): string => `refused/${transferId}`

/** A sighting that says otherwise: what was told before is no persistent word. */
export const forgetRefusal = Effect.fnUntraced(function* (attempt: Attempt) {
  yield* (yield* Looks).forget("", refusedName(attempt))
})

/** A failure is final, and what failed may be paid anew: one gateway's word of a moment is not enough for that. */
const isRefusalSure = Effect.fnUntraced(function* ({ attempt, height }: Live) {
  if ((yield* Gateways).quorum > 1 || isOver(attempt, height)) return true
  const clock = yield* Clock.currentTimeMillis
  return clock - (yield* (yield* Looks).since(refusedName(attempt), clock)) >= refusedMillis
})

/** The same of a withdrawal, whose movements bear no id: any alike since its signature keeps it from having failed. */
const hasLeft = Effect.fnUntraced(function* ({ payment }: Intent, attempt: Attempt) {
  const since = signedBy(attempt) - behindNanos
  const told = yield* (yield* LedgerHistory)
    .debits(attempt.party, since, yield* now)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  return told?.debits.some(
    ({ type, asset, quantity }) => type === withdrawn && asset === payment.assetId && quantity === payment.amount,
  )
})
