import { assert, describe, it } from "@effect/vitest"
import { worstCase } from "../../src/rules/worstCase.ts"
import { dayMillis, fullest, HostileWorld, maxAgeMillis } from "./HostileWorld.ts"
import { randomOf, randomTreasury, seedsOf } from "./RandomTreasury.ts"

const ticks = 400

/** Plays one seed; how much of each line's worst case was reached, in thousandths. */
const play = (seed: number): ReadonlyArray<number> => {
  const random = randomOf(seed)
  const treasury = randomTreasury(random)
  const worst = worstCase(treasury)
  const world = new HostileWorld(treasury, random)
  for (let i = 0; i < ticks; i++) world.tick()
  const stated = new Map(worst.lines.map((line) => [line.line, line]))
  for (const { line, intent } of world.signed) {
    const { payment } = intent
    const said = stated.get(line.line) ?? assert.fail(`line ${line.line} paid and is not told of`)
    assert.include(said.from, payment.from)
    assert.include(said.to, payment.to)
    assert.isTrue(payment.amount <= said.perTransfer, `${payment.amount} of ${said.perTransfer} each time`)
  }
  return worst.lines.map((said) => {
    const own = world.signed.filter(({ line }) => line.line === said.line)
    const ledger = fullest(own, dayMillis, ({ recordedAt }) => recordedAt)
    // By our own clock a day is shorter by what a block may be old.
    const ours = fullest(own, dayMillis - maxAgeMillis, ({ at }) => at)
    for (const most of [ledger, ours]) {
      assert.isTrue(most.amount <= said.amount, `line ${said.line}: ${most.amount} of ${said.amount} (seed ${seed})`)
      assert.isTrue(most.fees <= said.fees, `line ${said.line}: ${most.fees} of ${said.fees} in fees (seed ${seed})`)
      assert.isAtMost(most.count, said.transfers, `line ${said.line} (seed ${seed})`)
    }
    for (const { party, permitted } of worst.quotas) {
      const paid = fullest(
        world.signed.filter(({ intent }) => intent.payment.from === party),
        dayMillis,
        ({ recordedAt }) => recordedAt,
      )
      assert.isAtMost(paid.count, permitted)
    }
    return Number((ledger.amount * 1_000n) / said.amount)
  })
}

describe("the worst case", () => {
  it("holds against a gateway that says what it likes, and is reached by it", () => {
    const reached = seedsOf(25).map(play)
    const full = reached.filter((lines) => lines.some((part) => part >= 900))
    assert.isAbove(full.length, reached.length / 4, `reached at most ${reached.map((lines) => Math.max(0, ...lines))}`)
  })
})
