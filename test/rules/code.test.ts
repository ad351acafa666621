import { assert, describe, it } from "@effect/vitest"
import { askCode } from "../../src/config/askCode.ts"
import type { Seen } from "../../src/config/RulesFile.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import { makeRehearsal } from "../../src/rehearsal/Rehearsal.ts"
import type { CodeRule, Level, Party, Rule, TopUpRule } from "../../src/rules/Rule.ts"
import { randomOf, worldOf } from "../rehearsal/worlds.ts"
import { codeHere } from "../support/CodeHere.ts"
import { plainRule } from "../support/Rules.ts"

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const party = (name: string): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: { sandbox: name },
  floor: new Map(),
  transfersKept: 0,
})
const [ops, hot] = [party("ops"), party("hot")]
const seen = {
  balances: { "hot/TOK": 12_345n },
  one: 100n,
  assets: { TOK: { one: 100n, decimals: 2, status: "enabled" } },
  time: 1_772_445_600_000,
} as const

const answer = (need: (seen: Seen) => unknown, to: ReadonlyArray<Party> = [hot, ops]) => {
  const said = askCode(codeHere(need), { to, asset })(seen)
  if (said._tag === "Broken") return said.detail
  const payments = said.payments.map((payment) => `${to[payment.to]?.name} ${payment.amount}`)
  return [...payments, ...(said.because === undefined ? [] : [said.because])].join(", ")
}

const sound: ReadonlyArray<readonly [title: string, need: (seen: Seen) => unknown, says: string]> = [
  ["nothing", () => undefined, ""],
  ["no payments", () => [], ""],
  ["a payment of nothing", () => ({ pay: 0n, to: "ops" }), ""],
  ["base units", ({ one }) => ({ pay: 3n * one, to: "ops" }), "ops 300"],
  ["text", () => ({ pay: "1_000.5", to: "hot" }), "hot 100050"],
  [
    "several",
    ({ balances }) => [
      { pay: balances["hot/TOK"]!, to: "ops", because: "so much" },
      { pay: "1", to: "hot" },
    ],
    "ops 12345, hot 100, so much",
  ],
  ["a date of its own", ({ time }) => ({ pay: BigInt(new Date(time).getUTCHours()), to: "hot" }), "hot 10"],
]

let count = 0
const unsound: ReadonlyArray<readonly [title: string, need: (seen: Seen) => unknown, says: RegExp]> = [
  ["throws", ({ balances }) => balances["cold/TOK"]! + 1n, /^its code fails: no balance "cold\/TOK" is told; did you/],
  ["throws what is no error", () => Promise.reject(new Error("late")), /^its code answers with a promise: it cannot/],
  ["waits", async () => ({ pay: "1", to: "hot" }), /^its code answers with a promise: it cannot wait for anything/],
  ["counts", () => ({ pay: BigInt(++count), to: "hot" }), /^asked twice on the same balances, its code gives two/],
  ["draws", () => ({ pay: BigInt(Math.floor(Math.random() * 1e15)), to: "hot" }), /^asked twice on the same balances/],
  [
    "changes what it is told",
    (told) => Object.assign(told.balances, { "hot/TOK": 1n }),
    /^its code fails: Cannot assign/,
  ],
  ["pays a number", () => ({ pay: 12.5, to: "hot" }), /^its code asks for 12\.5, no amount: write a text such as/],
  [
    "pays too fine an amount",
    () => ({ pay: "1.005", to: "hot" }),
    /"1\.005" is finer than the asset: it has 2 decimals/,
  ],
  ["pays less than nothing", () => ({ pay: -1n, to: "hot" }), /^its code asks for -1 base units, which is no amount/],
  ["pays more than there can be", () => ({ pay: 2n ** 256n, to: "hot" }), /base units, which is no amount/],
  [
    "pays somebody else",
    () => ({ pay: "1", to: "hto" }),
    /^its code pays "hto", none of its receivers: did you mean "hot"/,
  ],
  ["pays nobody in particular", () => ({ pay: "1" }), /^its code does not say whom to pay: add to, one of hot, ops/],
  ["pays somebody twice", () => [1, 2].map(() => ({ pay: "1", to: "hot" })), /^its code pays hot twice at once/],
  [
    "has an unknown key",
    () => ({ pya: "1", to: "hot" }),
    /^its code answers with an unknown key "pya": did you mean "pay"/,
  ],
  ["answers a number", () => 5, /^its code answers 5: return undefined, or \{ pay/],
  ["answers null", () => null, /^its code answers null: return undefined/],
  ["is silent about why", () => ({ pay: "1", to: "hot", because: 1 }), /^its code says because without words/],
  ["is no function", "lack" as never, /^its code fails: need is not a function/],
]

describe("an operator's function", () => {
  it.each(sound)("may answer %s", (_, need, says) => {
    assert.strictEqual(answer(need), says)
  })

  it.each(unsound)("is broken where it %s", (_, need, says) => {
    assert.match(answer(need), says)
  })

  it("is ended where it does not end", () => {
    const need = () => {
      for (;;) count++
    }
    assert.strictEqual(answer(need), "its code does not end within 500 ms")
  })

  it("is not asked again for a minute where it did not end, or until the file is read again", () => {
    let asked = 0
    let ends = false
    const need = () => {
      asked++
      while (!ends);
      return undefined
    }
    const ask = askCode(codeHere(need), { to: [hot], asset })
    const first = ask(seen, seen.time + 40_000)
    for (const later of [40_000, 41_000, 99_999]) {
      const again = ask({ ...seen, balances: { "hot/TOK": BigInt(later) } }, seen.time + later)
      assert.deepStrictEqual(again, { ...first, until: seen.time + 100_000 })
    }
    assert.strictEqual(asked, 1)
    assert.strictEqual(ask(seen, seen.time + 100_000)._tag, "Broken")
    assert.strictEqual(asked, 2)
    ends = true
    assert.strictEqual(askCode(codeHere(need), { to: [hot], asset })(seen, seen.time + 101_000)._tag, "Pays")
    assert.strictEqual(ask(seen, seen.time + 101_000)._tag, "Broken")
    assert.strictEqual(ask(seen, seen.time + 160_000)._tag, "Pays")
    assert.strictEqual(ask(seen, seen.time + 160_001)._tag, "Pays")
    assert.strictEqual(ask(seen, seen.time)._tag, "Pays")
    assert.strictEqual(asked, 10)
  })

  it("need not name an only receiver, and is known to have looked at the time", () => {
    assert.strictEqual(
      answer(() => ({ pay: "1" }), [hot]),
      "hot 100",
    )
    const ask = (need: (seen: Seen) => undefined) => askCode(codeHere(need), { to: [hot], asset })(seen).timed
    assert.isFalse(ask(({ balances }) => void balances))
    assert.isTrue(ask(({ time }) => void time))
    assert.isTrue(ask((told) => void { ...told }))
  })
})

type World = ReturnType<typeof worldOf>

const play = ({ settings, events, until }: World, rules: ReadonlyArray<Rule>, everySecond: boolean) => {
  const said: Array<readonly unknown[]> = []
  const note = {
    said: (one: { at: number; subject: string; reason: unknown }) => said.push([one.at, one.subject, one.reason]),
  }
  const rehearsal = makeRehearsal({ ...settings, rules, everySecond }, note)
  rehearsal.advance(events, until)
  rehearsal.end()
  const paid = rehearsal.ledger.paid.map(({ state, at, intent: { payment } }) => [
    state,
    at,
    payment.to,
    payment.amount,
  ])
  return { said, paid, looks: rehearsal.asked.subjects }
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
    need: askCode(codeHere(need), { to: [to], asset: of }),
  }
}

const hasTopUp = (world: World) => world.settings.rules.some(({ kind }) => kind === "topUp")
const worldsOf = (length: number, hours: number): ReadonlyArray<World> =>
  Array.from({ length }, (_, i) => worldOf(i + 1, hours)).filter(hasTopUp)

describe("a rule of code", () => {
  it("decides what the same rule decides in YAML, moment by moment", () => {
    let payments = 0
    for (const world of worldsOf(60, 8)) {
      const rule = topUpOf(world)
      const [one, other] = [play(world, [rule], false), play(world, [inCode(rule)], false)]
      assert.deepStrictEqual(other.said, one.said)
      assert.deepStrictEqual(other.paid, one.paid)
      payments += one.paid.length
    }
    assert.isAbove(payments, 10)
  })

  it("that looks at the time is asked when the time has come, by jumping as by looking in every second", () => {
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
      const timed = { ...rule, ...plainRule, need: askCode(codeHere(need), rule) }
      const [fast, slow] = [play(world, [timed], false), play(world, [timed], true)]
      assert.deepStrictEqual(fast.said, slow.said)
      assert.deepStrictEqual(fast.paid, slow.paid)
      assert.isTrue(fast.said.some(([, , reason]) => reason === "locked"))
      assert.isBelow(fast.looks * 5, slow.looks)
      payments += fast.paid.length
    }
    assert.isAbove(payments, 0)
  })

  it("reserves what its answer says, never more than its receivers and the policy let through", () => {
    const [world] = worldsOf(3, 3)
    if (world === undefined) return assert.fail("no world")
    const rule = inCode(topUpOf(world))
    const need = () => ({ pay: baseUnits(10n ** 30n) })
    const { paid, said } = play(
      world,
      [{ ...plainRule, ...rule, onShort: "hold", need: askCode(codeHere(need), rule) }],
      false,
    )
    assert.deepStrictEqual(paid, [])
    assert.isTrue(said.some(([, , reason]) => reason === "policy"))
  })
})
