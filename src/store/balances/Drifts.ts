import { Clock, Context, Effect, Layer, Schema } from "effect"
import { type AccountKey, accountKeyText } from "../../domain/Balance.ts"
import { Big, Digits, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"
import { BalanceColumns } from "./storeRows.ts"

/** An account with different balances in our rows and in the gateway's listing, in base units. */
export interface BalanceDifference extends AccountKey {
  /** By our newest row; 0 where there is none. */
  readonly stored: bigint
  /** By the gateway's listing; 0 where it does not list the account. */
  readonly reported: bigint
}

/** A difference that was seen twice, and which no row explains. */
const DriftRow = Schema.Struct({
  seq: Schema.Int,
  party: Schema.String,
  asset: Schema.String,
  market: Schema.String,
  type: Schema.String,
  stored: Digits,
  reported: Digits,
  /** Unix milliseconds since which it is known. */
  since: Schema.Int,
  /** Block time (Unix nanoseconds) up to which rows were known when both agreed again; null while they differ. */
  agreed: Schema.NullOr(Big),
})
export type Drift = typeof DriftRow.Type

const lookbackNanos = 300_000_000_000n

/** One comparison. */
interface Compared {
  readonly differing: ReadonlyArray<BalanceDifference>
  /** Accounts, named as by `accountKeyText`. */
  readonly agreeing: ReadonlySet<string>
  /** Block time of the listing, and up to which rows were known. Unix nanoseconds. */
  readonly listed: bigint
  readonly until: bigint
}

/** Results of comparing balance rows with the gateway's own balances. */
export class Drifts extends Context.Service<Drifts>()("cofferer/store/Drifts", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    let isChecked = false
    const journal = yield* Journal
    const remembered = (yield* Database).memoryOf<ReadonlyArray<Drift>>("drifts")
    const all = remembered(
      "",
      sql`SELECT seq, party, asset, market, type, stored, reported, at AS since, agreed FROM drifts
        WHERE ended_at IS NULL ORDER BY seq`.pipe(rowsOf(DriftRow, "Drifts.all")),
    )
    const enter = (drift: Drift, state: "begun" | "ended") => {
      const { stored, reported } = drift
      return journal.append({ kind: "mismatch", subject: accountKeyText(drift), body: { state, stored, reported } })
    }
    const begin = Effect.fnUntraced(function* (difference: BalanceDifference, at: number) {
      const { party, asset, market, type } = difference
      const stored = difference.stored.toString()
      const reported = difference.reported.toString()
      yield* sql.write`INSERT INTO drifts ${sql.insert({ party, asset, market, type, stored, reported, at })}`
    })
    return {
      /** Those in force, oldest first. */
      all,
      /**
       * Notes one comparison: a drift begins where there was none, and takes its newest balances where there was. It
       * ends for accounts that agree a second time, in a listing of a later block than all that was known at the first.
       * Accounts that could not be compared stay as they are.
       */
      note: Effect.fn("Drifts.note")(function* ({ differing, agreeing, listed, until }: Compared) {
        const at = yield* Clock.currentTimeMillis
        const known = new Map((yield* all).map((drift) => [accountKeyText(drift), drift]))
        for (const difference of differing) {
          const drift = known.get(accountKeyText(difference))
          if (drift === undefined) yield* begin(difference, at)
          else {
            yield* sql.write`UPDATE drifts SET stored = ${difference.stored.toString()},
                reported = ${difference.reported.toString()}, agreed = NULL WHERE seq = ${drift.seq}`
          }
        }
        const agreed = [...known.values()].filter((drift) => agreeing.has(accountKeyText(drift)))
        for (const { seq } of agreed.filter((drift) => drift.agreed === null)) {
          yield* sql.write`UPDATE drifts SET agreed = ${until} WHERE seq = ${seq}`
        }
        const ended = agreed.filter((drift) => drift.agreed !== null && listed > drift.agreed)
        for (const { seq } of ended) yield* sql.write`UPDATE drifts SET ended_at = ${at} WHERE seq = ${seq}`
        const begun = (yield* all).filter((drift) => !known.has(accountKeyText(drift)))
        for (const drift of begun) yield* enter(drift, "begun")
        for (const drift of ended) yield* enter(drift, "ended")
        return { begun, ended }
      }, sql.durable("Drifts.note")),
      /**
       * All rows from a block time up to, not including, another (Unix nanoseconds), in no order; undefined where they
       * are more than `max`: how many there are must not decide how much memory is used.
       */
      rowsBetween: Effect.fn("Drifts.rowsBetween")((from: bigint, end: bigint, max: number) =>
        sql`SELECT party, asset, market, type, balance, timestamp FROM balance_rows
          WHERE timestamp >= ${from} AND timestamp < ${end} LIMIT ${max + 1}`.pipe(
          rowsOf(BalanceColumns, "Drifts.rowsBetween"),
          Effect.map((rows) => (rows.length > max ? undefined : rows)),
        ),
      ),
      /** The account's balance by its newest row before a block time, at most five minutes before. */
      balanceBefore: Effect.fn("Drifts.balanceBefore")(({ party, asset, market, type }: AccountKey, time: bigint) =>
        sql`SELECT party, asset, market, type, balance, timestamp FROM balance_rows
          WHERE timestamp < ${time} AND timestamp >= ${time - lookbackNanos} AND party = ${party}
          AND asset = ${asset} AND market = ${market} AND type = ${type} ORDER BY timestamp DESC LIMIT 1`.pipe(
          rowsOf(BalanceColumns, "Drifts.balanceBefore"),
          Effect.map((rows) => rows[0]?.balance),
        ),
      ),
      /** True if this process has compared all balances once since its start. */
      isChecked: Effect.sync(() => isChecked),
      check: Effect.sync(() => {
        isChecked = true
      }),
      /** Balances started again: earlier comparisons do not count for them. */
      uncheck: Effect.sync(() => {
        isChecked = false
      }),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Drifts, Drifts.make)
}
