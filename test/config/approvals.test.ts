import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { approvalFor } from "../../src/rules/policy/Policy.ts"
import { it } from "../support/it.ts"
import { operatorKey } from "../support/Operators.ts"
import { aliceKey, assetId, bobKey } from "../support/treasury.ts"

const ana = operatorKey("ana").publicKey
const ben = operatorKey("ben").publicKey

const textOf = (groups: string, line: string): string => `
version: 1
name: desk
network: { chainId: c-1, gateways: { node: "https://gateway.example" } }
assets: { TOK: { id: ${assetId}, decimals: 2 } }
parties: { alice: { publicKey: ${aliceKey} }, bob: { publicKey: ${bobKey} } }
policy:
  allow:
    - { from: alice, to: [bob], asset: TOK, perTransfer: "100", per24h: "100", transfersPer24h: 2${line} }
${groups}`
const desk = (of = `ana: ${ana}, ben: ${ben}`, need = "2", within = "4h") =>
  `approvals: { desk: { need: ${need}, within: ${within}, of: { ${of} } } }`
const load = (groups: string, line = ", approval: desk") =>
  Effect.flatMap(parseYaml("t.yaml", textOf(groups, line)), treasuryOf)
const problemOf = (groups: string, line?: string) =>
  Effect.map(Effect.flip(load(groups, line)), (error) => error.message)

describe("approvals of a treasury file", () => {
  it.effect("belong to the line that names them, from an amount on", function* () {
    const { policy, approvals } = yield* load(desk(), ', approval: desk, approvalAbove: "50"')
    const [line] = policy.lines
    assert.deepStrictEqual(approvals.get("desk"), approvalFor(line, 5_001n))
    assert.deepStrictEqual(
      [...(approvals.get("desk")?.of ?? [])],
      [
        ["ana", ana],
        ["ben", ben],
      ],
    )
    assert.strictEqual(approvals.get("desk")?.withinMillis, 14_400_000)
    assert.isUndefined(approvalFor(line, 5_000n))
    assert.isUndefined(approvalFor(undefined, 1n))
    const every = yield* load(desk())
    assert.strictEqual(approvalFor(every.policy.lines[0], 1n)?.name, "desk")
    assert.isUndefined(approvalFor((yield* load(desk(), "")).policy.lines[0], 10_000n))
  })

  it.effect("are part of the policy's hash, whatever the order in which they stand", function* () {
    const digestOf = (groups: string, line?: string) => Effect.map(load(groups, line), (t) => t.policy.digest)
    const base = yield* digestOf(desk())
    assert.strictEqual(yield* digestOf(desk(`ben: ${ben}, ana: ${ana}`)), base)
    assert.strictEqual((yield* load(desk())).policy.hash, base.slice(0, 8))
    const others = [
      yield* digestOf(desk(), ""),
      yield* digestOf(desk(undefined, "1")),
      yield* digestOf(desk(undefined, "2", "5h")),
      yield* digestOf(desk(`ann: ${ana}, ben: ${ben}`)),
      yield* digestOf(desk(`ana: ${operatorKey("eve").publicKey}, ben: ${ben}`)),
      yield* digestOf(desk(`ana: ${ana}, ben: ${ben}, eve: ${operatorKey("eve").publicKey}`)),
      yield* digestOf(desk(), ', approval: desk, approvalAbove: "50"'),
    ]
    assert.strictEqual(new Set([base, ...others]).size, others.length + 1)
  })

  const wrong: ReadonlyArray<readonly [what: string, groups: string, says: RegExp, line?: string]> = [
    [
      "a group that is none",
      "",
      /9:.* "desk" is not a group of approvals; add desk: { need, within, of } under approvals/,
    ],
    [
      "a group of another name",
      desk().replace("desk", "night"),
      /"desk" is not a group of approvals; known here: night/,
    ],
    ["more than there are", desk(undefined, "3"), /need 3 of 2: nobody could ever approve/],
    ["nobody needed", desk(undefined, "0"), /need.*a whole number above zero/],
    ["no operator", desk(""), /need 2 of 0/],
    ["one key for two", desk(`ana: ${ana}, ben: ${ana}`), /the same key as operator "ana": one person, one key/],
    ["a party's key", desk(`ana: ${aliceKey}, ben: ${ben}`), /the key of party "alice"/],
    ["a key of zeros", desk(`ana: "${"0".repeat(64)}", ben: ${ben}`), /anybody could sign for this key/],
    ["no time", desk().replace("within: 4h, ", ""), /approvals\.desk\.within is missing/],
    ["too short a time", desk(undefined, "2", "59s"), /within 59s is too short for people/],
    ["another way to approve", desk().replace("within", "accept: token, within"), /accept.*signature/],
    ["an amount without a group", desk(), /approvalAbove without approval/, ', approvalAbove: "50"'],
    ["an amount too large", desk(), /approvalAbove 100 is no less/, ', approval: desk, approvalAbove: "100"'],
    [
      "two keys of one person",
      `approvals: { desk: { need: 1, within: 1h, of: { ana: ${ana} } }, late: { need: 1, within: 1h, of: { ana: ${ben} } } }`,
      /"ana" has another key above/,
    ],
  ]
  for (const [what, groups, says, line] of wrong) {
    it.effect(`are refused with ${what}`, () =>
      Effect.map(problemOf(groups, line), (message) => assert.match(message, says)),
    )
  }
})
