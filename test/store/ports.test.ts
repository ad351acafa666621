import { Effect, type Layer } from "effect"
import { alertQueueContract, brakeContract, spendLogContract } from "../contract/BrakesContract.ts"
import type { Restart } from "../contract/Restart.ts"
import { listingsContract, memoryContract, observationsContract } from "../contract/SightingsContract.ts"
import { testStore } from "../support/TestStore.ts"

type Provided = Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>>

const sqlite: Restart<Provided> = (first, second) =>
  Effect.gen(function* () {
    const store = testStore()
    yield* first.pipe(
      Effect.provide(store.layer()),
      Effect.andThen(second === undefined ? Effect.void : second.pipe(Effect.provide(store.layer()))),
      Effect.ensuring(Effect.sync(store.remove)),
    )
  })

observationsContract("SQLite", sqlite)
listingsContract("SQLite", sqlite)
memoryContract("SQLite", sqlite)
brakeContract("SQLite", sqlite)
spendLogContract("SQLite", sqlite)
alertQueueContract("SQLite", sqlite)
