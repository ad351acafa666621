import { Clock, Effect } from "effect"
import type { TransferId } from "../domain/Hex.ts"
import { hasElapsed } from "../domain/hasElapsed.ts"
import { Confirmation } from "../gateway/Confirmation.ts"
import { Signals } from "../store/Signals.ts"
import { knownOrders, noteOrders } from "../store/standingOrders.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * Reads the standing orders of each key of which a rule ends some: transfers that recur and have not ended. At leisure,
 * and at once where one of them was ended. Where a gateway lists no transfers, nothing is known of them.
 */
export const watchOrders = Effect.fnUntraced(function* () {
  for (const party of (yield* SubmitterOptions).cancelling ?? []) yield* readOrders(party)
})

const readOrders = Effect.fn("Reconcile.orders")(function* (party: string) {
  const { pollIdleMillis } = yield* SubmitterOptions
  const now = yield* Clock.currentTimeMillis
  const known = yield* knownOrders(party)
  if (known !== undefined && !hasElapsed(known.readAt, now, pollIdleMillis)) return
  const listing = yield* (yield* Confirmation)
    .transfersFrom(party, { pending: true })
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  if (listing === undefined || !listing.complete) return
  const active = listing.transfers
    .filter(({ recurring, status }) => recurring === true && status === "pending")
    .map(({ id, asset }) => ({ id: id as TransferId, assetId: asset }))
  const { mark } = listing
  yield* noteOrders(party, { asOf: mark?.timestamp ?? BigInt(now) * 1_000_000n, height: mark?.height, active })
  yield* (yield* Signals).wake("engine")
})
