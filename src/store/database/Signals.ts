import { Context, Duration, Effect, Layer, Queue } from "effect"

const topics = ["balances", "engine", "submitter", "confirm", "reconcile", "alerts", "backfill"] as const
export type Topic = (typeof topics)[number]

/** Wakes loops before their time when there is news. A signal is a hint, never a fact. */
export class Signals extends Context.Service<Signals>()("cofferer/store/Signals", {
  make: Effect.gen(function* () {
    const queues = new Map<Topic, Queue.Queue<void>>()
    for (const topic of topics) queues.set(topic, yield* Queue.sliding<void>(1))
    return {
      /** Wakes the loops of the topics, now or at their next wait. Many signals before one wait are one. */
      wake: (...loops: ReadonlyArray<Topic>) =>
        Effect.forEach(loops, (topic) => Queue.offer(queues.get(topic)!, undefined), { discard: true }),
      /** Returns at a signal, or after the given milliseconds. */
      wait: (topic: Topic, millis: number) =>
        Queue.take(queues.get(topic)!).pipe(Effect.timeoutOption(Duration.millis(millis)), Effect.asVoid),
    }
  }),
}) {
  static readonly layer = Layer.effect(Signals, Signals.make)
}
