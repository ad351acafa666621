import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { StatementSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { isDoubtful } from "../../src/store/database/storeErrors.ts"
import { tryStore } from "../../src/store/database/tryStore.ts"
import { type Body, effectOf } from "../support/it.ts"
import { type TestStore, testStore } from "../support/TestStore.ts"

const withFile = (use: Body<[store: TestStore, filename: string], never>) =>
  Effect.acquireUseRelease(
    Effect.sync(testStore),
    (store) => effectOf(use(store, join(store.dir, databaseFile))),
    (store) => Effect.sync(store.remove),
  )

const written = (store: TestStore, value: string) =>
  Effect.flatMap(Settings, (settings) => settings.set("key", value)).pipe(Effect.provide(store.layer()))

const found = Effect.flatMap(Settings, (settings) => settings.get("key"))

/** Each statement fails with an I/O error, as of a sync that failed. */
const withBrokenDisk = <A, E, R>(use: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const { all } = StatementSync.prototype
      StatementSync.prototype.all = () => {
        throw Object.assign(new Error("disk I/O error"), { errcode: 1_034 })
      }
      return all
    }),
    () => use,
    (all) =>
      Effect.sync(() => {
        StatementSync.prototype.all = all
      }),
  )

describe("a store that failed", () => {
  it.effect("is relied on again where it is whole and takes what a start writes", () =>
    withFile(function* (store, filename) {
      yield* written(store, "kept")
      yield* tryStore({ filename, mustExist: true, isDoubted: true })
      assert.strictEqual(yield* Effect.provide(found, store.layer()), "kept")
    }),
  )

  it.effect("is not made anew where its file is gone, unless there never was one", () =>
    withFile(function* (_, filename) {
      const { message } = yield* Effect.flip(tryStore({ filename, mustExist: true, isDoubted: false }))
      assert.include(message, `${filename} is gone`)
      assert.isFalse(existsSync(filename))
      yield* tryStore({ filename, mustExist: false, isDoubted: false })
    }),
  )

  it.effect("is not relied on while SQLite finds it broken", () =>
    withFile(function* (store, filename) {
      yield* written(store, "x".repeat(200_000))
      const whole = readFileSync(filename)
      writeFileSync(filename, Buffer.from(whole).fill(7, whole.length - 40_000))
      yield* Effect.flip(tryStore({ filename, mustExist: true, isDoubted: true }))
      writeFileSync(filename, whole)
      yield* tryStore({ filename, mustExist: true, isDoubted: true })
    }),
  )

  it.effect("takes nothing more by the connection that failed, though the disk does", () =>
    withFile(function* (store, filename) {
      const failing = Effect.gen(function* () {
        const settings = yield* Settings
        yield* settings.set("key", "before")
        const first = yield* Effect.flip(withBrokenDisk(settings.set("key", "failed")))
        assert.isTrue(isDoubtful(first))
        assert.isTrue(isDoubtful(yield* Effect.flip(settings.set("key", "after"))))
      })
      yield* Effect.provide(failing, store.layer())
      yield* tryStore({ filename, mustExist: true, isDoubted: true })
      assert.strictEqual(yield* Effect.provide(found, store.layer()), "before")
    }),
  )
})
