import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { formatProblem } from "../../src/config/yaml/ConfigError.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { it } from "../support/it.ts"

/** Every kind of rule and every place of an amount, one a line; TOK has two decimals. */
const good = `version: 1
name: amounts
mode: live
network: { chainId: amounts-1, gateways: { main: "https://a.gateway.example" } }
assets:
  TOK: { id: "cd1634ef55b13679e59bae595cc026417dc9010738ea0a20ae3b694b54fa82fa", decimals: 2 }
parties:
  reserve:
    publicKey: "${"1".repeat(64)}"
    signer: { sandbox: reserve }
    floor: { TOK: "100" }
  hot: { publicKey: "${"2".repeat(64)}", signer: { sandbox: hot } }
  warm: { publicKey: "${"3".repeat(64)}", signer: { sandbox: warm } }
  cold: { publicKey: "${"4".repeat(64)}" }
rules:
  - name: keep
    topUp:
      from: reserve
      levels:
        - party: hot
          asset: TOK
          below: "201"
          target: "302"
    min: { TOK: "3" }
    floor: { TOK: "104" }
    cooldown: 6h
  - name: skim
    sweep:
      from: hot
      to: cold
      asset: TOK
      above: "905"
      target: "806"
    cooldown: 6h
  - name: share
    split:
      from: reserve
      asset: TOK
      above: "5_007"
      target: "4_008"
      to:
        hot: 1
        warm: 1
    cooldown: 6h
  - name: even
    rebalance:
      asset: TOK
      weights:
        hot: 1
        warm: 1
      tolerance: 20%
    cooldown: 12h
  - name: fee
    payout:
      from: reserve
      to: cold
      asset: TOK
      amount: "9"
    schedule: { cron: "0 9 1 * *" }
  - name: ask
    request:
      from: cold
      to: reserve
      asset: TOK
      below: "610"
      target: "711"
approvals:
  desk: { need: 1, within: 4h, of: { ana: "24d4b96f58da6d4a8512313bbd02a28ebf0ca95dec6e4c86ef78ce7f01e788ac" } }
policy:
  allow:
    - from: [reserve, hot, warm]
      to: [reserve, hot, warm, cold]
      asset: TOK
      perTransfer: "9_012"
      per24h: "90_013"
      transfersPer24h: 10
      approval: desk
      approvalAbove: "814"
`

const load = (text: string) => Effect.flatMap(parseYaml("t.yaml", text), treasuryOf)
const amounts = [...good.matchAll(/"([0-9_]{1,6})"/g)].map(([, amount]) => amount!)

describe("an amount", () => {
  it.effect("may have the places of its asset, wherever it stands", function* () {
    assert.lengthOf(amounts, 15)
    assert.lengthOf((yield* load(amounts.reduce((text, a) => text.replace(`"${a}"`, `"${a}.25"`), good))).rules, 6)
  })

  it.effect.each(amounts)("is refused for a decimal comma, and for nothing that would follow: %s", function* (amount) {
    const { problems } = yield* Effect.flip(load(good.replace(`"${amount}"`, '"4,50"')))
    assert.lengthOf(problems, 1, problems.map(({ message }) => message).join("\n"))
    assert.include(problems[0]?.message, "a comma is no decimal mark")
  })

  it.effect.each(amounts)("is refused where its point may group thousands: %s", function* (amount) {
    const { problems } = yield* Effect.flip(load(good.replace(`"${amount}"`, '"4.000"')))
    assert.lengthOf(problems, 1, problems.map(({ message }) => message).join("\n"))
    assert.include(formatProblem(problems[0]!), '"4.000" may mean 4.000 or 4,000; write "4" or "4_000"')
  })

  it.effect.each(amounts)("is refused where it is finer than its asset: %s", function* (amount) {
    const { problems } = yield* Effect.flip(load(good.replace(`"${amount}"`, `"${amount}.125"`)))
    const said = problems.map(formatProblem).join("\n")
    assert.include(problems[0]?.message, `"${amount}.125" is finer than the asset: it has 2 decimals`, said)
    assert.strictEqual(problems[0]?.line, good.slice(0, good.indexOf(`"${amount}"`)).split("\n").length, said)
  })
})

describe("a party without a signer", () => {
  it.effect.each([
    ["in a rebalance", "        warm: 1\n      tolerance", "        cold: 1\n      tolerance", 0],
    ["as the source of a split", "    split:\n      from: reserve", "    split:\n      from: cold", 1],
    ["as the payer of a payout", "    payout:\n      from: reserve", "    payout:\n      from: cold", 1],
  ] as const)("is refused %s", function* ([, from, to, after]) {
    const { problems } = yield* Effect.flip(load(good.replace(from, to)))
    assert.match(problems.map(formatProblem).join("\n"), /"cold" has no signer, so it cannot pay/)
    assert.strictEqual(problems[0]?.line, good.slice(0, good.indexOf(from)).split("\n").length + after)
  })
})
