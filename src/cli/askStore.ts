import { Effect, type Layer } from "effect"
import { storeLayer } from "../services.ts"
import type { StoreError } from "../store/StoreError.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { toJson } from "./output.ts"
import { type Chosen, type Setup, storedSetup } from "./setup.ts"

type Store = Layer.Success<ReturnType<typeof storeLayer>>

/** The daemon's answer, or where none runs what its database says: the same JSON. */
export const askStore = <A>(
  chosen: Chosen,
  path: string,
  stored: Effect.Effect<A, StoreError, Store> | ((found: Setup) => Effect.Effect<A, StoreError, Store>),
  timeoutMillis?: number,
) =>
  Effect.gen(function* () {
    const dataDir = yield* dataDirOf(chosen)
    const answer = yield* control(dataDir, "GET", path, undefined, timeoutMillis)
    if (answer !== undefined) return yield* bodyOf(answer)
    const found = yield* storedSetup(chosen, dataDir)
    const value = yield* (typeof stored === "function" ? stored(found) : stored).pipe(
      Effect.provide(storeLayer(found)),
      Effect.mapError((error) => failWith("failure", error.message)),
    )
    return JSON.parse(toJson(value)) as unknown
  })
