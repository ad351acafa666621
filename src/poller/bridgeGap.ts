import { Effect } from "effect"
import { accountKeyText, type BalanceChange } from "../domain/Balance.ts"
import { hasElapsed, isoOf, millisOf } from "../domain/Time.ts"
import { disagreement } from "../store/alerts/makeTrouble.ts"
import { raise } from "../store/alerts/raise.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Observations, type Watermark } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { blockNanos, partiesOf, type Reader, type WatchedTreasury } from "./askWindow.ts"
import { oldestSince, reachesBehind, readBaseOrRows, readBaseTogether } from "./readBase.ts"

/** No node forgets rows of a day; a little less, since days begin at different hours. */
export const keptNanosMin = 72_000_000_000_000n
/** A pause in reading shorter than this has missed no rows. */
export const idleMillisMin = 3_600_000

/**
 * Handles rows that the gateway may have forgotten before they were read: balances start again from their present
 * values, the lost time gets a journal entry and an alert, and the history that is left is read in the background.
 * Returns true if it did so.
 */
export const bridgeGap = Effect.fnUntraced(function* (
  reader: Reader,
  treasury: WatchedTreasury,
  watermark: Watermark,
  now: bigint,
) {
  const at = watermark.timestamp
  const isIdle = hasElapsed(watermark.updatedAt, millisOf(now), idleMillisMin)
  if (!isIdle || now - at < keptNanosMin) return false
  const parties = partiesOf(treasury)
  if (yield* reachesBehind(reader, { parties, at })) return false
  const base = yield* readBaseTogether(parties, now)
  if (base === "unusable" || base === "apart") return false
  const end = base === "unsupported" ? now : base.until
  if (end <= at) return false
  const begins = yield* oldestSince(reader, { parties, at, until: end })
  // Without present balances, reading can go on only from the remaining history.
  if (base === "unsupported" && begins === undefined) return false
  const until = begins ?? end
  const reached = base === "unsupported" ? { timestamp: until, height: 0n } : { timestamp: end, height: base.height }
  const database = yield* Database
  yield* database.write(
    Effect.gen(function* () {
      const observations = yield* Observations
      yield* observations.rebase(base === "unsupported" ? [] : base.openings, reached)
      yield* (yield* Drifts).uncheck
      yield* recordLoss(at, until)
      yield* observations.backfillBetween(until, reached.timestamp)
    }),
  )
  yield* (yield* Signals).wake("engine", "backfill", "alerts")
  return true
})

const forgotten = "the gateway deleted them before they were read"

/** Records a lost time range, and alerts. Call it in the transaction that handles the loss. */
export const recordLoss = Effect.fnUntraced(function* (since: bigint, until: bigint, cause = forgotten) {
  const [from, to] = [isoOf(since), isoOf(until)]
  yield* (yield* Observations).noteGap({ since, until, cause })
  yield* raise("balances_lost", { since: String(since), until: String(until), from, to, cause })
  yield* logEvent("balance history lost", { since: from!, until: to!, reason: cause })
})

/** Setting: "pending" from the acceptance of a restarted chain until balances were read again on it. */
export const anewKey = "chainAnew"

const cause = "the network was reset, and its chain began again"

interface Begun {
  readonly parties: ReadonlySet<string>
  readonly openings: ReadonlyArray<BalanceChange>
  readonly at: bigint
}

/** Zero for each known account of the parties that their new balances do not have. */
const goneOf = (known: ReadonlyArray<BalanceChange>, { parties, openings, at }: Begun) => {
  const listed = new Set(openings.map(accountKeyText))
  return known
    .filter((account) => parties.has(account.party) && !listed.has(accountKeyText(account)))
    .map((account) => ({ ...account, balance: 0n, timestamp: at }))
}

/**
 * Starts balances again on a restarted chain: present values, and zero for each account that it does not have.
 * Undefined if no restart is pending; "waits" while they cannot be read: until then no row is read.
 */
export const beginAnew = Effect.fnUntraced(function* (
  parties: ReadonlyArray<string>,
  watermark: Watermark,
  now: bigint,
) {
  const settings = yield* Settings
  if ((yield* settings.get(anewKey)) !== "pending") return undefined
  const base = yield* readBaseTogether(parties, now)
  if (base === "unusable" || base === "apart") return "waits" as const
  const observations = yield* Observations
  // Without a listing of balances, those of the new chain come with its rows, which are later than the old rows.
  const reached =
    base === "unsupported"
      ? { timestamp: watermark.timestamp + blockNanos, height: 0n }
      : { timestamp: base.until, height: base.height }
  if (reached.timestamp <= watermark.timestamp) return "waits" as const
  const openings = base === "unsupported" ? [] : base.openings
  const at = reached.timestamp - blockNanos
  const gone = goneOf(yield* observations.accounts, { parties: new Set(parties), openings, at })
  yield* (yield* Database).write(
    Effect.gen(function* () {
      yield* observations.rebase([...openings, ...gone], reached)
      yield* (yield* Drifts).uncheck
      yield* recordLoss(watermark.timestamp, reached.timestamp, cause)
      yield* settings.forget(anewKey)
    }),
  )
  yield* (yield* Signals).wake("engine", "alerts")
  return "begun" as const
})

/** Setting with the keys of the parties whose rows are read up to the watermark. */
const watchedKey = "watchedParties"

const textOf = (parties: ReadonlyArray<string>): string => parties.toSorted().join(" ")

export const noteWatched = (parties: ReadonlyArray<string>) =>
  Effect.flatMap(Settings, ({ set }) => set(watchedKey, textOf(parties)))

/**
 * Begins the balances of parties that the file did not name before: rows up to the watermark were read without them, so
 * what is known of one that was named earlier is old. True if they cannot be read now: until then no row is read.
 */
export const beginNamed = Effect.fnUntraced(function* (
  parties: ReadonlyArray<string>,
  { timestamp, height }: Watermark,
  now: bigint,
) {
  const stored = yield* (yield* Settings).get(watchedKey)
  if (stored === textOf(parties)) return false
  const observations = yield* Observations
  const known = yield* observations.accounts
  const watched = new Set(stored?.split(" ") ?? known.map(({ party }) => party))
  const named = new Set(parties.filter((party) => !watched.has(party)))
  const base = named.size === 0 ? "unsupported" : (yield* readBaseOrRows([...named], now)).base
  if (base === "apart") yield* (yield* disagreement).note("the gateways show different balances of new parties")
  if (base === "unusable" || base === "apart") return true
  if (base === "unsupported") {
    yield* noteWatched(parties)
    return false
  }
  if (base.until < timestamp) return true
  const at = base.until - blockNanos
  const openings = base.openings.map((row) => ({ ...row, timestamp: at }))
  const gone = goneOf(known, { parties: named, openings, at })
  yield* (yield* Database).write(
    Effect.gen(function* () {
      yield* observations.rebase([...openings, ...gone], { timestamp, height })
      yield* noteWatched(parties)
    }),
  )
  yield* (yield* Signals).wake("engine", "alerts")
  return false
})
