import { assert, describe, it } from "@effect/vitest"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Party, RuleAccount } from "../../src/rules/Account.ts"
import { type AlertRule, type Condition, conditionText } from "../../src/rules/Condition.ts"
import { allOf, anyOf, type ConditionFacts, evaluate, not, type Truth } from "../../src/rules/evaluate.ts"
import { alertAfter } from "../../src/rules/kinds/alerting.ts"
import type { AlertMemory } from "../../src/rules/RuleMemory.ts"

const now = 1_800_000_000_000
const tok = { symbol: "TOK", id: "aa".repeat(32), decimals: 2 }
const hot: Party = {
  name: "hot",
  publicKey: "b".repeat(64) as PublicKey,
  signer: undefined,
  floor: new Map(),
  transfersKept: 0,
}
const account: RuleAccount = { party: hot, asset: tok, balance: "free" }

const facts = (
  more: Partial<ConditionFacts> & { readonly holds?: bigint; readonly held?: bigint } = {},
): ConditionFacts => ({
  now,
  asOf: BigInt(now - 1_000) * 1_000_000n,
  maxAgeMillis: 30_000,
  balance: () => more.holds,
  listed: new Map([[tok.id, { status: "enabled", decimals: 2, quantum: 1n }]]),
  watchedSince: now - 3_600_000,
  past: () => more.held,
  ruleHolds: () => undefined,
  ...more,
})

const truths: ReadonlyArray<Truth> = [true, false, undefined]
const word = (truth: Truth): string => (truth === undefined ? "?" : truth ? "1" : "0")
const table = (combine: (both: ReadonlyArray<Truth>) => Truth) =>
  truths.map((a) => truths.map((b) => word(combine([a, b]))).join("")).join(" ")

describe("three-valued logic", () => {
  it("has the tables of Kleene", () => {
    assert.strictEqual(table(allOf), "10? 000 ?0?")
    assert.strictEqual(table(anyOf), "111 10? 1??")
    assert.deepStrictEqual(truths.map(not).map(word), ["0", "1", "?"])
    assert.deepStrictEqual([word(allOf([])), word(anyOf([]))], ["1", "0"])
  })
})

const old = { asOf: BigInt(now - 31_000) * 1_000_000n }
const change = (by: Extract<Condition, { _tag: "Change" }>["by"], side: "below" | "above"): Condition => ({
  _tag: "Change",
  account,
  overMillis: 3_600_000,
  side,
  by,
})
const share = (percent: bigint) => ({ _tag: "Share", numerator: percent, denominator: 100n }) as const
const below: Condition = { _tag: "Balance", account, side: "below", units: 1_000n }
const stale = (party?: Party, asset?: typeof tok): Condition => ({
  _tag: "Stale",
  party,
  asset,
  longerThanMillis: 300_000,
})
const heldFor = (reason?: "short" | "stale"): Condition => ({
  _tag: "Held",
  rule: "keep",
  reason,
  longerThanMillis: 60_000,
})
const holding = (reason: "short" | "in_band" | undefined, ago: number) => () => [
  { subject: "hot/TOK", reason, since: now - ago },
]

const cases: ReadonlyArray<
  readonly [name: string, condition: Condition, facts: ConditionFacts, truth: Truth, text: string]
> = [
  ["a balance under", below, facts({ holds: 999n }), true, "hot/TOK: 9.99 is below 10"],
  ["a balance at", below, facts({ holds: 1_000n }), false, "10.00 is not below 10"],
  ["no balance", below, facts(), undefined, "no balance of hot/TOK was seen"],
  ["an old balance", below, facts({ holds: 1n, ...old }), undefined, "too old to judge"],
  ["no reading", below, { ...facts({ holds: 1n }), asOf: undefined }, undefined, "no balance was read yet"],
  [
    "a fall",
    change({ _tag: "Units", units: -500n }, "below"),
    facts({ holds: 100n, held: 700n }),
    true,
    "by -6.00 in 60 min",
  ],
  [
    "a small fall",
    change({ _tag: "Units", units: -500n }, "below"),
    facts({ holds: 200n, held: 700n }),
    false,
    "is not below -5",
  ],
  ["a fall by a fifth", change(share(-20n), "below"), facts({ holds: 79n, held: 100n }), true, "-20 % of 1.00"],
  ["a fall of just a fifth", change(share(-20n), "below"), facts({ holds: 80n, held: 100n }), false, "not below -20 %"],
  ["a rise from nothing", change(share(50n), "above"), facts({ holds: 1n, held: 0n }), true, "above 50 % of 0.00"],
  ["no earlier balance", change(share(50n), "above"), facts({ holds: 1n }), undefined, "60 min before is not known"],
  [
    "a rate",
    { _tag: "Rate", account, overMillis: 7_200_000, side: "below", units: -300n },
    facts({ holds: 0n, held: 700n }),
    true,
    "changes by -3.50 an hour, which is below -3",
  ],
  ["a status", { _tag: "Asset", asset: tok, is: new Set(["enabled"] as const) }, facts(), true, "TOK is enabled"],
  [
    "an asset that is gone",
    { _tag: "Asset", asset: tok, is: new Set(["enabled"] as const) },
    facts({ listed: new Map() }),
    false,
    "TOK is not listed",
  ],
  [
    "no listing",
    { _tag: "Asset", asset: tok, is: new Set(["enabled"] as const) },
    facts({ listed: undefined }),
    undefined,
    "no asset listing",
  ],
  ["fresh data", stale(), facts({ holds: 1n }), false, "is not older than 5 min"],
  [
    "old data",
    stale(hot),
    facts({ asOf: BigInt(now - 300_001) * 1_000_000n }),
    true,
    "known of hot is older than 5 min",
  ],
  ["no data ever", stale(), { ...facts(), asOf: undefined }, true, "no balance was read for more than 5 min"],
  ["an account never seen", stale(hot, tok), facts(), true, "no balance of hot/TOK was seen for more than 5 min"],
  ["no data at the start", stale(), { ...facts({ watchedSince: now - 1 }), asOf: undefined }, false, "yet"],
  [
    "held too long",
    heldFor(),
    facts({ ruleHolds: holding("short", 60_001) }),
    true,
    "held for short for longer than 60 s",
  ],
  ["held not long", heldFor(), facts({ ruleHolds: holding("short", 60_000) }), false, "keep is not held"],
  ["held for another reason", heldFor("stale"), facts({ ruleHolds: holding("short", 99_999) }), false, "for stale"],
  ["nothing to do", heldFor(), facts({ ruleHolds: holding("in_band", 99_999) }), false, "keep is not held"],
  ["acting", heldFor(), facts({ ruleHolds: holding(undefined, 99_999) }), false, "keep is not held"],
  ["a rule never looked at", heldFor(), facts(), undefined, "was not evaluated yet"],
  [
    "all of a true one and a false one",
    { _tag: "All", of: [below, { _tag: "Not", of: below }] },
    facts({ holds: 1n }),
    false,
    "0.01 is below 10",
  ],
  [
    "any of one not known and a true one",
    { _tag: "Any", of: [change(share(1n), "above"), below] },
    facts({ holds: 1n }),
    true,
    "0.01 is below 10",
  ],
]

describe("a condition", () => {
  it.each([...cases])("is judged on %s", (_, condition, given, truth, text) => {
    const seen = evaluate(condition, given)
    assert.deepStrictEqual([seen.truth, seen.sentence.includes(text)], [truth, true], seen.sentence)
    assert.notInclude(conditionText(condition), "undefined")
  })
})

const rule: AlertRule = {
  kind: "alert",
  name: "low",
  when: below,
  clear: undefined,
  severity: "page",
  forMillis: 10_000,
  cooldownMillis: 0,
  during: undefined,
}

/** The notifications, by the second, of truths that follow each other second by second: 1, 0 or ?. */
const play = (text: string, change: Partial<AlertRule> = {}, clear = ""): string => {
  let before: AlertMemory | undefined
  const told: Array<string> = []
  for (const [i, each] of [...text].entries()) {
    const truthOf = (char: string | undefined): Truth => (char === "?" ? undefined : char === "1")
    const alerted = alertAfter(
      { ...rule, ...change },
      {
        when: { truth: truthOf(each), sentence: "it" },
        clear: clear === "" ? undefined : { truth: truthOf(clear[i]), sentence: "clear" },
      },
      { before, now: now + i * 1_000 },
    )
    if (alerted.notify !== undefined) told.push(`${i} ${alerted.notify}`)
    before = alerted
  }
  return told.join(", ")
}

describe("an alert", () => {
  it.each([
    [
      "fires once after its time, and is over after as long",
      `${"1".repeat(20)}${"0".repeat(20)}`,
      {},
      "10 fires, 30 over",
    ],
    ["is nothing where the condition comes and goes", "1111100000".repeat(6), {}, ""],
    ["is not over where the condition is gone for a moment", `${"1".repeat(15)}000${"1".repeat(15)}`, {}, "10 fires"],
    ["neither fires nor clears on what is not known", `11111${"?".repeat(20)}1${"?".repeat(30)}`, {}, "25 fires"],
    ["is not over while that is not known", `${"1".repeat(12)}000${"?".repeat(30)}`, {}, "10 fires"],
    ["comes at once without a time", "0100", { forMillis: 0 }, "1 fires, 2 over"],
    [
      "keeps its distance from the last",
      "100100100100",
      { forMillis: 0, cooldownMillis: 5_000 },
      "0 fires, 1 over, 6 fires, 7 over",
    ],
    [
      "comes late where it still fires after the distance",
      "10011111",
      { forMillis: 0, cooldownMillis: 5_000 },
      "0 fires, 1 over, 5 fires",
    ],
  ] as const)("%s", (_, text, change, expected) => {
    assert.strictEqual(play(text, change), expected)
  })

  it("is over only when what clears it holds, and the condition does not", () => {
    assert.strictEqual(play("1000100000", { forMillis: 0 }, "0000100011"), "0 fires, 8 over")
    assert.strictEqual(play("1000", { forMillis: 0 }, "0??0"), "0 fires")
  })

  it("waits for the hours of people", () => {
    const weekdays = new Set([0, 1, 2, 3, 4, 5, 6])
    const minute = (Math.floor(now / 60_000) % 1_440) + 1
    const during = { name: "desk", weekdays, spans: [{ from: minute, until: minute + 60 }], location: "UTC" }
    assert.strictEqual(play("1".repeat(130), { during }), `${60 - (Math.floor(now / 1_000) % 60)} fires`)
    assert.strictEqual(play(`${"1".repeat(15)}${"0".repeat(120)}`, { during }), "", "what was over before is not told")
  })
})
