import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { type AlertRule, conditionText } from "../../src/rules/Condition.ts"
import { it } from "../support/it.ts"
import { watchOnly } from "../support/treasury.ts"

const fund = { name: "fund", request: { from: "alice", to: "bob", asset: "TOK", below: "10", target: "20" } }

/** A rule of the file that tells people; `text` stands beside its name. */
const ruleOf = (text: string) =>
  Effect.map(
    watchOnly("https://gateway.example", [parse(`name: told\n${text}\n`), fund]),
    ({ rules }) => rules.find((rule): rule is AlertRule => rule.kind === "alert")!,
  )

const taken = [
  ["{ balance: { party: bob, asset: TOK, below: 10 } }", "bob/TOK is below 10"],
  ["{ change: { party: bob, asset: TOK, over: 1h, below: -10_000 } }", "bob/TOK changes in 60 min by below -10,000"],
  ['{ change: { party: bob, asset: TOK, over: 1d, above: "12.5%" } }', "bob/TOK changes in 24 h by above 12.5 %"],
  ["{ rate: { party: bob, asset: TOK, below: -500 } }", "bob/TOK changes an hour by below -500"],
  ["{ asset: { asset: TOK, is: [rejected, pendingListing] } }", "TOK is rejected or pending listing"],
  ["{ stale: { party: bob, longerThan: 5m } }", "what is known of bob is older than 5 min"],
  ["{ held: { rule: fund, reason: short, longerThan: 1h } }", "fund is held for short for longer than 60 min"],
  [
    "{ all: [{ stale: { longerThan: 5m } }, { any: [{ not: { held: { rule: fund, longerThan: 1s } } }, { stale: { longerThan: 9m } }] }] }",
    "what is known is older than 5 min and (not (fund is held for longer than 1 s) or what is known is older than 9 min)",
  ],
] as const

const low = "balance: { party: bob, asset: TOK, below: 10 }"

const refused = [
  [
    "notify: { when: { balnce: { party: bob, asset: TOK, below: 10 } } }",
    'unknown key "balnce"; did you mean "balance"?',
  ],
  ["notify: { when: { balance: { party: bb, asset: TOK, below: 10 } } }", '"bb" is not a party; did you mean "bob"?'],
  ["notify: { when: { balance: { party: bob, asset: TKO, below: 10 } } }", '"TKO" is not pinned; did you mean "TOK"?'],
  ["notify: { when: { balance: { party: bob, asset: TOK } } }", "balance is empty"],
  ["notify: { when: { balance: { party: bob, asset: TOK, below: 1, above: 2 } } }", "balance has below and above"],
  ["notify: { when: { change: { party: bob, asset: TOK, over: 1h, below: -1.001 } } }", "it has 2 decimals"],
  ["notify: { when: { change: { party: bob, asset: TOK, over: 90d, below: -1 } } }", "compare with at most 31d before"],
  ["notify: { when: { held: { rule: nws, longerThan: 1m } } }", '"nws" is not a rule; did you mean "news"?'],
  [
    "notify: { when: { held: { rule: news, longerThan: 1m } } }",
    "news pays nothing, and is never held; name a rule that",
  ],
  [
    "notify: { when: { held: { rule: told, longerThan: 1m } } }",
    "told pays nothing, and is never held; name a rule that",
  ],
  ["notify: { when: { held: { rule: fund, reason: shrt, longerThan: 1m } } }", 'did you mean "short"?'],
  ["notify: { when: { all: [] } }", "at least one condition"],
  ["notify: { when: { not: { any: [{ stale: { longerThan: soon } }] } } }", "is not valid"],
  [`notify: { when: { ${low} }, asset: any }`, "asset does not apply with when"],
  [`notify: { when: { ${low} }, becomes: [enabled] }`, "notify has becomes and when"],
  ["notify: { becomes: [enabled] }", "notify.asset is missing"],
  ["notify: { asset: any, becomes: [enabled], severity: page }", "alerts about assets are always info"],
  ["notify: { asset: any, becomes: [enabled] }, for: 1m", "for means nothing for notify"],
  [
    `notify: { when: { ${low} } }, clear: "9"`,
    "clear 9 is less than the trigger 10 (below); set clear above 10, or remove it",
  ],
  [`notify: { when: { stale: { longerThan: 1m } } }, clear: "9"`, "a level clears a condition on one balance alone"],
  [`notify: { when: { ${low} } }, during: dsk`, 'no hours are named "dsk"'],
  [`notify: { when: { ${low} } }, settle: 1m`, "settle means nothing for notify"],
] as const

it.effect("blocks another rule, as a listing that is only reported does not", function* () {
  const inhibited = (by: string) =>
    watchOnly("https://gateway.example", [
      { ...fund, inhibitedBy: by },
      { name: "low", notify: { when: parse(`{ ${low} }`) } },
    ])
  assert.containSubset((yield* inhibited("low")).rules, [{ name: "fund", inhibitedBy: ["low"] }])
  const { message } = yield* Effect.flip(inhibited("news"))
  assert.include(
    message,
    "news has no condition, and would block nothing; name a rule with a condition, such as notify",
  )
})

describe("a condition that people are told of", () => {
  it.effect.each([...taken])("is read: %s", function* ([text, words]) {
    const rule = yield* ruleOf(`notify: { when: ${text}, severity: page }`)
    assert.strictEqual(conditionText(rule.when), words)
    assert.strictEqual(rule.severity, "page")
  })

  it.effect("has another level to be over at, and times of its own", function* () {
    const rule = yield* ruleOf(`notify: { when: { ${low} } }\nfor: 1m\ncooldown: 2h\nclear: 12`)
    assert.containSubset(rule, { severity: "ticket", forMillis: 60_000, cooldownMillis: 7_200_000 })
    assert.strictEqual(rule.clear === undefined ? "" : conditionText(rule.clear), "not (bob/TOK is below 12)")
  })

  it.effect.each([...refused])("is refused: %s", function* ([text, words]) {
    const error = yield* Effect.flip(ruleOf(text.replace(/ \}, (for|clear|during|settle):/, " }\n$1:")))
    assert.include(error.message, words)
  })
})
