import { Clock, Effect, Ref } from "effect"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { RequestPriority } from "../gateway/RequestPriority.ts"
import { type Backfill, Backfills } from "../store/Backfills.ts"
import { Database } from "../store/Database.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { say } from "../telemetry/say.ts"
import type { Reader, WindowAnswer } from "./askWindow.ts"
import { type BalancePollerOptions, defaultPageRows, partiesOf } from "./BalancePollerOptions.ts"
import { idleMillisMin, keptNanosMin, tellLoss } from "./bridgeGap.ts"
import { explainAnswer } from "./explainAnswer.ts"
import { oldestSince, reachesBehind } from "./historyBegins.ts"
import { makePace, nextSpan, type Pace } from "./Pace.ts"
import { readByCursor } from "./readByCursor.ts"
import { readWindow } from "./readWindow.ts"

/** Between two windows of the past: what happens now is read meanwhile. */
const pauseMillis = 100
const retryMillis = 10_000
const idleMillis = 3_600_000
/** A network on which nobody moved for this long at first is taken for one that forgot, or had not begun. */
const silenceNanosMin = 3_600_000_000_000n

/** How often progress is told. */
const tellMillis = 10_000

/**
 * Reads one window of the past that is asked for, from the oldest time on. Rows and how far they reach become durable
 * together. Returns whether there is more to read at once.
 */
export const backfillOnce = Effect.fn("Backfill.once")(
  function* (options: BalancePollerOptions, pace: Ref.Ref<Pace> = makePace()) {
    const backfills = yield* Backfills
    const job = (yield* backfills.open)[0]
    if (job === undefined || options.parties.size === 0) return false
    const reader = yield* GatewayReader
    const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
    if (yield* skipForgotten(reader, options, job, now)) return true
    const { first } = yield* Gateways
    const answer = yield* first((gateway) => readPast(gateway, options, { job, now, pace }))
    if (answer._tag !== "Rows") {
      yield* explainAnswer(answer, { known: job.next, now })
      return false
    }
    const next = answer.until < job.until ? answer.until : job.until
    const rows = answer.rows.filter((row) => row.timestamp >= job.next && row.timestamp < next)
    yield* backfills.advance(job, rows, next)
    yield* tellProgress(job, next, pace)
    return next < job.until || (yield* backfills.open).length > 0
  },
  Effect.provideService(RequestPriority, "backfill"),
)

/** One window of the past, from `job.next` on; the pace learns from it. */
export const readPast = Effect.fnUntraced(function* (
  { name, reader }: Gateway,
  options: BalancePollerOptions,
  {
    job,
    now,
    pace,
  }: { readonly job: Pick<Backfill, "next" | "until">; readonly now: bigint; readonly pace: Ref.Ref<Pace> },
): Effect.fn.Return<WindowAnswer, GatewayError> {
  const query = { parties: partiesOf(options), pageRows: options.pageRows ?? defaultPageRows, now, from: job.next }
  if (options.readByCursor?.has(name)) return yield* readByCursor(reader, query)
  const { span } = yield* Ref.get(pace)
  const end = job.next + span < job.until ? job.next + span : job.until
  const answer = yield* readWindow(reader, { ...query, end })
  if (answer._tag === "Rows") {
    yield* Ref.update(pace, (known) => ({ ...known, span: nextSpan(span, answer, query) }))
  }
  return answer
})

/**
 * Passes over time of which the gateway has nothing of anybody. At the beginning that is what it forgot long ago, or
 * what was before the first block; later it is what it forgot while we did not read.
 */
const skipForgotten = Effect.fnUntraced(function* (
  reader: Reader,
  options: BalancePollerOptions,
  job: Backfill,
  now: bigint,
) {
  const isFirst = job.next === job.since
  const isLate = Number(now / 1_000_000n) - job.updatedAt > idleMillisMin && now - job.next > keptNanosMin
  if (!isFirst && !isLate) return false
  const query = { parties: partiesOf(options), at: job.next }
  if (!isFirst && (yield* reachesBehind(reader, query))) return false
  const oldest = (yield* oldestSince(reader, { ...query, until: job.until })) ?? job.until
  if (oldest - job.next < silenceNanosMin) return false
  const backfills = yield* Backfills
  const [from, to] = [job.next, oldest].map((nanos) => new Date(Number(nanos / 1_000_000n)).toISOString())
  const cause = "the gateway has nothing of that time: it forgot it, or the network had not begun"
  yield* (yield* Database).atomically(
    Effect.gen(function* () {
      yield* isFirst ? backfills.lost({ since: job.next, until: oldest, cause }) : tellLoss(job.next, oldest)
      yield* backfills.advance(job, [], oldest)
    }),
  )
  if (isFirst) yield* say("gap", { detail: `${from} to ${to}: ${cause}` })
  return true
})

const tellProgress = Effect.fnUntraced(function* ({ since, until }: Backfill, next: bigint, pace: Ref.Ref<Pace>) {
  const now = yield* Clock.currentTimeMillis
  const isDone = next >= until
  if (!isDone && now - (yield* Ref.get(pace)).toldAt < tellMillis) return
  yield* Ref.update(pace, (known) => ({ ...known, toldAt: now }))
  const [from, to] = [since, next].map((nanos) => new Date(Number(nanos / 1_000_000n)).toISOString())
  const percent = Number(((next - since) * 100n) / (until - since))
  const detail = isDone ? `every balance change since ${from} is stored` : `${percent} % since ${from}, now at ${to}`
  yield* say("backfill", { detail, percent })
})

/** The loop: while something of the past is asked for, window by window with a pause; else it sleeps. */
export const backfillLoop = (options: BalancePollerOptions) =>
  Effect.suspend(() => {
    const pace = makePace()
    return Effect.gen(function* () {
      const cycle = yield* Cycle
      const signals = yield* Signals
      const more = yield* cycle
        .counted("backfill", backfillOnce(options, pace))
        .pipe(
          Effect.catchTag("GatewayError", (error) =>
            Effect.as(Effect.logWarning("the past could not be read", { reason: error.message }), false),
          ),
        )
      if (more) return yield* Effect.sleep(pauseMillis)
      const waits = (yield* (yield* Backfills).open).length > 0
      yield* signals.wait("backfill", waits ? retryMillis : idleMillis)
    }).pipe(Effect.forever)
  })
