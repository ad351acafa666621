import { assert, describe } from "@effect/vitest"
import { Ref } from "effect"
import { BaseUnits } from "../../src/domain/Amount.ts"
import type { AssetId, PublicKey } from "../../src/domain/Hex.ts"
import { paceOf } from "../../src/poller/askWindow.ts"
import { isHurried, isNear, pollBalances } from "../../src/poller/BalancePoller.ts"
import type { Rule } from "../../src/rules/Rule.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { openPoller, pollerOptions } from "../support/Poller.ts"
import { plainRule } from "../support/Rules.ts"

const key = "a".repeat(64) as PublicKey
const asset = { symbol: "USDT", id: "c".repeat(64) as AssetId, decimals: 6 }
const party = { name: "hot", publicKey: key, signer: undefined, floor: new Map(), transfersKept: 0 }
const level = {
  party,
  asset,
  balance: "free" as const,
  trigger: BaseUnits.make(1_000n),
  target: BaseUnits.make(2_000n),
}
const rule: Rule = { ...plainRule, kind: "topUp", name: "keep", from: party, levels: [level] }

const row = {
  party: key as string,
  asset: asset.id as string,
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  balance: 0n,
  timestamp: 0n,
}

describe("a balance", () => {
  it.each([
    [899n, false],
    [900n, true],
    [1_000n, true],
    [1_100n, true],
    [1_101n, false],
  ])("of %d is near a level of 1,000: %s", (balance, near) => {
    assert.strictEqual(isNear([rule], [{ ...row, balance }]), near)
  })

  it.each([
    ["of another party", { party: "b".repeat(64) }],
    ["of another asset", { asset: "d".repeat(64) }],
    ["of another type", { type: "ACCOUNT_TYPE_BOND" }],
  ])("%s is not near", (_, other) => {
    assert.isFalse(isNear([rule], [{ ...row, balance: 1_000n, ...other } as typeof row]))
  })
})

it.effect(
  "polls come each second for a pending rule in force, and for the rows of the last answer alone",
  function* () {
    const { run } = yield* openPoller(newHistory())
    yield* run(function* () {
      const options = { ...pollerOptions([]), rules: [rule] }
      const paces = new Map()
      const { save } = yield* RuleStates
      const memory = { subject: "hot/USDT", state: "pending", reason: "pending", detail: "", reasonSince: 0 } as const
      const times = { decidedAt: 0, firingSince: 0, observations: 1, lastObservation: 0n, episode: 1 }
      yield* save({ ...memory, ...times, rule: "removed" }, undefined)
      assert.isFalse(yield* isHurried(options, paces), "removed")
      yield* Ref.update(paceOf(paces, "g"), (pace) => ({ ...pace, unsettled: [{ ...row, balance: 1_500n }] }))
      assert.isTrue(yield* isHurried(options, paces), "crossing")
      yield* pollBalances(options, paces)
      assert.isFalse(yield* isHurried(options, paces), "no row of this poll crosses")
      yield* save({ ...memory, ...times, rule: rule.name }, undefined)
      assert.isTrue(yield* isHurried(options, paces), "pending")
    })
  },
)
