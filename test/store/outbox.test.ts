import { Effect } from "effect"
import { outboxContract } from "../contract/OutboxContract.ts"
import { testStore } from "../support/TestStore.ts"

outboxContract("SQLite", (first, second) =>
  Effect.gen(function* () {
    const store = testStore()
    yield* first.pipe(
      Effect.provide(store.layer()),
      Effect.andThen(second === undefined ? Effect.void : second.pipe(Effect.provide(store.layer()))),
      Effect.ensuring(Effect.sync(store.remove)),
    )
  }),
)
