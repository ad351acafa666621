import { Clock, Effect } from "effect"
import { AlertQueue } from "../store/AlertQueue.ts"
import type { Correction } from "../store/accountRows.ts"
import { Journal } from "../store/Journal.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import type { ReconciliationOptions } from "./Comparison.ts"
import { subjectOf } from "./driftWords.ts"

/** One account whose rows are taken back, and how. */
export interface TakenBack {
  readonly correction: Correction
  /** Each row that is taken back; `said` is what the gateway tells in its place, undefined where it shows none. */
  readonly told: ReadonlyArray<{
    readonly timestamp: bigint
    readonly balance: bigint
    readonly said: bigint | undefined
  }>
  /** An opening balance that was wrong. */
  readonly begun: { readonly stored: bigint; readonly said: bigint } | undefined
  /** All of it in one text: two rereadings say the same where these are equal. */
  readonly text: string
}

/** What one taking back tells people at most; the journal has all. */
const toldMax = 20

/**
 * Rows that a gateway told, and that proved to be wrong, leave our balances: the journal keeps each of them, and people
 * are told once of each account. Call it in the transaction that takes them back.
 */
export const noteTakenBack = Effect.fnUntraced(function* (
  options: ReconciliationOptions,
  taken: ReadonlyArray<TakenBack>,
) {
  const alerts = yield* AlertQueue
  const journal = yield* Journal
  const metrics = yield* Metrics
  const now = yield* Clock.currentTimeMillis
  for (const [i, { correction, told, begun }] of taken.entries()) {
    const { party, asset, market, type } = correction.account
    const rows = told.map(({ timestamp, balance, said }) => ({ timestamp, stored: balance, said: said ?? null }))
    metrics.balanceContradictions.inc(rows.length)
    yield* journal.append({
      kind: "contradiction",
      subject: "balances",
      body: { asset, party, market, type, takenBack: rows, opening: begun ?? null },
    })
    if (i >= toldMax) continue
    const what = begun === undefined ? `${rows.length} rows` : `${rows.length} rows and its opening balance`
    yield* alerts.raise({
      dedup: `takenback/${asset}/${party}/${market}/${type}/${now}`,
      severity: "ticket",
      kind: "balances",
      subject: subjectOf(options, { party, asset, market, type, stored: 0n, reported: 0n }),
      detail: `${what} are taken back: the gateway, read twice, does not show them again, and tells the balance without them; the journal keeps them`,
      fields: { asset, party, market, type, rows: rows.length },
    })
  }
  yield* Effect.logError("rows were taken back that the gateway does not show again", {
    accounts: taken.length,
    rows: taken.reduce((sum, { told }) => sum + told.length, 0),
  })
})
