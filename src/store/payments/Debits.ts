import { Effect, Schema } from "effect"
import { general } from "../../domain/Balance.ts"
import { finalIntentStates, intentMoves } from "../../domain/Intent.ts"
import { millisOf } from "../../domain/Time.ts"
import type { GeneralRow, KnownPayment } from "../../payments/explainDebits.ts"
import { Big, Digits, rowsOf } from "../database/columns.ts"
import { Sql } from "../database/Sql.ts"

const GeneralColumns = Schema.Struct({ asset: Schema.String, balance: Digits, timestamp: Big, opening: Schema.Int })
const PaymentColumns = Schema.Struct({
  id: Schema.String,
  asset: Schema.String,
  amount: Digits,
  feeMax: Digits,
  fee: Schema.NullOr(Digits),
  state: Schema.String,
  createdAt: Schema.Int,
  updatedAt: Schema.Int,
  settledAt: Schema.NullOr(Big),
  executions: Schema.Int,
})
const GapColumns = Schema.Struct({ since: Big, until: Big })
const IdRow = Schema.Struct({ id: Schema.String })

/** Rows read at once; more are left for the next time. */
const rowsMax = 10_000

/** Payments that ended so long before the first row may be in it. */
const earlierMillis = 600_000

const finals: ReadonlySet<string> = new Set(finalIntentStates)
const opens = Object.keys(intentMoves)
/** Nothing of these has ever left. */
const unsent: ReadonlySet<string> = new Set(["proposed", "awaiting_approval", "reserved"])

const toPayment = (row: typeof PaymentColumns.Type): KnownPayment => {
  const { id, asset, amount, feeMax, fee, state, createdAt, updatedAt, settledAt, executions } = row
  const isOpen = !finals.has(state) && !unsent.has(state)
  // The first execution of a payment that was settled as not executed is noted as the second.
  const times = state === "confirmed" || isOpen ? Math.max(1, executions) : Math.max(0, executions - 1)
  const cost = amount + (fee ?? feeMax)
  return { id, asset, cost, times, isOpen, createdAt, updatedAt, settledAt: settledAt ?? undefined }
}

/**
 * Data to decide whether every debit of a key's general accounts is a payment of the journal: rows and opening balances
 * after a block time, oldest first, at most 10,000; payments that are open, or came to an end not long before the first
 * of these rows, oldest first; and times whose rows are lost.
 */
export const debitBook = Effect.fnUntraced(function* (party: string, after: bigint) {
  const sql = yield* Sql
  const rows = yield* sql`SELECT asset, balance, timestamp, 0 AS opening FROM balance_rows
    WHERE timestamp > ${after} AND party = ${party} AND type = ${general} AND market = ''
    UNION ALL SELECT asset, balance, timestamp, 1 AS opening FROM openings
    WHERE timestamp > ${after} AND party = ${party} AND type = ${general} AND market = ''
    ORDER BY timestamp, opening DESC, asset LIMIT ${rowsMax}`.pipe(rowsOf(GeneralColumns, "Debits.rows"))
  const since = millisOf(rows[0]?.timestamp ?? 0n) - earlierMillis
  // By "+created_at" SQLite sorts the few rows found, in place of reading all payments ever made in order.
  const payments = yield* sql`SELECT id, asset_id AS asset, amount, fee_max AS "feeMax", fee, state,
    created_at AS "createdAt", updated_at AS "updatedAt", settled_at AS "settledAt",
    (SELECT coalesce(max(n), 0) FROM duplicates WHERE intent_id = intents.id) AS executions
    FROM intents WHERE from_key = ${party}
    AND (state IN ${sql.in(opens)} OR updated_at > ${since})
    AND (state <> ${"confirmed"} OR EXISTS (SELECT 1 FROM attempts WHERE intent_id = intents.id
      AND attempts.state = ${"confirmed"}))
    ORDER BY +created_at, id`.pipe(rowsOf(PaymentColumns, "Debits.payments"))
  const gaps = yield* sql`SELECT since, until FROM gaps`.pipe(rowsOf(GapColumns, "Debits.gaps"))
  return {
    rows: rows.map(({ opening, ...row }) => ({ ...row, isOpening: opening === 1 }) satisfies GeneralRow),
    payments: payments.map(toPayment).filter(({ times }) => times > 0),
    gaps,
  }
})

/** Those of the transfers' ids that an attempt or a finding has. */
export const knownTransfers = Effect.fn("Debits.known")(function* (ids: ReadonlyArray<string>) {
  if (ids.length === 0) return new Set<string>()
  const sql = yield* Sql
  const found = yield* sql`SELECT transfer_id AS id FROM attempts WHERE transfer_id IN ${sql.in(ids)}
    UNION SELECT id FROM listed_transfers WHERE id IN ${sql.in(ids)}`.pipe(rowsOf(IdRow, "Debits.known"))
  return new Set(found.map(({ id }) => id))
})
