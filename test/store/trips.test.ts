import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Brake } from "../../src/store/Brake.ts"
import { DiskSpace } from "../../src/store/DiskSpace.ts"
import { guarded } from "../../src/store/guarded.ts"
import { StoreError } from "../../src/store/StoreError.ts"
import { trip } from "../../src/store/trip.ts"
import { metricsLayer } from "../recordings/replay.ts"
import { testStore } from "../support/TestStore.ts"
import { isWoken } from "../support/woken.ts"

type Store = Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>> | Layer.Success<typeof metricsLayer>

const withStore = <A, E>(use: Effect.Effect<A, E, Store>) =>
  Effect.gen(function* () {
    const store = testStore()
    yield* use.pipe(
      Effect.provide(Layer.merge(store.layer(), metricsLayer)),
      Effect.ensuring(Effect.sync(store.remove)),
    )
  })

const reasons = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.halts),
  (all) => all.map(({ reason }) => reason),
)

/** A failure of SQLite, as the adapter wraps it. */
const sqlite = (errcode: number | undefined, message = "it failed") =>
  new StoreError({ operation: "move", cause: { reason: { cause: Object.assign(new Error(message), { errcode }) } } })

const failed = (error: StoreError, disk: { readonly free: number; readonly takes: boolean }) =>
  Effect.gen(function* () {
    const real = yield* DiskSpace
    const space = { ...real, room: Effect.succeed({ free: disk.free, needed: 100 }), probe: Effect.succeed(disk.takes) }
    yield* Effect.provideService(Effect.exit(guarded(Effect.fail(error))), DiskSpace, space)
    return yield* reasons
  })

describe("a failure of the store", () => {
  const healthy = { free: 1_000, takes: true }
  it.effect.each([
    { name: "that is busy halts nothing", error: sqlite(261), disk: healthy, halts: [] },
    { name: "of a row that may not be breaks an invariant", error: sqlite(2_067), disk: healthy, halts: ["invariant"] },
    { name: "of a full disk halts by that", error: sqlite(13), disk: healthy, halts: ["disk_full"] },
    {
      name: "of a write that a disk with room took not halts as any other",
      error: sqlite(778),
      disk: healthy,
      halts: ["store_error"],
    },
    {
      name: "of a write where nothing else is taken either halts by the disk",
      error: sqlite(778),
      disk: { ...healthy, takes: false },
      halts: ["disk_full"],
    },
    {
      name: "of a write where little room is left halts by the disk",
      error: sqlite(778),
      disk: { ...healthy, free: 99 },
      halts: ["disk_full"],
    },
    { name: "of another kind halts", error: sqlite(26), disk: { free: 1, takes: false }, halts: ["store_error"] },
    {
      name: "that SQLite did not name halts",
      error: sqlite(undefined),
      disk: { free: 1, takes: false },
      halts: ["store_error"],
    },
  ])("$name", ({ error, disk, halts }) =>
    withStore(Effect.map(failed(error, disk), (found) => assert.deepStrictEqual(found, halts))),
  )
})

describe("a halt", () => {
  it.effect("wakes who pages people, once", () =>
    withStore(
      Effect.gen(function* () {
        yield* trip("operator", "looks at it")
        assert.isTrue(yield* isWoken("alerts"))
        yield* trip("operator", "looks at it")
        assert.isFalse(yield* isWoken("alerts"))
      }),
    ),
  )

  it.effect("that was held in memory is there alone until the store takes it", () =>
    withStore(
      Effect.gen(function* () {
        const brake = yield* Brake
        yield* brake.hold("operator", "looks at it")
        yield* trip("operator", "looks at it")
        assert.deepStrictEqual(yield* brake.held, [])
        assert.deepStrictEqual(yield* reasons, ["operator"])
        assert.isTrue(yield* isWoken("alerts"))
      }),
    ),
  )
})
