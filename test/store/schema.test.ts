import { DatabaseSync } from "node:sqlite"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Database from "../../src/store/database/Database.ts"
import { it } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

describe("a store", () => {
  it.effect("is opened again by its own build, and refused by another with the way out", function* () {
    const { dir } = yield* Effect.acquireRelease(Effect.sync(testStore), (opened) => Effect.sync(opened.remove))
    const filename = `${dir}/${Database.databaseFile}`
    const open = Effect.scoped(Layer.build(Database.layer({ filename })))
    const as = (pragma: string) => {
      const file = new DatabaseSync(filename)
      file.exec(pragma)
      file.close()
    }
    yield* open
    yield* open
    for (const version of [0, 2]) {
      as(`PRAGMA user_version = ${version}`)
      const { message } = yield* Effect.flip(open)
      assert.include(message, `another build made its tables (version ${version}, not 4); run that build, or begin`)
      assert.include(message, '"cofferer adopt"')
    }
    as("PRAGMA user_version = 4")
    yield* open
  })
})
