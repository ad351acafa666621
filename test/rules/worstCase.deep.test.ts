import { assert, describe, it } from "@effect/vitest"
import { worstCase } from "../../src/rules/policy/worstCase.ts"
import { randomOf, seedsOf } from "./dice.ts"
import { dayMillis, fullest, HostileWorld, type Signed } from "./HostileWorld.ts"
import { randomTreasury } from "./RandomTreasury.ts"

const ticks = 400

/** Whatever clock a day is measured by: that of what counts, our own, or the ledger's when it executed them. */
const fullestDays = <A extends Signed>(signed: ReadonlyArray<A>, { executedAt }: HostileWorld) => [
  fullest(signed, dayMillis, ({ recordedAt }) => recordedAt),
  fullest(signed, dayMillis, ({ at }) => at),
  fullest(
    signed.filter(({ intent }) => executedAt.has(intent.id)),
    dayMillis,
    ({ intent }) => executedAt.get(intent.id) ?? 0,
  ),
]

/** What was let through, against what the worst case says of it. */
const judge = (world: HostileWorld, seed: number): void => {
  const { signed, treasury } = world
  const worst = worstCase(treasury)
  const stated = new Map(worst.lines.map((line) => [line.line, line]))
  for (const { line, intent } of signed) {
    const { payment, command } = intent
    const said = stated.get(line.line) ?? assert.fail(`line ${line.line} paid and is not told of`)
    assert.include(said.from, payment.from)
    assert.include(said.to, payment.to)
    assert.isTrue(payment.amount <= said.perTransfer, `${payment.amount} of ${said.perTransfer} each time`)
    if (command === "withdraw") assert.include(said.leavesNetworkTo, payment.to)
    else assert.notInclude(said.leavesNetworkTo, payment.to)
  }
  for (const said of worst.lines) {
    for (const most of fullestDays(
      signed.filter(({ line }) => line.line === said.line),
      world,
    )) {
      assert.isTrue(most.amount <= said.amount, `line ${said.line}: ${most.amount} of ${said.amount} (seed ${seed})`)
      assert.isTrue(most.fees <= said.fees, `line ${said.line}: ${most.fees} of ${said.fees} in fees (seed ${seed})`)
      assert.isAtMost(most.count, said.transfers, `line ${said.line} (seed ${seed})`)
    }
  }
  const counted = signed.filter(({ intent }) => intent.command === "transfer")
  for (const { party, permitted } of worst.quotas) {
    const own = counted.filter(({ intent }) => intent.payment.from === party)
    assert.isAtMost(fullest(own, dayMillis, ({ recordedAt }) => recordedAt).count, permitted)
  }
}

/** Plays one seed; kinds that were let through or asked, and thousandths of a line's worst case that were reached. */
const play = (seed: number) => {
  const random = randomOf(seed)
  const treasury = randomTreasury(random)
  const world = new HostileWorld(treasury, random)
  for (let i = 0; i < ticks; i++) world.tick()
  judge(world, seed)
  const { lines } = worstCase(treasury)
  const made = world.signed.map(({ intent }) => intent.rule)
  const asked = world.asks.map(({ rule }) => rule)
  const kindOf = (rule: string) => treasury.rules.find(({ name }) => name === rule)?.kind ?? "unknown"
  const reachedBy = (command: "transfer" | "withdraw") =>
    lines.map((said) => {
      const own = world.signed.filter(({ line, intent }) => line.line === said.line && intent.command === command)
      return Number((fullest(own, dayMillis, ({ recordedAt }) => recordedAt).amount * 1_000n) / said.amount)
    })
  return {
    made: made.map(kindOf),
    asked: asked.map(kindOf),
    transfers: Math.max(0, ...reachedBy("transfer")),
    withdrawals: Math.max(0, ...reachedBy("withdraw")),
  }
}

describe("the worst case", () => {
  it("holds against a gateway that says what it likes, and is reached by it", () => {
    const played = seedsOf(30).map(play)
    const full = played.filter(({ transfers }) => transfers >= 900)
    assert.isAbove(full.length, played.length / 4, `reached at most ${played.map(({ transfers }) => transfers)}`)
    assert.isAbove(played.filter(({ withdrawals }) => withdrawals >= 900).length, 0, "by withdrawals alone")
    const made = new Set(played.flatMap((one) => one.made))
    const moving = ["code", "payout", "rebalance", "split", "sweep", "topUp", "withdraw"]
    assert.deepStrictEqual([...made].toSorted(), moving, "people are asked, and nothing is signed for it")
    assert.deepStrictEqual([...new Set(played.flatMap(({ asked }) => asked))], ["request"])
  })
})
