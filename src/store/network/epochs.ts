import { Clock, Effect, Schema } from "effect"
import type { Statement } from "effect/sql"
import { liveAttemptStates } from "../../domain/Attempt.ts"
import { hasElapsed } from "../../domain/Time.ts"
import type { Quota } from "../../rules/Snapshot.ts"
import { Digits, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { jsonSetting, memoizeLast, Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Listings } from "./Listings.ts"

/** Unix milliseconds of the last answer that reported it. */
const readAt = Schema.Int

const Count = Schema.Struct({ seq: Schema.Int, used: Schema.Int, limit: Schema.Int, asOf: Digits, readAt })

/** The network's epoch as last reported. */
export const KnownEpoch = Schema.Struct({
  seq: Schema.Int,
  /** Unix nanoseconds of its first block. */
  startAt: Digits,
  /** Unix milliseconds at which it is expected to end. */
  endsAtMillis: Schema.Int,
  /** Transfers that the network counted, by key, in blocks before `asOf` (Unix nanoseconds) at least. */
  told: Schema.Record(Schema.String, Count),
  readAt,
})
export type KnownEpoch = typeof KnownEpoch.Type

const { decode, encode } = jsonSetting(KnownEpoch)
const key = "epoch"
/** An epoch that should have ended so long ago without news of the next is not known any more. */
const lateMillisMax = 600_000
/**
 * A limit that no answer has confirmed for this long does not count: its only source may have been wrong. Longer than a
 * day, the epoch of networks, so that rules do not decide payments which a used-up epoch refuses.
 */
const unconfirmedMillisMax = 93_600_000
const limitKey = "spam.protection.maxUserTransfersPerEpoch"
const CountRow = Schema.Struct({ n: Schema.Int })

/** A key's limit of transfers in one of the network's epochs, and how much of it is used. */
export interface Epochs {
  readonly epoch: Effect.Effect<KnownEpoch | undefined, StoreError>
  readonly noteEpoch: (epoch: KnownEpoch) => Effect.Effect<void, StoreError>
  /** Forgets the epoch: the network no longer reports one. */
  readonly forgetEpoch: Effect.Effect<void, StoreError>
  /**
   * Quota of the present epoch: the network's count plus later payments of our journal; undefined if none is known,
   * or none was confirmed recently.
   */
  readonly quota: (publicKey: string) => Effect.Effect<Quota | undefined, StoreError>
}

export const makeEpochs = Effect.gen(function* () {
  const sql = yield* Sql
  const settings = yield* Settings
  const listings = yield* Listings
  const live = sql.literal(liveAttemptStates.map((state) => `'${state}'`).join(", "))
  const now = Effect.map(settings.get(key), memoizeLast(decode))
  const remembered = (yield* Database).memoryOf<ReadonlyArray<typeof CountRow.Type>>("intents", "attempts")
  const countRows = rowsOf(CountRow, "ChainState.quota")
  const count = (question: string, rows: Statement.Statement<unknown>) =>
    Effect.map(remembered(question, countRows(rows)), ([row]) => row?.n ?? 0)
  /**
   * Withdrawals do not count. Signed transfers that are in no block yet may come into one of this epoch at any
   * time.
   */
  const open = (publicKey: string) =>
    count(
      publicKey,
      sql`SELECT count(*) AS n FROM attempts AS a JOIN intents AS i ON i.id = a.intent_id
        WHERE a.state IN (${live}) AND a.party = ${publicKey} AND i.command <> 'withdraw'`,
    )
  const ended = (publicKey: string, since: bigint) =>
    count(
      `${publicKey} ${since}`,
      sql`SELECT count(*) AS n FROM intents AS i JOIN attempts AS a ON a.intent_id = i.id
        WHERE i.settled_at >= ${since} AND i.from_key = ${publicKey} AND a.state IN ('confirmed', 'failed')
        AND i.command <> 'withdraw'`,
    )
  return {
    epoch: now,
    noteEpoch: Effect.fn("ChainState.noteEpoch")((epoch: KnownEpoch) => settings.set(key, encode(epoch))),
    forgetEpoch: settings.forget(key).pipe(Effect.withSpan("ChainState.forgetEpoch")),
    quota: Effect.fn("ChainState.quota")(function* (publicKey: string) {
      const epoch = yield* now
      const at = yield* Clock.currentTimeMillis
      if (epoch === undefined || at > epoch.endsAtMillis + lateMillisMax) return undefined
      if (!isConfirmed(epoch, at)) return undefined
      const count = epoch.told[publicKey]
      const told = count !== undefined && isConfirmed(count, at) ? count : undefined
      const limit = wholeOf((yield* listings.parameters).get(limitKey)) ?? told?.limit
      if (limit === undefined) return undefined
      const own = yield* ended(publicKey, epoch.startAt)
      const counted = told === undefined ? 0 : told.used + (yield* ended(publicKey, told.asOf))
      return { limit, used: (yield* open(publicKey)) + Math.max(own, counted), endsAt: epoch.endsAtMillis }
    }),
  } satisfies Epochs
})

const isConfirmed = ({ readAt: last }: { readonly readAt: number }, now: number): boolean =>
  !hasElapsed(last, now, unconfirmedMillisMax)

const wholeOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined
