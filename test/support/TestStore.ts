import { rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import * as Database from "../../src/store/database/Database.ts"
import { DiskSpace } from "../../src/store/database/DiskSpace.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Signals } from "../../src/store/database/Signals.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { LedgerAudit, Tags } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { emptyDir } from "./emptyDir.ts"
import { effectOf, type Work } from "./it.ts"
import { giveBack, serverUrl, takeDatabase, urlOf } from "./Postgres.ts"

/** True where the tests run on PostgreSQL. */
export const isOnPostgres = process.env["COFFERER_TEST_STORE"] === "postgres"

/**
 * A store of its own for a test, on SQLite or, in the project "postgres", on PostgreSQL.
 * `layer` may be built again and again: that is a restart.
 */
export const testStore = () => {
  const dir = emptyDir("cofferer-store-")
  const layer = () => ChainState.layerNoDeps.pipe(Layer.provideMerge(plain()))
  const plain = () =>
    Layer.mergeAll(
      Outbox.layerNoDeps,
      Listings.layerNoDeps,
      SpendLog.layerNoDeps,
      Controls.layerNoDeps,
      LedgerAudit.layerNoDeps,
      Layer.succeed(Tags, Tags.of({ of: (_key, id) => id.slice(0, 16) })),
      Observations.layerNoDeps,
      Approvals.layerNoDeps,
      Drifts.layerNoDeps,
      RuleStates.layerNoDeps,
      Signals.layer,
      Clearance.layerNoDeps,
      DiskSpace.layer(dir),
      AlertQueue.layer((severity) => (severity === "page" ? ["desk", "log"] : ["log"])),
    ).pipe(
      Layer.provideMerge(Journal.layer("test")),
      Layer.provideMerge(Settings.layer),
      Layer.provideMerge(database()),
    )
  let name: string | undefined
  const postgres = Effect.gen(function* () {
    name ??= yield* takeDatabase
    return Database.layer({
      treasury: "test",
      postgres: { url: Redacted.make(urlOf(serverUrl(), name)), connectionsMax: 4, lease: { lastsMillis: 60_000 } },
    })
  })
  const database = () =>
    isOnPostgres ? Layer.unwrap(Effect.orDie(postgres)) : Database.layer({ filename: join(dir, Database.databaseFile) })
  const remove = () => {
    rmSync(dir, { recursive: true, force: true })
    if (name !== undefined) giveBack(name)
    name = undefined
  }
  return { dir, layer, remove }
}

export type TestStore = ReturnType<typeof testStore>

type Provided = Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>>

/** Runs the first effect on a fresh store, then, after closing it, the second on the same file. */
export const restart = (first: Work<Provided>, second: Work<Provided> = Effect.void) => {
  const store = testStore()
  return effectOf(first).pipe(
    Effect.provide(store.layer()),
    Effect.andThen(Effect.provide(effectOf(second), store.layer())),
    Effect.ensuring(Effect.sync(store.remove)),
  )
}
