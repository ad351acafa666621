import { assert, describe, it } from "@effect/vitest"
import { makeVirtualTreasury } from "../../src/backtest/VirtualTreasury.ts"
import { askMillis, codeOf } from "../../src/config/code/askCode.ts"
import { askNeed } from "../../src/config/code/codeWire.ts"
import { asFunction, wireOf } from "../../src/config/code/loadRules.ts"
import type { Seen } from "../../src/config/code/RulesFile.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Party } from "../../src/rules/Account.ts"
import type { Code, CodeAnswer, CodeSeen } from "../../src/rules/Code.ts"
import { holdsFor } from "../../src/rules/kinds/code.ts"
import type { CodeRule, Level, Rule, TopUpRule } from "../../src/rules/Rule.ts"
import { randomOf, worldOf } from "../backtest/worlds.ts"
import { codeHere } from "../support/CodeHere.ts"
import { plainParty, plainRule } from "../support/Rules.ts"

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const [ops, hot] = [plainParty("ops"), plainParty("hot")]
const seen = {
  balances: { "hot/TOK": 12_345n },
  one: 100n,
  assets: { TOK: { one: 100n, decimals: 2, status: "enabled" } },
  time: 1_772_445_600_000,
} as const

/** What code of this process answers, without being waited for. */
const saidBy = ({ ask }: Code, told: CodeSeen, now = told.time): CodeAnswer => {
  const asked = ask(told, now)
  return asked instanceof Promise ? assert.fail("it is waited for") : asked.answer
}

const answer = (need: (seen: Seen) => unknown, to: ReadonlyArray<Party> = [hot, ops]) => {
  const said = saidBy(codeOf(codeHere(need), { to, asset }, ""), seen)
  if (said._tag === "Broken") return said.detail
  const payments = said.payments.map((payment) => `${to[payment.to]?.name} ${payment.amount}`)
  return [...payments, ...(said.because === undefined ? [] : [said.because])].join(", ")
}

describe("an operator's function", () => {
  it("is broken where it is none", () => {
    assert.match(answer("lack" as never), /^its code fails: need is not a function/)
  })

  it("waits a minute after a timeout, or for a new file", () => {
    let asked = 0
    let ends = false
    const need = () => {
      asked++
      while (!ends);
      return undefined
    }
    const code = codeOf(codeHere(need, askMillis), { to: [hot], asset }, "")
    const ask = (told: CodeSeen, now: number) => saidBy(code, told, now)
    const first = ask(seen, seen.time + 40_000)
    for (const later of [40_000, 41_000, 99_999]) {
      const again = ask({ ...seen, balances: { "hot/TOK": BigInt(later) } }, seen.time + later)
      assert.deepStrictEqual(again, { ...first, until: seen.time + 100_000 })
    }
    assert.strictEqual(asked, 1)
    assert.strictEqual(ask(seen, seen.time + 100_000)._tag, "Broken")
    assert.strictEqual(asked, 2)
    ends = true
    const reloaded = codeOf(codeHere(need), { to: [hot], asset }, "")
    assert.strictEqual(saidBy(reloaded, seen, seen.time + 101_000)._tag, "Pays")
    assert.strictEqual(ask(seen, seen.time + 101_000)._tag, "Broken")
    assert.strictEqual(ask(seen, seen.time + 160_000)._tag, "Pays")
    assert.strictEqual(asked, 4)
  })

  it("runs one question at a time, and again for new facts", async () => {
    const asked: Array<bigint | undefined> = []
    const answers: Array<() => void> = []
    const told = (units: bigint) => ({ ...seen, balances: { "hot/TOK": units } })
    const loaded = asFunction({
      ask: (about) =>
        new Promise((resolve) => {
          asked.push(about.balances["hot/TOK"])
          const need = ({ balances }: Seen) => ({ pay: balances["hot/TOK"] })
          answers.push(() => resolve(askNeed(need, wireOf(about))))
        }),
    })
    const code = codeOf(loaded, { to: [hot], asset }, "")
    const first = code.ask(told(1n), 0)
    const second = code.ask(told(2n), 1_000)
    assert.strictEqual(second, first, "it thinks about the first")
    answers[0]?.()
    const { seen: about, answer: given } = await first
    assert.strictEqual(about.balances["hot/TOK"], 1n)
    assert.isFalse(holdsFor({ seen: about, answer: given }, told(2n)))
    assert.deepStrictEqual(code.ask(told(1n), 2_000), { seen: told(1n), answer: given }, "it is known")
    const third = code.ask(told(2n), 2_000)
    answers[1]?.()
    assert.deepStrictEqual((await third).answer, { ...given, payments: [{ to: 0, amount: 2n }] } as CodeAnswer)
    assert.deepStrictEqual(asked, [1n, 2n])
  })

  const changes: ReadonlyArray<readonly [what: string, told: Partial<CodeSeen>, holds: boolean]> = [
    ["nothing", {}, true],
    ["the time, which it did not look at", { time: seen.time + 60_000 }, true],
    ["a balance", { balances: { "hot/TOK": 12_346n } }, false],
    ["the name of a balance", { balances: { "hot/TOK total": 12_345n } }, false],
    ["one more balance", { balances: { ...seen.balances, "ops/TOK": 12_345n } }, false],
    ["the status of an asset", { assets: { TOK: { ...seen.assets.TOK, status: "rejected" } } }, false],
    ["another asset", { assets: { KOT: seen.assets.TOK } }, false],
    ["the unit", { one: 10n }, false],
  ]
  it.each(changes)("has an answer that holds or not, where %s changes", (_, change, holds) => {
    const code = codeOf(
      codeHere(() => undefined),
      { to: [hot], asset },
      "",
    )
    const one = { seen, answer: saidBy(code, seen) }
    assert.strictEqual(holdsFor(one, { ...seen, ...change }), holds)
    const timed = { seen, answer: { ...one.answer, timed: true } }
    assert.strictEqual(holdsFor(timed, { ...seen, ...change }), holds && change.time === undefined)
    const resting = { seen, answer: { ...one.answer, until: 1 } }
    assert.isTrue(holdsFor(resting, { ...seen, ...change }), "it rests, whatever it is told")
  })

  it("need not name its only receiver, and may read the time", () => {
    assert.strictEqual(
      answer(() => ({ pay: "1" }), [hot]),
      "hot 100",
    )
    const ask = (need: (seen: Seen) => undefined) =>
      saidBy(codeOf(codeHere(need), { to: [hot], asset }, ""), seen).timed
    assert.isFalse(ask(({ balances }) => void balances))
    assert.isTrue(ask(({ time }) => void time))
    assert.isTrue(ask((told) => void { ...told }))
  })
})

type World = ReturnType<typeof worldOf>

const play = async ({ settings, events, until }: World, rules: ReadonlyArray<Rule>, everySecond: boolean) => {
  const said: Array<readonly unknown[]> = []
  const note = {
    decided: (one: { at: number; subject: string; reason: unknown }) => said.push([one.at, one.subject, one.reason]),
  }
  const rehearsal = makeVirtualTreasury({ ...settings, rules, everySecond }, note)
  await rehearsal.advance(events, until)
  rehearsal.end()
  const paid = rehearsal.ledger.payments.map(({ state, at, intent: { payment } }) => [
    state,
    at,
    payment.to,
    payment.amount,
  ])
  return { said, paid, looks: rehearsal.counts.subjects }
}

const topUpOf = ({ settings: { rules } }: World): TopUpRule => {
  const found = rules.find((rule) => rule.kind === "topUp")
  if (found === undefined) throw new Error("this world has no such rule")
  return { ...found, levels: found.levels.slice(0, 1) }
}

/** The same rule as code. */
const inCode = ({ levels, ...rule }: TopUpRule): CodeRule => {
  const { party: to, asset: of, trigger, target, balance } = levels[0]!
  const need = ({ balances }: Seen) => {
    const [units = 0n] = Object.values(balances)
    return units < trigger ? { pay: target - units } : undefined
  }
  const account = { party: to, asset: of, balance }
  return {
    ...rule,
    kind: "code",
    accounts: [account],
    to: [to],
    asset: of,
    code: codeOf(codeHere(need), { to: [to], asset: of }, ""),
  }
}

const hasTopUp = (world: World) => world.settings.rules.some(({ kind }) => kind === "topUp")
const worldsOf = (length: number, hours: number): ReadonlyArray<World> =>
  Array.from({ length }, (_, i) => worldOf(i + 1, hours)).filter(hasTopUp)

describe("a rule of code", () => {
  it("decides what the same rule decides in YAML, moment by moment", async () => {
    let payments = 0
    for (const world of worldsOf(60, 8)) {
      const rule = topUpOf(world)
      const [one, other] = [await play(world, [rule], false), await play(world, [inCode(rule)], false)]
      assert.deepStrictEqual(other.said, one.said)
      assert.deepStrictEqual(other.paid, one.paid)
      payments += one.paid.length
    }
    assert.isAbove(payments, 10)
  })

  it("that reads the time is asked when due, by jumps or seconds", async () => {
    const random = randomOf(7)
    let payments = 0
    for (const world of worldsOf(5, 1)) {
      const rule = inCode(topUpOf(world))
      const level = BigInt(200_000 + random(100_000)) as Level["target"]
      const need = ({ balances, time }: Seen) => {
        const [units = 0n] = Object.values(balances)
        const minute = Math.floor(time / 60_000)
        if (minute % 7 === 5) throw new Error("not now")
        return minute % 10 < 4 && units < level ? { pay: level - units } : undefined
      }
      const timed = { ...rule, ...plainRule, code: codeOf(codeHere(need), rule, "") }
      const [fast, slow] = [await play(world, [timed], false), await play(world, [timed], true)]
      assert.deepStrictEqual(fast.said, slow.said)
      assert.deepStrictEqual(fast.paid, slow.paid)
      assert.isTrue(fast.said.some(([, , reason]) => reason === "code"))
      assert.isBelow(fast.looks * 5, slow.looks)
      payments += fast.paid.length
    }
    assert.isAbove(payments, 0)
  })

  it("reserves its answer, within its receivers and the policy", async () => {
    const [world] = worldsOf(3, 3)
    if (world === undefined) return assert.fail("no world")
    const rule = inCode(topUpOf(world))
    const need = () => ({ pay: baseUnits(10n ** 30n) })
    const { paid, said } = await play(
      world,
      [{ ...plainRule, ...rule, onShort: "hold", code: codeOf(codeHere(need), rule, "") }],
      false,
    )
    assert.deepStrictEqual(paid, [])
    assert.isTrue(said.some(([, , reason]) => reason === "policy"))
  })
})
