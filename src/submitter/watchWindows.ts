import { Clock, Effect } from "effect"
import { type Attempt, deadlineHeight } from "../domain/Attempt.ts"
import { Findings } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { Looks } from "./Looks.ts"
import { excessOf } from "./movementOf.ts"
import { newestRow } from "./newestRow.ts"
import { judgeCount } from "./noteListing.ts"
import { sendsOf } from "./sendsOf.ts"
import { Tip } from "./Tip.ts"

/** Without block headers nothing says how far an answer reaches: so long after its window an attempt is let go. */
const settleMillis = 30_000
const settleBlocks = 10n

/**
 * Counts on the ledger itself how often each attempt executed: once its window is over, since no second execution comes
 * after that, and before where it was seen as done in two blocks, or the balances moved more often than payments
 * explain. Then the attempt is let go; what the ledger lists of its key is looked at for ever.
 */
export const watchWindows = Effect.fn("Reconcile.watch")(function* () {
  const watched = yield* (yield* Findings).watched
  if (watched.length === 0) return
  const height = yield* heightNow()
  for (const party of new Set(watched.map((attempt) => attempt.party))) {
    const own = watched.filter((attempt) => attempt.party === party)
    const excess = yield* excessNow(party, own)
    const seen = yield* doneMoreOften(own)
    const due = own.filter((a) => height > deadlineHeight(a) + 1n || excess.has(a.intentId) || seen.has(a.transferId))
    if (due.length > 0) yield* count({ party, due, excess, seen, height })
  }
})

/** The newest height that balances or, where they name none, the chain itself are known to have reached. */
const heightNow = Effect.fnUntraced(function* () {
  const { height } = (yield* (yield* Observations).watermark) ?? { height: 0n }
  return height > 0n ? height : (yield* (yield* Tip).head).height
})

/** Movements beyond those that payments explain, by intent; looked for again only when a balance moved. */
const excessNow = Effect.fnUntraced(function* (party: string, own: ReadonlyArray<Attempt>) {
  return (yield* (yield* Looks).isNews(party, yield* newestRow(party)))
    ? yield* excessOf(own)
    : new Map<string, number>()
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
  readonly height: bigint
}

const count = Effect.fnUntraced(function* ({ party, due, excess, seen, height }: Due) {
  const findings = yield* Findings
  const looks = yield* Looks
  const now = yield* Clock.currentTimeMillis
  const sends = yield* sendsOf(party, due)
  for (const attempt of due) {
    const blocks = seen.get(attempt.transferId) ?? 0
    const more = excess.get(attempt.intentId) ?? 0
    const executions = Math.max(blocks, more === 0 ? 0 : 1 + more)
    yield* judgeCount(attempt, sends === undefined ? executions : (sends.counts.get(attempt.transferId) ?? 0))
    const isFresh = sends?.mark === undefined || sends.mark.height >= height
    if (blocks > 0 && isFresh && sends?.complete !== false) yield* looks.noteCounted(attempt.transferId, blocks)
    const end = deadlineHeight(attempt)
    const reaches = sends?.mark === undefined ? yield* isLongOver(attempt, height, now) : sends.mark.height > end
    if (!reaches || sends?.complete === false || height <= end + 1n) continue
    yield* findings.endWatch(attempt)
    yield* looks.forget(attempt.transferId, nameOf(attempt))
  }
})

const nameOf = ({ intentId, k }: Attempt): string => `${intentId}/${k}`

const isLongOver = Effect.fnUntraced(function* (attempt: Attempt, height: bigint, now: number) {
  const first = yield* (yield* Looks).since(nameOf(attempt), now)
  return now - first >= settleMillis && height > deadlineHeight(attempt) + settleBlocks
})
