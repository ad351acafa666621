import { assert, describe, it } from "@effect/vitest"
import { makeVirtualTreasury } from "../../src/backtest/VirtualTreasury.ts"
import type { SubjectState } from "../../src/backtest/World.ts"
import { memoryKey, type RuleMemory } from "../../src/rules/RuleMemory.ts"
import { worldOf } from "./worlds.ts"

/** Memory of an alert rule, without its text and the time of its last evaluation. */
const alertTimes = (memory: RuleMemory | undefined) => {
  if (memory === undefined) return undefined
  const { episode, state, firingSince, clearingSince, alertedAt, reason, reasonSince } = memory
  return { episode, state, firingSince, clearingSince, alertedAt, reason, reasonSince }
}

const play = async ({ settings, events, until }: ReturnType<typeof worldOf>, everySecond: boolean) => {
  const said: Array<SubjectState> = []
  const rehearsal = makeVirtualTreasury({ ...settings, everySecond }, { decided: (one) => said.push(one) })
  await rehearsal.advance(events, until)
  rehearsal.end()
  const { ledger, raised, misses, entries, alertEntries, memories, counts } = rehearsal
  return {
    said,
    alerts: alertEntries.map(({ rule, spans }) => [
      rule.name,
      alertTimes(memories.get(memoryKey(rule.name, "when"))),
      spans,
    ]),
    raised,
    misses,
    counts,
    paid: ledger.payments.map(({ intent, ...paid }) => ({
      ...paid,
      ...intent.payment,
      fee: intent.fee,
      ended: intent.updatedAt,
    })),
    holds: entries.map(({ subject, millis }) => [subject.rule.name, subject.name, [...millis].toSorted()]),
    outside: [...ledger.holdings.values()].map(({ key, free, outside, lowest }) => [
      key,
      free,
      lowest,
      outside.map(({ rule, millis, times }) => [rule, millis, times]),
    ]),
  }
}

describe("a virtual treasury", () => {
  const seeds = Array.from({ length: Number(process.env["REHEARSAL_SEEDS"] ?? 10) }, (_, i) => i + 1)
  it.each(seeds)("decides by jumping as by evaluating every second (world %i)", async (seed) => {
    const world = worldOf(seed, Number(process.env["REHEARSAL_DAYS"] ?? 1))
    const { counts: jumped, ...fast } = await play(world, false)
    const { counts: stepped, ...slow } = await play(world, true)
    assert.deepStrictEqual(fast.said, slow.said)
    assert.deepStrictEqual(fast, slow)
    assert.isBelow(jumped.subjects * 3, stepped.subjects)
  })

  it("pays, fails, holds and asks for most reasons in those worlds", async () => {
    const worlds = await Promise.all(Array.from({ length: 40 }, (_, i) => play(worldOf(i + 1, 6), false)))
    const reasons = new Set(worlds.flatMap(({ said }) => said.map(({ reason }) => reason ?? "acting")))
    const paid = worlds.flatMap((world) => world.paid)
    const raised = worlds.flatMap((world) => world.raised)
    const kinds = new Set(raised.map(({ kind }) => kind))
    const all = ["approval", "asset", "cleared", "firing", "payout", "received", "request"]
    assert.deepStrictEqual([...kinds].toSorted(), all)
    const firing = raised.filter(({ kind }) => kind === "firing").map(({ rule }) => rule)
    assert.lengthOf(new Set(firing), 8, "conditions of every kind")
    assert.isAbove(paid.length, 200)
    assert.isAbove(paid.filter(({ state }) => state === "failed").length, 0)
    assert.isAbove(new Set(paid.map(({ rule }) => rule)).size, 4)
    const asked = paid.filter(({ group }) => group !== undefined)
    for (const state of ["confirmed", "rejected"]) {
      assert.isAbove(asked.filter((one) => one.state === state).length, 0, state)
    }
    for (const reason of [
      "acting",
      "halted",
      "paused",
      "maintenance",
      "outside_hours",
      "not_due",
      "inhibited",
      "no_data",
      "stale",
      "in_band",
      "pending",
      "in_flight",
      "awaiting_approval",
      "cooldown",
      "asset_status",
      "limit",
      "quota",
      "short",
    ]) {
      assert.isTrue(reasons.has(reason as never), reason)
    }
  })
})
