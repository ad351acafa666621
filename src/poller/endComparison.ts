import { Clock, Effect } from "effect"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Comparisons } from "../store/Comparisons.ts"
import { Database } from "../store/Database.ts"
import { Drifts } from "../store/Drifts.ts"
import { Signals } from "../store/Signals.ts"
import { say } from "../telemetry/say.ts"
import { nothingCompared } from "./Compared.ts"
import type { Comparison, ReconciliationOptions } from "./Comparison.ts"
import { alertOf, subjectOf, wordsOf } from "./driftWords.ts"

/** While something differs it is compared this often at least. */
const driftMillisMax = 30_000

/** The end of a comparison: what it says becomes durable together with who is to hear of it. */
export const endComparison = Effect.fnUntraced(function* (
  options: ReconciliationOptions,
  memory: Comparison,
  seen: Parameters<Drifts["Service"]["note"]>[0],
) {
  const drifts = yield* Drifts
  const alerts = yield* AlertQueue
  const database = yield* Database
  const signals = yield* Signals
  const { begun, ended } = yield* database.atomically(
    Effect.gen(function* () {
      const changed = yield* drifts.note(seen)
      for (const drift of changed.begun) yield* alerts.raise(alertOf(options, drift, false))
      for (const drift of changed.ended) yield* alerts.raise(alertOf(options, drift, true))
      return changed
    }),
  )
  for (const drift of begun)
    yield* say("drift", { subject: subjectOf(options, drift), detail: wordsOf(options, drift) })
  for (const drift of ended) yield* say("drift", { subject: subjectOf(options, drift), detail: "is over" })
  yield* (yield* Comparisons).ended
  yield* drifts.check
  yield* signals.wake("engine")
  if (begun.length + ended.length > 0) yield* signals.wake("alerts")
  memory.before = undefined
  memory.listing = undefined
  memory.compared = nothingCompared()
  memory.count++
  const isCalm = (yield* drifts.all).length === 0
  const wait = isCalm ? options.reconcileMillis : Math.min(driftMillisMax, options.reconcileMillis)
  memory.dueAt = (yield* Clock.currentTimeMillis) + wait
})
