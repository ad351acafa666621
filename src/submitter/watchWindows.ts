import { Clock, Effect } from "effect"
import { type Attempt, deadlineHeight } from "../domain/Attempt.ts"
import { Findings } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { auditMissing } from "./auditMissing.ts"
import { Looks } from "./Looks.ts"
import { countOf, movedFor } from "./movedFor.ts"
import { excessOf } from "./movementOf.ts"
import { newestRow } from "./newestRow.ts"
import { judgeCount } from "./noteListing.ts"
import { sendsOf } from "./sendsOf.ts"
import { Tip } from "./Tip.ts"

/** Without block headers nothing says how far an answer reaches: so long after its window an attempt is let go. */
const settleMillis = 30_000
const settleBlocks = 10n
/** So far behind the newest block balances stand still: the ledger's own count waits no longer for them. */
const stillBlocks = 5n

/**
 * Counts on the ledger itself how often each attempt executed: once its window is over, since no second execution comes
 * after that, and before where it was seen as done in two blocks, or the balances moved more often than payments
 * explain. Then the attempt is let go; what the ledger lists of its key is looked at for ever.
 */
export const watchWindows = Effect.fn("Reconcile.watch")(function* () {
  const watched = yield* (yield* Findings).watched
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
    if (excess.size === 0 || isCounted) yield* (yield* Looks).noteExplained(party, newest)
  }
})

interface Heights {
  /** Up to which balances or, where they name none, the chain itself are known. */
  readonly balances: bigint
  /** The same; the newest block, where balances stand still. */
  readonly chain: bigint
}

const heightsNow = Effect.fnUntraced(function* () {
  const tip = yield* Tip
  const { height } = (yield* (yield* Observations).watermark) ?? { height: 0n }
  const balances = height > 0n ? height : (yield* tip.head).height
  const newest = (yield* tip.recent)[0]?.height ?? 0n
  return { balances, chain: newest > balances + stillBlocks ? newest : balances }
})

/** Movements beyond those that payments explain, by intent; looked for again only when a balance moved. */
const excessNow = Effect.fnUntraced(function* (party: string, own: ReadonlyArray<Attempt>, newest: bigint) {
  return (yield* (yield* Looks).isNews(party, newest)) ? yield* excessOf(own) : new Map<string, number>()
})

/** Blocks in which attempts were seen as done, by transfer, where they are more than when they were last counted. */
const doneMoreOften = Effect.fnUntraced(function* (own: ReadonlyArray<Attempt>) {
  const findings = yield* Findings
  const looks = yield* Looks
  const found = new Map<string, number>()
  for (const { transferId } of own) {
    const executions = yield* findings.executions(transferId)
    if (executions > (yield* looks.counted(transferId))) found.set(transferId, executions)
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

/** Returns whether the ledger told of all that the balances show. */
const count = Effect.fnUntraced(function* ({ party, due, excess, seen, heights }: Due) {
  const findings = yield* Findings
  const looks = yield* Looks
  const now = yield* Clock.currentTimeMillis
  const sends = yield* sendsOf(party, due)
  const isWhole = sends?.complete !== false && (sends?.mark === undefined || sends.mark.height >= heights.balances)
  for (const attempt of due) {
    const blocks = seen.get(attempt.transferId) ?? 0
    const more = excess.get(attempt.intentId) ?? 0
    const executions = Math.max(blocks, more === 0 ? 0 : 1 + more)
    yield* judgeCount(attempt, sends === undefined ? executions : yield* countOf(attempt, sends))
    if (blocks > 0 && isWhole) yield* looks.noteCounted(attempt.transferId, blocks)
    const end = deadlineHeight(attempt)
    const reaches =
      sends?.mark === undefined ? yield* isLongOver(attempt, heights.balances, now) : sends.mark.height > end
    if (!reaches || sends?.complete === false || heights.chain <= end + 1n) continue
    const moved = sends?.mark === undefined ? undefined : yield* movedFor(attempt, sends)
    if (moved !== undefined && (!moved.complete || (moved.mark?.height ?? 0n) <= end)) continue
    if ((moved?.count ?? 0) === 0 && !(yield* auditMissing(attempt))) continue
    yield* findings.endWatch(attempt)
    yield* looks.forget(attempt.transferId, nameOf(attempt))
  }
  return isWhole
})

const nameOf = ({ intentId, k }: Attempt): string => `${intentId}/${k}`

const isLongOver = Effect.fnUntraced(function* (attempt: Attempt, height: bigint, now: number) {
  const first = yield* (yield* Looks).since(nameOf(attempt), now)
  return now - first >= settleMillis && height > deadlineHeight(attempt) + settleBlocks
})
