import type { DatabaseSync } from "node:sqlite"
import { type Book, unit } from "./Book.ts"
import type { Docket } from "./Docket.ts"

interface Paid {
  readonly id: string
  readonly rule: string
  readonly amount: string
}

const executedSql = (ids: number): string => `SELECT i.id, i.rule, i.amount FROM intents i
  JOIN attempts a ON a.intent_id = i.id
  WHERE i.to_party = 'ops' AND a.transfer_id IN (${Array.from({ length: ids }, () => "?").join(", ")})`

/** No payment that operators must approve executes without the signatures that they handed in. */
export const judgeApproved = (
  db: DatabaseSync,
  { approval, payouts }: Book,
  executed: ReadonlyArray<string>,
  given: ReadonlyMap<string, ReadonlySet<string>>,
  docket: Docket,
): void => {
  if (approval === undefined || executed.length === 0) return
  const known = new Set(payouts.map(({ rule }) => rule))
  const rows = db.prepare(executedSql(executed.length)).all(...executed) as unknown as ReadonlyArray<Paid>
  for (const { id, rule, amount } of rows) {
    if (!known.has(rule) || BigInt(amount) <= BigInt(approval.above) * unit) continue
    docket.chance("approved")
    const by = given.get(id)?.size ?? 0
    if (by < approval.need)
      docket.wrong("approved", `${id.slice(0, 8)} of ${rule} executed with ${by} of ${approval.need} signatures`)
  }
}

/** All receivers are known, so an alert may be given up only once they have the all-clear that ends it. */
const waitingSql = `SELECT count(*) AS n FROM deliveries d JOIN alerts a ON a.seq = d.alert
  WHERE d.state = 'pending' AND d.next_at < ? OR d.state = 'dead_letter' AND NOT EXISTS (
    SELECT 1 FROM alerts e, json_each(e.resolves) r JOIN deliveries ended ON ended.alert = e.seq
    WHERE r.value = a.dedup AND e.seq > a.seq AND ended.receiver = d.receiver AND ended.state = 'delivered')`

/** Every due alert was delivered: receivers that did not answer for a while lose none. */
export const judgeDelivered = (db: DatabaseSync, now: number, docket: Docket): void => {
  const { n: alerts } = db.prepare("SELECT count(*) AS n FROM deliveries").get() as { n: number }
  docket.chance("told", Number(alerts))
  const { n } = db.prepare(waitingSql).get(now - 15_000) as { n: number }
  if (Number(n) > 0)
    docket.wrong("told", `${n} alerts were due 15 seconds before the end and are not delivered, or were given up`)
  const { n: lost } = db
    .prepare("SELECT count(*) AS n FROM alerts a WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.alert = a.seq)")
    .get() as { n: number }
  if (Number(lost) > 0) docket.wrong("told", `${lost} alerts are for nobody`)
}

interface Open {
  readonly id: string
  readonly state: string
  readonly created_at: number
  readonly window_blocks: number
}

const liveSql = `SELECT i.id, i.state, a.created_at, a.window_blocks FROM attempts a JOIN intents i ON i.id = a.intent_id
  WHERE a.state IN ('signed', 'sending', 'accepted', 'refused', 'unknown')`

/** A payment that was signed so long ago without an end has called people, whatever fails meanwhile. */
export const judgeCalled = (db: DatabaseSync, now: number, docket: Docket): void => {
  const page = db.prepare("SELECT count(*) AS n FROM alerts WHERE severity = 'page' AND instr(dedup, ?) > 0")
  for (const { id, state, created_at: at, window_blocks: blocks } of db.prepare(liveSql).all() as unknown as Open[]) {
    if (now - at < Math.max(30 * 60_000, blocks * 10_000) + 60_000) continue
    docket.chance("called")
    const { n } = page.get(id) as { n: number }
    if (Number(n) === 0)
      docket.wrong("called", `${id.slice(0, 8)} (${state}) is signed for ${now - at} ms, and nobody was paged`)
  }
}
