import { Clock, Effect } from "effect"
import { Database } from "../store/Database.ts"
import { accountName, Drifts } from "../store/Drifts.ts"
import { type AccountBalance, Observations } from "../store/Observations.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { aligned, blockNanos, type Reader } from "./askWindow.ts"
import { readWindow } from "./readWindow.ts"

/** Which rows are read a second time. */
interface Reread {
  readonly parties: ReadonlyArray<string>
  readonly pageRows: number
}

/** What a second reading brought. */
interface SecondReading {
  /** Rows that the first one had missed; they are stored now. */
  readonly found: number
  /** Whether the gateway did not show rows again that it had shown before, or showed others in their place. */
  readonly contradicted: boolean
  /** Whether all up to the watermark was read. */
  readonly complete: boolean
}

/** Up to where rows were read twice, and of whom: JSON of `until` in Unix nanoseconds and the parties. */
const verifiedKey = "rowsReadTwice"
/** Windows of one reading at most: more is left for the next. */
export const windowsMax = 60
/** Networks forget rows, the earliest after a day: what is older is not asked for again. */
export const oldestNanos = 20n * 3_600_000_000_000n

/** Stored rows beyond those shown that are counted; more are as bad. */
const lostMax = 5_000

const keyOf = (row: AccountBalance): string => `${row.timestamp} ${accountName(row)}`

/**
 * Reads again, in long windows, what was read since the last second reading, and stores what the first one missed: a
 * gateway can leave rows out of an answer without a word. A window counts as read twice when it shows exactly the rows
 * that are stored: one that lacks some of them comes from a gateway that does not know better now.
 */
export const rereadRows = Effect.fn("Reconciliation.reread")(function* (reader: Reader, options: Reread) {
  const watermark = yield* (yield* Observations).watermark
  const nothing: SecondReading = { found: 0, contradicted: false, complete: true }
  if (watermark === undefined) return nothing
  let from = yield* verifiedUntil(options, watermark.timestamp)
  let found = 0
  for (let windows = 0; from < watermark.timestamp; windows++) {
    if (windows === windowsMax) return { found, contradicted: false, complete: false }
    const seen = yield* readAgain(reader, options, from, watermark.timestamp)
    if (seen === undefined) return { found, contradicted: false, complete: false }
    if (seen.isMarkless) {
      yield* setVerified(options, watermark.timestamp)
      return nothing
    }
    if (seen.lost > 0) return { found, contradicted: true, complete: false }
    found += seen.missed.length
    yield* storeRows(seen.missed)
    from = seen.until
    // What was incomplete once is read a third time.
    if (seen.missed.length === 0) yield* setVerified(options, from)
    else return { found, contradicted: false, complete: false }
  }
  return { found, contradicted: false, complete: true }
})

/** One window of it, compared with what is stored; undefined where the gateway does not show it completely. */
const readAgain = Effect.fnUntraced(function* (
  reader: Reader,
  { parties, pageRows }: Reread,
  from: bigint,
  end: bigint,
) {
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const answer = yield* readWindow(reader, { parties, from, end, pageRows, now })
  if (answer._tag !== "Rows") return undefined
  const { rows, until, mark } = answer
  const shown = new Map(rows.map((row) => [keyOf(row), row]))
  if (shown.size < rows.length) return undefined
  const found = yield* (yield* Drifts).rowsBetween(from, until, rows.length + lostMax)
  const isMarkless = mark === undefined
  // A gateway that forgot most of what is stored shows next to nothing for a long time.
  if (found === undefined) return { until, isMarkless, lost: lostMax, missed: [] }
  const stored = found.filter(({ party }) => parties.includes(party))
  const known = new Set(stored.map(keyOf))
  return {
    until,
    isMarkless,
    lost: stored.filter((row) => shown.get(keyOf(row))?.balance !== row.balance).length,
    missed: rows.filter((row) => !known.has(keyOf(row))),
  }
})

/** Where accounts may have moved unseen: rows behind the newest one of each of them. Returns how many were missed. */
export const rereadAccounts = Effect.fn("Reconciliation.rereadAccounts")(function* (
  reader: Reader,
  options: Reread,
  accounts: ReadonlyArray<Pick<AccountBalance, "party" | "timestamp">>,
) {
  const watermark = yield* (yield* Observations).watermark
  if (watermark === undefined || accounts.length === 0) return 0
  const parties = [...new Set(accounts.map(({ party }) => party))]
  const newest = accounts.reduce((least, { timestamp }) => (timestamp < least ? timestamp : least), watermark.timestamp)
  const oldest = watermark.timestamp - oldestNanos
  let from = newest > oldest ? newest + blockNanos : aligned(oldest)
  let found = 0
  for (let windows = 0; windows < windowsMax && from < watermark.timestamp; windows++) {
    const seen = yield* readAgain(reader, { ...options, parties }, from, watermark.timestamp)
    if (seen === undefined) break
    found += seen.missed.length
    yield* storeRows(seen.missed)
    from = seen.until
  }
  return found
})

/** Late rows change nothing about how far rows were read. */
const storeRows = Effect.fnUntraced(function* (rows: ReadonlyArray<AccountBalance>) {
  if (rows.length === 0) return
  const observations = yield* Observations
  const database = yield* Database
  yield* database.atomically(
    Effect.gen(function* () {
      const watermark = yield* observations.watermark
      if (watermark === undefined) return
      const { timestamp, height } = watermark
      yield* observations.advance(rows, { timestamp, height })
    }),
  )
  yield* (yield* Signals).wake("engine")
})

/** Rows of parties that were not watched then were not read at all: then it begins anew. */
const verifiedUntil = Effect.fnUntraced(function* (options: Reread, watermark: bigint) {
  const text = yield* (yield* Settings).get(verifiedKey)
  const [until, ...parties] = (text ?? "").split(" ")
  const isSame = parties.join(" ") === partiesOf(options)
  const said = isSame && until !== undefined && /^[0-9]+$/.test(until) ? BigInt(until) : undefined
  const last = text === undefined ? yield* (yield* Drifts).base : said
  if (last !== undefined && last <= watermark && watermark - last < oldestNanos) return last
  yield* setVerified(options, watermark)
  return watermark
})

/** Up to here nothing is read again. */
export const setVerified = Effect.fnUntraced(function* (options: Pick<Reread, "parties">, until: bigint) {
  yield* (yield* Settings).set(verifiedKey, `${until} ${partiesOf(options)}`)
})

const partiesOf = ({ parties }: Pick<Reread, "parties">): string => parties.toSorted().join(" ")
