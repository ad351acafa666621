import { renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { emptyDir } from "../support/emptyDir.ts"
import { type CalmName, calmDays, mayHear } from "./calm.ts"
import { type JudgedMonth, judgeMonth } from "./judgeMonth.ts"
import { type Month, type MonthProfile, monthPlan, runDays, runMonth } from "./runMonth.ts"
import { ruleNames, yearTreasury } from "./YearWorld.ts"

/** Plays thirty days and judges them, in a thread in which `installCrashPoints` was called. */
export const playMonth = (profile: MonthProfile): Promise<JudgedMonth> => play((options) => runMonth(profile, options))

/** The same for a calm scenario. */
export const playCalm = async (profile: MonthProfile, name: CalmName, isShort: boolean): Promise<JudgedMonth> => {
  const judged = await play((options) => runDays(profile, options, calmDays(name, isShort)))
  const heard = mayHear[name]
  return { ...judged, violations: judged.violations.filter((text) => heard?.test(text) !== true) }
}

const play = async (run: (options: Parameters<typeof runMonth>[1]) => Month): Promise<JudgedMonth> => {
  const dir = emptyDir("cofferer-month-")
  try {
    const treasury = await Effect.runPromise(yearTreasury(join(dir, "keys-of-all"), monthPlan))
    const names = { treasury: "year", gateways: ["only"], rules: ruleNames, receivers: [] }
    const metrics = await Effect.runPromise(
      Effect.scoped(Layer.build(Metrics.layer({ ...names, mode: "live", version: "0", revision: "" }))),
    )
    const lived = join(dir, "store")
    const month = run({ treasury, metrics, dataDir: lived })
    month.year.kill()
    // Who opens the file under its old name is the process that died.
    const dataDir = join(dir, "left")
    renameSync(lived, dataDir)
    return judgeMonth(month, join(dataDir, databaseFile))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
