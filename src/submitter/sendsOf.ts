import { Clock, Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { Observations } from "../store/Observations.ts"

/** How far the ledger's clock may be behind ours: movements are counted from so long before the first signature. */
export const behindNanos = 600_000_000_000n

/** By our clock or by the ledger's, whichever was earlier when it was signed. */
export const signedBy = ({ createdAt, signedAfter }: Attempt): bigint => {
  const ours = BigInt(createdAt) * 1_000_000n
  return signedAfter !== undefined && signedAfter < ours ? signedAfter : ours
}

/** How often the ledger moved money for each of a party's attempts; undefined where the gateway cannot tell. */
export const sendsOf = Effect.fn("Reconcile.sends")(function* (party: string, attempts: ReadonlyArray<Attempt>) {
  const history = yield* LedgerHistory
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const newest = (yield* (yield* Observations).watermark)?.timestamp ?? now
  const since = attempts.map(signedBy).reduce((first, time) => (time < first ? time : first)) - behindNanos
  return yield* history
    .sends(party, since, newest > now ? newest : now)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
})
