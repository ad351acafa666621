import type { Hash } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Chain } from "../../src/sandbox/Chain.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import type { Allowance } from "./Allowance.ts"
import { type Book, keyIn } from "./Book.ts"
import { boundsOf } from "./Bounds.ts"
import type { Docket } from "./Docket.ts"
import { codeRule } from "./inCode.ts"
import { executionsOf, judge, judgeFalseReplays, judgeLost, judgeReplays } from "./Judge.ts"
import { judgeApproved, judgeDelivered } from "./judgePeople.ts"
import { judgePlanned } from "./judgePlanned.ts"
import { judgeLeft, judgeTerms, type TermsThen } from "./judgeSigned.ts"
import { judgeStops } from "./judgeStops.ts"
import type { Network } from "./Network.ts"
import type { People } from "./People.ts"
import { banned, type Plan } from "./Plan.ts"
import type { Verdict } from "./runSeed.ts"
import { tame } from "./Wild.ts"
import type { WildWorld } from "./WildWorld.ts"

/** What a run leaves behind. */
export interface Remains {
  readonly plan: Plan
  readonly docket: Docket
  readonly network: Network
  readonly dataDir: string
  readonly people: People
  readonly world: WildWorld
  readonly books: ReadonlyArray<Book>
  readonly terms: ReadonlyArray<TermsThen>
  readonly replayed: ReadonlySet<string>
  readonly seenUntil: Allowance["seenUntil"]
  readonly trace: Hash
  readonly startMillis: number
  readonly now: number
  readonly deaths: number
  readonly statements: number
}

/** Judges what a run left behind. */
export const conclude = (remains: Remains): Verdict => {
  const db = new DatabaseSync(join(remains.dataDir, databaseFile))
  try {
    return verdictOf(remains, db)
  } finally {
    db.close()
  }
}

const verdictOf = (remains: Remains, db: DatabaseSync): Verdict => {
  const { plan, docket, network, world } = remains
  const trace = remains.trace.copy()
  const { chain } = network
  judgeAll(remains, db)
  const head = db.prepare("SELECT hash FROM journal ORDER BY seq DESC LIMIT 1").get() as { hash: string } | undefined
  // The journal of a restored store names its file, which differs from run to run.
  trace.update(`${chain.hash} ${world.isRestored() ? "" : head?.hash}`)
  const count = (sql: string) => Number((db.prepare(sql).get() as { n: number }).n)
  const verdict = {
    seed: plan.seed,
    trace: trace.digest("hex"),
    intents: count("SELECT count(*) AS n FROM intents"),
    manual: count("SELECT count(*) AS n FROM intents WHERE state = 'manual'"),
    executed: chain.included.filter(({ code }) => code === 0).length,
    byCode: count(`SELECT count(*) AS n FROM intents WHERE rule = '${codeRule}'`),
    deaths: remains.deaths,
    blocks: chain.height,
    statements: remains.statements,
  }
  docket.event("death", verdict.deaths)
  docket.event("second attempt", count("SELECT count(*) AS n FROM attempts WHERE k > 1"))
  docket.event("payment decided by code", verdict.byCode)
  docket.event("withdrawal", chain.withdrawals.size)
  const confirmed = (rule: string) =>
    count(`SELECT count(*) AS n FROM intents WHERE rule LIKE '${rule}' AND state = 'confirmed'`)
  docket.event("payout", confirmed("payout-%"))
  docket.event("part of a split", confirmed("share"))
  docket.event("another treasury funded", confirmed("fund"))
  docket.event("approval lapsed", count("SELECT count(*) AS n FROM intents WHERE state = 'rejected'"))
  docket.event("execution by a third party", remains.replayed.size)
  return { ...verdict, violations: docket.violations, chances: docket.chances, events: docket.events }
}

const judgeAll = (remains: Remains, db: DatabaseSync): void => {
  const { plan, docket, network, world, people, books, replayed, seenUntil } = remains
  const { chain } = network
  const { gateways } = plan
  const wild = plan.wild ?? tame
  const isHonest = gateways === "honest"
  const isTimed = (plan.clockSteps ?? []).length === 0
  const bounds = boundsOf(books)
  const foreign = world.elsewhere
  const imported = world.isRestored()
    ? importedIn(db, chain, { lost: world.lost.map(({ transferId }) => transferId), isHonest })
    : new Set<string>()
  const evidence = { db, chain, gateways, docket, bounds, replayed, foreign, imported }
  judge(evidence)
  if (isHonest) judgeLost(evidence, world.lost)
  if (isHonest && (plan.profile === "0.74" || plan.profile === "0.75")) {
    judgeReplays({ ...evidence, isTimed, seenUntil })
  }
  if (isHonest) judgeFalseReplays(evidence)
  judgeStops(db, docket)
  judgeLeft(db, docket)
  const rulePaid = new Set(["hot", "warm"].map((name) => keyIn(wild.book, name) as string))
  if (isTimed) judgeTerms(db, remains.terms, rulePaid, docket)
  const ours = executionsOf(chain, bounds).filter(({ id }) => !foreign.has(id))
  const given = world.approvals
  const ids = ours.map(({ id }) => id)
  judgeApproved(db, wild.book, ids, given, docket)
  if (isHonest && isTimed) judgeDelivered(db, remains.now, docket)
  const { payouts } = wild.book
  const { now, startMillis } = remains
  const isRestored = world.isRestored()
  // A banned daemon reads nothing for ten minutes, and decides nothing.
  const isBanned = plan.faults.some(({ spec }) => spec.status === banned)
  const isCalm = isHonest && isTimed && !isRestored && !isBanned
  // A restored store pays anew what it does not know, where nobody imports it.
  const once = ours.filter(({ id, height }) => !replayed.has(`${id} ${height}`))
  if (isHonest)
    judgePlanned({
      db,
      chain,
      docket,
      payouts,
      ops: keyIn(wild.book, "ops"),
      startMillis,
      now,
      ours: once,
      isCalm,
      isRestored,
    })
  const known = db.prepare("SELECT 1 FROM intents WHERE id = ?")
  for (const id of isRestored ? [] : people.taken) {
    docket.chance("taken")
    if (known.get(id) === undefined) docket.wrong("taken", `payment ${id.slice(0, 8)} was taken, and is not known`)
  }
}

/**
 * Executions that a restored store did not know, and that people know now: imported ones, and those that cannot be.
 * Withdrawals have no sender in a listing; without listings only balances show them. Where gateways lie to the end
 * nobody can import: the halt stands for it, or the wait after a recovery that was told of nothing.
 */
const importedIn = (
  db: DatabaseSync,
  chain: Chain,
  { lost, isHonest }: { readonly lost: ReadonlyArray<string>; readonly isHonest: boolean },
): ReadonlySet<string> => {
  const isListed = chain.profile.surface === "full"
  const halts = `SELECT 1 FROM halts WHERE reason IN ('restored_store', 'foreign_payment') AND ended_at IS NULL
    UNION ALL SELECT 1 FROM settings WHERE key = 'quarantine'`
  const halted = db.prepare(halts).get()
  const isCalled = !isHonest && halted !== undefined
  const unlisted = lost.filter((id) => isCalled || !isListed || !chain.transfers.has(id))
  const known = db.prepare("SELECT id FROM listed_transfers WHERE known_as IN ('adopted', 'recovered')").all()
  return new Set([...unlisted, ...known.map(({ id }) => String(id))])
}
