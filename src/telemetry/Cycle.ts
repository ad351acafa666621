import { Clock, Context, Effect, Layer } from "effect"
import { Metrics } from "./Metrics.ts"
import type { Loop } from "./metricTable.ts"

/** Counts the cycles of the loops, so that one that stands still or fails is seen from outside. */
export class Cycle extends Context.Service<
  Cycle,
  {
    /** Runs one cycle, notes how it ended, and gives its lines in the log the number that it has in this process. */
    readonly counted: <A, E, R>(loop: Loop, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Unix milliseconds of the last success of each loop in this process. */
    readonly lastSuccess: Effect.Effect<ReadonlyMap<Loop, number>>
  }
>()("cofferer/telemetry/Cycle") {
  static readonly layer = (treasury: string) =>
    Layer.effect(
      Cycle,
      Effect.gen(function* () {
        const metrics = yield* Metrics
        const last = new Map<Loop, number>()
        let cycles = 0
        return Cycle.of({
          counted: (loop, work) =>
            work.pipe(
              Effect.tap(() =>
                Effect.map(Clock.currentTimeMillis, (now) => {
                  last.set(loop, now)
                  metrics.loopLastSuccess.set({ treasury, loop }, now / 1_000)
                }),
              ),
              Effect.tapError(() => Effect.sync(() => metrics.loopFailures.inc({ treasury, loop }))),
              (counted) => Effect.suspend(() => Effect.annotateLogs(counted, { loop, cycle: ++cycles })),
            ),
          lastSuccess: Effect.sync(() => new Map(last)),
        })
      }),
    )
}
