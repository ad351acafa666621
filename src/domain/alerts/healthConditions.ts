/** One condition of health, as pages describe it. */
interface ConditionNote {
  readonly holds: string
  /** Alert that people get of it. */
  readonly alert: string
  readonly act: string
  /** How long it must hold before people are alerted; absent: another part alerts them, or nobody is. */
  readonly alertAfterMillis?: number
}

const minute = 60_000

/**
 * Every condition of health, the worst first, and causes before what they cause. `cofferer_healthy` has their names.
 * docs/operations.md and docs/runbooks.md show this table.
 */
export const healthConditions = {
  halted: {
    holds: "signing is halted",
    alert: "page at once",
    act: "see the halt's reason under `halt`",
  },
  terms_waiting: {
    holds: "the file's terms are weaker than those in force, and wait",
    alert: "the halt's page",
    act: '"cofferer approve terms HASH --key FILE", or put the old file back and restart',
  },
  wrong_chain: {
    holds: "a gateway is on another chain",
    alert: "page with the halt; ticket for each of several",
    act: "correct the address in network.gateways, or wait until the right chain is back",
    alertAfterMillis: 0,
  },
  clock: {
    holds:
      "this host's clock and the blocks differ by more than `maxAge`; several gateways that agree show which clock is wrong",
    alert: "page after 60 s",
    act: 'check NTP on this host: "timedatectl" or "chronyc tracking"; where that is right, check the node',
    alertAfterMillis: minute,
  },
  gateway_down: {
    holds: "a gateway is down, banned or quarantined",
    alert: "ticket for each after 60 s; page where fewer than must agree are left",
    act: "check its node and the network to it; it counts again once it answers",
    alertAfterMillis: minute,
  },
  payment_overdue: {
    holds: "a payment is manual, or past the bound of its state",
    alert: "page",
    act: '"cofferer intents show ID" says what it waits for; a manual one: "cofferer intents resolve ID"',
  },
  newest_block: {
    holds: "no plausible newest block",
    alert: "page after 60 s",
    act: "compare the newest block with another source; `status` has the command that accepts a chain that began again",
    alertAfterMillis: minute,
  },
  work: {
    holds: "the network's proof-of-work parameters are not settled",
    alert: "page after 60 s",
    act: "compare them at another gateway",
    alertAfterMillis: minute,
  },
  wire_form: {
    holds: "mempools decode no transaction, in any wire form that is tried",
    alert: "page after 60 s",
    act: "check network.chainId and the network's version; leave network.framing out",
    alertAfterMillis: minute,
  },
  stale: {
    holds: "the balances are older than `maxAge`, or were never read",
    alert: "page after 60 s, unless a condition above is the cause",
    act: "check the gateways, their nodes, and the network to them",
    alertAfterMillis: minute,
  },
  signing_waits: {
    holds:
      "nothing is signed for one window, ten blocks and 30 s: after `adopt`, `recover`, or with a new database and no listing of transfers",
    alert: "none",
    act: "nothing: it ends by itself",
  },
  rule_fires: {
    holds: "a `notify` rule fires as page or ticket",
    alert: "by the rule",
    act: '"cofferer explain RULE" shows every check',
  },
  alerts_undelivered: {
    holds: "a receiver has not accepted an alert for 60 s",
    alert: "ticket for each to the others; page if a page waits",
    act: "check that receiver and its address in alerts.receivers; waiting alerts are sent again automatically",
    alertAfterMillis: 0,
  },
  low_disk: {
    holds: "little disk space is free, before `disk_full` halts",
    alert: "ticket, before the halt's page",
    act: "free space on the disk of the data directory",
    alertAfterMillis: 0,
  },
  config_refused: {
    holds: "the changed files were refused; the old configuration stays",
    alert: "ticket at once",
    act: 'as its text says: restart, or correct it, "cofferer reload --reason TEXT"',
  },
  restarts: {
    holds: "the process ended three times in 15 min without being stopped",
    alert: "ticket at once",
    act: "the text has how each process ended; the log has the lines before it",
    alertAfterMillis: 0,
  },
  acceptance: {
    holds: "mempools refused five submissions or more in 24 h, and accepted fewer than 90 %",
    alert: "ticket after 5 min",
    act: '"cofferer intents show ID" has the code of each refusal',
    alertAfterMillis: 300_000,
  },
  approval_waiting: {
    holds: "a payment waits for operators",
    alert: "ticket at once",
    act: '"cofferer approve ID --key FILE", or "cofferer reject ID --reason TEXT"',
  },
  rule_locked: {
    holds: "a rule locked itself, or its code fails or is late",
    alert: "ticket; for code after 1 min",
    act: 'once the cause is gone: "cofferer resume --scope lock:RULE --reason TEXT"; for code: correct its file and reload',
  },
  paused: {
    holds: "a person paused something",
    alert: "none",
    act: '"cofferer resume --scope SCOPE --reason TEXT"',
  },
  not_compared: {
    holds: "balances cannot be compared with the gateway's own",
    alert: "ticket after 5 min",
    act: "look at the gateway's listing of accounts; it ends with the next whole comparison",
    alertAfterMillis: 0,
  },
  out_of_band: {
    holds: "an account is out of its band for longer than its rule takes: `for`, `cooldown`, `settle` and a minute",
    alert: "ticket; again for each that joins",
    act: '"cofferer plan" says what holds it',
    alertAfterMillis: 0,
  },
  rule_held: {
    holds: "a rule wants to pay and must not: limit, policy, quota, fee, funds, disagreement",
    alert: "ticket after 5 min, where no other alert has the reason; again for each that joins",
    act: '"cofferer explain RULE" shows every check',
    alertAfterMillis: 300_000,
  },
  payment_unknown: {
    holds: "it is unknown whether a payment is in the network",
    alert: "by its bound",
    act: "nothing: the same bytes are sent again",
  },
  history_lost: {
    holds: "balance changes were lost in the last 24 h",
    alert: "ticket",
    act: "nothing: balances are right, exports and backtests miss that time",
  },
} as const satisfies Readonly<Record<string, ConditionNote>>

export type ConditionName = keyof typeof healthConditions

/** Everything that keeps a treasury from being healthy, the worst first. */
export const conditionNames = Object.keys(healthConditions) as ReadonlyArray<ConditionName>

/** Milliseconds that a condition must hold before people are alerted; undefined where no alert is of it. */
export const alertAfterMillis = (name: ConditionName): number | undefined =>
  (healthConditions[name] as ConditionNote).alertAfterMillis
