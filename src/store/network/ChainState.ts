import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { Statement } from "effect/sql"
import { liveAttemptStates } from "../../domain/Attempt.ts"
import { alertOf } from "../../domain/alerts/Alert.ts"
import { hasElapsed } from "../../domain/Time.ts"
import type { HeadKnown } from "../../rules/saneHead.ts"
import {
  isLegalWindow,
  isSameWork,
  noteWork,
  oddWork,
  type WorkKnown,
  WorkParameters,
  windowAt,
  windowBlocksMax,
} from "../../rules/workParameters.ts"
import { AlertQueue } from "../alerts/AlertQueue.ts"
import { Digits, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { jsonSetting, memoizeLast, Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"
import { Outbox } from "../payments/Outbox.ts"
import { Listings } from "./Listings.ts"

/** The chain's requirements for transactions, with the block at which they were seen. */
interface SeenHead {
  readonly chainId: string
  readonly height: bigint
  readonly pow: WorkParameters
}

const workText = jsonSetting(
  Schema.Struct({
    chainId: Schema.String,
    work: WorkParameters,
    window: Schema.optionalKey(Schema.Finite),
    larger: Schema.optionalKey(Schema.Struct({ window: Schema.Finite, until: Digits })),
  }),
)
const workKey = "chainRules"

/**
 * The network's parameters for transactions: its proof of work and the window of blocks. rules/workParameters.ts judges
 * them; open attempts keep the largest window reported while they are open.
 */
const makeKnownWork = Effect.gen(function* () {
  const settings = yield* Settings
  const outbox = yield* Outbox
  const database = yield* Database
  const known = Effect.map(settings.get(workKey), memoizeLast(workText.decode))
  const isNews = (before: WorkKnown | undefined, { chainId, pow }: SeenHead) =>
    before?.chainId !== chainId || !isSameWork(before.work, pow)
  const note = Effect.fnUntraced(function* (head: SeenHead) {
    const before = yield* known
    if (!isNews(before, head)) return
    const { chainId, height, pow } = head
    if (isLegalWindow(pow.pastBlocks)) yield* outbox.noteWindow(pow.pastBlocks)
    yield* settings.set(workKey, workText.encode(noteWork(before, { chainId, height, work: pow })))
  })
  return {
    /** Hears of a head that is accepted; stores only what changed. */
    seeHead: Effect.fnUntraced(function* (head: SeenHead) {
      const seen = { ...head, pow: bounded(head.pow) }
      if (isNews(yield* known, seen)) yield* database.write(note(seen))
    }),
    /** Why nothing is signed or solved by the last head's parameters, as text. */
    oddWork: Effect.map(known, (now) => now && oddWork(now.work)),
    /** The largest window by which a node may judge what is signed at this height; the largest legal one if unknown. */
    windowAt: Effect.fnUntraced(function* (height: bigint) {
      const now = yield* known
      return now === undefined ? windowBlocksMax : windowAt(now, height)
    }),
  }
})

/** The gateway's word for the hash function; longer ones are none that we know. */
const bounded = (pow: WorkParameters): WorkParameters => ({ ...pow, hashFunction: pow.hashFunction.slice(0, 64) })

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

const epochText = jsonSetting(KnownEpoch)
const epochKey = "epoch"
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
const makeEpochs = Effect.gen(function* () {
  const sql = yield* Sql
  const settings = yield* Settings
  const listings = yield* Listings
  const live = sql.literal(liveAttemptStates.map((state) => `'${state}'`).join(", "))
  const now = Effect.map(settings.get(epochKey), memoizeLast(epochText.decode))
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
    noteEpoch: Effect.fn("ChainState.noteEpoch")((epoch: KnownEpoch) =>
      settings.set(epochKey, epochText.encode(epoch)),
    ),
    /** Forgets the epoch: the network no longer reports one. */
    forgetEpoch: settings.forget(epochKey).pipe(Effect.withSpan("ChainState.forgetEpoch")),
    /**
     * Quota of the present epoch: the network's count plus later payments of our journal; undefined if none is known,
     * or none was confirmed recently.
     */
    quota: Effect.fnUntraced(function* (publicKey: string) {
      const epoch = yield* now
      const at = yield* Clock.currentTimeMillis
      if (epoch === undefined || at > epoch.endsAtMillis + lateMillisMax) return undefined
      if (!isConfirmed(epoch, at)) return undefined
      const count = epoch.told[publicKey]
      const confirmed = count !== undefined && isConfirmed(count, at) ? count : undefined
      const limit = wholeOf((yield* listings.parameters).get(limitKey)) ?? confirmed?.limit
      if (limit === undefined) return undefined
      const own = yield* ended(publicKey, epoch.startAt)
      const counted = confirmed === undefined ? 0 : confirmed.used + (yield* ended(publicKey, confirmed.asOf))
      return { limit, used: (yield* open(publicKey)) + Math.max(own, counted), endsAt: epoch.endsAtMillis }
    }),
  }
})

const isConfirmed = ({ readAt: last }: { readonly readAt: number }, now: number): boolean =>
  !hasElapsed(last, now, unconfirmedMillisMax)

const wholeOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined

const headText = jsonSetting(
  Schema.Struct({
    accepted: Schema.optionalKey(
      Schema.Struct({
        height: Digits,
        at: Schema.Finite,
        block: Schema.optionalKey(Schema.Struct({ height: Digits, timestamp: Digits })),
      }),
    ),
    stray: Schema.optionalKey(
      Schema.Struct({
        kind: Schema.Literals(["first", "higher", "behind", "lower", "changed"]),
        since: Schema.Finite,
        kindSince: Schema.Finite,
        height: Digits,
        why: Schema.String,
        isTold: Schema.optionalKey(Schema.Boolean),
      }),
    ),
  }),
)

/** The stored head may lag the one in memory by this much: a new process allows that much more room. */
const behindBlocks = 5n
const behindMillis = 60_000

const headKey = (chainId: string): string => `acceptedHead/${chainId}`

/** The newest accepted block by chain, and the stray heads reported since. It outlives the process. */
export interface AcceptedHeads {
  readonly acceptedHead: (chainId: string) => Effect.Effect<HeadKnown, StoreError>
  /** True if a chain has a stray head now, by what this process has read. */
  readonly isHeadStray: Effect.Effect<boolean>
  /** Holds at once; what differs little from what is stored is not written. */
  readonly keepHead: (chainId: string, known: HeadKnown) => Effect.Effect<void, StoreError>
  /** Accepts a higher line that lasted, together with a journal entry and a ticket: all are stored, or none holds. */
  readonly keepRisenHead: (chainId: string, known: HeadKnown, words: string) => Effect.Effect<void, StoreError>
}

const makeAcceptedHeads = Effect.gen(function* () {
  const settings = yield* Settings
  const database = yield* Database
  const journal = yield* Journal
  const alerts = yield* AlertQueue
  const now = new Map<string, HeadKnown>()
  const stored = new Map<string, HeadKnown>()
  const keep = Effect.fnUntraced(function* (chainId: string, known: HeadKnown) {
    now.set(chainId, known)
    if (isNear(stored.get(chainId), known)) return
    yield* settings.set(headKey(chainId), headText.encode(known))
    stored.set(chainId, known)
  })
  const heads: AcceptedHeads = {
    acceptedHead: Effect.fnUntraced(function* (chainId: string) {
      const known = now.get(chainId)
      if (known !== undefined) return known
      // An unreadable value counts as none: the next head is accepted as on the first day.
      const read: HeadKnown = headText.decode(yield* settings.get(headKey(chainId))) ?? {}
      now.set(chainId, read)
      stored.set(chainId, read)
      return read
    }),
    isHeadStray: Effect.sync(() => [...now.values()].some(({ stray }) => stray !== undefined)),
    keepHead: keep,
    keepRisenHead: (chainId, known, words) =>
      database
        .write(
          Effect.gen(function* () {
            yield* journal.append({ kind: "config", subject: chainId, body: { detail: words } })
            yield* alerts.raise(alertOf("head_risen", { at: yield* Clock.currentTimeMillis, words, chain: chainId }))
            yield* settings.set(headKey(chainId), headText.encode(known))
          }),
        )
        .pipe(
          Effect.andThen(
            Effect.sync(() => {
              for (const heads of [now, stored]) heads.set(chainId, known)
            }),
          ),
        ),
  }
  return {
    ...heads,
    /** Reads it from the store again: for when a transaction that kept it was undone. */
    forgetHead: (chainId: string) =>
      Effect.sync(() => {
        for (const known of [now, stored]) known.delete(chainId)
      }),
  }
})

const isNear = (stored: HeadKnown | undefined, { accepted, stray }: HeadKnown): boolean => {
  if (stored === undefined) return false
  const [a, b] = [stored.accepted, stored.stray]
  if ((a === undefined) !== (accepted === undefined) || (a?.block === undefined) !== (accepted?.block === undefined))
    return false
  if (a !== undefined && accepted !== undefined) {
    if (a.at > accepted.at || accepted.height < a.height) return false
    if (accepted.height - a.height >= behindBlocks || accepted.at - a.at >= behindMillis) return false
  }
  const of = (one: HeadKnown["stray"]) => one && [one.kind, one.since, one.kindSince, one.isTold]
  return String(of(b)) === String(of(stray))
}

/** The chain as it is believed to be: its newest block, the work that it asks for, and its epoch. */
export class ChainState extends Context.Service<ChainState>()("cofferer/store/ChainState", {
  make: Effect.gen(function* () {
    return { ...(yield* makeAcceptedHeads), ...(yield* makeKnownWork), ...(yield* makeEpochs) }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(ChainState, ChainState.make)
}
