import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { doubtOrders } from "../store/standingOrders.ts"
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
  if (seen._tag === "Failed") {
    yield* failedInBlock(live, seen.inclusion)
    return yield* ordersChanged(intent)
  }
  const settledAt = seen.settledAt ?? (yield* now)
  if (seen._tag === "Cancelled") {
    const detail = "its standing order is cancelled"
    yield* outbox.addEvidence(attempt, "executed", { gateway: seen.gateway, height: undefined, detail })
    yield* confirmed(intent, attempt, { fee: 0n, settledAt, how: "seen at the standing order" })
  } else {
    const detail = `nothing is left to cancel: the standing order was ${seen.status} before`
    const ending = { state: "abandoned", sentence: `is over: ${detail}`, detail, severity: "info" } as const
    yield* endAndTell(intent, ending, outbox.settle(intent, attempt, "failed", "abandoned", { detail, settledAt }))
  }
  yield* ordersChanged(intent)
})

const ordersChanged = Effect.fnUntraced(function* ({ payment }: Intent) {
  yield* doubtOrders(payment.fromKey)
  yield* (yield* Signals).wake("reconcile")
})
