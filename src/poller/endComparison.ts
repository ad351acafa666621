import { Clock, Effect } from "effect"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { RequestPriority } from "../gateway/RequestPriority.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Comparisons } from "../store/Comparisons.ts"
import { Database } from "../store/Database.ts"
import { type Difference, Drifts } from "../store/Drifts.ts"
import { Observations } from "../store/Observations.ts"
import { Signals } from "../store/Signals.ts"
import { say } from "../telemetry/say.ts"
import { nothingCompared } from "./Compared.ts"
import { type Comparison, keysOf, type ReconciliationOptions } from "./Comparison.ts"
import { alertOf, subjectOf, tellMissed, wordsOf } from "./driftWords.ts"
import { rereadRows, setVerified } from "./rereadRows.ts"

/** While something differs it is compared this often at least. */
const driftMillisMax = 30_000
const pageRows = 1_000
/** Second readings in a row that lack rows of the first before people are told. */
const contradictionsMax = 3

/** The end of a comparison: what it says becomes durable together with who is to hear of it. */
export const endComparison = Effect.fnUntraced(function* (
  options: ReconciliationOptions,
  memory: Comparison,
  differing: ReadonlyArray<Difference>,
  agreeing: ReadonlySet<string>,
) {
  const drifts = yield* Drifts
  const alerts = yield* AlertQueue
  const database = yield* Database
  const signals = yield* Signals
  const { begun, ended } = yield* database.atomically(
    Effect.gen(function* () {
      const changed = yield* drifts.note({ differing, agreeing })
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
  // Rows that a quorum gave alike were read more than once already.
  if ((yield* Gateways).quorum === 1) yield* readTwice(options, memory)
  else memory.isReadTwice = true
})

/** The second reading of what came since the last one. */
const readTwice = Effect.fnUntraced(function* (options: ReconciliationOptions, memory: Comparison) {
  const parties = keysOf(options)
  memory.isReadTwice = false
  const { found, contradicted, complete } = yield* rereadRows(yield* GatewayReader, { parties, pageRows }).pipe(
    Effect.provideService(RequestPriority, "backfill"),
  )
  memory.isReadTwice = complete && found === 0
  yield* tellMissed(found)
  memory.contradictions = contradicted ? memory.contradictions + 1 : 0
  if (memory.contradictions < contradictionsMax) return
  const watermark = yield* (yield* Observations).watermark
  const until = watermark?.timestamp ?? 0n
  memory.contradictions = 0
  // While something is in drift its rows stay in doubt, and people know of it once.
  const first = (yield* (yield* Drifts).all)[0]
  yield* (yield* AlertQueue).raise({
    dedup: `rows/contradicted/${first === undefined ? until : `drift/${first.seq}`}`,
    severity: "ticket",
    kind: "drift",
    subject: "rows",
    detail: "the gateway does not show rows again that it showed before; cofferer reconcile compares",
    fields: {},
  })
  if (first === undefined) yield* setVerified({ parties }, until)
})
