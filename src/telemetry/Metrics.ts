import { Context, Effect, Layer } from "effect"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import { haltReasons, invariants } from "../domain/Halt.ts"
import { finalIntentStates, openIntentStates } from "../domain/Intent.ts"

const loops = [
  "balances",
  "accounts",
  "assets",
  "engine",
  "submitter",
  "confirm",
  "alerts",
  "reconcile",
  "backfill",
] as const
export type Loop = (typeof loops)[number]

const operations = ["balance_changes", "accounts", "assets", "height", "submit", "transfer"] as const
export type Operation = (typeof operations)[number]

const requestOutcomes = ["ok", "refused", "rate_limited", "banned", "timeout", "unreachable", "unreadable"] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

const submissionOutcomes = ["accepted", "refused", "duplicate", "throttled", "ambiguous", "unreachable"] as const
export type SubmissionOutcome = (typeof submissionOutcomes)[number] | "framing"
const submissionCodes = ["0", "51", "60", "70", "71", "80", "89", "other", "none"] as const
type SubmissionCode = (typeof submissionCodes)[number]

/** The metric label of an answer's code: one of a closed set, whatever the gateway says. */
export const codeLabel = (code: number | undefined): SubmissionCode =>
  code === undefined ? "none" : (submissionCodes.find((c) => c === String(code)) ?? "other")

/** Names from the configuration that appear as labels; nothing else may become one. */
export interface MetricsOptions {
  readonly treasury: string
  readonly mode: "observe" | "shadow" | "live"
  readonly gateways: ReadonlyArray<string>
  readonly rules: ReadonlyArray<string>
  /** Parties that pay. */
  readonly payers?: ReadonlyArray<string>
  readonly receivers: ReadonlyArray<string>
  readonly version: string
  readonly revision: string
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const make = (options: MetricsOptions) => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const gauge = <T extends string>(name: string, help: string, labelNames: ReadonlyArray<T> = []) =>
    new Gauge<T>({ name: `cofferer_${name}`, help, labelNames: [...labelNames], registers })
  const counter = <T extends string>(name: string, help: string, labelNames: ReadonlyArray<T> = []) =>
    new Counter<T>({ name: `cofferer_${name}`, help, labelNames: [...labelNames], registers })
  const histogram = <T extends string>(name: string, help: string, labelNames: ReadonlyArray<T> = []) =>
    new Histogram<T>({ name: `cofferer_${name}`, help, labelNames: [...labelNames], buckets: seconds, registers })

  const metrics = {
    registry,
    buildInfo: gauge("build_info", "Build of the running process; always 1.", ["version", "revision", "node"]),
    mode: gauge("mode", "Mode the treasury runs in: 1 for the mode in force, 0 for the others.", ["treasury", "mode"]),
    halted: gauge(
      "halted",
      "1 while nothing may be signed for this reason. Read from the store, so it survives a restart.",
      ["treasury", "reason"],
    ),
    healthy: gauge("healthy", "0 while the condition holds, 1 while it does not. status --fail exits 0 if all are 1.", [
      "treasury",
      "condition",
    ]),
    storeWritable: gauge("store_writable", "0 while the store takes no writes: nothing is decided, signed or sent."),
    storeFreeBytes: gauge("store_free_bytes", "Free space of the file system that holds the store."),
    loopLastSuccess: gauge(
      "loop_last_success_timestamp_seconds",
      "Unix time at which the loop last finished a cycle without error.",
      ["treasury", "loop"],
    ),
    loopFailures: counter("loop_failures_total", "Cycles of the loop that ended in an error.", ["treasury", "loop"]),
    configReloaded: gauge(
      "config_last_reload_successful",
      "1 if the newest configuration file was accepted; 0 while an older one stays in force.",
      ["treasury"],
    ),
    configHash: gauge(
      "config_hash",
      "First 48 bits of the hash of the configuration in force; compare between installations.",
      ["treasury", "part"],
    ),
    gatewayUp: gauge("gateway_up", "1 if the last request to the gateway was answered in a readable form.", [
      "gateway",
    ]),
    gatewayHeight: gauge("gateway_height", "Newest block height that the gateway reported.", ["gateway"]),
    gatewayQuarantined: gauge(
      "gateway_quarantined",
      "1 while the answers of the gateway count for nothing because it contradicted itself or the others.",
      ["gateway"],
    ),
    gatewayRequests: counter("gateway_requests_total", "Requests to the gateway, by how they ended.", [
      "gateway",
      "operation",
      "outcome",
    ]),
    gatewayRequestDuration: histogram("gateway_request_duration_seconds", "Time from request to complete answer.", [
      "gateway",
      "operation",
    ]),
    observationAge: gauge(
      "observation_age_seconds",
      "Age of the block behind the newest trusted balance of the account; negative: it is ahead of this clock.",
      ["treasury", "party", "asset"],
    ),
    accountBalance: gauge(
      "account_balance",
      "Balance in units of the asset, rounded to a double; the exact value is in the API. kind: observed, reserved, available.",
      ["treasury", "party", "asset", "kind"],
    ),
    reconcileDrift: gauge(
      "reconcile_drift",
      "Unexplained difference between our rows and the balance the gateway reports, in units of the asset.",
      ["treasury", "party", "asset"],
    ),
    ruleEvaluations: counter("rule_evaluations_total", "Evaluations of the rule, by decision.", [
      "treasury",
      "rule",
      "decision",
    ]),
    ruleHold: gauge(
      "rule_hold_seconds",
      "Time for which the rule has now held for this reason. Only the present reason is exported.",
      ["treasury", "rule", "reason"],
    ),
    intents: gauge("intents", "Intents that are not finished, by state. Read from the store.", ["treasury", "state"]),
    intentOldest: gauge("intent_oldest_seconds", "Age of the oldest unfinished intent in the state.", [
      "treasury",
      "state",
    ]),
    intentsFinished: counter("intents_finished_total", "Intents that reached a final state.", ["treasury", "outcome"]),
    submissions: counter(
      "mempool_submissions_total",
      "Transactions sent to a gateway, by what its mempool check answered. send: first or resend of the same bytes.",
      ["treasury", "gateway", "send", "outcome", "code"],
    ),
    acceptanceRatio: gauge(
      "mempool_acceptance_ratio",
      "Share of first sends of the last 24 h with a definite answer that the mempool accepted; absent without one.",
      ["treasury"],
    ),
    duplicateExecutions: gauge(
      "duplicate_executions",
      "Executions beyond the first of any intent, not yet acknowledged by a person. Read from the store.",
      ["treasury"],
    ),
    foreignPayments: gauge(
      "foreign_payments",
      "Payments made with our key that our journal does not know, not yet acknowledged. Read from the store.",
      ["treasury", "party"],
    ),
    invariantViolations: counter(
      "invariant_violations_total",
      "Broken invariants; each halts money and never the alerts.",
      ["invariant"],
    ),
    policyUsed: gauge("policy_used_ratio", "Share of the policy limit that is spent or reserved.", [
      "treasury",
      "line",
      "limit",
    ]),
    epochTransfersUsed: gauge(
      "epoch_transfers_used",
      "Transfers of the party that count against the network limit of the present epoch; absent where it is not known.",
      ["treasury", "party"],
    ),
    epochTransfersLimit: gauge(
      "epoch_transfers_limit",
      "Transfers the network permits the party in an epoch; absent where it is not known.",
      ["treasury", "party"],
    ),
    workSolve: histogram(
      "work_solve_duration_seconds",
      "Time to solve one proof of work, off the payment path or on it.",
    ),
    workHashesPerSecond: gauge(
      "work_hashes_per_second",
      "Hashes a second of one search for a proof of work, as measured; 0 before the first.",
    ),
    alertsPending: gauge("alerts_pending", "Notifications accepted for the receiver and not yet delivered.", [
      "receiver",
    ]),
    notifications: counter("notifications_total", "Attempts to deliver a notification, by outcome.", [
      "receiver",
      "outcome",
    ]),
  }
  zero(metrics, options)
  return metrics
}

/** Every closed combination of labels exists from the start, so that the first event is an increase. */
const zero = (metrics: ReturnType<typeof make>, options: MetricsOptions): void => {
  const { treasury } = options
  metrics.buildInfo.set({ version: options.version, revision: options.revision, node: process.version }, 1)
  for (const mode of ["observe", "shadow", "live"]) metrics.mode.set({ treasury, mode }, mode === options.mode ? 1 : 0)
  for (const reason of haltReasons) metrics.halted.set({ treasury, reason }, 0)
  metrics.configReloaded.set({ treasury }, 1)
  metrics.duplicateExecutions.set({ treasury }, 0)
  for (const party of options.payers ?? []) metrics.foreignPayments.set({ treasury, party }, 0)
  for (const invariant of invariants) metrics.invariantViolations.inc({ invariant }, 0)
  for (const loop of loops) metrics.loopFailures.inc({ treasury, loop }, 0)
  for (const gateway of options.gateways) {
    metrics.gatewayUp.set({ gateway }, 0)
    metrics.gatewayQuarantined.set({ gateway }, 0)
    for (const operation of operations) {
      metrics.gatewayRequestDuration.zero({ gateway, operation })
      for (const outcome of requestOutcomes) metrics.gatewayRequests.inc({ gateway, operation, outcome }, 0)
    }
    for (const send of ["first", "resend"]) {
      for (const outcome of submissionOutcomes) {
        const codes = outcome === "accepted" ? ["0"] : outcome === "refused" ? submissionCodes.slice(1, 8) : ["none"]
        for (const code of codes) metrics.submissions.inc({ treasury, gateway, send, outcome, code }, 0)
      }
      metrics.submissions.inc({ treasury, gateway, send, outcome: "framing", code: "60" }, 0)
    }
  }
  for (const rule of options.rules) {
    for (const decision of ["act", "hold", "error"]) metrics.ruleEvaluations.inc({ treasury, rule, decision }, 0)
  }
  for (const state of openIntentStates) {
    metrics.intents.set({ treasury, state }, 0)
    metrics.intentOldest.set({ treasury, state }, 0)
  }
  for (const outcome of finalIntentStates) metrics.intentsFinished.inc({ treasury, outcome }, 0)
  for (const receiver of options.receivers) {
    metrics.alertsPending.set({ receiver }, 0)
    for (const outcome of ["delivered", "failed", "dead_letter"]) metrics.notifications.inc({ receiver, outcome }, 0)
  }
}

/** Every metric of the process. Counters count what this process did; gauges are set from the store at each scrape. */
export class Metrics extends Context.Service<Metrics, ReturnType<typeof make>>()("cofferer/telemetry/Metrics") {
  static readonly layer = (options: MetricsOptions): Layer.Layer<Metrics> =>
    Layer.effect(
      Metrics,
      Effect.sync(() => Metrics.of(make(options))),
    )
}
