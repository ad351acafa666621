import { Clock, Context, Effect, Layer } from "effect"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import { toDouble } from "../domain/Amount.ts"
import type { FinalIntentState, Intent } from "../domain/Intent.ts"
import { type Definition, type Loop, metricGroups, type Values } from "./metricTable.ts"
import { tracePaymentEnd } from "./Tracing.ts"

/** Names from the configuration that appear as labels. */
export interface MetricsOptions {
  readonly treasury: string
  readonly mode: "observe" | "shadow" | "live"
  readonly gateways: ReadonlyArray<string>
  readonly rules: ReadonlyArray<string>
  /** Parties that pay. */
  readonly payers?: ReadonlyArray<string>
  /** Symbols of the pinned assets. */
  readonly assets?: ReadonlyArray<string>
  readonly receivers: ReadonlyArray<string>
  readonly version: string
  readonly revision: string
  /** True for one of several treasuries: every series has its name; `fleetMetrics` has those of the process. */
  readonly isOneOfMany?: boolean
}

let ofProcess: Registry | undefined

/** A registry with the metrics of the process. They are made once: each set of them watches the event loop for ever. */
const processMetrics = (): Registry => {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    // Gauges with the suffix of counters, which Prometheus' own check refuses.
    for (const name of ["handles", "requests", "resources"]) ofProcess.removeSingleMetric(`nodejs_active_${name}_total`)
  }
  return Registry.merge([ofProcess])
}

/** Metrics of a process of several treasuries, beside theirs. */
export const fleetMetrics = () => {
  const registry = processMetrics()
  const up = new Gauge({
    name: "cofferer_treasury_up",
    help: "1 while the treasury runs; 0 while it starts, is broken or waits to be started again.",
    labelNames: ["treasury"],
    registers: [registry],
  })
  const standby = new Gauge({
    name: "cofferer_treasury_standby",
    help: "1 while another process runs the treasury, and this one waits for its lease.",
    labelNames: ["treasury"],
    registers: [registry],
  })
  return { up, standby, text: () => registry.metrics() }
}

/** Merges texts: the format requires the samples of a metric to stand together. */
export const mergeMetrics = (texts: Iterable<string>): string => {
  const families = new Map<string, Array<string>>()
  for (const text of texts) {
    for (const family of text.split(/\n(?=# HELP )/)) {
      const [help = "", type = "", ...samples] = family.trimEnd().split("\n")
      if (help === "") continue
      const head = `${help}\n${type}`
      const known = families.get(head) ?? []
      known.push(...samples.filter((sample) => sample !== ""))
      families.set(head, known)
    }
  }
  return [...families].map(([head, samples]) => [head, ...samples, ""].join("\n")).join("\n")
}

/** Names of the configuration that are known at the start. */
const startNames = ({ treasury, gateways, rules, payers = [], assets = [], receivers }: MetricsOptions) => ({
  treasury: [treasury],
  gateway: gateways,
  rule: rules,
  payer: payers,
  asset: assets,
  receiver: receivers,
})

type Table = {
  [G in keyof typeof metricGroups]: (x: (typeof metricGroups)[G]) => void
}[keyof typeof metricGroups] extends (x: infer All) => void
  ? All
  : never

type Made<D> = D extends { readonly type: infer T; readonly labels: infer L }
  ? { gauge: Gauge<keyof L & string>; counter: Counter<keyof L & string>; histogram: Histogram<keyof L & string> }[T &
      Definition["type"]]
  : never

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const define = ({ type, name, help, labels, buckets = seconds }: Definition, registry: Registry) => {
  const options = { name: `cofferer_${name}`, help, labelNames: Object.keys(labels), registers: [registry] }
  if (type === "gauge") return new Gauge(options)
  return type === "counter" ? new Counter(options) : new Histogram({ ...options, buckets: [...buckets] })
}

/** Every combination of labels that is known at the start. */
const combinations = ({ labels, absent: isAbsent, has = () => true }: Definition, options: MetricsOptions) => {
  const names = startNames(options)
  const valuesOf = (values: Values) => (values === "found" ? [] : typeof values === "string" ? names[values] : values)
  const all = Object.entries(labels).reduce<ReadonlyArray<Record<string, string>>>(
    (before, [label, values]) => before.flatMap((one) => valuesOf(values).map((value) => ({ ...one, [label]: value }))),
    [{}],
  )
  return isAbsent === true ? [] : all.filter(has)
}

const make = (options: MetricsOptions) => {
  const registry = options.isOneOfMany === true ? new Registry() : processMetrics()
  if (options.isOneOfMany === true) registry.setDefaultLabels({ treasury: options.treasury })
  const defined = Object.values<Readonly<Record<string, Definition>>>(metricGroups).flatMap((group) =>
    Object.entries(group).map(([key, definition]) => ({ key, definition, metric: define(definition, registry) })),
  )
  // Every closed combination of labels exists from the start, so that the first event is an increase.
  for (const { definition, metric } of defined) {
    if (definition.absent === true) metric.remove({})
    for (const labels of combinations(definition, options)) {
      if (metric instanceof Histogram) metric.zero(labels)
      else metric.inc(labels, 0)
    }
  }
  const metrics = Object.fromEntries(defined.map(({ key, metric }) => [key, metric])) as {
    readonly [K in keyof Table]: Made<Table[K]>
  }
  metrics.buildInfo.set({ version: options.version, revision: options.revision, node: process.version }, 1)
  metrics.mode.set({ treasury: options.treasury, mode: options.mode }, 1)
  metrics.configReloaded.set({ treasury: options.treasury }, 1)
  return {
    ...metrics,
    registry,
    /** All metrics in the text form of Prometheus. */
    text: () => registry.metrics(),
  }
}

/** The text in OpenMetrics 1.0. prom-client's own conversion would rename the counters of the registry for ever. */
export const toOpenMetrics = (text: string): string => {
  const counters = new Set([...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => name))
  const named = text.replaceAll(/^(# (?:HELP|TYPE) )(\S+)_total /gm, (line, head: string, name: string) =>
    counters.has(name) ? `${head}${name} ` : line,
  )
  return `${named.replaceAll(/\n+/g, "\n").trimEnd()}\n# EOF\n`
}

/** Counts cycles of the loops, so that a loop that hangs or fails is seen from outside. */
const makeCycles = (
  treasury: string,
  { loopLastSuccess, loopFailures }: Pick<ReturnType<typeof make>, "loopLastSuccess" | "loopFailures">,
) => {
  const last = new Map<Loop, number>()
  let cycles = 0
  return {
    /** Runs one cycle, counts its result, and adds the loop and the cycle's number to its log lines. */
    counted: <A, E, R>(loop: Loop, cycle: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      cycle.pipe(
        Effect.tap(() =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            last.set(loop, now)
            loopLastSuccess.set({ treasury, loop }, now / 1_000)
          }),
        ),
        Effect.tapError(() => Effect.sync(() => loopFailures.inc({ treasury, loop }))),
        (counted) => Effect.suspend(() => Effect.annotateLogs(counted, { loop, cycle: ++cycles })),
      ),
    /** Unix milliseconds of the last success of each loop in this process. */
    lastSuccess: Effect.sync((): ReadonlyMap<Loop, number> => new Map(last)),
  }
}

/** Every metric of the process. Counters count what this process did; gauges are set from the store at each scrape. */
export class Metrics extends Context.Service<Metrics, ReturnType<typeof make> & ReturnType<typeof makeCycles>>()(
  "cofferer/telemetry/Metrics",
) {
  static readonly layer = (options: MetricsOptions): Layer.Layer<Metrics> =>
    Layer.effect(
      Metrics,
      Effect.sync(() => {
        const metrics = make(options)
        return Metrics.of({ ...metrics, ...makeCycles(options.treasury, metrics) })
      }),
    )
}

/** Counts a payment that came to its end, and ends its trace. `fee`: in base units, where it is known. */
export const countEnd = Effect.fnUntraced(function* (intent: Intent, outcome: FinalIntentState, fee?: bigint) {
  const { treasury: name, payment, decimals } = intent
  yield* tracePaymentEnd(intent, outcome, yield* Clock.currentTimeMillis)
  const { intentsFinished, paidAmount, feesPaid } = yield* Metrics
  intentsFinished.inc({ treasury: name, outcome })
  if (outcome !== "confirmed") return
  const labels = { treasury: name, asset: payment.asset }
  paidAmount.inc(labels, toDouble(payment.amount, decimals))
  feesPaid.inc(labels, toDouble(fee ?? 0n, decimals))
})
