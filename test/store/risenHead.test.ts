import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Database } from "../../src/store/database/Database.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { testStore } from "../support/TestStore.ts"

const before = { accepted: { height: 10n, at: 1_800_000_000_000 } }
const risen = { accepted: { height: 12n, at: 1_800_000_001_000 } }

it.effect("an accepted head is stored where it is lower or earlier than the stored one", () => {
  const store = testStore()
  return Effect.gen(function* () {
    const chain = yield* ChainState
    const { height, at } = before.accepted
    for (const accepted of [
      { height, at },
      { height: height - 1n, at },
      { height: height - 1n, at: at - 1 },
    ]) {
      yield* chain.keepHead("c", { accepted })
      yield* chain.forgetHead("c")
      assert.deepStrictEqual(yield* chain.acceptedHead("c"), { accepted })
    }
  }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
})

describe("a higher head that lasted", () => {
  it.effect("counts once its ticket is stored, and is stored with it", () => {
    const store = testStore()
    let isBroken = true
    const failing = Layer.effect(
      Database,
      Effect.map(Database, (database) =>
        Database.of({
          ...database,
          write: (effect, takenBack) => {
            const commit = Effect.suspend(() =>
              isBroken ? new StoreError({ operation: "transaction", cause: "disk I/O error" }) : Effect.void,
            )
            return database.write(Effect.tap(effect, commit), takenBack)
          },
        }),
      ),
    )
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const chain = yield* ChainState
        const { pending } = yield* AlertQueue
        yield* chain.keepHead("c", before)
        const rise = chain.keepRisenHead("c", risen, "it lasted")
        yield* Effect.flip(rise)
        assert.deepStrictEqual(yield* chain.acceptedHead("c"), before)
        const unsent = yield* pending
        isBroken = false
        yield* rise
        assert.deepStrictEqual(yield* chain.acceptedHead("c"), risen)
        assert.notDeepEqual(yield* pending, unsent)
      }).pipe(
        Effect.provide(
          Layer.fresh(ChainState.layerNoDeps).pipe(Layer.provide(failing), Layer.provideMerge(store.layer())),
        ),
      )
      const again = Effect.flatMap(ChainState, (chain) => chain.acceptedHead("c"))
      assert.deepStrictEqual(yield* Effect.provide(again, store.layer()), risen)
    }).pipe(Effect.ensuring(Effect.sync(store.remove)))
  })
})
