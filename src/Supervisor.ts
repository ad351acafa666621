import { Cause, Clock, Duration, Effect, Exit, FiberSet, Option, Random } from "effect"
import type { StoreError } from "./store/database/StoreError.ts"
import { isUnwritable } from "./store/database/storeErrors.ts"
import { logEvent } from "./telemetry/Logging.ts"

/** A named endless effect. */
interface SupervisedLoop<E, R> {
  readonly name: string
  readonly loop: Effect.Effect<never, E, R>
}

/** Loops of different kinds in one list: the error is only logged, so its type is not kept. */
export const supervised = <E, R>(name: string, loop: Effect.Effect<never, E, R>): SupervisedLoop<unknown, R> => ({
  name,
  loop,
})

const restartMillisMin = 200
const restartMillisMax = 30_000
/** A loop that ran this long has recovered: the next failure waits the shortest time again. */
const healthyNanos = 60_000_000_000n
/** The sixth failure of one loop within ten minutes is no passing fault: the process ends, visibly. */
const failuresMax = 5
const failuresWithinNanos = 600_000_000_000n

/** A loop failed too often, or ended by itself, which none may. */
class LoopGaveUp extends Error {
  readonly _tag = "LoopGaveUp"
}

/**
 * Runs loops side by side and starts one again when it fails: after 200 ms, doubling to 30 s, with jitter. Failures and
 * defects count alike. Never succeeds; fails with the first loop that gave up, or whose store takes no writes, which
 * ends the others.
 */
export const supervise = <const Loops extends ReadonlyArray<SupervisedLoop<unknown, unknown>>>(
  loops: Loops,
): Effect.Effect<never, LoopGaveUp | StoreError, Needs<Loops[number]>> =>
  run(loops as ReadonlyArray<SupervisedLoop<unknown, Needs<Loops[number]>>>)

type Needs<L> = L extends SupervisedLoop<unknown, infer R> ? R : never

const run = <R>(loops: ReadonlyArray<SupervisedLoop<unknown, R>>): Effect.Effect<never, LoopGaveUp | StoreError, R> =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<never, LoopGaveUp | StoreError>()
    for (const loop of loops) yield* FiberSet.run(fibers, restarting(loop))
    yield* FiberSet.join(fibers)
    return yield* Effect.never
  }).pipe(Effect.scoped)

const restarting = <E, R>({ name, loop }: SupervisedLoop<E, R>): Effect.Effect<never, LoopGaveUp | StoreError, R> =>
  Effect.gen(function* () {
    let failures: ReadonlyArray<bigint> = []
    let wait = restartMillisMin
    for (;;) {
      const startedAt = yield* Clock.monotonicTimeNanos
      const exit = yield* Effect.exit(loop)
      if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
      const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none()
      if (Option.isSome(error) && isUnwritable(error.value)) return yield* error.value
      const now = yield* Clock.monotonicTimeNanos
      if (now - startedAt >= healthyNanos) wait = restartMillisMin
      failures = [...failures.filter((at) => now - at < failuresWithinNanos), now]
      const cause = Exit.isFailure(exit) ? exit.cause : Cause.die(new Error("the loop ended by itself"))
      yield* logEvent("loop failed", { loop: name, failures: failures.length }, { cause })
      if (failures.length > failuresMax) {
        return yield* Effect.fail(new LoopGaveUp(`loop ${name} failed ${failures.length} times within ten minutes`))
      }
      yield* Effect.sleep(Duration.millis(Math.round(wait * (0.8 + (yield* Random.next) * 0.4))))
      wait = Math.min(restartMillisMax, wait * 2)
    }
  })
