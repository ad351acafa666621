import { assert, describe, it } from "@effect/vitest"
import type { Policy } from "../../src/rules/policy/Policy.ts"
import type { Level, PayingRule } from "../../src/rules/Rule.ts"
import { accountKey } from "../../src/rules/Snapshot.ts"
import { plainParty, plainRule } from "../support/Rules.ts"
import { randomOf } from "./dice.ts"
import { dayMillis, fullest } from "./HostileWorld.ts"
import { assets, units } from "./RandomRule.ts"
import type { RandomTreasury } from "./RandomTreasury.ts"
import { WalkWorld } from "./WalkWorld.ts"

const asset = assets[0]!
const floor = 5_000n
const reserve = plainParty("reserve", { floor: new Map([[asset.id, units(Number(floor))]]) })
const hots = ["hot1", "hot2", "hot3"].map((name) => plainParty(name))
const levels = (trigger: number, target: number): ReadonlyArray<Level> =>
  hots.map((hot) => ({ party: hot, asset, balance: "free", trigger: units(trigger), target: units(target) }))
const base = { ...plainRule, forMillis: 5_000, cooldownMillis: 20_000, min: new Map([[asset.id, units(10)]]) }
const rules: ReadonlyArray<PayingRule> = [
  { ...base, kind: "topUp", name: "keep", from: reserve, levels: levels(1_000, 2_500), onShort: "partial" },
  { ...base, kind: "sweep", name: "collect", to: reserve, levels: levels(6_000, 3_000), onShort: "hold" },
]
const line = { assetId: asset.id, perTransfer: units(3_000), per24h: units(9_000), transfersPer24h: 7 }
const keys = new Set(hots.map(({ publicKey }) => publicKey))
const policy: Policy = {
  digest: "",
  hash: "",
  maxFee: { numerator: 2n, denominator: 1_000n },
  lines: [
    { ...line, line: 1, from: new Set([reserve.publicKey]), to: keys },
    { ...line, line: 2, from: keys, to: new Set([reserve.publicKey]) },
  ],
}
const treasury: RandomTreasury = {
  rules,
  policy,
  parties: new Map([reserve, ...hots].map((party) => [party.name, party])),
  assets: new Map([[asset.symbol, asset]]),
}
const reserveKey = accountKey(reserve.publicKey, asset.id)

describe("rules over days of late payments", () => {
  it.each(Array.from({ length: 12 }, (_, i) => 4_711 + i))(
    "keep windows and floors and pay each account once at a time (seed %i)",
    (seed) => {
      const world = new WalkWorld(treasury, randomOf(seed), { spare: reserveKey, drain: 500 })
      world.balances.set(reserveKey, 20_000n)
      for (let tick = 0; tick < 1_200; tick++) {
        world.tick(false)
        const open = world.open.map(({ subject }) => subject)
        assert.strictEqual(new Set(open).size, open.length, `tick ${tick}: ${open.join(", ")}`)
        assert.isAtLeast(Number(world.balances.get(reserveKey)), Number(floor), `tick ${tick}`)
        for (const units of world.balances.values()) assert.isAtLeast(Number(units), 0, `tick ${tick}`)
      }
      const signed = world.paid.map((intent) => ({ intent, at: intent.createdAt }))
      for (const { from, per24h, transfersPer24h } of policy.lines) {
        const own = signed.filter(({ intent }) => from.has(intent.payment.fromKey))
        // A window counts from the block that is seen, which is up to 20 s old.
        const most = fullest(own, dayMillis - 20_000, ({ at }) => at)
        assert.isTrue(most.amount <= per24h, `${most.amount} of ${per24h}`)
        assert.isAtMost(most.count, transfersPer24h)
      }
      assert.isAbove(signed.length, 10, "a treasury that pays nothing proves nothing")
    },
  )
})
