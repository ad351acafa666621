import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsOf } from "./columns.ts"
import { Journal } from "./Journal.ts"
import { type StoreError, storeError } from "./StoreError.ts"

/** How long a holder may be silent before another process takes over. */
export const leaseMillis = 10_000

const LeaseRow = Schema.Struct({ epoch: Schema.Int })

/**
 * Who may move money, of all processes on one store. A process that slept through its time is told so by the store, in
 * the transaction in which it would have acted.
 */
export class Lease extends Context.Service<
  Lease,
  {
    /** Takes the lease or renews it for `leaseMillis`. False where another process holds it. */
    readonly take: Effect.Effect<boolean, StoreError>
    /** Whether this process holds it now. Ask inside the transaction that depends on it. */
    readonly isHeld: Effect.Effect<boolean, StoreError>
  }
>()("cofferer/store/Lease") {
  /** Where one process at a time can open the store at all, that is the lease. */
  static readonly layerSole = Layer.succeed(Lease, {
    take: Effect.succeed(true),
    isHeld: Effect.succeed(true),
  })

  /** On a store that several processes share. `holder` is of this process and no other, past or to come. */
  static readonly layerShared = (holder: string) =>
    Layer.effect(
      Lease,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const journal = yield* Journal
        let epoch = 0
        const take = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const until = now + leaseMillis
          // Nobody takes it for so long: one that lasts longer is of a clock that was ahead, and its holder, where it
          // lives, has renewed it since by a clock that is right.
          // An epoch is given once: whoever takes the lease after another begins a new one.
          const rows = yield* sql`INSERT INTO leases ${sql.insert({ name: "money", holder, epoch: 1, until })}
            ON CONFLICT (name) DO UPDATE SET
              epoch = CASE WHEN leases.holder = excluded.holder THEN leases.epoch ELSE leases.epoch + 1 END,
              holder = excluded.holder, until = excluded.until
            WHERE leases.holder = excluded.holder OR leases.until <= ${now}
              OR leases.until > ${now + 2 * leaseMillis}
            RETURNING epoch`.pipe(rowsOf(LeaseRow, "Lease.take"))
          const taken = rows[0]?.epoch
          if (taken === undefined) return false
          if (taken !== epoch) yield* journal.append({ kind: "lease", subject: holder, body: { epoch: taken } })
          epoch = taken
          return true
        })
        return Lease.of({
          take: take.pipe(sql.withTransaction, storeError("Lease.take"), Effect.withSpan("Lease.take")),
          isHeld: Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const rows = yield* sql`SELECT epoch FROM leases
              WHERE name = 'money' AND holder = ${holder} AND epoch = ${epoch} AND until > ${now}`.pipe(
              rowsOf(LeaseRow, "Lease.isHeld"),
            )
            return rows.length > 0
          }),
        })
      }),
    )
}

/** A third of its time, so that two renewals may fail. */
const renewMillis = Math.floor(leaseMillis / 3)
/** How soon a process that waits, or has lost it, notices. */
const lookMillis = 500

/** Keeps or awaits the lease, for as long as the process lives. */
export const leaseLoop = Effect.gen(function* () {
  const lease = yield* Lease
  yield* lease.take
  yield* Effect.sleep(renewMillis)
}).pipe(Effect.forever)

/** Runs the work while this process holds the lease, and ends it when it does not. Never succeeds. */
export const whileHeld = <E, R>(work: Effect.Effect<never, E, R>): Effect.Effect<never, E | StoreError, R | Lease> =>
  Effect.gen(function* () {
    const lease = yield* Lease
    const until = (held: boolean) =>
      Effect.gen(function* () {
        while ((yield* lease.isHeld) !== held) yield* Effect.sleep(lookMillis)
      })
    yield* until(true)
    yield* Effect.raceFirst(work, until(false))
  }).pipe(Effect.forever)
