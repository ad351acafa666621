import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { beforeEach } from "vitest"
import { Connections } from "../../src/store/database/Connections.ts"
import * as Database from "../../src/store/database/Database.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { isUnwritable } from "../../src/store/database/storeErrors.ts"
import { it } from "../support/it.ts"
import { giveBack, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { inTime } from "../support/until.ts"
import { cuttingProxy } from "./CuttingProxy.ts"

describe("a PostgreSQL server that hangs", () => {
  beforeEach(({ skip }) => skip(serverUrl() === "", "needs PostgreSQL"))

  it.live(
    "is a store without writes for each treasury within a minute, also for those without a session",
    function* () {
      const name = yield* Effect.acquireRelease(takeDatabase, (taken) => Effect.sync(() => giveBack(taken)))
      const dir = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-hangs-"))),
        (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
      )
      const address = new URL(urlOf(serverUrl(), name))
      const proxy = yield* cuttingProxy(address.searchParams.get("host")!, dir)
      address.searchParams.set("host", dir)
      const options = { url: Redacted.make(address.href), connectionsMax: 1 }
      const sessions = yield* Layer.build(Connections.layer(options))
      const treasuries = yield* Effect.forEach(["a", "b", "c", "d", "e", "f"], (treasury) =>
        Effect.provide(Layer.build(Layer.fresh(Database.layer({ treasury, postgres: options }))), sessions),
      )
      yield* proxy.arm("all")
      const written = Effect.gen(function* () {
        const sql = yield* Sql
        return yield* (yield* Database.Database).write(
          sql.write`INSERT INTO settings ${sql.insert({ key: "a", value: "" })}`,
        )
      })
      const failed = Effect.forEach(
        treasuries,
        (own) => Effect.flip(Effect.provide(written, Context.merge(own, sessions))),
        {
          concurrency: "unbounded",
        },
      )
      const errors = yield* Effect.promise(() => inTime("all to fail", Effect.runPromise(failed), 60_000))
      for (const error of errors) assert.isTrue(isUnwritable(error), String(error))
    },
  )
})
