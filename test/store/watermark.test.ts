import { rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Database } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { emptyDir } from "../support/emptyDir.ts"
import { itWith } from "../support/it.ts"
import { isOnPostgres, testStore } from "../support/TestStore.ts"

const it = itWith(() => {
  const store = testStore()
  return Layer.merge(store.layer(), Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove))))
})

describe("a watermark that is missing", () => {
  it.effect("is a problem where its store wrote it, unless processes of several machines do", function* () {
    const dir = emptyDir("cofferer-watermark-")
    const [file, other] = [join(dir, "watermark"), join(dir, "other")]
    yield* (yield* Settings).set("installation", "one")
    yield* (yield* Database).write((yield* Journal).append({ kind: "started", subject: "test", body: {} }))
    const problemOf = (at: string) =>
      Effect.provide(
        Effect.flatMap(Journal, ({ headProblem }) => headProblem),
        Layer.fresh(Journal.layer("test", at)),
      )
    assert.isUndefined(yield* problemOf(file), "none was written")
    yield* Effect.flatMap(Journal, ({ noteHead }) => noteHead).pipe(
      Effect.provide(Layer.fresh(Journal.layer("test", file))),
    )
    assert.isUndefined(yield* problemOf(file))
    assert.isUndefined(yield* problemOf(other), "another path is a new file")
    yield* (yield* Settings).set("installation", "two")
    const foreign = `the watermark ${file} was written by another installation: is this its data directory?`
    assert.strictEqual(yield* problemOf(file), foreign)
    yield* (yield* Settings).set("installation", "one")
    rmSync(file)
    // Each machine has a file of its own, and the first payment after a takeover writes it.
    const expected = isOnPostgres ? undefined : `the watermark ${file} is missing, and this store has written it`
    assert.strictEqual(yield* problemOf(file), expected)
    rmSync(dir, { recursive: true })
  })
})
