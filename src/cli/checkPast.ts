import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import type { Problem } from "../config/ConfigError.ts"
import { outgrown } from "../rules/outgrown.ts"
import { databaseFile } from "../store/Database.ts"
import { PastNeedsText, pastNeeds } from "../store/pastNeeds.ts"
import { askStore } from "./askStore.ts"
import type { Chosen, Setup } from "./setup.ts"

/**
 * Limits that the last month outgrew, where the data directory knows a past. That it cannot be read is told as well,
 * and keeps no file from being checked.
 */
export const checkPast = Effect.fnUntraced(function* (chosen: Chosen, { treasury, dataDir }: Setup) {
  const { document, file } = treasury
  if (!existsSync(join(dataDir, databaseFile))) return []
  const asked = { ...chosen, data: Option.some(dataDir) }
  return yield* askStore(asked, "/api/v1/needs", pastNeeds()).pipe(
    Effect.flatMap((body) => Schema.decodeUnknownEffect(PastNeedsText)(body)),
    Effect.map((past): ReadonlyArray<Problem> => {
      const found = outgrown(treasury, past)
      return found.map(({ path, message }) => document.problem(path, message, 'run "cofferer backtest"'))
    }),
    Effect.catch(({ message }) => {
      const remedy = "its limits are not compared with last month"
      const unread: Problem = { file, line: 0, column: 0, message: `${dataDir} cannot be read: ${message}`, remedy }
      return Effect.succeed([unread])
    }),
  )
})
