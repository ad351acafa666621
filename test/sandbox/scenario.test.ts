import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { readYaml } from "../../src/config/yaml/Yaml.ts"
import { formatAmount } from "../../src/domain/Amount.ts"
import { it } from "../support/it.ts"
import { chainId, scenarioOf, scenarioText, tether, usdt, vegaAsset, withSandbox } from "../support/TestSandbox.ts"
import type { Fields } from "../support/treasury.ts"

const deposit = (party: string, asset: string, amount: string) => ({ party, asset, amount })
const dai = {
  ...{ id: "da".repeat(32), name: "Dai", symbol: "DAI", decimals: 6, quantum: "1" },
  ...{ erc20: { contractAddress: "0x83", lifetimeLimit: "60" }, status: { enabled: 0 } },
}
/** A bridged asset of which each party may bring 60 in all, and deposits. */
const bridged = (deposits: ReadonlyArray<Fields>, asset: Fields = dai): string =>
  scenarioText({}, { assets: [asset], deposits })

describe("a scenario", () => {
  it.effect("has the network's own defaults", function* () {
    const scenario = yield* scenarioOf("sandbox: { seed: s, parties: [], assets: [] }")
    assert.deepStrictEqual(scenario, {
      chainId,
      seed: "s",
      listen: { host: "127.0.0.1", port: 3008 },
      profile: "0.75",
      blockIntervalMillis: 1_000,
      rateLimit: true,
      pow: { difficulty: 15, pastBlocks: 100, txPerBlock: 2, increaseDifficulty: true },
      powChanges: [],
      epochLength: "24h",
      transfersPerEpoch: 20,
      feeFactor: "0.001",
      feeMaxQuantum: "1",
      minTransferQuantum: "0.1",
      minWithdrawalQuantum: "10",
      parameters: new Map(),
      parties: [],
      assets: [],
      deposits: [],
      spenders: [],
      faults: [],
    })
  })

  const mistakes: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["an unknown key", scenarioText({ prties: [] }), /unknown key "prties"; did you mean "parties"\?/],
    [
      "an unknown profile",
      scenarioText({ profile: "0.76" }),
      /test.yaml:4:12 {2}sandbox.profile: "0\.76" is not valid/,
    ],
    [
      "a quantum in units of the asset",
      scenarioText({ assets: [{ ...tether, quantum: "0.5" }, vegaAsset] }),
      /quantum: "0\.5" is not valid; write a whole number of base units, such as "1_000_000"/,
    ],
    [
      "an unknown party",
      scenarioText({}, { deposits: [deposit("mallory", "USDT", "1")] }),
      /:\d+:16 {2}unknown party "mallory"; known: alice, bob, eve/,
    ],
    [
      "an unknown asset",
      scenarioText({}, { deposits: [deposit("eve", "EUR", "1")] }),
      /unknown asset "EUR"; known: USDT, VEGA/,
    ],
    [
      "an amount that is too fine",
      scenarioText({}, { deposits: [deposit("eve", "USDT", "0.0000001")] }),
      /finer than the asset; it has 6 decimals/,
    ],
    [
      "a delay without length",
      scenarioText({ faults: [{ block: 1, operation: "submit", kind: "delay" }] }),
      /a delay needs its length; write delay: 2s/,
    ],
    [
      "a status that is no fault",
      scenarioText({ faults: [{ block: 1, operation: "submit", kind: "http_status", status: 200 }] }),
      /faults #1 status: "200" is not valid; did you mean "500"/,
    ],
    [
      "a rate above one",
      scenarioText({ faults: [{ block: 1, operation: "any", kind: "drop_before", rate: 2 }] }),
      /rate: "2" is not valid; write a probability from 0\.000001 to 1/,
    ],
    [
      "impossible work",
      scenarioText({ pow: { difficulty: 257 } }),
      /difficulty: "257" is not valid; write a whole number from 0 to 256/,
    ],
    [
      "an asset without a source",
      scenarioText({ assets: [tether, { ...vegaAsset, builtin: undefined }] }),
      /VEGA needs one source; write either builtin: or erc20:/,
    ],
    [
      "an asset that never is",
      scenarioText({ assets: [tether, { ...vegaAsset, status: {} }] }),
      /VEGA never has a status; add enabled: 0/,
    ],
    [
      "a deposit before its asset is enabled",
      bridged([deposit("eve", "DAI", "1")], { ...dai, status: { enabled: 5 } }),
      /^test\.yaml:15:7 {2}DAI is not enabled at block 1; write block: 5$/,
    ],
    [
      "one id for two assets",
      scenarioText({ assets: [tether, { ...vegaAsset, id: usdt }] }),
      /^test\.yaml:10:13 {2}asset 1 has the same id; give each asset its own$/,
    ],
    ["no sandbox at all", "name: x", /sandbox/],
  ]
  it.effect.each(mistakes)("with %s is refused with line and remedy", ([, text, message]) =>
    Effect.map(Effect.flip(scenarioOf(text)), (error) => {
      assert.match(error.message, message)
      assert.match(error.message, /^test\.yaml/)
    }),
  )
})

describe("the demonstration", () => {
  const path = "config/sandbox.yaml"

  const stepsUntil = Effect.fnUntraced(function* (height: number) {
    const document = yield* readYaml(path)
    return yield* withSandbox(
      { text: document.text.replaceAll("127.0.0.1:3008", "127.0.0.1:0") },
      function* (_, sandbox) {
        const balances: Array<string> = []
        for (let h = 1; h <= height; h++) {
          if (h > 1) yield* sandbox.stepBlock
          balances.push(formatAmount(yield* sandbox.ledger.balance("hot", "USDT"), 6))
        }
        return balances
      },
    )
  })

  it.live("starts with the first minute's money and losses, then stays calm", function* () {
    const hot = yield* stepsUntil(1_832)
    const at = (height: number) => hot[height - 1]
    assert.deepStrictEqual(
      [at(1), at(6), at(7), at(9), at(10), at(30), at(31), at(1_830), at(1_831)],
      // Nobody tops up here, so the script takes what is left at block 31 and finds nothing afterwards.
      ["24,310.00", "24,310.00", "12,870.00", "12,870.00", "8,790.00", "8,790.00", "0.00", "0.00", "0.00"],
    )
  })
})
