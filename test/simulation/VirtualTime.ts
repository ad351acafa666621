import { Clock, Context, Duration, Effect, Exit, type Fiber, Logger, References, Scheduler } from "effect"
import type { Dice } from "../support/Dice.ts"

interface Sleeper {
  at: number
  readonly seq: number
  readonly wake: () => void
}

interface Task {
  readonly run: () => void
  readonly alive: () => boolean
  readonly pausedTo: () => number
}

/**
 * Time and order of a whole world in one queue. Nothing in it waits for the machine, so a run takes as long as its
 * work, and the same draws give the same run to the last step.
 */
export interface VirtualTime {
  readonly clock: Clock.Clock
  /** The clock of a machine whose wall clock is wrong by so many milliseconds; its monotonic clock is not. */
  readonly clockWrongBy: (millis: () => number) => Clock.Clock
  /**
   * A scheduler of one inhabitant: once it is not alive, its tasks and sleeps never happen; while it sleeps itself (to
   * the Unix milliseconds of `pausedTo`), they wait.
   */
  readonly schedulerOf: (alive: () => boolean, pausedTo?: () => number) => Scheduler.Scheduler
  readonly now: () => number
  /** Runs all that is due until the given Unix milliseconds. */
  readonly runTo: (millis: number) => void
  /** Lets time pass until the given Unix milliseconds, and wakes nobody: what came due wakes late, in its order. */
  readonly passTo: (millis: number) => void
  /** The machine sleeps until then: clocks go on, while the monotonic one and all that waits by it stand still. */
  readonly sleepTo: (millis: number) => void
}

/** Tasks run in the order in which they came, save that the dice let one of the next few come first. */
const shuffledAhead = 3
/** More tasks without any time passing are a loop that never rests. */
const tasksMax = 2_000_000

export const makeVirtualTime = (startMillis: number, dice: Dice): VirtualTime => {
  let now = startMillis
  let slept = 0
  let seq = 0
  let tasks: Array<Task> = []
  const sleepers: Array<Sleeper> = []

  const currentTimeNanosUnsafe = () => BigInt(now) * 1_000_000n
  const monotonicTimeNanosUnsafe = () => BigInt(now - slept) * 1_000_000n
  const clockWrongBy = (millis: () => number): Clock.Clock => ({
    ...clock,
    currentTimeMillisUnsafe: () => now + millis(),
    currentTimeMillis: Effect.sync(() => now + millis()),
    currentTimeNanosUnsafe: () => currentTimeNanosUnsafe() + BigInt(millis()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => currentTimeNanosUnsafe() + BigInt(millis()) * 1_000_000n),
  })
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe,
    currentTimeNanos: Effect.sync(currentTimeNanosUnsafe),
    monotonicTimeNanosUnsafe,
    monotonicTimeNanos: Effect.sync(monotonicTimeNanosUnsafe),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const at = now + Math.max(0, Math.ceil(Duration.toMillis(duration)))
        const sleeper = { at, seq: seq++, wake: () => resume(Effect.void) }
        push(sleepers, sleeper)
        return Effect.sync(() => {
          const index = sleepers.indexOf(sleeper)
          if (index >= 0) sleepers.splice(index, 1)
        })
      }),
  }

  const schedulerOf = (alive: () => boolean, pausedTo = () => 0): Scheduler.Scheduler => ({
    executionMode: "async",
    shouldYield: (fiber) => fiber.currentOpCount >= 2_048,
    makeDispatcher: () => ({
      scheduleTask: (run) => {
        if (alive()) tasks.push({ run, alive, pausedTo })
      },
      flush: () => {},
    }),
  })

  const drain = () => {
    let count = 0
    while (tasks.length > 0) {
      const batch = tasks
      tasks = []
      while (batch.length > 0) {
        if (++count > tasksMax) throw new Error(`the world does not come to rest at ${now}`)
        const ahead = batch.length === 1 ? 0 : dice.below(Math.min(shuffledAhead, batch.length))
        const [task] = ahead === 0 ? [batch.shift()] : batch.splice(ahead, 1)
        if (task === undefined || !task.alive()) continue
        const at = task.pausedTo()
        if (at > now) push(sleepers, { at, seq: seq++, wake: () => tasks.push(task) })
        else task.run()
      }
    }
  }

  return {
    clock,
    clockWrongBy,
    schedulerOf,
    now: () => now,
    passTo: (millis) => {
      drain()
      now = Math.max(now, millis)
    },
    sleepTo: (millis) => {
      drain()
      const by = Math.max(0, millis - now)
      now += by
      slept += by
      // All by the same, so that their order stays.
      for (const sleeper of sleepers) sleeper.at += by
    },
    runTo: (millis) => {
      drain()
      for (;;) {
        const next = sleepers[0]
        if (next === undefined || next.at > millis) break
        sleepers.shift()
        now = Math.max(now, next.at)
        next.wake()
        drain()
      }
      now = Math.max(now, millis)
    },
  }
}

/** Keeps the list ordered by time, and by arrival within it. */
const push = (sleepers: Array<Sleeper>, sleeper: Sleeper): void => {
  let low = 0
  let high = sleepers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sleepers[middle]!.at <= sleeper.at) low = middle + 1
    else high = middle
  }
  sleepers.splice(low, 0, sleeper)
}

/** Runs what belongs to a world itself, such as its network, in its time and without a log. */
export interface Runner {
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** Result of an effect that ends without any time passing; throws where it does not. */
  readonly atOnce: <A, E>(effect: Effect.Effect<A, E>) => A
  /** The same of one that was forked before. */
  readonly ended: <A, E>(fiber: Fiber.Fiber<A, E>) => A
}

export const makeRunner = (time: VirtualTime): Runner => {
  const context = Context.empty().pipe(
    Context.add(Clock.Clock, time.clock),
    Context.add(
      Scheduler.Scheduler,
      time.schedulerOf(() => true),
    ),
    Context.add(References.TracerEnabled, false),
    Context.add(References.MinimumLogLevel, "None"),
    Context.add(Logger.CurrentLoggers, new Set()),
  )
  const fork: Runner["fork"] = (effect) => Effect.runForkWith(context)(effect)
  const ended: Runner["ended"] = (fiber) => {
    time.runTo(time.now())
    const exit = fiber.pollUnsafe()
    if (exit === undefined || Exit.isFailure(exit)) throw new Error(`it did not come to its end: ${exit}`)
    return exit.value
  }
  return { fork, ended, atOnce: (effect) => ended(fork(effect)) }
}
