import { type AssetStatusWord, statusWords } from "../domain/Asset.ts"
import { holdReasons } from "../domain/Decision.ts"
import { haltReasons, invariants } from "../domain/Halt.ts"
import { finalIntentStates, openIntentStates } from "../domain/Intent.ts"
import { submissionOutcomes } from "../payments/planSend.ts"
import { refusals } from "../rules/policy/Policy.ts"

const modes = ["observe", "shadow", "live"] as const

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
  "health",
] as const
export type Loop = (typeof loops)[number]

const operations = ["balance_changes", "accounts", "assets", "height", "submit", "transfer"] as const
export type GatewayOperation = (typeof operations)[number]

const requestOutcomes = ["ok", "refused", "rate_limited", "banned", "timeout", "unreachable", "unreadable"] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

const submissionCodes = ["0", "51", "60", "70", "71", "80", "89", "other", "none"] as const
type SubmissionCode = (typeof submissionCodes)[number]

/** Metric label of an answer's code. The set is closed: a gateway may send any number. */
export const codeLabel = (code: number | undefined): SubmissionCode =>
  code === undefined ? "none" : (submissionCodes.find((c) => c === String(code)) ?? "other")

/** Codes that an outcome usually has; all others have no answer. */
const outcomeCodes: Readonly<Record<string, ReadonlyArray<string>>> = {
  accepted: ["0"],
  refused: submissionCodes.filter((code) => code !== "0" && code !== "none"),
  duplicate: ["89", "none"],
  ambiguous: ["0", "none"],
  framing: ["60"],
}

/** Scopes of a pause; `maintenance` is one that the file plans. */
export const pauseScopes = ["all", "rule", "party", "asset", "pin", "lock", "maintenance"] as const
export const statusLabels = Object.values(statusWords) as ReadonlyArray<AssetStatusWord>

/** Values of a label: a closed list, names known at the start, or names that a scrape finds. */
export type Values = ReadonlyArray<string> | "treasury" | "gateway" | "rule" | "payer" | "asset" | "receiver" | "found"
type Labels = Readonly<Record<string, Values>>

interface More {
  /** True if there is no series before its value is known: zero would be wrong. */
  readonly absent?: boolean
  /** Which combinations of the labels there are; default all. */
  readonly has?: (labels: Readonly<Record<string, string>>) => boolean
  /** Upper bounds of a histogram, seconds. */
  readonly buckets?: ReadonlyArray<number>
}

/** One metric. */
export interface Definition extends More {
  readonly type: "gauge" | "counter" | "histogram"
  /** Without its prefix. */
  readonly name: string
  readonly help: string
  readonly labels: Labels
}

const entry =
  <const T extends Definition["type"]>(type: T) =>
  <const L extends Labels = Record<never, never>>(name: string, help: string, labels?: L, more: More = {}) => ({
    type,
    name,
    help,
    labels: (labels ?? {}) as L,
    ...more,
  })
const gauge = entry("gauge")
const counter = entry("counter")
const histogram = entry("histogram")

const treasury = "treasury"
const account = { treasury, party: "found", asset: "found" } as const
const absent = { absent: true }

/** Every metric, by the question that it answers. docs/metrics.md shows this table. */
export const metricGroups = {
  "Is it alive and allowed to pay?": {
    buildInfo: gauge("build_info", "Build of the running process; always 1.", {
      version: "found",
      revision: "found",
      node: "found",
    }),
    mode: gauge("mode", "Mode the treasury runs in: 1 for the mode in force, 0 for the others.", {
      treasury,
      mode: modes,
    }),
    halted: gauge(
      "halted",
      "1 while nothing may be signed for this reason. Read from the store, so it survives a restart.",
      { treasury, reason: haltReasons },
    ),
    pauses: gauge("pauses", "Pauses in force, by what they cover. A maintenance window counts while it lasts.", {
      treasury,
      scope: pauseScopes,
    }),
    healthy: gauge("healthy", "0 while the condition holds, 1 while it does not. status --fail exits 0 if all are 1.", {
      treasury,
      condition: "found",
    }),
    loopLastSuccess: gauge(
      "loop_last_success_timestamp_seconds",
      "Unix time at which the loop last finished a cycle without error.",
      { treasury, loop: loops },
      absent,
    ),
    loopFailures: counter("loop_failures_total", "Cycles of the loop that ended in an error.", {
      treasury,
      loop: loops,
    }),
    configReloaded: gauge(
      "config_last_reload_successful",
      "1 if the newest configuration file was accepted; 0 while an older one stays in force.",
      { treasury },
    ),
    configHash: gauge(
      "config_hash",
      "First 48 bits of the hash of the configuration in force; compare between installations.",
      { treasury, part: "found" },
    ),
  },
  "What does it see, and how fresh is that?": {
    gatewayUp: gauge("gateway_up", "1 if the last request to the gateway was answered in a readable form.", {
      gateway: "gateway",
    }),
    gatewayHeight: gauge(
      "gateway_height",
      "Newest block height that the gateway reported.",
      { gateway: "gateway" },
      absent,
    ),
    gatewayQuarantined: gauge(
      "gateway_quarantined",
      "1 while the answers of the gateway count for nothing because it contradicted itself or the others.",
      { gateway: "gateway" },
    ),
    gatewayClockSkew: gauge(
      "gateway_clock_skew_seconds",
      "Block time reported by the gateway minus our clock; absent where that cannot be told.",
      { gateway: "gateway" },
      absent,
    ),
    gatewayRequests: counter("gateway_requests_total", "Requests to the gateway, by how they ended.", {
      gateway: "gateway",
      operation: operations,
      outcome: requestOutcomes,
    }),
    gatewayRequestDuration: histogram("gateway_request_duration_seconds", "Time from request to complete answer.", {
      gateway: "gateway",
      operation: operations,
    }),
    observationAge: gauge(
      "observation_age_seconds",
      "Age of the block behind the newest trusted balance of the account; negative: it is ahead of this clock.",
      account,
    ),
    accountBalance: gauge(
      "account_balance",
      "Balance in units of the asset, rounded to a double; the exact value is in the API.",
      { ...account, kind: ["observed", "reserved", "available"] },
    ),
    accountLevel: gauge(
      "account_level",
      "Level of the account in units of the asset, rounded to a double, by the rule that sets it; a floor has no rule.",
      { ...account, level: ["floor", "below", "target", "above"], rule: "found" },
    ),
    accountOutOfBand: gauge(
      "account_out_of_band_seconds",
      "Time for which the account has now been out of its band; 0 in band, and while its rule rests by its hours.",
      account,
    ),
    reconcileDrift: gauge(
      "reconcile_drift",
      "Unexplained difference between our rows and the balance the gateway reports, in units of the asset.",
      account,
    ),
    assets: gauge("assets", "Assets that the network lists, by status. Read from the store.", {
      treasury,
      status: statusLabels,
    }),
  },
  "What did it decide, and why does it hold?": {
    ruleEvaluations: counter("rule_evaluations_total", "Evaluations of the rule, by decision.", {
      treasury,
      rule: "rule",
      decision: ["act", "hold", "error"],
    }),
    ruleHold: gauge(
      "rule_hold_seconds",
      "Time for which the rule has now held for this reason. Only the present reason is exported.",
      { treasury, rule: "rule", reason: holdReasons },
      absent,
    ),
  },
  "Do payments go through, once?": {
    intents: gauge("intents", "Intents that are not finished, by state. Read from the store.", {
      treasury,
      state: openIntentStates,
    }),
    intentOldest: gauge("intent_oldest_seconds", "Age of the oldest unfinished intent in the state.", {
      treasury,
      state: openIntentStates,
    }),
    intentsFinished: counter("intents_finished_total", "Intents that reached a final state.", {
      treasury,
      outcome: finalIntentStates,
    }),
    submissions: counter(
      "mempool_submissions_total",
      "Transactions sent to a gateway, by what its mempool check answered. send: first or resend of the same bytes.",
      { treasury, gateway: "gateway", send: ["first", "resend"], outcome: submissionOutcomes, code: submissionCodes },
      { has: ({ outcome = "", code = "" }) => (outcomeCodes[outcome] ?? ["none"]).includes(code) },
    ),
    acceptanceRatio: gauge(
      "mempool_acceptance_ratio",
      "Share of first sends of the last 24 h with a definite answer that the mempool accepted; absent without one.",
      { treasury },
      absent,
    ),
    attemptsExpired: counter(
      "attempts_expired_total",
      "Signed transactions proven never to have executed, after which a new one may be signed.",
      { treasury },
    ),
    stageDuration: histogram(
      "stage_duration_seconds",
      "Time that a confirmed payment took. sign: decision to last signature; include: signature to block; total: decision to confirmation.",
      { treasury, stage: ["sign", "include", "total"] },
      { buckets: [0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 14_400] },
    ),
    duplicateExecutions: gauge(
      "duplicate_executions",
      "Executions beyond the first of any intent, not yet acknowledged by a person. Read from the store.",
      { treasury },
    ),
    foreignPayments: gauge(
      "foreign_payments",
      "Payments made with our key that our journal does not know, not yet acknowledged. Read from the store.",
      { treasury, party: "payer" },
    ),
  },
  "How near is a limit?": {
    policyUsed: gauge("policy_used_ratio", "Share of the policy limit that is spent or reserved.", {
      treasury,
      line: "found",
      limit: ["per_24h", "transfers_per_24h"],
    }),
    signerRequests: counter(
      "signer_requests_total",
      "Requests to sign, permitted or refused, by reason of refusal.",
      { treasury, decision: ["permitted", "refused"], reason: ["none", ...refusals] },
      { has: ({ decision, reason }) => (decision === "permitted") === (reason === "none") },
    ),
    paidAmount: counter("paid_amount_total", "Amount of confirmed payments in units of the asset, without fees.", {
      treasury,
      asset: "asset",
    }),
    feesPaid: counter("fees_paid_total", "Known network fees of confirmed payments in units of the asset.", {
      treasury,
      asset: "asset",
    }),
    epochTransfersUsed: gauge(
      "epoch_transfers_used",
      "Transfers of the party that count against the network limit of the present epoch; absent where it is not known.",
      { treasury, party: "payer" },
      absent,
    ),
    epochTransfersLimit: gauge(
      "epoch_transfers_limit",
      "Transfers the network permits the party in an epoch; absent where it is not known.",
      { treasury, party: "payer" },
      absent,
    ),
    workSolve: histogram(
      "work_solve_duration_seconds",
      "Time to solve one proof of work, off the payment path or on it.",
    ),
    workHashesPerSecond: gauge(
      "work_hashes_per_second",
      "Hashes a second of one search for a proof of work, as measured; 0 before the first.",
    ),
  },
  "Does it reach people?": {
    alertsPending: gauge("alerts_pending", "Notifications accepted for the receiver and not yet delivered.", {
      receiver: "receiver",
    }),
    alertOldestPending: gauge(
      "alert_oldest_pending_seconds",
      "Age of the oldest notification not yet delivered; 0 without one.",
      { receiver: "receiver" },
    ),
    notifications: counter("notifications_total", "Attempts to deliver a notification, by outcome.", {
      receiver: "receiver",
      outcome: ["delivered", "failed", "dead_letter"],
    }),
    heartbeat: gauge(
      "heartbeat_last_success_timestamp_seconds",
      "Unix time at which the outside heartbeat was last accepted.",
      {},
      absent,
    ),
  },
  "Is it healthy itself?": {
    storeWritable: gauge("store_writable", "0 while the store takes no writes: nothing is decided, signed or sent."),
    storeFreeBytes: gauge("store_free_bytes", "Free space of the file system that holds the store.", {}, absent),
    takeovers: counter(
      "takeovers_total",
      "Takeovers of the treasury from another process: one that handed its lease over, or whose lease expired.",
      { how: ["handed_over", "expired"] },
    ),
    invariantViolations: counter(
      "invariant_violations_total",
      "Broken invariants; each halts money and never the alerts.",
      { invariant: invariants },
    ),
  },
} as const
