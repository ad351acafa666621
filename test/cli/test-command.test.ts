import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("rules")
const sandbox = join(root, "config/sandbox.yaml")
const good = readFileSync(join(root, "config/tests/sandbox.yaml"), "utf8").replace("../sandbox.yaml\n", `${sandbox}\n`)
const run = (text: string, ...args: ReadonlyArray<string>) => {
  const file = join(dir, "rules.test.yaml")
  writeFileSync(file, text)
  return callCofferer(["test", file, ...args])
}

/** What is replaced by what, and what the one line must say. */
const broken: ReadonlyArray<readonly [title: string, from: string, to: string, says: RegExp]> = [
  ["an unknown key", "holds: limit", "hold: limit", /:\d+:\d+ {2}unknown key "hold"; did you mean "holds"\?/],
  [
    "a party that nobody defined",
    'hot: { USDT: "12_000" }',
    'hut: { USDT: "12_000" }',
    /"hut" is not a party; did you mean "hot"/,
  ],
  ["an asset that is not pinned", 'hot: { USDT: "12_000" }', 'hot: { USDC: "12_000" }', /"USDC" is not pinned/],
  ["a wrong amount", 'pays: "16_000"', 'pays: "16_00"', /groups its digits oddly/],
  [
    "a rule that is not there",
    "rule: keep-hot-funded, holds: limit",
    "rule: keep-hot, holds: limit",
    /"keep-hot" is not a rule/,
  ],
  ["a reason that is none", "holds: limit", "holds: limits", /did you mean "limit"/],
  [
    "an account the rule does not look at",
    "holds: limit",
    "holds: limit, account: reserve/USDT",
    /does not watch "reserve\/USDT"/,
  ],
  ["a payment of no asset", 'pays: "16_000", asset: USDT, from', 'pays: "16_000", from', /does not say which asset/],
  ["half a second", "at: 16s", "at: 16500ms", /write whole seconds/],
  ["a step that never happens", "every: 5m, until: 12h", "every: 5m, until: 30s", /until is before at/],
  ["an endless step", "every: 5m, until: 12h", "every: 5m", /add until, the last time/],
  ["a key that says nothing there", "holds: limit", "holds: limit, from: hot", /"from" says nothing about holds/],
  [
    "an end before the end",
    "ends: { at: 1h, payments: 0 }",
    "ends: { at: 1s, payments: 0 }",
    /ends before its last step/,
  ],
  ["no treasury", /^treasury: .*\n/m.exec(good)?.[0] ?? "", "", /the treasury to test is missing/],
  [
    "a hold of a rule that never holds",
    "rule: keep-hot-funded, holds: limit",
    "rule: new-asset, holds: limit",
    /new-asset alerts about assets and never holds/,
  ],
  ["a treasury that is not there", sandbox, "nowhere.yaml", /no such file/],
  [
    "a scope to resume that is none",
    "{ at: 12s, set:",
    '{ at: 12s, resume: "party:hut", set:',
    /"party:hut" is not a scope; did you mean "party:hot"/,
  ],
  ["a balance of no amount", 'hot: { USDT: "12_000" }', "hot: { USDT: {} }", /balances\.hot\.USDT/],
  [
    "a total below the free balance",
    'hot: { USDT: "12_000" }',
    'hot: { USDT: { free: "12_000", total: "11_000" } }',
    /total is less than free/,
  ],
  [
    "a balance at the end with two numbers",
    "ends: { at: 1h, payments: 0 }",
    'ends: { at: 1h, payments: 0, balances: { hot: { USDT: { free: "1" } } } }',
    /ends\.balances\.hot\.USDT/,
  ],
]

/** A step that fails, and what is told of it. */
const failing: ReadonlyArray<readonly [title: string, from: string, to: string, says: ReadonlyArray<RegExp>]> = [
  [
    "another amount than expected",
    'pays: "16_000"',
    'pays: "15_000"',
    [
      /:16:13 {2}at 13 s\n {4}expected {2}a payment of 15,000 USDT reserve -> hot by keep-hot-funded\n {4}got {7}16,000/,
    ],
  ],
  [
    "a payment that does not come",
    'change: { hot: { USDT: "-3_000" } }',
    'change: { hot: { USDT: "-1_000" } }',
    [
      /got {7}nothing was paid after 12 s, up to 13 s/,
      /why {7}keep-hot-funded hot\/USDT has nothing to do: 11,000.00 \(trigger/,
    ],
  ],
  ["another reason", "holds: limit", "holds: cooldown", [/got .* holds: limit, .*policy line 1/]],
  ["a payment that nothing names", "payments: any", "payments: expected", [/no unexpected payment/]],
  [
    "another number of payments",
    "payments: 1, alerts: 0",
    "payments: 2, alerts: 3",
    [/2 payments in all/, /3 alerts in all/],
  ],
  [
    "an alert that does not come",
    "{ rule: keep-hot-funded, holds: limit }",
    "{ rule: keep-hot-funded, alert: firing, because: it }",
    [/expected {2}an alert: firing keep-hot-funded it\n {4}got {7}no alert was raised/],
  ],
  ["another balance", 'balance: "25_000"', 'balance: "24_999.5"', [/expected {2}hot\/USDT holds 24,999.5/]],
]

describe("test", () => {
  it("passes the tests that come with the sandbox", async () => {
    const { code, stdout } = await callCofferer(["test", join(root, "config/tests/sandbox.yaml")])
    assert.strictEqual(code, 0)
    assert.match(stdout, /^ok {4}a top-up after three seconds below\n.*3 tests, 0 failed, in /s)
  })

  it("says of a treasury file that it is none of tests, and what to write", async () => {
    const { code, stderr } = await callCofferer(["test", sandbox])
    assert.match(stderr, /^.+sandbox\.yaml:\d+:\d+ {2}this is a treasury file; name a file of tests, which begins with/)
    assert.deepStrictEqual([code, stderr.trim().split("\n").length], [3, 1])
  })

  it.each(broken)("tells %s with its line and a remedy", async (_, from, to, says) => {
    assert.include(good, from)
    const { code, stderr } = await run(good.replace(from, to))
    assert.match(stderr, says)
    assert.strictEqual(code, 3)
  })

  it.each(failing)("fails at %s, and says what came instead", async (_, from, to, says) => {
    assert.include(good, from)
    const { code, stdout, stderr } = await run(good.replace(from, to))
    for (const one of says) assert.match(stdout, one)
    assert.match(stderr, /1 of 3 tests failed/)
    assert.strictEqual(code, 1)
  })

  it("prints JSON with every payment and failure", async () => {
    const { stdout } = await run(good.replace('pays: "16_000"', 'pays: "15_000"'), "-o", "json")
    const { ok, tests } = JSON.parse(stdout)
    assert.isFalse(ok)
    assert.strictEqual(tests[0].failures[0].line, 16)
    assert.strictEqual(tests[0].payments[0].payment, "16,000.00 USDT reserve -> hot")
    assert.strictEqual(tests[1].ok, true)
  })

  it("plays a treasury that stands in the file, without a network and without keys", async () => {
    const pins = `assets: { TOK: { id: "${"ab".repeat(32)}", decimals: 2 } }`
    const parties = `parties: { a: { publicKey: "${"1".repeat(64)}", signer: { file: nowhere/a } }, b: { publicKey: "${"2".repeat(64)}" } }`
    const { code, stdout, stderr } = await run(`treasury:
  ${pins}
  ${parties}
  rules:
    - { name: monthly, payout: { from: a, to: b, asset: TOK, amount: "40" }, schedule: { cron: "0 9 1 * *", location: Europe/Zurich } }
    - { name: fill, request: { from: b, to: a, asset: TOK, below: "100", target: "500" } }
    - { name: news, notify: { asset: TOK, becomes: [rejected] } }
  policy: { allow: [{ from: a, to: [b], asset: TOK, perTransfer: "40", per24h: "40", transfersPer24h: 1 }] }
tests:
  - name: a year of fees, and a request
    start: "2026-01-15T00:00:00Z"
    balances: { a: { TOK: "510" } }
    payments: any
    steps:
      - { at: 18d, expect: [{ pays: "40", asset: TOK, from: a, to: b }] }
      - { at: 350d, expect: [{ asks: "430", asset: TOK, from: b, to: a, rule: fill }, { balance: "70", account: a/TOK }] }
      - { at: 351d, set: { a: { TOK: "500" } }, assets: { TOK: rejected } }
      - { at: 352d, expect: [{ alert: received, rule: fill }, { alert: asset, rule: news }, { alert: payout, rule: monthly, because: "is held (asset status" }] }
      - { at: 353d, assets: { TOK: enabled } }
      - { at: 354d, expect: [{ pays: "40", asset: TOK, from: a, to: b }, { alert: payout, rule: monthly, because: "is held no longer" }] }
    ends: { payments: 12, alerts: 6 }
`)
    assert.strictEqual(code, 0, `${stderr}${stdout}`)
  })

  it("reports unpinned assets under any name, even a pinned one's", async () => {
    const file = (assets: string) => `treasury: ${sandbox}
tests:
  - name: newcomers
    start: "2026-03-01T00:00:00Z"
    balances: { reserve: { USDT: "50_000" }, hot: { USDT: "20_000" } }
    steps:
      - { at: 1m, assets: { ${assets} } }
      - { at: 2m, expect: [{ alert: asset, rule: new-asset, account: ${"cd".repeat(32)}, because: new -> enabled }] }
      - { at: 3m, assets: { USDT: { status: rejected, id: ${"ef".repeat(32)}, decimals: 18 } } }
      - { at: 4m, expect: [{ alert: asset, rule: new-asset, account: ${"ef".repeat(32)} }] }
    ends: { payments: 0, alerts: 2 }
`
    const { code, stdout, stderr } = await run(file(`NEW: { status: enabled, id: ${"cd".repeat(32)}, decimals: 6 }`))
    assert.strictEqual(code, 0, `${stderr}${stdout}`)
    const unknown = await run(file("NEW: enabled"))
    assert.match(unknown.stderr, /:\d+:\d+ {2}"NEW" is not pinned; write NEW: \{ status: enabled, id, decimals \}/)
  })

  it("locks a rule after three failed payments and resumes after unlock", async () => {
    const { code, stdout, stderr } = await run(`treasury: ${sandbox}
network: { settles: 30s }
tests:
  - name: the reserve is empty whenever a payment comes
    start: "2026-03-01T00:00:00Z"
    balances: { reserve: { USDT: "0" }, hot: { USDT: "9_000" } }
    payments: any
    steps:
      - { at: 1m, every: 5m, until: 12m, set: { reserve: { USDT: "50_000" } } }
      - { at: 62s, every: 5m, until: 12m, set: { reserve: { USDT: "0" } } }
      - { at: 14m, set: { reserve: { USDT: "50_000" } } }
      - { at: 15m, expect: [{ alert: locked, rule: keep-hot-funded }, { rule: keep-hot-funded, holds: locked }] }
      - { at: 16m, resume: "lock:keep-hot-funded" }
      - { at: 17m, expect: [{ pays: "16_000", asset: USDT, from: reserve, to: hot }] }
    ends: { payments: 4, alerts: 1 }
`)
    assert.strictEqual(code, 0, `${stderr}${stdout}`)
  })

  it("pauses for the whole time at each repetition of a step", async () => {
    const { code, stdout, stderr } = await run(`treasury: ${sandbox}
tests:
  - name: nightly maintenance
    start: "2026-03-01T00:00:00Z"
    balances: { reserve: { USDT: "500_000" }, hot: { USDT: "20_000" } }
    steps:
      - { at: 1h, every: 24h, until: 49h, pause: { scope: all, for: 2h } }
      - { at: 26h, set: { hot: { USDT: "9_000" } } }
      - { at: 1619m, expect: [{ rule: keep-hot-funded, holds: paused }] }
      - { at: 1621m, expect: [{ pays: "16_000", asset: USDT, from: reserve, to: hot }] }
    ends: { payments: 1 }
`)
    assert.strictEqual(code, 0, `${stderr}${stdout}`)
  })

  it("pays once in 24 hours of balances that swing around a threshold", async () => {
    const { code, stdout, stderr } = await run(`treasury: ${sandbox}
network: { fee: 0.1%, settles: 2s }
tests:
  - name: swings
    start: "2026-03-01T00:00:00Z"
    balances: { reserve: { USDT: "500_000" }, hot: { USDT: "10_000.5" } }
    steps:
      - { at: 1s, every: 4s, until: 23h, change: { hot: { USDT: "-1" } } }
      - { at: 3s, every: 4s, until: 23h, change: { hot: { USDT: "1" } } }
      - { at: 23h, set: { hot: { USDT: "9_999" } } }
      - { at: 24h, expect: [{ pays: "15_001", asset: USDT, from: reserve, to: hot }] }
    ends: { payments: 1 }
`)
    assert.strictEqual(code, 0, `${stderr}${stdout}`)
  })

  it("prints a schema that knows every reason", async () => {
    const { stdout } = await callCofferer(["test", "--schema"])
    assert.include(stdout, '"outside_hours"')
  })
})
