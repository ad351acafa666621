import { Effect } from "effect"
import { emptyChain } from "../../src/sandbox/Chain.ts"
import type { LedgerFile } from "../../src/sandbox/LedgerFile.ts"
import type { Scenario } from "../../src/sandbox/Scenario.ts"

/** For networks that live in memory alone. */
export const noLedgerFile = (scenario: Scenario): LedgerFile => ({
  load: Effect.sync(() => emptyChain(scenario)),
  saveBlock: () => Effect.void,
  saveAccepted: () => Effect.void,
  saveState: () => Effect.void,
})
