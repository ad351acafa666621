import { Clock, Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import type { TransferSighting } from "../gateway/Confirmation.ts"
import { Findings } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { endAndTell } from "./endAndTell.ts"
import { confirmed, contradicted, giveUp, hasExecuted, type Live, now } from "./endings.ts"
import { isOver } from "./evidence.ts"
import { fewerThanAgreed } from "./fewerThanAgreed.ts"
import { hasWithdrawn } from "./movedFor.ts"
import { hasLeftAt } from "./movementOf.ts"
import { noteExecution } from "./noteListing.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"
import { signedBy } from "./sendsOf.ts"

type Where = "by id" | "in the listing"

/** Ends of a transfer that did not pay. */
const refused: ReadonlySet<string> = new Set(["rejected", "stopped", "cancelled"])

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
  if (found.status === "done") {
    yield* noteExecution(attempt, found.timestamp)
    yield* (yield* Findings).watch(attempt)
    yield* outbox.addEvidence(attempt, "executed", seen)
    const how = intent.command === "withdraw" ? "found by its id" : "found by transfer id"
    return yield* confirmed(intent, attempt, {
      fee: found.fees,
      settledAt: yield* executedAt(intent, attempt, found.timestamp),
      how: where === "by id" ? how : "found in the listing",
    })
  }
  // Until the window is over a third party may still bring the same bytes into a block that takes them.
  if (!refused.has(found.status) || !isOver(attempt, live.height)) return yield* giveUp(live)
  if ((yield* fewerThanAgreed) !== undefined) return yield* giveUp(live)
  const executed = yield* hasExecuted(intent, attempt, found.timestamp)
  if (executed === "unknown") {
    return yield* giveUp(live, `${gateway} shows it ${found.status}, and nothing tells whether it executed before`)
  }
  if (executed === "yes") {
    yield* outbox.addEvidence(attempt, "executed", { ...seen, detail: "the ledger shows it done before" })
    const settledAt = yield* executedAt(intent, attempt, found.timestamp)
    return yield* confirmed(intent, attempt, { fee: undefined, settledAt, how: "seen on the ledger" })
  }
  if (intent.command === "withdraw" && (yield* hasWithdrawn(intent, attempt))) return yield* giveUp(live)
  yield* outbox.addEvidence(attempt, "execution_failed", seen)
  const detail = `in a block and ${found.status}: ${found.reason ?? "no reason given"}`
  yield* endAndTell(
    intent,
    { state: "failed", sentence: `is failed: ${detail}`, detail, severity: "page" },
    outbox.settle(intent, attempt, "failed", "failed", { detail, settledAt: found.timestamp }),
  )
})

/** Later than any block that can have been seen: taken for true, balances would never be known to hold the payment. */
const isToCome = Effect.fnUntraced(function* (timestamp: bigint) {
  const { maxAgeMillis } = yield* SubmitterOptions
  const clock = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const rows = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  return timestamp > (rows > clock ? rows : clock) + BigInt(maxAgeMillis) * 1_000_000n
})

/** When it executed: as told, where that can be; otherwise now. Rules look again once the balances hold it for sure. */
const executedAt = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, told: bigint) {
  if (yield* isInBalances(intent, attempt, told)) return told
  const rows = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const clock = yield* now
  const latest = rows > clock ? rows : clock
  // Balances that are not known of that time yet say nothing against it.
  return told > signedBy(attempt) && told >= rows ? told : latest
})

/** Whether the payer's balance fell by it at that time; withdrawals are told with times of their own. */
const isInBalances = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, told: bigint) {
  const rows = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  if (told <= signedBy(attempt) || told >= rows) return false
  return intent.command === "withdraw" || (yield* hasLeftAt(intent, attempt, told))
})
