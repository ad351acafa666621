import { Clock, Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"

/** How far the ledger's clock may be behind ours: movements are counted from so long before the first signature. */
const behindMillis = 600_000

/** How often the ledger moved money for each of a party's attempts; undefined where the gateway cannot tell. */
export const sendsOf = Effect.fn("Reconcile.sends")(function* (party: string, attempts: ReadonlyArray<Attempt>) {
  const history = yield* LedgerHistory
  const now = yield* Clock.currentTimeMillis
  const since = Math.min(...attempts.map((attempt) => attempt.createdAt)) - behindMillis
  return yield* history
    .sends(party, BigInt(since) * 1_000_000n, BigInt(now) * 1_000_000n)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
})
