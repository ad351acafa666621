import { assert, describe, it } from "@effect/vitest"
import { restartRemedy } from "../../src/config/needsRestart.ts"
import { type ConditionName, conditionNames, healthConditions } from "../../src/domain/alerts/healthConditions.ts"
import { conditionsOf, headline } from "../../src/http/conditionTable.ts"
import type { HealthFacts } from "../../src/http/readFacts.ts"
import type { View } from "../../src/http/View.ts"
import { readSource } from "../tidy/Source.ts"

const mebibyte = 1_048_576

const gateway = (name: string, more: Partial<View["network"]["gateways"][number]> = {}) => ({
  name,
  state: "up",
  height: "1",
  detail: "",
  otherChain: null,
  isHeard: true,
  aheadSeconds: null,
  ...more,
})
const network = (quorum: number, ...gateways: View["network"]["gateways"]) => ({ chainId: "c-1", quorum, gateways })

const calm: HealthFacts = {
  treasury: "t",
  mode: "live",
  version: "1",
  network: network(1, gateway("main")),
  height: "1",
  ageSeconds: 1.25,
  accounts: [],
  rules: [],
  intents: [],
  policy: [],
  acceptance: { accepted: 0, refused: 0, lost: 0 },
  gaps: [],
  backfills: [],
  work: null,
  doubted: null,
  uncompared: null,
  alerts: [],
  alertsPending: 0,
  halts: [],
  pauses: [],
  accepted: null,
  maintenance: [],
  journal: { seq: 0, head: "" },
  at: "2026-11-21T12:00:00.000Z",
  maxAgeSeconds: 30,
  blockAgeSeconds: 1.25,
  gap: undefined,
  wrongClock: undefined,
  disagreement: undefined,
  disk: { dir: "/data", free: 900 * mebibyte, low: 512 * mebibyte },
  refusedReload: undefined,
  quarantine: undefined,
  undelivered: [],
  muted: new Set(),
  outOfBand: [],
  isUndecoded: false,
  crashes: [],
}

type Intent = View["intents"][number]
const intent = (state: Intent["state"], more: Partial<Intent> = {}): Intent => ({
  id: "" as Intent["id"],
  short: "a1vh",
  state,
  open: true,
  rule: "",
  amount: "59,000.00 USDT",
  from: "reserve",
  to: "maker",
  detail: "",
  note: null,
  setAside: null,
  held: [],
  heldBy: [],
  wait: null,
  overdue: null,
  createdAt: "",
  attempts: [],
  ...more,
})
const rule = (reason: string, more: Partial<View["rules"][number]> = {}): View["rules"][number] => ({
  name: "even",
  kind: "topUp",
  subject: "hot/USDT",
  trial: false,
  state: "holding",
  reason,
  fires: null,
  detail: "its code throws",
  sentence: "",
  reading: "",
  ...more,
})
const hot: View["accounts"][number] = {
  party: "hot",
  asset: "USDT",
  balance: "9,000.00",
  units: "",
  reserved: "0.00",
  incoming: "0.00",
  available: "",
  levels: [],
  share: 0,
  shareSoon: 0,
  inBand: false,
  observation: null,
}
const halt = (reason: string, detail: string) => ({ halts: [{ reason, detail, at: "2026-11-21T02:14:00Z" }] })
const pause = (scope: string, until: string | null) => ({
  pauses: [{ scope, reason: "audit", author: "ana", until }],
})
const behind = { kind: "behind", detail: "" } as const
const late = (seconds: number) => ({ ageSeconds: seconds, blockAgeSeconds: seconds, gap: behind })
const down = gateway("b", { state: "down", detail: "no answer in 5 s" })
const resume = 'once the cause is gone: "cofferer resume --reason TEXT"'
const ntp = '"timedatectl" or "chronyc tracking" on this host'

/** Condition, severity, what differs from a calm treasury, and the headline. */
const rows: ReadonlyArray<readonly [ConditionName, "bad" | "warn", Partial<HealthFacts>, string]> = [
  [
    "halted",
    "bad",
    halt("operator", "ana: audit"),
    `Halted since 2026-11-21 02:14 UTC by ana: audit; nothing is signed; ${resume}.`,
  ],
  [
    "halted",
    "bad",
    halt("foreign_payment", "1 payment of alice"),
    'Halted since 2026-11-21 02:14 UTC (foreign payment): 1 payment of alice; nothing is signed; if these payments were meant: "cofferer adopt --reason TEXT"; if not, the key is stolen.',
  ],
  [
    "wrong_chain",
    "warn",
    { network: network(2, gateway("a"), gateway("b", { state: "quarantined", otherChain: "c-2" }), gateway("c")) },
    "Wrong chain, not c-1: gateway b is on chain c-2; correct the address in network.gateways, or wait until the right chain is back.",
  ],
  [
    "clock",
    "bad",
    { wrongClock: { whose: "ours", aheadMillis: 600_000, gateways: ["a", "b", "c"] }, gap: behind, ageSeconds: null },
    `This host's clock is 10 min behind the blocks of 3 gateways (a, b, c); nothing is signed; set this host's clock: check NTP with ${ntp}. Also: stale.`,
  ],
  [
    "clock",
    "bad",
    { wrongClock: { whose: "either", aheadMillis: -600_000, gateways: ["main"] }, gap: behind, ageSeconds: null },
    `This host's clock is 10 min ahead of the blocks of gateway main; one of the two clocks is wrong; nothing is signed; check NTP with ${ntp}; where that is right, gateway main is wrong. Also: stale.`,
  ],
  [
    "clock",
    "warn",
    { wrongClock: { whose: "gateways", aheadMillis: 600_000, gateways: ["b"] } },
    `The blocks of gateway b are 10 min ahead of this host's clock, and other gateways differ; check the node of gateway b, and NTP with ${ntp}.`,
  ],
  [
    "gateway_down",
    "warn",
    { network: network(2, gateway("a"), down, gateway("c")) },
    "No usable answer from 1 gateway: b is down (no answer in 5 s); check the node of gateway b and the network to it; it counts again once it answers.",
  ],
  [
    "gateway_down",
    "bad",
    { network: network(1, gateway("main", { state: "banned", detail: "banned until 2026-11-21 10:10:40 UTC" })) },
    "No usable answer from 1 gateway: main is banned until 2026-11-21 10:10:40 UTC; 1 must agree, and nothing is signed; check the node of gateway main and the network to it; it counts again once it answers.",
  ],
  [
    "payment_overdue",
    "bad",
    { intents: [intent("manual")] },
    'A person must resolve 1 payment: nothing proves how it ended; "cofferer intents resolve a1vh --reason TEXT", with --executed TXHASH or --never-executed.',
  ],
  [
    "payment_overdue",
    "bad",
    { intents: [intent("in_flight", { overdue: "has no end 31 min after its signature" })] },
    '1 payment past the bound of its state: a1vh has no end 31 min after its signature; "cofferer intents show a1vh" says what it waits for, and what ends that.',
  ],
  [
    "newest_block",
    "bad",
    { doubted: { since: "2026-11-21T02:14:00Z", detail: "too high", remedy: "compare" } },
    "No plausible newest block since 2026-11-21 02:14 UTC: too high; nothing is signed or sent; compare.",
  ],
  [
    "newest_block",
    "warn",
    { doubted: { since: "2026-11-21T11:59:00.001Z", detail: "too high", remedy: "compare" } },
    "No plausible newest block since 2026-11-21 11:59 UTC: too high; nothing is signed or sent; compare.",
  ],
  [
    "work",
    "warn",
    { work: { since: "2026-11-21T11:59:00.001Z", detail: "odd", remedy: "ask" } },
    "Nothing is signed since 2026-11-21 11:59 UTC: odd; ask.",
  ],
  [
    "work",
    "bad",
    { work: { since: "2026-11-21T02:14:00Z", detail: "odd", remedy: "ask" } },
    "Nothing is signed since 2026-11-21 02:14 UTC: odd; ask.",
  ],
  [
    "stale",
    "bad",
    late(45),
    "Balances are 45 s old, more than 30 s, and no newer block was read; nothing is signed; check gateway main, its node, and the network to it.",
  ],
  [
    "stale",
    "bad",
    { ...late(45), network: network(1, gateway("main", { detail: "too many requests" })) },
    "Balances are 45 s old, more than 30 s, and no newer block was read; nothing is signed; check gateway main (too many requests), its node, and the network to it.",
  ],
  [
    "stale",
    "bad",
    { ...late(45), disagreement: "b, c show different balance changes" },
    "Balances are 45 s old, more than 30 s: b, c show different balance changes; nothing is signed; compare these gateways with another source: one is wrong.",
  ],
  [
    "stale",
    "warn",
    { ageSeconds: null, blockAgeSeconds: null, gap: { kind: "unknown", detail: "" } },
    "No balance was read yet; nothing is signed; check gateway main, its node, and the network to it.",
  ],
  [
    "rule_fires",
    "bad",
    { rules: [rule("in_band", { name: "dry", fires: "page", detail: "alice TOK is 90.00" }), rule("locked")] },
    'dry fires (page): alice TOK is 90.00; "cofferer explain dry" shows every check. Also: rule locked.',
  ],
  [
    "rule_fires",
    "warn",
    { rules: [rule("in_band", { name: "thin", fires: "ticket", detail: "low" }), rule("code")] },
    'thin fires (ticket): low; "cofferer explain thin" shows every check. Also: code fails.',
  ],
  [
    "rule_fires",
    "warn",
    { rules: [rule("in_band", { name: "thin", fires: "ticket", detail: "low" })] },
    'thin fires (ticket): low; "cofferer explain thin" shows every check.',
  ],
  [
    "alerts_undelivered",
    "bad",
    { undelivered: [{ receiver: "desk", n: 2, error: "answered with status 404", seconds: 130, pageSeconds: 61 }] },
    "desk has not taken 2 alerts for 2 min (answered with status 404); check that receiver and its address in alerts.receivers; waiting alerts are sent again automatically.",
  ],
  [
    "low_disk",
    "warn",
    { disk: { dir: "/data", free: 400 * mebibyte, low: 512 * mebibyte } },
    "The disk of /data is low: 400 MiB free, 512 MiB needed; free space under /data.",
  ],
  [
    "config_refused",
    "warn",
    { refusedReload: "treasury.yaml:3:1 unknown key" },
    'The changed files were refused, and the former ones are in force: treasury.yaml:3:1 unknown key; correct them, "cofferer check", then "cofferer reload --reason TEXT"; or put the former files back and reload.',
  ],
  [
    "config_refused",
    "warn",
    { refusedReload: 'it would permit more: x; if it is meant, "cofferer reload --allow-weaker --reason TEXT"' },
    'The changed files were refused, and the former ones are in force: it would permit more: x; if it is meant, "cofferer reload --allow-weaker --reason TEXT"; if not, correct them, "cofferer check", then "cofferer reload --reason TEXT"; or put the former files back and reload.',
  ],
  [
    "config_refused",
    "warn",
    { refusedReload: `t.yaml:9:3  parties.reserve.signer cannot change while it runs; ${restartRemedy}` },
    'The changed files were refused, and the former ones are in force: t.yaml:9:3  parties.reserve.signer cannot change while it runs; restart the daemon to change it; or put the former files back, then "cofferer reload --reason TEXT".',
  ],
  [
    "signing_waits",
    "warn",
    { quarantine: { until: "128", seconds: 114 } },
    "Nothing is signed until block 128 has been passed for 30 s, in about 2 min: another copy of this database may have sent payments that still execute; it ends by itself.",
  ],
  [
    "signing_waits",
    "warn",
    { quarantine: { until: null, seconds: null } },
    "Nothing is signed until one window of the network and 10 blocks have been passed for 30 s: another copy of this database may have sent payments that still execute; it ends by itself.",
  ],
  [
    "signing_waits",
    "warn",
    { quarantine: { until: "128", seconds: 30 } },
    "Nothing is signed until block 128 has been passed for 30 s, in less than 1 min: another copy of this database may have sent payments that still execute; it ends by itself.",
  ],
  [
    "out_of_band",
    "warn",
    { outOfBand: [{ account: "hot/USDT", balance: "9,000.00", seconds: 91, cycleSeconds: 90 }] },
    'Out of band for longer than its rule\'s cycle: hot/USDT 9,000.00 for 91 s; "cofferer plan" says what holds it.',
  ],
  [
    "out_of_band",
    "warn",
    {
      outOfBand: [{ account: "hot/USDT", balance: "9,000.00", seconds: 91, cycleSeconds: 90 }],
      rules: [rule("limit")],
    },
    'Out of band for longer than its rule\'s cycle: hot/USDT 9,000.00 for 91 s (even: limit); "cofferer plan" says what holds it. Also: rule held.',
  ],
  [
    "out_of_band",
    "warn",
    {
      outOfBand: [{ account: "maker/USDT", balance: "9.00", seconds: 91, cycleSeconds: 90 }],
      intents: [intent("in_flight")],
    },
    'Out of band for longer than its rule\'s cycle: maker/USDT 9.00 for 91 s (payment a1vh is in flight); "cofferer plan" says what holds it.',
  ],
  [
    "restarts",
    "warn",
    { crashes: ["killed", "no memory", "killed"] },
    "The process ended 3 times in 15 min without being stopped: killed (2), no memory (1); the log has the lines before each end; what restarts it goes on.",
  ],
  [
    "wire_form",
    "bad",
    { isUndecoded: true },
    "No payment goes out: the network decodes no wire form of our transactions (code 60); check that network.chainId is c-1 there too, and that the network's version is supported; leave network.framing out.",
  ],
  [
    "acceptance",
    "warn",
    { acceptance: { accepted: 44, refused: 5, lost: 3 } },
    'Mempools accepted 44 of 49 submissions in 24 h; "cofferer intents" lists the payments, "intents show ID" the code of each refusal.',
  ],
  [
    "rule_locked",
    "warn",
    { rules: [rule("locked")] },
    'even is locked: its code throws; once the cause is gone: "cofferer resume --scope lock:even --reason TEXT".',
  ],
  [
    "rule_locked",
    "warn",
    { rules: [rule("code")] },
    'even pays nothing: its code throws; correct its file, then "cofferer reload --reason TEXT"; changed code is weaker terms.',
  ],
  [
    "paused",
    "warn",
    pause("all", null),
    'Paused (all) by ana until someone resumes it: audit; "cofferer resume --reason TEXT".',
  ],
  [
    "paused",
    "warn",
    pause("party:hot", "2026-11-21T18:00:00.000Z"),
    'Paused (party:hot) by ana until 2026-11-21 18:00 UTC: audit; "cofferer resume --scope party:hot --reason TEXT".',
  ],
  [
    "paused",
    "warn",
    { pauses: [{ scope: "pin:USDT", reason: "USDT is rejected", author: "asset listing", until: null }] },
    "Paused (pin:USDT) by asset listing until the listing agrees with its pin: USDT is rejected; compare the listing with the asset's issuer.",
  ],
  [
    "not_compared",
    "warn",
    { uncompared: { since: "2026-11-21T02:14:00Z", detail: "it lists no accounts" } },
    "Balances are not compared with the gateway's own since 2026-11-21 02:14 UTC: it lists no accounts; no rule pays after a start before they are; it ends with the next whole comparison; look at the gateway's listing of accounts.",
  ],
  [
    "rule_held",
    "warn",
    { rules: ["a", "b", "c", "d"].map((name) => rule("asset_status", { name })) },
    'Held: a hot/USDT (asset status), b hot/USDT (asset status), c hot/USDT (asset status) and 1 more; "cofferer explain a hot/USDT" shows every check.',
  ],
  [
    "approval_waiting",
    "warn",
    { intents: [intent("awaiting_approval", { detail: "waits for 2; ana, ben must sign again: it changed" })] },
    '1 payment waits for approval: 59,000.00 USDT reserve -> maker (a1vh); ana, ben must sign again (a1vh); "cofferer approve a1vh --key FILE".',
  ],
  [
    "payment_unknown",
    "warn",
    { intents: [intent("unknown")] },
    "1 payment may or may not be in the network; the same bytes are sent until their window is over, and then the ledger shows the end.",
  ],
  [
    "history_lost",
    "warn",
    {
      gaps: [
        {
          since: "2026-11-20T10:00:00Z",
          until: "2026-11-20T11:00:00Z",
          cause: "the gateway forgot it",
          seenAt: "2026-11-21T02:14:00Z",
        },
      ],
    },
    "Balance changes from 2026-11-20 10:00 UTC to 2026-11-20 11:00 UTC are lost: the gateway forgot it; balances are right; exports and backtests miss that time.",
  ],
]

const said = (change: Partial<HealthFacts>) => {
  const facts = { ...calm, ...change }
  const conditions = conditionsOf(facts)
  return { conditions, sentence: headline(conditions, facts, 2) }
}

describe("the conditions of health", () => {
  it.each([...rows])("say %s (%s) first where %j", (condition, severity, change, text) => {
    const { conditions, sentence } = said(change)
    assert.deepInclude(conditions[0], { condition, severity })
    assert.deepStrictEqual(sentence, { severity, text })
  })

  it.each<readonly [string, Partial<HealthFacts>, string]>([
    ["nothing is wrong", {}, "All in band. 2 payments in 24 h, 0 open. Balances 1.3 s old."],
    [
      "payments are only rehearsed",
      { mode: "shadow" },
      "All in band. Mode shadow: nothing is paid. 2 payments in 24 h, 0 open. Balances 1.3 s old.",
    ],
    [
      "rules on trial are silent",
      { rules: [rule("limit", { trial: true }), rule("locked", { trial: true })] },
      "All in band. 2 payments in 24 h, 0 open. Balances 1.3 s old.",
    ],
    [
      "maintenance was planned",
      { maintenance: [{ name: "audit", until: "2026-11-21T18:00:00.000Z" }] },
      "All in band. Maintenance audit until 2026-11-21 18:00 UTC: rules pay nothing. 2 payments in 24 h, 0 open. Balances 1.3 s old.",
    ],
    [
      "an account is out of band within the cycle of its rule",
      { accounts: [hot], outOfBand: [{ account: "hot/USDT", balance: "9,000.00", seconds: 89, cycleSeconds: 90 }] },
      "Healthy; out of band for now: hot/USDT. 2 payments in 24 h, 0 open. Balances 1.3 s old.",
    ],
    [
      "an alert is on its way",
      { undelivered: [{ receiver: "desk", n: 1, error: null, seconds: 59, pageSeconds: 59 }] },
      "All in band. 2 payments in 24 h, 0 open. Balances 1.3 s old.",
    ],
  ])("are green where %s", (_, change, text) => {
    assert.deepStrictEqual(said(change), { conditions: [], sentence: { severity: "ok", text } })
  })

  it("name that nothing is signed before a receiver that misses alerts of the second rank", () => {
    const undelivered = [{ receiver: "desk", n: 1, error: "answered with status 503", seconds: 61, pageSeconds: 0 }]
    const { conditions, sentence } = said({ undelivered, quarantine: { until: "128", seconds: 114 } })
    assert.deepStrictEqual(
      conditions.map(({ condition }) => condition),
      ["signing_waits", "alerts_undelivered"],
    )
    assert.match(sentence.text, /^Nothing is signed until .* Also: alerts undelivered\.$/)
  })

  it("name the payment that waits for approval before the account that waits for it", () => {
    const waiting = intent("awaiting_approval", { to: "hot" })
    const outOfBand = [{ account: "hot/USDT", balance: "9,000.00", seconds: 99, cycleSeconds: 90 }]
    const { conditions, sentence } = said({ intents: [waiting], accounts: [hot], outOfBand })
    assert.deepStrictEqual(
      conditions.map(({ condition }) => condition),
      ["approval_waiting", "out_of_band"],
    )
    assert.match(sentence.text, /^1 payment waits for approval: .*"cofferer approve a1vh --key FILE"\./)
  })

  it.each([
    ["a rule that locked itself", { rules: [rule("locked")] }, "rule_locked"],
    ["a pause", pause("all", null), "paused"],
    [
      "what is not compared",
      { uncompared: { since: "2026-11-21T02:14:00Z", detail: "it lists no accounts" } },
      "not_compared",
    ],
  ] as const)("name %s before the account that it keeps out of band", (_, cause, condition) => {
    const outOfBand = [{ account: "hot/USDT", balance: "9,000.00", seconds: 99, cycleSeconds: 90 }]
    const found = said({ ...cause, accounts: [hot], outOfBand }).conditions
    assert.deepStrictEqual(
      found.map((one) => one.condition),
      [condition, "out_of_band"],
    )
  })

  it("say under a wrong clock that the age of balances is unknown, not that they stopped", () => {
    const wrongClock = { whose: "ours", aheadMillis: 600_000, gateways: ["a", "b", "c"] } as const
    const [clock, stale] = said({ wrongClock, gap: behind, height: "128", ageSeconds: null }).conditions
    const text = "Balances are of block 128, and a wrong clock hides their age; nothing is signed"
    assert.deepInclude(stale, { condition: "stale", text, remedy: clock!.remedy })
  })

  it("put what is bad before what is only to be looked at", () => {
    const { conditions, sentence } = said({
      ...pause("all", null),
      ...halt("disk_full", "free space"),
      ...late(60),
      network: network(2, gateway("a"), down, gateway("c")),
    })
    assert.deepStrictEqual(
      conditions.map(({ condition }) => condition),
      ["halted", "stale", "low_disk", "gateway_down", "paused"],
    )
    assert.match(sentence.text, /Also: stale, low disk, gateway down and 1 more\.$/)
  })

  it("count what waits for gateways instead of alerting to each", () => {
    const { sentence } = said({
      network: { chainId: "c", quorum: 1, gateways: [down] },
      rules: [rule("stale"), rule("disagreement"), rule("stale", { trial: true }), rule("in_band")],
      intents: [intent("reserved"), intent("in_flight")],
    })
    assert.include(
      sentence.text,
      "nothing is signed; waiting for it: 2 rules and 1 payment; check the node of gateway b",
    )
  })

  it.each([
    ["a limit", [rule("limit")], [], false],
    ["a payout, which is told once it is late", [rule("short", { kind: "payout" })], [], true],
    ["a mismatch, which has an alert of its own", [rule("drift")], [], true],
    ["a limit and a mismatch", [rule("drift"), rule("limit")], [], false],
    ["an account that is told as out of band first", [rule("limit")], [90], true],
    ["an account whose rule is slower than that", [rule("limit")], [400], false],
  ] as const)("alert once to a rule that is held by %s", (_, rules, cycles, isAlerted) => {
    const outOfBand = cycles.map((cycleSeconds) => ({ account: "hot/USDT", balance: "9", seconds: 500, cycleSeconds }))
    const { conditions } = said({ rules, outOfBand })
    assert.deepInclude(
      conditions.find(({ condition }) => condition === "rule_held"),
      { isAlerted },
    )
    // Whoever is told second is not told again.
    const out = conditions.find(({ condition }) => condition === "out_of_band")
    if (out !== undefined) assert.strictEqual(out.isAlerted, !isAlerted)
  })

  it.each([
    ["rule_held", "out_of_band", 90],
    ["out_of_band", "rule_held", 400],
  ])("alert as %s where the alert as %s is switched off", (name, muted, cycleSeconds) => {
    const outOfBand = [{ account: "hot/USDT", balance: "9", seconds: 500, cycleSeconds }]
    const { conditions } = said({ rules: [rule("limit")], outOfBand, muted: new Set([muted]) })
    assert.deepInclude(
      conditions.find(({ condition }) => condition === name),
      { isAlerted: false },
    )
  })

  it.each([
    ["nothing is signed", halt("operator", "ana: audit")],
    ["no balance is known", late(60)],
    ["too few gateways answer", { network: network(1, down) }],
    ["the network decodes no wire form", { isUndecoded: true }],
  ])("alert to no account out of band while %s", (_, cause) => {
    const outOfBand = [{ account: "hot/USDT", balance: "9", seconds: 500, cycleSeconds: 90 }]
    const isAlerted = (change: Partial<HealthFacts>) =>
      said({ outOfBand, ...change }).conditions.find(({ condition }) => condition === "out_of_band")?.isAlerted
    assert.deepStrictEqual([isAlerted({}), isAlerted(cause)], [false, true])
  })

  it("are all in the manual, and no other", () => {
    const table = [...readSource("docs/operations.md").text.matchAll(/^\| `\w+` \|.*/gm)].map(([row]) => row)
    const notes = Object.entries(healthConditions)
    assert.deepStrictEqual(
      table,
      notes.map(([name, { holds, alert }]) => `| \`${name}\` | ${holds} | ${alert} |`),
    )
  })

  it("are each found by a row above", () => {
    const found = new Set(rows.map(([condition]) => condition))
    assert.deepStrictEqual([...found, "terms_waiting"].toSorted(), [...conditionNames].toSorted())
  })
})
