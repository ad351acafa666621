import { assert, describe } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { BaseUnits } from "../../src/domain/Amount.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import { paceOf } from "../../src/poller/askWindow.ts"
import { isNear, pauseOf, pollBalances } from "../../src/poller/BalancePoller.ts"
import type { Rule } from "../../src/rules/Rule.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { openPoller, pollerOptions } from "../support/Poller.ts"
import { plainRule } from "../support/Rules.ts"

const key = "a".repeat(64) as PublicKey
const asset = { symbol: "USDT", id: "c".repeat(64), decimals: 6 }
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

it.effect("polls hurry for a rule in force alone, and most where the next block is its observation", function* () {
  const { run } = yield* openPoller(newHistory())
  yield* run(function* () {
    const network = { ...pollerOptions([]).network, pollBusyMillis: 1_000, pollIdleMillis: 2_000 }
    const options = { ...pollerOptions([]), network, rules: [rule] }
    const paces = new Map()
    const { save } = yield* RuleStates
    const memory = { subject: "hot/USDT", state: "pending", reason: "pending", detail: "", reasonSince: 0 } as const
    const times = { decidedAt: 0, firingSince: 0, observations: 1, lastObservation: 0n, episode: 1 }
    const unsettled = (balance: bigint) =>
      Ref.update(paceOf(paces, "g"), (pace) => ({ ...pace, unsettled: [{ ...row, balance }] }))
    yield* save({ ...memory, ...times, rule: "removed" }, undefined)
    assert.strictEqual(yield* pauseOf(options, paces, 0), 2_000, "removed")
    yield* unsettled(1_500n)
    assert.strictEqual(yield* pauseOf(options, paces, 9), 200, "crossing")
    assert.strictEqual(yield* pauseOf(options, paces, 10), 1_000, "crossing, and no newer block in two seconds")
    yield* unsettled(900n)
    assert.strictEqual(yield* pauseOf(options, paces, 0), 1_000, "near")
    yield* pollBalances(options, paces)
    assert.strictEqual(yield* pauseOf(options, paces, 0), 2_000, "no row of this poll is near")
    yield* save({ ...memory, ...times, rule: rule.name }, undefined)
    assert.strictEqual(yield* pauseOf(options, paces, 0), 200, "observed once")
    yield* save({ ...memory, ...times, observations: 2, rule: rule.name }, undefined)
    assert.strictEqual(yield* pauseOf(options, paces, 0), 1_000, "pending for a time")
  })
})

it.effect("a row that is not final yet is known until its block is, however often the block is read", function* () {
  const nanos = 1_000_000_000n
  const history = newHistory([{ ...row, balance: 1_500n, timestamp: nanos }])
  history.now = () => 4n * nanos
  history.begun = { height: 2n, timestamp: 2n * nanos }
  const { run } = yield* openPoller(history)
  yield* run(function* () {
    const network = { ...pollerOptions([key]).network, pollBusyMillis: 1_000, pollIdleMillis: 2_000 }
    const options = { ...pollerOptions([key]), network, rules: [rule] }
    const paces = new Map()
    const pause = Effect.andThen(pollBalances(options, paces), pauseOf(options, paces, 0))
    assert.strictEqual(yield* pause, 2_000, "nothing near")
    history.begun = { height: 3n, timestamp: 3n * nanos }
    history.shows = (_, rows) => [...rows, { ...row, balance: 500n, timestamp: history.begun.timestamp }]
    for (const time of ["first", "second"]) assert.strictEqual(yield* pause, 200, `the ${time} reading`)
  })
})
