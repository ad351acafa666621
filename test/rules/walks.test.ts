import { assert, describe, it } from "@effect/vitest"
import type { ExternalAddress } from "../../src/domain/Hex.ts"
import { lint } from "../../src/rules/lint/lint.ts"
import { accountKey } from "../../src/rules/overlay.ts"
import { feeMax } from "../../src/rules/Policy.ts"
import type { Level, Party, PayingRule } from "../../src/rules/Rule.ts"
import { reservedFrom } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import { step } from "../../src/rules/step.ts"
import { worstCase } from "../../src/rules/worstCase.ts"
import { plainRule } from "../support/Rules.ts"
import { dayMillis, fullest } from "./HostileWorld.ts"
import {
  assets,
  pick,
  type Random,
  type RandomTreasury,
  randomOf,
  randomTreasury,
  seedsOf,
  units,
  wideOpen,
} from "./RandomTreasury.ts"
import { bytesOf, keyOf, type Ticked, WalkWorld } from "./WalkWorld.ts"

const lines = (treasury: RandomTreasury) =>
  worstCase(treasury).lines.map((line) => ({ ...line, lineOf: treasury.policy.lines[line.line - 1]! }))

/** What all decisions of one look take from a payer, fees at their highest, against what it has above its own floor. */
const takesTooMuch = (treasury: RandomTreasury, { snapshot, outcomes }: Ticked): ReadonlyArray<string> => {
  const payments = outcomes.flatMap(({ judgement: { decision } }) => (decision._tag === "Act" ? decision.payments : []))
  return [...Map.groupBy(payments, ({ fromKey, assetId }) => accountKey(fromKey, assetId))].flatMap(([key, own]) => {
    const { from, fromKey, assetId } = own[0]!
    const taken = own.reduce((sum, { amount }) => sum + amount + feeMax(treasury.policy.maxFee, amount), 0n)
    const held = snapshot.balance(fromKey, assetId, "free") ?? 0n
    const floor = treasury.parties.get(from)?.floor.get(assetId) ?? 0n
    const left = held - reservedFrom(snapshot, fromKey, assetId) - taken
    return left >= floor ? [] : [`${key} keeps ${left} of ${floor}`]
  })
}

const outside = `0x${"5".repeat(40)}` as ExternalAddress

/** Rules that ask people, and that take money out of the network: their own kind, drawn beside the others. */
const leaving = (random: Random, { parties }: RandomTreasury): ReadonlyArray<PayingRule> => {
  const asset = pick(random, assets)
  const payers = [...parties.values()].filter(({ signer }) => signer !== undefined)
  const level = (party: Party, trigger: number, target: number): Level => ({
    party,
    asset,
    balance: "free",
    trigger: units(trigger),
    target: units(target),
  })
  const to = { name: "outside", address: outside }
  const cold = [...parties.values()].find(({ name }) => name === "cold")!
  return [
    { ...plainRule, name: "ask", kind: "request", from: cold, level: level(pick(random, payers), 1_000, 3_000) },
    { ...plainRule, name: "leave", kind: "withdraw", to, level: level(pick(random, payers), 4_000, 3_500) },
  ]
}

describe("random rules over random balances", () => {
  it("share no more than a funder has above its floor, stay within the policy, and decide the same twice", () => {
    let paid = 0
    for (const seed of seedsOf(25)) {
      const random = randomOf(1_000 + seed)
      const drawn = randomTreasury(random)
      const open = wideOpen([...drawn.parties.values()].map(({ publicKey }) => publicKey))
      const treasury = seed % 2 === 0 ? drawn : { ...drawn, policy: open }
      const world = new WalkWorld(treasury, random)
      for (let i = 0; i < 200; i++) {
        const ticked = world.tick(false)
        assert.deepStrictEqual(takesTooMuch(treasury, ticked), [], `seed ${seed}, tick ${i}`)
        const again = step(treasury.rules.flatMap(subjectsOf), ticked.snapshot, (subject) =>
          ticked.memories.get(keyOf(subject)),
        )
        assert.strictEqual(bytesOf(again), bytesOf(ticked.outcomes), `seed ${seed}, tick ${i}`)
      }
      paid += world.paid.length
      for (const { lineOf, amount, transfers, line } of lines(treasury)) {
        const own = world.paid
          .filter(({ payment }) => lineOf.from.has(payment.fromKey) && lineOf.to.has(payment.toKey))
          .filter(({ payment }) => lineOf.assetId === payment.assetId)
          .filter(({ payment: { fromKey, toKey, assetId } }) => {
            const first = treasury.policy.lines.find(
              (each) => each.from.has(fromKey) && each.to.has(toKey) && each.assetId === assetId,
            )
            return first === lineOf
          })
          .map((intent) => ({ line: lineOf, intent, recordedAt: intent.createdAt, at: intent.createdAt }))
        const most = fullest(own, dayMillis - 20_000, ({ at }) => at)
        assert.isTrue(most.amount <= amount, `seed ${seed}, line ${line}: ${most.amount} of ${amount}`)
        assert.isAtMost(most.count, transfers, `seed ${seed}, line ${line}`)
      }
    }
    assert.isAbove(paid, 50, "rules that pay nothing prove nothing")
  })

  it("decide the same whether or not their process starts again in between", () => {
    for (const seed of seedsOf(15)) {
      const [one, other] = [1, 2].map(() => {
        const random = randomOf(2_000 + seed)
        return new WalkWorld(randomTreasury(random), random)
      }) as [WalkWorld, WalkWorld]
      const chance = randomOf(seed)
      for (let i = 0; i < 150; i++) {
        if (chance(4) === 0) other.restart()
        assert.strictEqual(bytesOf(other.tick(false).outcomes), bytesOf(one.tick(false).outcomes), `seed ${seed}`)
      }
      assert.strictEqual(other.paid.length, one.paid.length)
    }
  })

  it("come to rest once nobody else uses the accounts, where nothing was found to be wrong with them", () => {
    let paid = 0
    let sound = 0
    let unsound = 0
    for (const seed of seedsOf(60)) {
      const random = randomOf(3_000 + seed)
      const drawn = randomTreasury(random)
      const rules = drawn.rules.filter(({ kind }) => kind !== "payout")
      const policy = wideOpen([...drawn.parties.values()].map(({ publicKey }) => publicKey))
      const treasury = { ...drawn, rules, policy }
      const findings = lint({ rules, policy, mode: "live", transfersPerDay: undefined })
      if (findings.some(({ lint: kind }) => kind === "cycle" || kind === "opposite")) {
        unsound++
        continue
      }
      sound++
      const world = new WalkWorld(treasury, random)
      for (let i = 0; i < 60; i++) world.tick(false)
      const calm = new WalkWorld(treasury, random)
      for (const [key, units] of world.balances) calm.balances.set(key, units)
      for (let i = 0; i < 200; i++) calm.tick(true)
      const before = calm.paid.length
      paid += before
      for (let i = 0; i < 60; i++) calm.tick(true)
      const late = calm.paid
        .slice(before)
        .map(({ rule, payment: p }) => `${rule} ${p.amount} ${p.asset} ${p.from} -> ${p.to}`)
      assert.deepStrictEqual(late, [], `seed ${seed}`)
    }
    assert.isAbove(sound, unsound / 4)
    assert.isAbove(unsound, 0)
    assert.isAbove(paid, sound, "rules that pay nothing come to rest at once")
  })

  it("pay nothing back that they paid, whatever their kinds, once nobody else uses the accounts", () => {
    let paid = 0
    let sound = 0
    const kinds = new Set<string | undefined>()
    for (const seed of seedsOf(120)) {
      const random = randomOf(5_000 + seed)
      const drawn = randomTreasury(random)
      const rules = [...drawn.rules.filter(({ kind }) => kind !== "payout"), ...leaving(random, drawn)]
      const policy = wideOpen([...[...drawn.parties.values()].map(({ publicKey }) => publicKey), outside])
      const findings = lint({ rules, policy, mode: "live", transfersPerDay: undefined })
      if (findings.some(({ lint: kind }) => kind === "cycle" || kind === "opposite")) continue
      sound++
      const world = new WalkWorld({ ...drawn, rules, policy }, random)
      for (let i = 0; i < 12; i++) world.tick(false)
      // From here on every look sees all that others did.
      world.wait(21_000)
      const before = world.paid.length
      for (let i = 0; i < 200; i++) world.tick(true)
      const own = world.paid.slice(before).map(({ rule, payment: { asset, from, to } }) => ({ rule, asset, from, to }))
      const isBack = (one: (typeof own)[number]) =>
        own.some(({ asset, from, to }) => asset === one.asset && from === one.to && to === one.from)
      assert.deepStrictEqual(own.filter(isBack), [], `seed ${seed}`)
      for (let i = 0; i < 40; i++) world.tick(true)
      assert.lengthOf(world.paid, before + own.length, `seed ${seed}: after 200 looks at balances that stand still`)
      paid += own.length
      for (const { rule } of own) kinds.add(rules.find(({ name }) => name === rule)?.kind)
    }
    assert.isAbove(sound, 30)
    assert.isAbove(paid, sound, "rules that pay nothing pay nothing back")
    assert.deepStrictEqual([...kinds].toSorted(), ["rebalance", "split", "sweep", "topUp", "withdraw"])
  })

  it("bring a calm group within its tolerance, and never pay back what they just paid", () => {
    for (const seed of seedsOf(40)) {
      const random = randomOf(4_000 + seed)
      const drawn = randomTreasury(random)
      const payers = [...drawn.parties.values()]
        .filter(({ signer }) => signer !== undefined)
        .map((party) => ({ ...party, floor: new Map() }))
      const parties = new Map(
        [...drawn.parties].map(([name, party]) => [name, payers.find((p) => p.name === name) ?? party]),
      )
      const members = payers.slice(0, 2 + random(3))
      const weights = members.map((party) => ({ party, weight: BigInt(1 + random(9)) }))
      const tolerance = { numerator: BigInt(2 + random(20)), denominator: 100n }
      const asset = assets[0]!
      const rule = { ...drawn.rules[0]!, min: new Map(), floor: new Map(), inhibitedBy: [], onNoData: "hold" as const }
      const { cooldownMillis, forMillis, settleMillis, maxAgeMillis, priority, onShort } = rule
      const { during, maintenance, inhibitedBy, trial, onNoData, min, floor } = rule
      const base = { cooldownMillis, forMillis, settleMillis, maxAgeMillis, priority, onShort, during, maintenance }
      const even = { ...base, inhibitedBy, trial, onNoData, min, floor, name: "even" }
      const rules = [{ ...even, kind: "rebalance" as const, asset, balance: "free" as const, weights, tolerance }]
      const policy = wideOpen(payers.map(({ publicKey }) => publicKey))
      const world = new WalkWorld({ ...drawn, parties, rules, policy }, random)
      for (let i = 0; i < 80; i++) world.tick(true)
      const held = members.map(({ publicKey }) => world.balances.get(accountKey(publicKey, asset.id)) ?? 0n)
      const total = held.reduce((sum, units) => sum + units, 0n)
      const whole = weights.reduce((sum, { weight }) => sum + weight, 0n)
      for (const [i, { weight }] of weights.entries()) {
        const by = held[i]! - (total * weight) / whole
        const size = by < 0n ? -by : by
        assert.isTrue(
          size * 100n <= total * tolerance.numerator,
          `seed ${seed}: ${held} of ${weights.map((w) => w.weight)}`,
        )
      }
      const ways = world.paid.map(({ payment }) => `${payment.from} ${payment.to}`)
      for (const { payment } of world.paid) assert.notInclude(ways, `${payment.to} ${payment.from}`, `seed ${seed}`)
    }
  })
})
