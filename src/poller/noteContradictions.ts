import { Effect } from "effect"
import type { Party } from "../rules/Rule.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import type { Contradiction } from "../store/balanceRows.ts"
import { Journal } from "../store/Journal.ts"
import { Signals } from "../store/Signals.ts"
import { Metrics } from "../telemetry/Metrics.ts"

/** What one reading tells people at most; a gateway that contradicts everything is told well enough by these. */
const toldMax = 20

/**
 * A row of the past came with another balance than it had: history was rewritten, or a gateway lies. What was stored
 * first stays; people are told once of each. Call it in the transaction that stored the rows.
 */
export const noteContradictions = Effect.fnUntraced(function* (
  parties: ReadonlyMap<string, Party>,
  contradictions: ReadonlyArray<Contradiction>,
) {
  if (contradictions.length === 0) return
  const alerts = yield* AlertQueue
  const journal = yield* Journal
  const metrics = yield* Metrics
  metrics.balanceContradictions.inc(contradictions.length)
  for (const { timestamp, asset, party, market, type, balance, said } of contradictions.slice(0, toldMax)) {
    const name = [...parties.values()].find(({ publicKey }) => publicKey === party)?.name ?? party.slice(0, 8)
    const at = new Date(Number(timestamp / 1_000_000n)).toISOString()
    const isNew = yield* alerts.raise({
      dedup: `contradiction/${timestamp}/${asset}/${party}/${market}/${type}/${said}`,
      severity: "ticket",
      kind: "balances",
      subject: name,
      detail: `the row of ${at} was ${balance} and is now told as ${said}; the first is kept`,
      fields: { timestamp: String(timestamp), asset, party, market, type, stored: String(balance), said: String(said) },
    })
    if (!isNew) continue
    const body = { timestamp, asset, party, market, type, stored: balance, said }
    yield* journal.append({ kind: "contradiction", subject: "balances", body })
  }
  yield* Effect.logError("rows of the past came with other balances", { rows: contradictions.length })
  yield* (yield* Signals).wake("alerts")
})
