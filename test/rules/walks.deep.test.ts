import { assert, describe, it } from "@effect/vitest"
import { cycle } from "../../src/rules/lint/cycle.ts"
import { levelsOf, type PayingRule } from "../../src/rules/Rule.ts"
import { round } from "../../src/rules/round.ts"
import { accountKey } from "../../src/rules/Snapshot.ts"
import { subjectsOf, waysOf } from "../../src/rules/Subject.ts"
import { randomOf, seedsOf } from "./dice.ts"
import { asksWrongly, staysWithin, takesTooMuch } from "./judgeWalk.ts"
import { twinOf } from "./RandomCode.ts"
import { assets } from "./RandomRule.ts"
import { type RandomTreasury, randomTreasury, wideOpen } from "./RandomTreasury.ts"
import { bytesOf, keyOf, type Ticked, WalkWorld } from "./WalkWorld.ts"

const kinds = ["code", "payout", "rebalance", "request", "split", "sweep", "topUp", "withdraw"]

/** Kinds of the rules that paid or asked for money. */
const actedIn = ({ outcomes }: Ticked): ReadonlyArray<string> =>
  outcomes.flatMap(({ facts, judgement }) => (judgement.decision._tag === "Hold" ? [] : [facts.subject.kind]))

/** Rules of which balances alone decide how much they pay, under a policy that is in the way of nothing. */
const foreseen = (drawn: RandomTreasury): RandomTreasury => {
  const rules = drawn.rules.filter((rule) => rule.kind !== "payout" && twinOf(rule) !== undefined)
  return { ...drawn, rules, policy: wideOpen(drawn) }
}

/** Whether one rule fills an account to where another empties it, or pays within a group that another keeps. */
const isOpposed = (rules: ReadonlyArray<PayingRule>): boolean => {
  const levels = (fills: boolean) =>
    rules.filter(({ kind }) => (kind === "topUp" || kind === "request") === fills).flatMap(levelsOf)
  const isApart = levels(true).some((filled) =>
    levels(false).some(
      ({ party, asset, trigger, target }) =>
        party === filled.party && asset === filled.asset && (filled.target > trigger || target < filled.trigger),
    ),
  )
  const isWithin = rules.some((group) => {
    if (group.kind !== "rebalance") return false
    const members = new Set<unknown>(group.weights.map(({ party }) => party))
    return rules.some(
      (other) =>
        other !== group &&
        subjectsOf(other).some(
          (subject) =>
            subject.asset === group.asset &&
            waysOf(subject).some(({ from, to }) => members.has(from) && members.has(to)),
        ),
    )
  })
  return isApart || isWithin
}

/** Whether anything is found to be wrong with the rules; code is taken for the rule that it repeats. */
const isSound = ({ rules, policy }: RandomTreasury): boolean => {
  const twins = rules.flatMap((rule): ReadonlyArray<PayingRule> => {
    const twin = twinOf(rule)
    return twin === undefined ? [] : [twin]
  })
  return (
    !isOpposed(twins) &&
    cycle({ rules: twins, policy, mode: "live", transfersPerDay: undefined, keepMillis: 0 }).length === 0
  )
}

describe("random rules over random balances", () => {
  it("stay within floors and policy, and decide the same twice", () => {
    let paid = 0
    const acted = new Set<string>()
    for (const seed of seedsOf(30)) {
      const treasuryOf = (): RandomTreasury => {
        const drawn = randomTreasury(randomOf(1_000 + seed))
        return seed % 2 === 0 ? drawn : { ...drawn, policy: wideOpen(drawn) }
      }
      const [treasury, anew] = [treasuryOf(), treasuryOf()]
      const world = new WalkWorld(treasury, randomOf(6_000 + seed))
      for (let i = 0; i < 200; i++) {
        const ticked = world.tick(false)
        const wrong = [...takesTooMuch(treasury, ticked), ...asksWrongly(ticked)]
        assert.deepStrictEqual(wrong, [], `seed ${seed}, tick ${i}`)
        const again = round(anew.rules.flatMap(subjectsOf), ticked.snapshot, (subject) =>
          ticked.memories.get(keyOf(subject)),
        ).outcomes
        assert.strictEqual(bytesOf(again), bytesOf(ticked.outcomes), `seed ${seed}, tick ${i}`)
        for (const kind of actedIn(ticked)) acted.add(kind)
      }
      paid += world.paid.length
      staysWithin(world, seed)
    }
    assert.isAbove(paid, 50, "rules that pay nothing prove nothing")
    assert.deepStrictEqual([...acted].toSorted(), kinds)
  })

  it("decide the same whether or not their process starts again in between", () => {
    const acted = new Set<string>()
    for (const seed of seedsOf(40)) {
      const treasuryOf = () => randomTreasury(randomOf(2_000 + seed))
      const [one, other] = [1, 2].map(() => new WalkWorld(treasuryOf(), randomOf(7_000 + seed))) as [
        WalkWorld,
        WalkWorld,
      ]
      const chance = randomOf(seed)
      for (let i = 0; i < 150; i++) {
        if (chance(4) === 0) other.restart(treasuryOf())
        const ticked = one.tick(false)
        assert.strictEqual(bytesOf(other.tick(false).outcomes), bytesOf(ticked.outcomes), `seed ${seed}`)
        for (const kind of actedIn(ticked)) acted.add(kind)
      }
      assert.strictEqual(other.paid.length, one.paid.length)
    }
    assert.deepStrictEqual([...acted].toSorted(), kinds)
  })

  it("come to rest without other users if nothing was found wrong", () => {
    let paid = 0
    let sound = 0
    let unsound = 0
    for (const seed of seedsOf(60)) {
      const random = randomOf(3_000 + seed)
      const treasury = foreseen(randomTreasury(random))
      if (!isSound(treasury)) {
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

  it("never pay back what they paid without other users", () => {
    let paid = 0
    let sound = 0
    const acted = new Set<string | undefined>()
    for (const seed of seedsOf(120)) {
      const random = randomOf(5_000 + seed)
      const treasury = foreseen(randomTreasury(random))
      if (!isSound(treasury)) continue
      sound++
      const world = new WalkWorld(treasury, random)
      for (let i = 0; i < 12; i++) world.tick(false)
      world.stir(20)
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
      for (const { rule } of own) acted.add(treasury.rules.find(({ name }) => name === rule)?.kind)
    }
    assert.isAbove(sound, 30)
    assert.isAbove(paid, sound, "rules that pay nothing pay nothing back")
    assert.deepStrictEqual(
      [...acted].toSorted(),
      kinds.filter((kind) => kind !== "payout" && kind !== "request"),
    )
  })

  it("bring a calm group within its tolerance without paying back", () => {
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
      const world = new WalkWorld({ ...drawn, parties, rules, policy: wideOpen(drawn) }, random)
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
