import { renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Layer, Logger } from "effect"
import { exportPage } from "../../src/http/exports.ts"
import { storeLayer } from "../../src/layers.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { emptyDir } from "../support/emptyDir.ts"
import { judgeYear } from "./judgeYear.ts"
import { runYear } from "./runYear.ts"
import { ruleNames, type YearPlan, yearTreasury } from "./YearWorld.ts"

export interface PlayedYear {
  readonly violations: ReadonlyArray<string>
  readonly looks: number
  readonly blocks: number
  readonly payments: number
  readonly bytes: number
}

/** Plays a year and judges it, in a thread in which `installCrashPoints` was called. */
export const playYear = async (plan: YearPlan): Promise<PlayedYear> => {
  const dir = emptyDir("cofferer-year-")
  try {
    const treasury = await Effect.runPromise(yearTreasury(join(dir, "keys-of-all"), plan))
    const metrics = await Effect.runPromise(
      Effect.scoped(
        Layer.build(
          Metrics.layer({
            treasury: "year",
            mode: "live",
            gateways: ["only"],
            rules: ruleNames,
            receivers: [],
            version: "0",
            revision: "",
          }),
        ),
      ),
    )
    const statements = new Map<string, number>()
    const lived = join(dir, "store")
    const count = (sql: string) => statements.set(sql, (statements.get(sql) ?? 0) + 1)
    const year = runYear(plan, { treasury, metrics, dataDir: lived, onStatement: count })
    const payments = Number(year.db.prepare("SELECT count(*) AS n FROM intents").get()?.["n"])
    year.kill()
    // Who opens the file under its old name is the process that died.
    const dataDir = join(dir, "left")
    renameSync(lived, dataDir)
    const file = join(dataDir, databaseFile)
    const bytes = sizeOf(file)
    const violations = [...judgeYear(year, plan, file), ...readingAll(file, repeatedOf(statements))]
    const archive = Effect.gen(function* () {
      const { problem, intents } = yield* verifyStore()
      const rows = (yield* exportPage({ what: "payments", from: 0, to: Number.MAX_SAFE_INTEGER, after: "" })).rows
      return { problem, intents, rows: rows.length }
    }).pipe(Effect.provide(storeLayer({ treasury, dataDir }).pipe(Layer.provideMerge(Logger.layer([])))))
    const { problem, intents, rows } = await Effect.runPromise(archive)
    if (problem !== null) violations.push(`the journal is broken: ${problem}`)
    if (intents !== payments || rows !== Math.min(payments, 500))
      violations.push(`${intents} payments are verified and ${rows} exported, of ${payments}`)
    return { violations, looks: year.looks.length, blocks: year.network.chain.height, payments, bytes }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const sizeOf = (file: string): number => {
  const db = new DatabaseSync(file)
  const row = db.prepare("SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size").get()
  db.close()
  return Number(row?.["n"])
}

/** What grows with every payment, every day or everything that people hear of. */
const growing =
  "intents|attempts|sends|evidence|spends|journal|changes|decisions|alerts|deliveries|executions|listed_transfers"
const wholeTable = new RegExp(
  `^SCAN (?:i|a|s|d|${growing})(?! USING (?:COVERING )?INDEX (?:attempts_live|alerts_open))\\b`,
)

/** Statements that read all of a table that grows: they cost the more the older a treasury is. */
const readingAll = (file: string, statements: Iterable<string>): ReadonlyArray<string> => {
  const db = new DatabaseSync(file)
  try {
    return [...statements].filter(isUnbounded).flatMap((sql) => {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      return plan
        .map((row) => String(row["detail"]))
        .filter((detail) => wholeTable.test(detail))
        .map((detail) => `${detail}: ${sql.replace(/\s+/g, " ")}`)
    })
  } finally {
    db.close()
  }
}

/** Statements that ran more than once: a migration that moves rows does not. */
const repeatedOf = (statements: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  [...statements].filter(([, times]) => times > 1).map(([sql]) => sql)

/** Reads and changes without a limit. */
const isUnbounded = (sql: string): boolean => /^\s*(SELECT|UPDATE|DELETE|WITH)\b/i.test(sql) && !/\bLIMIT\b/.test(sql)
