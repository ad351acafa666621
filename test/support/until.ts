import { Effect } from "effect"

/** Real milliseconds that a test waits for one thing: nothing takes a tenth of it on a quiet machine. */
export const waitMillisMax = 30_000

const late = (what: string, millis: number) => new Error(`waited ${millis / 1_000} s for ${what}`)

/** Sockets, files and timers of the machine have their turn. */
export const turn: Effect.Effect<void> = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Repeats an act until the condition holds; dies, naming what was awaited, after half a minute of real time. */
export const waitUntil = <E = never, R = never, E2 = never, R2 = never>(
  what: string,
  isSo: Effect.Effect<boolean, E, R> | (() => boolean),
  act: Effect.Effect<unknown, E2, R2> = turn,
): Effect.Effect<void, E | E2, R | R2> =>
  Effect.gen(function* () {
    const end = performance.now() + waitMillisMax
    const condition = Effect.isEffect(isSo) ? isSo : Effect.sync(isSo)
    while (!(yield* condition)) {
      if (performance.now() > end) return yield* Effect.die(late(what, waitMillisMax))
      yield* act
    }
  })

/** A promise that fails, naming what was awaited, when it takes longer. */
export const inTime = <A>(what: string, promise: Promise<A>, millis: number = waitMillisMax): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late(what, millis)), millis)
  })
  return Promise.race([promise, end]).finally(() => clearTimeout(timer))
}

/** The same for an effect, which is interrupted then. */
export const soon = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    effect,
    Effect.callback<never>((resume) => {
      const timer = setTimeout(() => resume(Effect.die(late(what, waitMillisMax))), waitMillisMax)
      return Effect.sync(() => clearTimeout(timer))
    }),
  )
