import { Effect } from "effect"
import { makeTrouble } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"

/** The last refusal of changed files, until files are put in force. It outlives the process. */
export const refusedReload = Effect.map(Settings, (settings) => makeTrouble(settings, "refusedReload"))
