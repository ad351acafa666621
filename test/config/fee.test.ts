import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { withCode } from "../../src/config/code/withCode.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { weakens } from "../../src/rules/policy/weakens.ts"
import { it } from "../support/it.ts"
import { goodText } from "./Broken.ts"

const terms = (fee: string) =>
  parseYaml("t.yaml", goodText.replace("  framing: auto\n", `  framing: auto\n${fee}`)).pipe(
    Effect.flatMap(withCode),
    Effect.flatMap(treasuryOf),
    Effect.map((treasury) => ({ ...treasuryTermsOf({ treasury }), written: treasury.network.fee })),
  )

describe("a fee of the network that is written down", () => {
  it.effect("is an exact share, and one of the terms that bound the money", function* () {
    const none = yield* terms("")
    const low = yield* terms('  fee: { factor: "0.001", maxQuantum: "1.5" }\n')
    const high = yield* terms('  fee: { factor: "0.002", maxQuantum: "1.5" }\n')
    assert.isUndefined(none.written)
    assert.deepStrictEqual(low.written, {
      factor: { numerator: 1n, denominator: 1_000n },
      maxQuantum: { numerator: 15n, denominator: 10n },
    })
    assert.lengthOf(weakens(none, low), 1, "before it, only what the network says counted")
    assert.lengthOf(weakens(high, low), 1, "a lower one passes where the higher did not")
    assert.deepStrictEqual([weakens(low, none), weakens(low, high), weakens(low, low)], [[], [], []])
  })
})
