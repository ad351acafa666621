import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { AcceptedHead } from "../../src/store/AcceptedHead.ts"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { Approvals } from "../../src/store/Approvals.ts"
import { Asks } from "../../src/store/Asks.ts"
import { Backfills } from "../../src/store/Backfills.ts"
import { Brake } from "../../src/store/Brake.ts"
import { ChainRules } from "../../src/store/ChainRules.ts"
import { Clearance } from "../../src/store/Clearance.ts"
import { Comparisons } from "../../src/store/Comparisons.ts"
import * as Database from "../../src/store/Database.ts"
import { Disagreement } from "../../src/store/Disagreement.ts"
import { DiskSpace } from "../../src/store/DiskSpace.ts"
import { Drifts } from "../../src/store/Drifts.ts"
import { Epochs } from "../../src/store/Epochs.ts"
import { Findings } from "../../src/store/Findings.ts"
import { Journal } from "../../src/store/Journal.ts"
import { Lease } from "../../src/store/Lease.ts"
import { Listings } from "../../src/store/Listings.ts"
import { Observations } from "../../src/store/Observations.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { Rehearsals } from "../../src/store/Rehearsals.ts"
import { RuleStates } from "../../src/store/RuleStates.ts"
import { Settings } from "../../src/store/Settings.ts"
import { Signals } from "../../src/store/Signals.ts"
import { SpendLog } from "../../src/store/SpendLog.ts"
import { Tags } from "../../src/store/Tags.ts"
import { TermsLog } from "../../src/store/TermsLog.ts"
import { BlockPace } from "../../src/submitter/BlockPace.ts"

/** A database file of its own for a test; `layer` may be built again and again: that is a restart. */
export const testStore = () => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-store-"))
  const layer = () =>
    Layer.mergeAll(
      Comparisons.layerNoDeps,
      Epochs.layerNoDeps,
      ChainRules.layerNoDeps,
      AcceptedHead.layerNoDeps,
      BlockPace.layer,
    ).pipe(Layer.provideMerge(plain()))
  const plain = () =>
    Layer.mergeAll(
      Outbox.layerNoDeps,
      Listings.layerNoDeps,
      SpendLog.layerNoDeps,
      Brake.layerNoDeps,
      Findings.layerNoDeps,
      Asks.layerNoDeps,
      Layer.succeed(Tags, Tags.of({ of: (_key, id) => id.slice(0, 16) })),
      Rehearsals.layerNoDeps.pipe(Layer.provide(Settings.layer)),
      Disagreement.layerNoDeps.pipe(Layer.provide(Settings.layer)),
      Backfills.layerNoDeps,
      Approvals.layerNoDeps,
      Drifts.layer,
      Observations.layer,
      RuleStates.layer,
      Settings.layer,
      Signals.layer,
      Lease.layerSole,
      Clearance.layer,
      DiskSpace.layer(dir),
      TermsLog.layer,
      AlertQueue.layer((severity) => (severity === "page" ? ["desk", "log"] : ["log"])),
    ).pipe(
      Layer.provideMerge(Journal.layer("test")),
      Layer.provideMerge(Database.layer({ filename: join(dir, Database.databaseFile) })),
    )
  return { dir, layer, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export type TestStore = ReturnType<typeof testStore>

type Provided = Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>>

/** Runs the first effect on a fresh store, then, after closing it, the second on the same file. */
export const restart = <E>(
  first: Effect.Effect<void, E, Provided>,
  second: Effect.Effect<void, E, Provided> = Effect.void,
) => {
  const store = testStore()
  return first.pipe(
    Effect.provide(store.layer()),
    Effect.andThen(second.pipe(Effect.provide(store.layer()))),
    Effect.ensuring(Effect.sync(store.remove)),
  )
}
