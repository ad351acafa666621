import { Clock, Effect } from "effect"
import { warnOf } from "../gateway/warnOf.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { Looks } from "./Looks.ts"
import { hasFallen } from "./movementOf.ts"
import { sendsOf } from "./sendsOf.ts"

/** The ledger's own movements are asked so often at most for one payment that its payer's balance does not show. */
const askMillisMin = 5_000

/**
 * Looks for the movement of each payment that is confirmed and not seen to have moved money yet: until then both its
 * ends stay reserved, so that the false word of a lone gateway lets nothing be paid again while the bytes may execute.
 */
export const seeMoved = Effect.fn("Confirm.moved")(function* () {
  const outbox = yield* Outbox
  for (const intent of yield* outbox.unmoved) {
    const attempt = (yield* outbox.attempts(intent.id)).find(({ state }) => state === "confirmed")
    if (attempt === undefined) continue
    const isShown = yield* hasFallen(intent, attempt)
    const now = yield* Clock.currentTimeMillis
    if (!isShown && !(yield* (yield* Looks).isDue(`moved/${attempt.transferId}`, now, askMillisMin))) continue
    // Whoever does not tell of movements now keeps no other payment from being looked up.
    const asked = sendsOf(attempt.party, [attempt]).pipe(
      Effect.catchTag("GatewayError", (error) =>
        Effect.as(warnOf("movements of a payment could not be looked up", error), undefined),
      ),
    )
    const sends = isShown ? undefined : yield* asked
    if (!isShown && sends?.counts.has(attempt.transferId) !== true) continue
    const detail = isShown ? "the payer's balance fell by it" : "it is among the ledger's movements"
    yield* outbox.addEvidence(attempt, "moved", { gateway: "", height: undefined, detail })
    yield* (yield* Signals).wake("engine")
  }
})
