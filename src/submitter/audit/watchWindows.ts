import { Clock, Effect, Option } from "effect"
import { type Attempt, deadlineHeight } from "../../domain/Attempt.ts"
import { paymentFacts } from "../../domain/alerts/Alert.ts"
import { type IntentCommand, unsettledFrom } from "../../domain/Intent.ts"
import { nanosOf } from "../../domain/Time.ts"
import { ifSupported } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import { doubtfulUntil, isApart } from "../../payments/judgeAttempt.ts"
import { excessOf } from "../../payments/movements.ts"
import { raise } from "../../store/alerts/raise.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { Controls, haltSigningWith } from "../../store/controls/Controls.ts"
import { Database } from "../../store/database/Database.ts"
import { LedgerAudit } from "../../store/payments/LedgerAudit.ts"
import { Outbox } from "../../store/payments/Outbox.ts"
import { AuditMemory } from "../AuditMemory.ts"
import { ChainHeadCache } from "../ChainHeadCache.ts"
import { executionsOf, movementsFor } from "../judgeFound.ts"
import { loadSends, loadSteps } from "../loadEnds.ts"
import { haltOnSecondExecution } from "./recordListing.ts"

/** The gateways' common listing of a key's payments of a kind; undefined if none lists them. */
const listingOf = (command: IntentCommand, party: string) =>
  Effect.flatMap(GatewayReader, ({ transfersFrom, withdrawalsFrom }) =>
    ifSupported((command === "withdraw" ? withdrawalsFrom : transfersFrom)(party)),
  )

/** Block time of the newest row of any of the party's accounts; 0 where none is known. */
export const newestRow = Effect.fnUntraced(function* (party: string) {
  const own = (yield* (yield* Observations).accounts).filter((account) => account.party === party)
  return own.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), 0n)
})

const notThere = "the ledger neither lists it nor moved money for it"

/**
 * Judges a payment recorded as executed without a known movement, once its window is over: by complete listings of a
 * quorum alone. A first one without it raises a ticket; a second, apart as for a proof of absence, halts. It passes if
 * it is listed, or if there is no listing; if no listing is ever complete it halts after a bound of time. Returns true
 * if its watch may end.
 */
const auditMissing = Effect.fn("Reconcile.missing")(function* (attempt: Attempt) {
  const outbox = yield* Outbox
  const intent = Option.getOrUndefined(yield* outbox.byId(attempt.intentId))
  if (intent === undefined || attempt.state !== "confirmed") return true
  const all = (yield* outbox.evidence(intent.id)).filter(({ k }) => k === attempt.k)
  // Absence from listings before a sighting proves nothing about absence after it.
  const evidence = all.slice(all.findLastIndex(({ kind }) => kind === "executed") + 1)
  if (evidence.some(({ kind }) => kind === "moved")) return true
  const listing = yield* listingOf(intent.command, attempt.party)
  if (listing === undefined || listing.transfers.some(({ id }) => id === attempt.transferId)) return true
  // Answers without a block reach as far as their gateway's head before them.
  const height = listing.mark?.height ?? listing.reached
  const now = yield* Clock.currentTimeMillis
  const whole = listing.complete && height !== undefined && height > doubtfulUntil(attempt) ? height : undefined
  // Where no listing is ever whole, people are called once a payment under way would call them.
  if (whole === undefined && now < unsettledFrom(attempt)) return false
  const first = evidence.find(({ kind }) => kind === "absent")
  const words =
    `${paymentFacts(intent).payment} is recorded as paid, and ` +
    (whole === undefined ? "no listing is whole that would show it, nor did money move for it" : notThere)
  if (whole !== undefined && first === undefined) {
    const seen = { gateway: "", height: whole, detail: "a complete listing does not hold it" }
    const ticket = raise("payment_missing", { ...paymentFacts(intent), words })
    yield* (yield* Database).write(Effect.andThen(outbox.addEvidence(attempt, "absent", seen), ticket))
    return false
  }
  const before = first && { at: first.at, height: first.height ?? 0n }
  if (whole !== undefined && before !== undefined && !isApart(attempt, before, { at: now, height: whole })) return false
  // A halt in force tells of one payment: another one is watched until it can halt for itself.
  if ((yield* (yield* Controls).halts).some(({ reason }) => reason === "payment_missing")) return false
  const remedy = 'compare it at another gateway; if it is still owed, pay it with "cofferer submit" after resume'
  const ended = (yield* LedgerAudit).endWatch(attempt)
  yield* haltSigningWith("payment_missing", Effect.as(ended, `${words}: ${remedy}`))
  return true
})

/** Time after its window at which an attempt is dropped if no block header shows how far answers reach. */
const settleMillis = 30_000
const settleBlocks = 10n
/** Balances further behind the newest block have stopped: the ledger's own count does not wait for them. */
const stillBlocks = 5n

/**
 * Counts on the ledger itself how often each attempt executed: once its window is over, since no second execution comes
 * after that, and before where it was seen as done in two blocks, or the balances moved more often than payments
 * explain. Then the attempt is dropped; the listings of its key are compared for ever.
 */
export const watchWindows = Effect.fn("Reconcile.watch")(function* () {
  const watched = yield* (yield* LedgerAudit).watched
  if (watched.length === 0) return
  const heights = yield* heightsNow()
  for (const party of new Set(watched.map((attempt) => attempt.party))) {
    const own = watched.filter((attempt) => attempt.party === party)
    const newest = yield* newestRow(party)
    const excess = yield* excessNow(party, own, newest)
    const seen = yield* doneMoreOften(own)
    const isOver = (attempt: Attempt) => heights.chain > deadlineHeight(attempt) + 1n
    const due = own.filter((a) => isOver(a) || excess.has(a.intentId) || seen.has(a.transferId))
    const isCounted = due.length > 0 && (yield* count({ party, due, excess, seen, heights }))
    // A count that failed, or does not reach what the balances show, is made again.
    if (excess.size === 0 || isCounted) yield* (yield* AuditMemory).noteExplained(party, newest)
  }
})

interface Heights {
  /** Block up to which balances are known; where they name no block, that of the chain. */
  readonly balances: bigint
  /** The same; the newest block where balances have stopped. */
  readonly chain: bigint
}

const heightsNow = Effect.fnUntraced(function* () {
  const headCache = yield* ChainHeadCache
  const { height } = (yield* (yield* Observations).watermark) ?? { height: 0n }
  const balances = height > 0n ? height : (yield* headCache.head).height
  const newest = (yield* headCache.recent)[0]?.height ?? 0n
  return { balances, chain: newest > balances + stillBlocks ? newest : balances }
})

/** Movements beyond those that payments explain, by intent; looked for again only when a balance moved. */
const excessNow = Effect.fnUntraced(function* (party: string, own: ReadonlyArray<Attempt>, newest: bigint) {
  const found = new Map<string, number>()
  if (!(yield* (yield* AuditMemory).hasNewRows(party, newest))) return found
  const outbox = yield* Outbox
  const since = Math.min(...own.map(({ createdAt }) => createdAt))
  const known = [...(yield* outbox.settledSince(since)), ...(yield* outbox.open)]
  for (const { intentId } of own) {
    const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
    if (intent === undefined) continue
    const excess = excessOf(intent, yield* loadSteps(intent, nanosOf(since)), known)
    if (excess > 0) found.set(intent.id, excess)
  }
  return found
})

/** Blocks in which attempts were seen as done, by transfer, where they are more than when they were last counted. */
const doneMoreOften = Effect.fnUntraced(function* (own: ReadonlyArray<Attempt>) {
  const audit = yield* LedgerAudit
  const memory = yield* AuditMemory
  const found = new Map<string, number>()
  for (const { transferId } of own) {
    const executions = yield* audit.countExecutions(transferId)
    if (executions > (yield* memory.counted(transferId))) found.set(transferId, executions)
  }
  return found
})

interface Due {
  readonly party: string
  readonly due: ReadonlyArray<Attempt>
  readonly excess: ReadonlyMap<string, number>
  readonly seen: ReadonlyMap<string, number>
  readonly heights: Heights
}

/** Returns true if the ledger reported all that the balances show. */
const count = Effect.fnUntraced(function* ({ party, due, excess, seen, heights }: Due) {
  const audit = yield* LedgerAudit
  const memory = yield* AuditMemory
  const now = yield* Clock.currentTimeMillis
  const sends = yield* loadSends(party, due)
  const isWhole = sends?.complete !== false && (sends?.mark === undefined || sends.mark.height >= heights.balances)
  for (const attempt of due) {
    const blocks = seen.get(attempt.transferId) ?? 0
    const more = excess.get(attempt.intentId) ?? 0
    const executions = Math.max(blocks, more === 0 ? 0 : 1 + more)
    yield* haltOnSecondExecution(attempt, sends === undefined ? executions : yield* executionsOf(attempt, sends))
    if (blocks > 0 && isWhole) yield* memory.noteCounted(attempt.transferId, blocks)
    const end = deadlineHeight(attempt)
    const reaches =
      sends?.mark === undefined ? yield* isLongOver(attempt, heights.balances, now) : sends.mark.height > end
    if (!reaches || sends?.complete === false || heights.chain <= end + 1n) continue
    const moved = sends?.mark === undefined ? undefined : yield* movementsFor(attempt, sends)
    if (moved !== undefined && (!moved.complete || (moved.mark?.height ?? 0n) <= end)) continue
    if ((moved?.count ?? 0) === 0 && !(yield* auditMissing(attempt))) continue
    yield* audit.endWatch(attempt)
    yield* memory.forget(attempt.transferId, nameOf(attempt))
  }
  return isWhole
})

const nameOf = ({ intentId, k }: Attempt): string => `${intentId}/${k}`

const isLongOver = Effect.fnUntraced(function* (attempt: Attempt, height: bigint, now: number) {
  const first = yield* (yield* AuditMemory).firstSeen(nameOf(attempt), now)
  return now - first >= settleMillis && height > deadlineHeight(attempt) + settleBlocks
})
