import type { DatabaseSync, StatementSync } from "node:sqlite"
import { finalIntentStates } from "../../src/domain/Intent.ts"
import { timesOf } from "./judgePlanned.ts"
import type { Network } from "./Network.ts"
import type { Plan } from "./Plan.ts"
import { tame } from "./Wild.ts"
import type { WildWorld } from "./WildWorld.ts"

interface Around {
  readonly plan: Plan
  readonly network: Network
  readonly world: WildWorld
  readonly startMillis: number
  readonly now: () => number
  /** Of a living process that is in no transaction; undefined where there is none. */
  readonly database: () => DatabaseSync | undefined
}

/** How things stand in a run, by the store and by the ledger. */
export interface Standing {
  /** The trouble is over. */
  readonly noteCalm: () => void
  /** Whether something is under way, or still to be found or told. */
  readonly isUnrested: () => boolean
  /** Whether something waits for a person. */
  readonly isHeld: () => boolean
  /** Base units of all that was signed to accounts that are kept filled. */
  readonly signedSum: () => bigint
  /** For whoever reads a violation. */
  readonly words: () => string
}

/** Milliseconds after the grace of the last planned time in which it is paid or told. */
const plannedMillis = 80_000

/** Milliseconds of calm in which whoever was away for an hour has seen what was planned meanwhile. */
const seenMillis = 40_000

const atRest = [...finalIntentStates, "manual"].map((state) => `'${state}'`).join(", ")
const openSql = `SELECT 1 FROM intents WHERE state NOT IN (${atRest}) LIMIT 1`
const signedSql = `SELECT i.amount FROM attempts a JOIN intents i ON i.id = a.intent_id
  WHERE i.to_party IN ('hot', 'warm')`
const wordsSql = [
  "SELECT 'halt', reason, substr(detail, 1, 120) FROM halts WHERE ended_at IS NULL",
  "SELECT 'pause', scope FROM pauses WHERE ended_at IS NULL",
  `SELECT 'open', rule, state, substr(detail, 1, 120) FROM intents
    WHERE state IN ('proposed', 'reserved', 'in_flight', 'unknown', 'manual')`,
  "SELECT rule, subject, reason, substr(detail, 1, 120) FROM decisions ORDER BY seq DESC LIMIT 3",
]

export const makeStanding = ({ plan, network, world, startMillis, now, database }: Around): Standing => {
  const { book, deaf } = plan.wild ?? tame
  let plannedUntil = Math.max(
    0,
    ...book.payouts.map((one) => (timesOf(one, startMillis).at(-1) ?? 0) + one.lateSeconds * 1_000 + plannedMillis),
  )
  // Asked in each block of a run's end, so it is prepared once for each process.
  let asked: { readonly db: DatabaseSync; readonly open: StatementSync } | undefined
  const isOpen = (db: DatabaseSync): boolean => {
    if (asked?.db !== db) asked = { db, open: db.prepare(openSql) }
    return asked.open.get() !== undefined
  }
  const count = (db: DatabaseSync, sql: string) => Number(db.prepare(sql).get()?.["n"])
  const isUntold = (db: DatabaseSync) =>
    deaf !== undefined && count(db, "SELECT count(*) AS n FROM deliveries WHERE state = 'pending'") > 0
  const isUnnoted = (db: DatabaseSync) =>
    [...world.elsewhere].some(
      (id) =>
        network.chain.transfers.get(id)?.status === "STATUS_DONE" &&
        db.prepare("SELECT 1 FROM listed_transfers WHERE id LIKE ?").get(`%${id}%`) === undefined,
    )
  const isQuarantined = (db: DatabaseSync) =>
    world.isRestored() &&
    db.prepare("SELECT 1 FROM settings WHERE key = 'quarantine' AND value <> ''").get() !== undefined
  // A store of before a clock was put back knows heads of later: it waits until those of today have lasted.
  const isAstray = (db: DatabaseSync) =>
    world.isRestored() &&
    db.prepare("SELECT 1 FROM settings WHERE key LIKE 'acceptedHead/%' AND value LIKE '%\"stray\"%'").get() !==
      undefined
  return {
    noteCalm: () => {
      if (book.payouts.length > 0) plannedUntil = Math.max(plannedUntil, now() + seenMillis)
    },
    isUnrested: () => {
      const db = database()
      if (db === undefined || isOpen(db) || isUntold(db) || isUnnoted(db) || isQuarantined(db) || isAstray(db))
        return true
      return plan.gateways === "honest" && now() < plannedUntil
    },
    isHeld: () => {
      const db = database()
      if (db === undefined) return true
      const halts = count(db, "SELECT count(*) AS n FROM halts WHERE ended_at IS NULL")
      return halts + count(db, "SELECT count(*) AS n FROM intents WHERE state = 'manual'") > 0
    },
    signedSum: () => {
      const signed = (database()?.prepare(signedSql).all() ?? []).map(({ amount }) => BigInt(String(amount)))
      // What a lost store paid counts as well, of which this one may have imported the sums alone.
      const paid = world.isRestored() ? [...network.chain.transfers.values()].map(({ amount }) => amount) : []
      return [signed, paid]
        .map((all) => all.reduce((sum, amount) => sum + amount, 0n))
        .reduce((a, b) => (a > b ? a : b))
    },
    words: () => {
      const db = database()
      if (db === undefined) return "no process is up"
      const rows = wordsSql.flatMap((sql) => db.prepare(sql).all())
      return rows.map((row) => Object.values(row).join(" ")).join(" | ")
    },
  }
}
