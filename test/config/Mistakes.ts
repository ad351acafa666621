import type { Broken } from "./Broken.ts"

/** A mistake of somebody who writes a first file by hand: one line is said, and none that follows from it. */
const alone = (title: string, from: string, to: string, says: RegExp, after = 0): Broken => ({
  title,
  from,
  to,
  says,
  after,
  isAlone: true,
})

const level = '- { party: hot, asset: USDT, balance: free, below: "10_000", target: "25_000" }'
const news = "notify: { asset: any, becomes: [enabled, rejected] }"
const skim = 'sweep: { from: [hot], to: cold, asset: VEGA, above: "60", target: "30" }'

const payout = (more: string): string => `payout: { from: hot, to: cold, asset: VEGA, amount: "1"${more} }`

export const mistakes: ReadonlyArray<Broken> = [
  alone("a name without its colon", "network:\n", "network\n", /Implicit keys need to be on a single line; mend/),
  alone("a colon without a space", "mode: live", "mode:live", /Implicit keys need to be on a single line; mend/),
  alone("a dash without a space", "  - name: skim", "  -name: skim", /must start at the same column; line it up/),
  alone("a space too few", "    for: 30s", "   for: 30s", /Sequence item without - indicator; mend/),
  alone("an open quote in a list", 'below: "10_000"', 'below: "10_000', /Unexpected scalar at node end; mend/),
  alone("quotes of two kinds", 'below: "10_000"', "below: \"10_000'", /Unexpected scalar at node end; mend/),
  alone("a missing comma", "asset: USDT, balance", "asset: USDT balance", /not allowed within flow collections; mend/),
  alone("a missing brace", 'target: "25_000" }', 'target: "25_000"', /sufficiently indented and end with a \}/, 1),
  alone("a comment in braces", "below:", "# below:", /sufficiently indented and end with a \}/, 1),
  alone("a file that is to be included", "rules:\n", "rules: !include rules.yaml\n", /Nested mappings are not allowed/),
  alone(
    "a merge key of nothing else",
    "    for: 30s",
    "    <<: { for: 30s }",
    /merge keys \("<<"\) are not read; write/,
  ),
  alone("a key of a rule outside of all", "policy:\n", "for: 30s\npolicy:\n", /unknown key "for"; known here: version/),
  alone("a key of a rule at the edge", "    for: 30s", "for: 30s", /Nested mappings are not allowed/),
  alone(
    "a required key misspelled",
    "below:",
    "belwo:",
    /rule keep-hot-funded: topUp\.levels #1: unknown key "belwo"; did you mean "below"\?/,
  ),
  alone(
    "a kind in another case",
    "    topUp:\n",
    "    topup:\n",
    /rule keep-hot-funded: unknown key "topup"; did you me/,
  ),
  alone("a part of the policy misspelled", "  allow:", "  alow:", /unknown key "alow"; did you mean "allow"\?/),
  alone(
    "the condition's level inside",
    "rejected] }",
    'rejected], clear: "1" }',
    /unknown key "clear"; known here: asset/,
  ),
  alone(
    "a condition without when",
    news,
    "notify: { stale: { longerThan: 5m } }",
    /rule new-asset: unknown key "stale"; known here: asset/,
  ),
  alone(
    "the schedule inside the payout",
    skim,
    `${payout(', schedule: { cron: "0 9 1 * *" }')}`,
    /unknown key "schedule"; known here: from/,
  ),
  alone(
    "a list written as a map",
    level,
    level.slice(2),
    /topUp\.levels is not valid: it is a map; write a list: begin/,
  ),
  alone(
    "a list that is empty",
    "levels:\n        ",
    "levels:\n        #",
    /levels is not valid: it is empty; write a list/,
  ),
  alone("one receiver as a text", "to: [log, desk]", "to: log", /alerts\.routes #1: to is .*such as \[ log \]/),
  alone("a floor without its asset", '{ USDT: "100_000" }', '"100_000"', /floor.*such as \{ name: "100_000" \}/),
  alone(
    "gateways without names",
    '    main: { url: "https://a.gateway.example", reads: windows }\n    spare: "https://b.gateway.example"',
    '    - "https://a.gateway.example"',
    /gateways.*such as \{ name: "https:/,
  ),
  alone("an amount in thousands", '"10_000"', "10k", /levels #1 below is.*; write an amount in units of the asset/),
  alone("an amount in dollars", '"10_000"', '"$10,000"', /write an amount in units of the asset/),
  alone("an amount after the Swiss way", '"10_000"', `"10'000"`, /write an amount in units of the asset/),
  alone(
    "an amount with points",
    '"10_000"',
    '"10.000"',
    /rule keep-hot-funded: "10\.000" may mean .*; write "10" or "10_0/,
  ),
  alone("an amount with many points", '"100_000" }\n', '"1.000.000" }\n', /points do not group; write "1_000_000"/),
  alone("a bare amount with a comma", 'below: "10_000"', "below: 10,000", /unknown key "000"; a bare comma begins/),
  alone("a duration in minutes", "for: 30s", "for: 5min", /write a duration such as "30s"/),
  alone("a duration in weeks", "for: 30s", "for: 1w", /write a duration such as "30s"/),
  alone("half an hour", "for: 30s", "for: 0.5h", /write a duration such as "30s"/),
  alone("a duration of ISO", "for: 30s", "for: PT30S", /write a duration such as "30s"/),
  alone(
    "a word for a plan",
    news,
    `${payout("")}\n    schedule: { cron: "@daily" }`,
    /rule new-asset: "@daily" .* it has 1 field;/,
    1,
  ),
  alone("a plan as a text", news, `${payout("")}\n    schedule: "0 9 1 * *"`, /schedule is .*write a map with cron/, 1),
  alone(
    "hours in the rule",
    "    priority: 1",
    '    during: "08:00-18:00"',
    /no hours are named "08:00-18:00"; add it under h/,
  ),
  alone("a key with 0x", '"e272', '"0xe272', /cold\.publicKey .*; write 64 lower-case hex/),
  alone("a key in capitals", '"e272deecde', '"E272DEECDE', /write 64 lower-case hex/),
  alone("a sweep out of the network", "to: cold, asset: VEGA, above", "to: vault, asset: VEGA, above", /use withdraw/),
  alone("a priority in words", "priority: 1", "priority: high", /rule keep-hot-funded: priority is .*a whole number/),
  alone(
    "a rule's name with a space",
    "name: skim",
    "name: skim makers",
    /rule skim makers: name .*; write a name of letters/,
  ),
  alone("a rule without a name", "  - name: skim\n    sweep:", "  - sweep:", /rules #2: name is missing; add it/),
]
