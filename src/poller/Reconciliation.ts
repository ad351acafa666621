import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { RequestPriority } from "../gateway/RequestPriority.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { accountName, type Difference, Drifts } from "../store/Drifts.ts"
import { Observations } from "../store/Observations.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { say } from "../telemetry/say.ts"
import { type Compared, judgeCompared, nextToCompare, nothingCompared } from "./Compared.ts"
import { compareAccounts } from "./compareAccounts.ts"
import { alertOf, subjectOf, tellMissed, wordsOf } from "./driftWords.ts"
import { type AccountListing, listAccounts } from "./listAccounts.ts"
import { rereadAccounts, rereadRows, setVerified } from "./rereadRows.ts"

export interface ReconciliationOptions {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  /** Balances behind by more are being caught up with: not compared until they are there. */
  readonly maxAgeMillis: number
  /** Between two comparisons. */
  readonly reconcileMillis: number
}

/** While something differs it is compared this often at least. */
const driftMillisMax = 30_000
/** After an answer that is of no use. */
const retryMillis = 5_000
/** A listing whose block the rows do not reach in this time is made anew. */
const patienceMillis = 30_000
/** Before the next gateway of a quorum is asked. */
const moreMillis = 500
const pageRows = 1_000
/** Rows since a listing that are held in memory to compare it; one that is older is made anew. */
const rowsMax = 100_000
/** Accounts whose balance before a listing is looked up; more are left to the next comparison. */
const movingMax = 200
/** Second readings in a row that lack rows of the first before people are told. */
const contradictionsMax = 3

/** What this process remembers between two steps. None of it is needed after its end. */
interface Memory {
  dueAt: number
  isBehind: boolean
  /** Made, and not compared to its end. */
  listing: (AccountListing & { readonly at: number }) | undefined
  /** Names of accounts that differed in the look before this one; undefined: this is the first look. */
  before: ReadonlySet<string> | undefined
  contradictions: number
  /** Whether everything up to the watermark was read twice when the last comparison ended, with nothing new. */
  isReadTwice: boolean
  /** Comparisons brought to an end. */
  count: number
  /** With several gateways a comparison is one with as many of them as must agree. */
  compared: Compared
}

/**
 * Compares our rows with the balances that the gateway itself tells: after each start, each time after the rows had
 * fallen behind, and on a schedule. What differs twice, and after the rows in question were read again, is a drift.
 */
export class Reconciliation extends Context.Service<
  Reconciliation,
  {
    /** Begins a comparison now, whenever the next one were due. Returns how many were brought to an end before. */
    readonly request: Effect.Effect<number>
    readonly count: Effect.Effect<number>
    readonly isReadTwice: Effect.Effect<boolean>
    readonly run: <A, E, R>(use: (memory: Memory) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("cofferer/poller/Reconciliation") {
  static readonly layer = Layer.effect(
    Reconciliation,
    Effect.gen(function* () {
      const lock = yield* Semaphore.make(1)
      const memory: Memory = {
        dueAt: 0,
        isBehind: false,
        listing: undefined,
        before: undefined,
        contradictions: 0,
        isReadTwice: false,
        count: 0,
        compared: nothingCompared(),
      }
      return Reconciliation.of({
        request: Effect.sync(() => {
          memory.dueAt = 0
          memory.isBehind = false
          return memory.count
        }),
        count: Effect.sync(() => memory.count),
        isReadTwice: Effect.sync(() => memory.isReadTwice),
        run: (use) => lock.withPermits(1)(Effect.suspend(() => use(memory))),
      })
    }),
  )
}

/** One step, which waits for nothing but answers. Several of them make a comparison, with newer rows between them. */
export const reconcileBalances = Effect.fn("Reconciliation.step")(function* (options: ReconciliationOptions) {
  const reconciliation = yield* Reconciliation
  yield* reconciliation.run((memory) =>
    step(options, memory).pipe(
      Effect.tapError(() => Effect.flatMap(Clock.currentTimeMillis, (now) => skip(memory, now))),
    ),
  )
})

const step = Effect.fnUntraced(function* (options: ReconciliationOptions, memory: Memory) {
  const observations = yield* Observations
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* observations.watermark
  if (watermark === undefined || options.parties.size === 0) return
  if (memory.listing === undefined) {
    const isBehind = now - Number(watermark.timestamp / 1_000_000n) > options.maxAgeMillis
    if (memory.isBehind && !isBehind) memory.dueAt = now
    memory.isBehind = isBehind
    if (now < memory.dueAt) return
    // One that is late waits for the rows; a chain that stands still is compared all the same, at leisure.
    yield* list(options, memory, now)
  }
  const { listing } = memory
  if (listing === undefined) return
  if (watermark.timestamp < listing.since) {
    yield* (yield* Signals).wake("balances")
    if (now - listing.at > patienceMillis) yield* give(memory, now)
    return
  }
  yield* compare(options, memory, { listing, isBeyond: watermark.timestamp > listing.since, now })
})

const keysOf = ({ parties }: ReconciliationOptions) => [...parties.values()].map(({ publicKey }) => publicKey)

/** This gateway told nothing of use. Where there are others the next one is asked soon: none can hold up all. */
const skip = Effect.fnUntraced(function* (memory: Memory, now: number) {
  memory.listing = undefined
  memory.dueAt = now + retryMillis
  if ((yield* Gateways).all.length === 1) {
    memory.compared = nothingCompared()
    return
  }
  const { asked, silent } = memory.compared
  if (asked !== undefined) silent.add(asked)
  memory.before = undefined
  memory.dueAt = now + moreMillis
})

const give = (memory: Memory, now: number) =>
  Effect.map(skip(memory, now), () => {
    memory.before = undefined
  })

const list = Effect.fnUntraced(function* (options: ReconciliationOptions, memory: Memory, now: number) {
  const { all } = yield* Gateways
  const gateway = yield* nextToCompare(memory.compared)
  if (gateway === undefined) {
    memory.compared = nothingCompared()
    memory.dueAt = now + retryMillis
    return yield* Effect.logWarning("balances could not be compared", { reason: "too few gateways told them" })
  }
  const listed = yield* listAccounts(gateway.reader, keysOf(options))
  if (listed._tag === "Listed") memory.listing = { ...listed.listing, at: now }
  else if (listed._tag === "Unsupported" && all.length === 1) yield* finish(options, memory, [], new Set())
  else {
    yield* skip(memory, now)
    const reason = listed._tag === "Unsupported" ? "the gateway tells no balances" : listed.detail
    yield* Effect.logWarning("balances could not be compared", { gateway: gateway.name, reason })
  }
})

const compare = Effect.fnUntraced(function* (
  options: ReconciliationOptions,
  memory: Memory,
  at: { readonly listing: AccountListing & { readonly at: number }; readonly isBeyond: boolean; readonly now: number },
) {
  const { listing, isBeyond, now } = at
  const look = compareNow(options, listing)
  let seen = yield* look
  if (seen === undefined) return yield* give(memory, now)
  // The block at the listing's own time may be in the listing already, and is not in the rows yet.
  if (seen.differing.length > 0 && !isBeyond) {
    if (now - listing.at > patienceMillis) yield* give(memory, now)
    return
  }
  // Rows that a quorum gave alike are not read again from one gateway alone.
  const isAlone = (yield* Gateways).quorum === 1
  if (seen.differing.length > 0 && isAlone) {
    yield* readAgain(seen.differing)
    seen = (yield* look) ?? seen
  }
  const { before } = memory
  memory.listing = undefined
  if (seen.differing.length > 0 && before === undefined) {
    memory.before = new Set(seen.differing.map(accountName))
    memory.dueAt = now
    return
  }
  const lasting = seen.differing.filter((difference) => before?.has(accountName(difference)) === true)
  const judged = yield* judgeCompared(memory.compared, lasting.length > 0)
  if (judged === "more") {
    memory.before = undefined
    memory.dueAt = now + moreMillis
    return
  }
  yield* finish(options, memory, judged === "agreed" ? [] : lasting, seen.agreeing)
})

const compareNow = Effect.fnUntraced(function* (options: ReconciliationOptions, listing: AccountListing) {
  const observations = yield* Observations
  const parties = new Set<string>(keysOf(options))
  const accounts = (yield* observations.accounts).filter(({ party }) => parties.has(party))
  const end = accounts.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), listing.since)
  const drifts = yield* Drifts
  const rows = yield* drifts.rowsBetween(listing.since, end + 1n, rowsMax)
  if (rows === undefined) return undefined
  const first = compareAccounts(listing, accounts, rows)
  if (first.moving.length === 0) return first
  const before = new Map<string, bigint>()
  for (const account of first.moving.slice(0, movingMax)) {
    const balance = yield* drifts.balanceBefore(account, listing.since)
    if (balance !== undefined) before.set(accountName(account), balance)
  }
  return compareAccounts(listing, accounts, rows, before)
})

/** The rows that could explain it. */
const readAgain = Effect.fnUntraced(function* (differing: ReadonlyArray<Difference>) {
  const observations = yield* Observations
  const newest = new Map((yield* observations.accounts).map((account) => [accountName(account), account.timestamp]))
  const places = differing.map((one) => ({ party: one.party, timestamp: newest.get(accountName(one)) ?? 0n }))
  yield* tellMissed(yield* rereadAccounts(yield* GatewayReader, { parties: [], pageRows }, places))
})

/** The end of a comparison: what it says becomes durable together with who is to hear of it. */
const finish = Effect.fnUntraced(function* (
  options: ReconciliationOptions,
  memory: Memory,
  differing: ReadonlyArray<Difference>,
  agreeing: ReadonlySet<string>,
) {
  const drifts = yield* Drifts
  const alerts = yield* AlertQueue
  const database = yield* Database
  const signals = yield* Signals
  const { begun, ended } = yield* database.atomically(
    Effect.gen(function* () {
      const changed = yield* drifts.note({ differing, agreeing })
      for (const drift of changed.begun) yield* alerts.raise(alertOf(options, drift, false))
      for (const drift of changed.ended) yield* alerts.raise(alertOf(options, drift, true))
      return changed
    }),
  )
  for (const drift of begun)
    yield* say("drift", { subject: subjectOf(options, drift), detail: wordsOf(options, drift) })
  for (const drift of ended) yield* say("drift", { subject: subjectOf(options, drift), detail: "is over" })
  yield* drifts.check
  yield* signals.wake("engine")
  if (begun.length + ended.length > 0) yield* signals.wake("alerts")
  memory.before = undefined
  memory.listing = undefined
  memory.compared = nothingCompared()
  memory.count++
  const isCalm = (yield* drifts.all).length === 0
  const wait = isCalm ? options.reconcileMillis : Math.min(driftMillisMax, options.reconcileMillis)
  memory.dueAt = (yield* Clock.currentTimeMillis) + wait
  // Rows that a quorum gave alike were read more than once already.
  if ((yield* Gateways).quorum === 1) yield* readTwice(options, memory)
  else memory.isReadTwice = true
})

/** The second reading of what came since the last one. */
const readTwice = Effect.fnUntraced(function* (options: ReconciliationOptions, memory: Memory) {
  const parties = keysOf(options)
  memory.isReadTwice = false
  const { found, contradicted, complete } = yield* rereadRows(yield* GatewayReader, { parties, pageRows }).pipe(
    Effect.provideService(RequestPriority, "backfill"),
  )
  memory.isReadTwice = complete && found === 0
  yield* tellMissed(found)
  memory.contradictions = contradicted ? memory.contradictions + 1 : 0
  if (memory.contradictions < contradictionsMax) return
  const watermark = yield* (yield* Observations).watermark
  const until = watermark?.timestamp ?? 0n
  yield* (yield* AlertQueue).raise({
    dedup: `rows/contradicted/${until}`,
    severity: "ticket",
    kind: "drift",
    subject: "rows",
    detail: "the gateway does not show rows again that it showed before; cofferer reconcile compares",
    fields: {},
  })
  yield* setVerified({ parties }, until)
  memory.contradictions = 0
})

/** A step is quick: most find nothing to do. */
const stepMillis = 1_000
const hurriedMillis = 250

export const reconciliationLoop = (options: ReconciliationOptions) =>
  Effect.gen(function* () {
    const cycle = yield* Cycle
    const reconciliation = yield* Reconciliation
    yield* cycle
      .counted("accounts", reconcileBalances(options))
      .pipe(
        Effect.catchTag("GatewayError", (error: GatewayError) =>
          Effect.logWarning("balances could not be compared", { reason: error.message }),
        ),
      )
    const isUnderWay = yield* reconciliation.run((memory) => Effect.sync(() => memory.listing !== undefined))
    yield* Effect.sleep(isUnderWay || !(yield* (yield* Drifts).isChecked) ? hurriedMillis : stepMillis)
  }).pipe(Effect.forever)
