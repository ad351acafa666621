import { Effect } from "effect"
import { alertOf, type FactsOf, type LastingName, type OverFactsOf, overOf } from "../../domain/alerts/Alert.ts"
import type { AlertName } from "../../domain/alerts/catalogue.ts"
import { Signals } from "../database/Signals.ts"
import { AlertQueue } from "./AlertQueue.ts"

const woken = Effect.fnUntraced(function* (isNew: boolean) {
  if (isNew) yield* (yield* Signals).wake("alerts")
  return isNew
})

/**
 * Raises an alert of the catalogue in the caller's transaction, and wakes its loop. Returns false if it was raised
 * before. `to`: its receivers; none: those of its severity.
 */
export const raise = <N extends AlertName>(name: N, facts: FactsOf<N>, to: ReadonlyArray<string> = []) =>
  Effect.flatMap(AlertQueue, (queue) => Effect.flatMap(queue.raise({ ...alertOf(name, facts), to }), woken))

/** Raises the all-clear of an alert. Returns false if it was raised before. */
export const raiseOver = <N extends LastingName>(name: N, facts: OverFactsOf<N>) =>
  Effect.flatMap(AlertQueue, (queue) => Effect.flatMap(queue.raise(overOf(name, facts)), woken))
