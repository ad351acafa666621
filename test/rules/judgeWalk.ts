import { assert } from "@effect/vitest"
import { feeMax, feeShare, lineFor } from "../../src/rules/policy/Policy.ts"
import { worstCase } from "../../src/rules/policy/worstCase.ts"
import { accountKey, reservedFrom } from "../../src/rules/Snapshot.ts"
import { commandOf } from "../../src/rules/Subject.ts"
import { dayMillis, fullest } from "./HostileWorld.ts"
import { outside } from "./RandomRule.ts"
import type { RandomTreasury } from "./RandomTreasury.ts"
import type { Ticked, WalkWorld } from "./WalkWorld.ts"

/** What all decisions of one look take from a payer, fees at their highest, against what it has above its own floor. */
export const takesTooMuch = (treasury: RandomTreasury, { snapshot, outcomes }: Ticked): ReadonlyArray<string> => {
  const payments = outcomes.flatMap(({ facts: { subject }, judgement: { decision } }) => {
    if (decision._tag !== "Act") return []
    const share = feeShare(commandOf(subject), treasury.policy.maxFee)
    return decision.payments.map((payment) => ({ ...payment, cost: payment.amount + feeMax(share, payment.amount) }))
  })
  return [...Map.groupBy(payments, ({ fromKey, assetId }) => accountKey(fromKey, assetId))].flatMap(([key, own]) => {
    const { from, fromKey, assetId } = own[0]!
    const taken = own.reduce((sum, { cost }) => sum + cost, 0n)
    const held = snapshot.balance(fromKey, assetId, "free") ?? 0n
    const floor = treasury.parties.get(from)?.floor.get(assetId) ?? 0n
    const left = held - reservedFrom(snapshot, fromKey, assetId) - taken
    return left >= floor ? [] : [`${key} keeps ${left} of ${floor}`]
  })
}

/** Rules that ask people for money although they were asked and it has not come, or that pay it themselves. */
export const asksWrongly = ({ snapshot, outcomes }: Ticked): ReadonlyArray<string> =>
  outcomes.flatMap(({ facts: { subject }, judgement: { decision } }) => {
    const { name } = subject.rule
    if (subject.kind === "request" && decision._tag === "Act") return [`${name} pays`]
    if (decision._tag !== "Ask") return []
    const isOpen = snapshot.requests.some(({ rule, endedAt }) => rule === name && endedAt === undefined)
    return subject.kind !== "request" || isOpen ? [`${name} asks`] : []
  })

/** All that was paid, against what `worstCase` states of the policy's lines. */
export const staysWithin = (world: WalkWorld, seed: number): void => {
  const { treasury, paid } = world
  const { policy } = treasury
  const worst = worstCase(treasury)
  const day = dayMillis - 20_000
  const made = paid.map((intent) => ({ intent, at: intent.createdAt }))
  const lineOf = ({ fromKey, toKey, assetId }: (typeof paid)[number]["payment"]) =>
    lineFor(policy, { from: fromKey, to: toKey, assetId })
  for (const { intent } of made) {
    const { payment, command } = intent
    const said = worst.lines.find(({ line }) => line === lineOf(payment)?.line) ?? assert.fail(`seed ${seed}: no line`)
    assert.include(said.from, payment.from)
    assert.include(said.to, payment.to)
    assert.isTrue(payment.amount <= said.perTransfer, `seed ${seed}: ${payment.amount} each time`)
    assert.strictEqual(command === "withdraw", payment.toKey === outside.address)
    if (command === "withdraw") assert.include(said.leavesNetworkTo, payment.to)
  }
  for (const { line, amount, transfers } of worst.lines) {
    const own = made.filter(({ intent }) => lineOf(intent.payment)?.line === line)
    const most = fullest(own, day, ({ at }) => at)
    assert.isTrue(most.amount <= amount, `seed ${seed}, line ${line}: ${most.amount} of ${amount}`)
    assert.isAtMost(most.count, transfers, `seed ${seed}, line ${line}`)
  }
}
