import { mkdtempSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { outlastOutages } from "../../src/cli/run/storeOutage.ts"
import { realMachine } from "../../src/layers.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { layerHttpHere } from "../support/InProcess.ts"
import { it } from "../support/it.ts"
import { asAdmin, databaseIn } from "../support/Postgres.ts"
import { tempDir } from "../support/tempDir.ts"
import { treasuryFrom } from "../support/treasury.ts"
import { turn, waitUntil } from "../support/until.ts"

const dir = tempDir("outage-postgres")
const full = new StoreError({ operation: "a test", cause: Object.assign(new Error("full"), { code: "53100" }) })
const second = Effect.andThen(TestClock.adjust("1 second"), turn)

/** A disk without room: values that need new pages are refused, changes of rows are not. `refusals` counts them. */
const fillDisk = [
  "CREATE SEQUENCE refusals",
  `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    PERFORM nextval('refusals'); RAISE 'No space left on device' USING ERRCODE = '53100'; END $$`,
  `CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON settings FOR EACH ROW WHEN (length(NEW.value) > 8000)
    EXECUTE FUNCTION refuse()`,
]
const emptyDisk = ["DROP TRIGGER IF EXISTS no_room ON settings"]

describe("an outage of PostgreSQL", () => {
  it.effect("lasts while the server's disk is full, though small changes succeed", () =>
    Effect.gen(function* () {
      const dataDir = mkdtempSync(join(dir, "data-"))
      const postgresUrlFile = yield* databaseIn(dataDir)
      const database = new URL(readFileSync(postgresUrlFile, "utf8")).pathname.slice(1)
      const treasury = yield* treasuryFrom({
        name: "t",
        mode: "observe",
        network: { chainId: "c", gateways: { main: "http://127.0.0.1:1" } },
      })
      const options = { treasury, mode: "observe", dataDir, postgresUrlFile } as const
      const notifier = Layer.succeed(Notifier, { receivers: [], send: () => Effect.void })
      const machine = { ...realMachine(options), http: layerHttpHere, notifier }
      const surface = { serve: () => Effect.succeed({ url: "", announce: Effect.void }) }
      let lives = 0
      let isFull = false
      const fill = Effect.tap(asAdmin(database, ...fillDisk), () => Effect.sync(() => (isFull = true)))
      const run = Effect.suspend(() => (++lives > 1 ? Effect.never : Effect.andThen(fill, full)))
      const process = yield* outlastOutages(options, { surface, machineOf: () => machine }, () => run).pipe(
        Effect.scoped,
        Effect.provide(machine.metrics),
        Effect.forkChild,
      )
      yield* waitUntil("the full disk", () => isFull)
      const refusals = Effect.map(asAdmin(database, "SELECT last_value FROM refusals"), ([rows]) =>
        Number(rows?.[0]?.[0]),
      )
      const isTried = Effect.map(refusals, (count) => lives > 1 || count > 1)
      yield* waitUntil("two trials", isTried, second)
      assert.strictEqual(lives, 1)
      yield* asAdmin(database, ...emptyDisk)
      yield* waitUntil("the second life", () => lives > 1, second)
      yield* Fiber.interrupt(process)
      yield* asAdmin(database, "DROP FUNCTION refuse", "DROP SEQUENCE refusals")
    }).pipe(Effect.provide(Logger.layer([]))),
  )
})
