import type { DatabaseSync } from "node:sqlite"
import type { HoldReason } from "../../src/domain/Decision.ts"
import { byOpen } from "../../src/rules/kinds/payoutNotices.ts"
import type { Chain } from "../../src/sandbox/Chain.ts"
import { type Payout, unit } from "./Book.ts"
import type { Docket } from "./Docket.ts"
import type { Execution } from "./Judge.ts"

/** Milliseconds of the planned times of a payout that begins with the run, in order. */
export const timesOf = ({ seconds, minutes }: Payout, startMillis: number): ReadonlyArray<number> => {
  const begun = Math.floor(startMillis / 60_000) * 60_000
  return Array.from({ length: minutes }, (_, minute) => seconds.map((s) => begun + minute * 60_000 + s * 1_000))
    .flat()
    .filter((at) => at >= startMillis)
    .toSorted((a, b) => a - b)
}

/** A payment of the rule that was decided since, or first signed since: that one stands for what it was late for. */
const paidSql = `SELECT 1 FROM intents i WHERE i.rule = ? AND (i.created_at >= ?
  OR EXISTS (SELECT 1 FROM attempts a WHERE a.intent_id = i.id AND a.created_at >= ?)) LIMIT 1`

const signedSql = `SELECT max(a.created_at) AS at FROM attempts a JOIN intents i ON i.id = a.intent_id
  WHERE i.rule = ? AND i.state = 'confirmed'`

export interface PlannedEvidence {
  readonly db: DatabaseSync
  readonly chain: Chain
  readonly docket: Docket
  readonly payouts: ReadonlyArray<Payout>
  /** The key that they pay. */
  readonly ops: string
  readonly startMillis: number
  /** The end of the run. */
  readonly now: number
  /** What executed of our keys, by ids of transfers. */
  readonly ours: ReadonlyArray<Execution>
  /** Whether the end is calm: then what is owed is paid, or told. */
  readonly isCalm: boolean
  /** Whether a store that was put back may have lost what was decided. */
  readonly isRestored: boolean
}

/** Milliseconds after a planned time, and its grace, within which a calm treasury has paid it or told it. */
const settleMillis = 75_000

const unread: ReadonlySet<string> = new Set(["catching_up", "stale"])

/** No planned time is paid ahead or twice by the ledger; where all was calm in the end, each is paid or told. */
export const judgePlanned = (evidence: PlannedEvidence): void => {
  for (const payout of evidence.payouts) {
    judgeExecuted(evidence, payout)
    if (evidence.isCalm) judgeOwed(evidence, payout)
  }
}

const judgeExecuted = ({ chain, docket, ops, startMillis, ours }: PlannedEvidence, payout: Payout): void => {
  const amount = BigInt(payout.amount) * unit
  const paid = ours
    .flatMap(({ id }) => chain.transfers.get(id) ?? [])
    .filter((t) => t.to === ops && t.amount === amount)
  const times = timesOf(payout, startMillis)
  const done = paid.map(({ time }) => Number(time / 1_000_000n)).toSorted((a, b) => a - b)
  for (const [n, at] of done.entries()) {
    docket.chance("planned")
    const planned = times[n]
    const name = `payment ${n + 1} of ${payout.rule}`
    if (planned === undefined) docket.wrong("planned", `${name}: ${times.length} were planned`)
    // The block's own time stands before what was in its second.
    else if (at + 1_000 < planned) docket.wrong("planned", `${name} executed ${planned - at} ms ahead of its time`)
  }
}

const judgeOwed = ({ db, docket, startMillis, now }: PlannedEvidence, payout: Payout): void => {
  const { rule, lateSeconds, missed } = payout
  const last = timesOf(payout, startMillis).findLast((at) => at + lateSeconds * 1_000 + settleMillis < now)
  const begun = db.prepare("SELECT min(at) AS at FROM decisions WHERE rule = ?").get(rule)?.["at"]
  // A rule begins after the first look at it: what was planned for that moment is none of its times.
  if (last === undefined || begun === null || Number(begun) >= last) return
  docket.chance("planned")
  const decided = db.prepare(paidSql).get(rule, last, last)
  const told = db.prepare("SELECT count(*) AS n FROM alerts WHERE dedup LIKE ? AND at >= ?")
  const isToldOf = (kind: string, since: number) =>
    Number((told.get(`${kind}/${rule}/%`, since) as { n: number }).n) > 0
  // What is told to be late stays owed, with all that is planned after it, until something is paid.
  const signed = db.prepare(signedSql).get(rule)?.["at"] ?? 0
  const isTold = ["let-go", "unseen", "lost"].some((kind) => isToldOf(kind, last)) || isToldOf("late", Number(signed))
  const held = db.prepare("SELECT reason FROM decisions WHERE rule = ? ORDER BY seq DESC LIMIT 1").get(rule)
  // Behind an open payment people are called by the bounds of that one, and to what nobody can read by its own.
  if (byOpen.has(held?.["reason"] as HoldReason) || unread.has(String(held?.["reason"]))) return
  // One that has just ended, by a person or its proof, is followed by the rule's cooldown.
  const ended = db.prepare("SELECT max(updated_at) AS at FROM intents WHERE rule = ?").get(rule)?.["at"] ?? 0
  if (now - Number(ended) < settleMillis) return
  if (decided === undefined && !isTold)
    docket.wrong("planned", `${rule} (${missed}) was due ${now - last} ms before the end, and is neither paid nor told`)
}
