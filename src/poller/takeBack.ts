import { Clock, Effect, Option } from "effect"
import { deadlineHeight } from "../domain/Attempt.ts"
import type { BalanceChange } from "../domain/Balance.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { RequestPriority } from "../gateway/RequestPriority.ts"
import type { Held, Newest } from "../store/accountRows.ts"
import { Database } from "../store/Database.ts"
import { accountName, type Difference, Drifts } from "../store/Drifts.ts"
import { Findings } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { aligned, blockNanos, type Reader } from "./askWindow.ts"
import type { Comparison, ReconciliationOptions } from "./Comparison.ts"
import { reachesBehind } from "./historyBegins.ts"
import { noteTakenBack, type TakenBack } from "./noteTakenBack.ts"
import { readWindow } from "./readWindow.ts"
import { oldestNanos, windowsMax } from "./rereadRows.ts"

const pageRows = 1_000
/** Rows of one account that may be in doubt, newest first: few are tried before many. */
const doubtedMax = [16, 128, 1_000]
/** Rows of one rereading that are held in memory. */
const rowsMax = 100_000
/** Accounts of one comparison that are looked at for the first time; others are left to the next one. */
const accountsMax = 50
const endOfTime = 2n ** 63n - 1n
/** Between the two rereadings that must say the same, at least. */
const apartMillis = 10_000

/**
 * Rows that a lie has left behind in accounts that are in drift already. Where a whole rereading, twice and some time
 * apart, shows other rows, which lead to the very balance that the gateway tells of the account, those of ours that it
 * does not show are taken back: rules have held since the drift, and hold until a comparison agrees. Call it where one
 * gateway alone is asked, once the drift is noted. Returns whether anything was.
 */
export const takeBack = Effect.fn("Reconciliation.takeBack")(function* (
  options: ReconciliationOptions,
  memory: Comparison,
  differing: ReadonlyArray<Difference>,
) {
  const reader = yield* GatewayReader
  const inDrift = new Set((yield* (yield* Drifts).all).map(accountName))
  const now = yield* Clock.currentTimeMillis
  const proofs: Comparison["proofs"] = new Map()
  const proven: Array<TakenBack> = []
  const used = yield* inUse
  const held = differing.filter(
    (difference) => inDrift.has(accountName(difference)) && !used.has(`${difference.party}|${difference.asset}`),
  )
  for (const difference of inTurn(held, memory)) {
    const name = accountName(difference)
    const found = yield* explain(reader, difference).pipe(
      Effect.provideService(RequestPriority, "backfill"),
      Effect.catchTag("GatewayError", () => Effect.undefined),
    )
    if (found === undefined) continue
    const known = memory.proofs.get(name)
    const proof = known?.text === found.text ? known : { text: found.text, at: now }
    if (now - proof.at >= apartMillis) proven.push(found)
    else proofs.set(name, proof)
  }
  memory.proofs = proofs
  if (proven.length === 0) return false
  const observations = yield* Observations
  const database = yield* Database
  yield* database.atomically(
    Effect.gen(function* () {
      yield* observations.correct(proven.map(({ correction }) => correction))
      yield* noteTakenBack(options, proven)
    }),
  )
  const signals = yield* Signals
  for (const topic of ["engine", "alerts"] as const) yield* signals.wake(topic)
  return true
})

/**
 * Accounts of payments whose bytes could still execute, by party and asset: one may have been confirmed by the very
 * rows that are in doubt, and with them gone its rule would decide it anew.
 */
const inUse = Effect.gen(function* () {
  const outbox = yield* Outbox
  const height = (yield* (yield* Observations).watermark)?.height ?? 0n
  const open = (yield* (yield* Findings).watched).filter((attempt) => height <= deadlineHeight(attempt) + 1n)
  const payments = yield* Effect.forEach(open, ({ intentId }) => outbox.byId(intentId))
  return new Set(
    payments
      .flatMap(Option.toArray)
      .flatMap(({ payment: { fromKey, toKey, assetId } }) => [`${fromKey}|${assetId}`, `${toKey}|${assetId}`]),
  )
})

/** Those of which something was proven once, then as many of the others, from another one on each time. */
const inTurn = (differing: ReadonlyArray<Difference>, { proofs, count }: Comparison): ReadonlyArray<Difference> => {
  const start = differing.length === 0 ? 0 : (count * accountsMax) % differing.length
  const turned = [...differing.slice(start), ...differing.slice(0, start)]
  const isProven = (difference: Difference) => proofs.has(accountName(difference))
  const others = turned.filter((difference) => !isProven(difference))
  return [...turned.filter(isProven), ...others.slice(0, accountsMax)]
}

/** Which of our rows the gateway's own contradict, where those lead to the balance that it tells. */
const explain = Effect.fnUntraced(function* (reader: Reader, difference: Difference) {
  const observations = yield* Observations
  const watermark = yield* observations.watermark
  const latest = yield* observations.before(difference, endOfTime)
  if (watermark === undefined || latest === undefined) return undefined
  const until = watermark.timestamp
  // Networks forget rows: of those that are older only the newest one is in doubt.
  const oldest = aligned(until - oldestNanos)
  const since = latest.timestamp > oldest ? oldest : latest.timestamp
  for (const max of doubtedMax) {
    const stored = yield* observations.rowsOf(difference, since, max)
    const first = stored.at(-1)
    const before = first === undefined ? latest : yield* observations.before(difference, first.timestamp)
    // Where nothing but an opening balance is behind them, it is in doubt as well.
    const from = aligned(before?.isOpening === true || first === undefined ? before!.timestamp : first.timestamp)
    const shown = yield* readWhole(reader, difference, { from, until })
    if (shown === undefined) return undefined
    const base = yield* (yield* Drifts).base
    const found = contradicted(difference, { stored, shown: shown.rows, before, until, base })
    // Who names no block may be behind: rows that it does not show are not gone.
    if (!shown.isMarked && found?.told.some(({ said }) => said === undefined) === true) return undefined
    if (found === undefined && stored.length === max) continue
    return found !== undefined && (yield* isRemembered(reader, found, from)) ? found : undefined
  }
  return undefined
})

/** What a gateway forgot, the oldest first, it does not show either: it must have rows from before. */
const isRemembered = Effect.fnUntraced(function* (
  reader: Reader,
  { correction, told, begun }: TakenBack,
  from: bigint,
) {
  const unseen = told.filter(({ said }) => said === undefined).map(({ timestamp }) => timestamp)
  const first = begun === undefined ? unseen.at(-1) : from
  if (first === undefined) return true
  return yield* reachesBehind(reader, { parties: [correction.account.party], at: aligned(first) + blockNanos })
})

/**
 * All rows of the account between two block times, each once, and whether each answer names a block; undefined where
 * they do not reach the end.
 */
const readWhole = Effect.fnUntraced(function* (
  reader: Reader,
  account: Difference,
  { from, until }: { readonly from: bigint; readonly until: bigint },
) {
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const name = accountName(account)
  const found = new Map<bigint, BalanceChange>()
  let isMarked = true
  let read = 0
  let next = from
  for (let windows = 0; windows < windowsMax && next < until; windows++) {
    const answer = yield* readWindow(reader, { parties: [account.party], from: next, end: until, pageRows, now })
    if (answer._tag !== "Rows") return undefined
    if (answer.mark === undefined) isMarked = false
    for (const row of answer.rows) {
      if (accountName(row) !== name) continue
      if (found.has(row.timestamp)) return undefined
      found.set(row.timestamp, row)
    }
    read += answer.rows.length
    if (read > rowsMax) return undefined
    next = answer.until
  }
  return next < until ? undefined : { rows: found, isMarked }
})

interface Reread {
  /** Our rows of the time that was read again. */
  readonly stored: ReadonlyArray<Held>
  /** The gateway's, by block time. */
  readonly shown: ReadonlyMap<bigint, BalanceChange>
  /** What the account held before the first of ours. */
  readonly before: Newest | undefined
  /** Up to where rows are known. */
  readonly until: bigint
  /** Where the first reading began. */
  readonly base: bigint | undefined
}

/** What is to be taken back; undefined where the rows shown do not lead to the balance that is told, or nothing is. */
const contradicted = (
  { party, asset, market, type, reported }: Difference,
  { stored, shown, before, until, base }: Reread,
): TakenBack | undefined => {
  const account = { party, asset, market, type }
  const rows = [...shown.values()]
  const [first, ...others] = rows
  const last = others.reduce((newest, row) => (row.timestamp > newest!.timestamp ? row : newest), first)
  const told = stored
    .filter(({ timestamp, balance }) => shown.get(timestamp)?.balance !== balance)
    .map(({ timestamp, balance }) => ({ timestamp, balance, said: shown.get(timestamp)?.balance }))
  // No row since the first opening balance, ours or theirs: then the account had always held what it holds.
  const isFirst = before?.isOpening === true && base !== undefined && before.timestamp < base
  const isBegunWrongly = isFirst && before.balance !== reported && last === undefined && told.length === 0
  const isExplained = (last?.balance ?? before?.balance ?? 0n) === reported
  if (!isBegunWrongly && (!isExplained || told.length === 0)) return undefined
  const opening = isBegunWrongly ? { ...account, balance: reported, timestamp: until - blockNanos } : undefined
  const text = told.map(({ timestamp, balance, said }) => `${timestamp} ${balance} ${said}`).join(",")
  return {
    correction: { account, gone: told.map(({ timestamp }) => timestamp), rows, opening },
    told,
    begun: isBegunWrongly ? { stored: before.balance, said: reported } : undefined,
    text: isBegunWrongly ? `${text}, begun with ${before.balance}, not ${reported}` : text,
  }
}
