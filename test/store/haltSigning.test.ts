import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { haltSigning } from "../../src/store/controls/Controls.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { haltingOnStoreErrors, isDoubtful, isUnwritable } from "../../src/store/database/storeErrors.ts"
import { metricsLayer } from "../recordings/replay.ts"
import { halts } from "../support/Intents.ts"
import { effectOf, type Work } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"
import { isWoken } from "../support/woken.ts"

type Store = Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>> | Layer.Success<typeof metricsLayer>

const withStore = Effect.fnUntraced(function* (use: Work<Store>) {
  const store = testStore()
  yield* effectOf(use).pipe(
    Effect.provide(Layer.merge(store.layer(), metricsLayer)),
    Effect.ensuring(Effect.sync(store.remove)),
  )
})

/** A failure of SQLite, as the adapter wraps it. */
const sqlite = (errcode: number | undefined, message = "it failed") =>
  new StoreError({ operation: "move", cause: { reason: { cause: Object.assign(new Error(message), { errcode }) } } })

/** The same of PostgreSQL, by its SQLSTATE. */
const postgres = (code: string) =>
  new StoreError({ operation: "move", cause: { reason: { cause: Object.assign(new Error("it failed"), { code }) } } })

/** What a loop that fails so ends with, and what halts then. */
const failed = Effect.fnUntraced(function* (error: StoreError) {
  const ended = yield* Effect.flip(haltingOnStoreErrors(Effect.fail(error)))
  assert.strictEqual(ended, error)
  return { halts: yield* halts, ends: isUnwritable(ended), isDoubted: isDoubtful(ended) }
})

describe("a failure of the store", () => {
  const known = { ends: false, isDoubted: false }
  const unwritten = { halts: [], ends: true, isDoubted: false }
  it.effect.each([
    { name: "that is busy halts nothing", error: sqlite(261), what: { ...known, halts: [] } },
    {
      name: "of a row that may not be breaks an invariant",
      error: sqlite(2_067),
      what: { ...known, halts: ["invariant"] },
    },
    { name: "of a full disk ends all, and halts nothing", error: sqlite(13), what: unwritten },
    { name: "of a disk that may only be read ends all", error: sqlite(776), what: unwritten },
    { name: "of a file that cannot be opened ends all", error: sqlite(14), what: unwritten },
    {
      name: "of a write ends all, and leaves the file in doubt",
      error: sqlite(778),
      what: { ...unwritten, isDoubted: true },
    },
    { name: "of a broken file ends all, and is doubt", error: sqlite(11), what: { ...unwritten, isDoubted: true } },
    { name: "of a file that is none ends all", error: sqlite(26), what: { ...unwritten, isDoubted: true } },
    { name: "of a role that lost its rights ends all, and halts nothing", error: postgres("42501"), what: unwritten },
    {
      name: "of a statement that PostgreSQL refuses halts",
      error: postgres("42601"),
      what: { ...known, halts: ["store_error"] },
    },
    { name: "of another kind halts", error: sqlite(18), what: { ...known, halts: ["store_error"] } },
    { name: "that SQLite did not name halts", error: sqlite(undefined), what: { ...known, halts: ["store_error"] } },
  ])("$name", ({ error, what }) => withStore(Effect.map(failed(error), (found) => assert.deepStrictEqual(found, what))))
})

describe("a halt", () => {
  it.effect("wakes who pages people, once", () =>
    withStore(function* () {
      yield* haltSigning("operator", "looks at it")
      assert.isTrue(yield* isWoken("alerts"))
      yield* haltSigning("operator", "looks at it")
      assert.isFalse(yield* isWoken("alerts"))
    }),
  )
})
