import { Effect } from "effect"
import { deadlineHeight } from "../domain/Attempt.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { doubtOrders, endOrder } from "../store/standingOrders.ts"
import { cancellationOf } from "./cancellationOf.ts"
import { endAndTell } from "./endAndTell.ts"
import { confirmed, expired, failedInBlock, giveUp, type Live, now } from "./endings.ts"

/** A cancellation ends as its standing order does, whoever ended that. */
export const judgeCancellation = Effect.fnUntraced(function* (live: Live) {
  const { intent, attempt, height } = live
  const outbox = yield* Outbox
  const seen = yield* cancellationOf(intent, attempt, height)
  if (seen._tag === "Open") return yield* giveUp(live)
  if (seen._tag === "Expired") return yield* expired(live, seen.detail)
  const { fromKey, toKey } = intent.payment
  if (seen._tag === "Failed") {
    yield* failedInBlock(live, seen.inclusion)
    yield* doubtOrders(fromKey)
    return yield* (yield* Signals).wake("reconcile")
  }
  const settledAt = seen.settledAt ?? (yield* now)
  // The rule sees it ended with the same transaction, whatever times the gateway names and however late it lists.
  const deadline = deadlineHeight(attempt)
  const byHeight = seen.height !== undefined && seen.height > deadline ? seen.height : deadline
  const isOver = endOrder(fromKey, toKey, byHeight)
  if (seen._tag === "Cancelled") {
    const detail = "its standing order is cancelled"
    yield* outbox.addEvidence(attempt, "executed", { gateway: seen.gateway, height: undefined, detail })
    yield* confirmed(intent, attempt, { fee: 0n, settledAt, how: "seen at the standing order" }, isOver)
  } else {
    const detail = `nothing is left to cancel: the standing order was ${seen.status} before`
    const ending = { state: "abandoned", sentence: `is over: ${detail}`, detail, severity: "info" } as const
    const settled = outbox.settle(intent, attempt, "failed", "abandoned", { detail, settledAt })
    yield* endAndTell(intent, ending, Effect.andThen(settled, isOver))
  }
  yield* (yield* Signals).wake("reconcile")
})
