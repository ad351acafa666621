import { Cron, Result } from "effect"
import { type BaseUnits, baseUnits } from "../../src/domain/Amount.ts"
import type { ExternalAddress, PublicKey } from "../../src/domain/Hex.ts"
import type { External, Party, PinnedAsset } from "../../src/rules/Account.ts"
import type { Level, PayingRule, SweepRule, TopUpRule } from "../../src/rules/Rule.ts"
import { plainRule } from "../support/Rules.ts"
import { pick, type Random, some } from "./dice.ts"
import { freeCode, inCode } from "./RandomCode.ts"

export const units = (n: number): BaseUnits => baseUnits(BigInt(n))

export const assets: ReadonlyArray<PinnedAsset> = [
  { symbol: "TOK", id: "ab".repeat(32), decimals: 0 },
  { symbol: "COIN", id: "cd".repeat(32), decimals: 2 },
]

/** Where withdrawals go. */
export const outside: External = { name: "outside", address: `0x${"5".repeat(40)}` as ExternalAddress }

const party = (name: string, signs: boolean, floor: number): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: signs ? { sandbox: name } : undefined,
  floor: new Map(floor === 0 ? [] : assets.map(({ id }) => [id, units(floor)])),
  transfersKept: 0,
})

export interface Cast {
  readonly all: ReadonlyArray<Party>
  readonly payers: ReadonlyArray<Party>
}

export const castOf = (random: Random): Cast => {
  const payers = ["reserve", "vault", "hot", "warm"].map((name) => party(name, true, random(3) * 500))
  return { payers, all: [...payers, party("cold", false, 0), party("ops", false, 0)] }
}

const crons = ["*/30 * * * *", "0 */6 * * *", "15 9 * * *"].map((text) => ({
  text,
  plans: [{ cron: Result.getOrThrow(Cron.parse(text, "UTC")) }],
}))

const baseOf = (random: Random, name: string, before: ReadonlyArray<string>) => ({
  ...plainRule,
  name,
  forMillis: random(3) * 10_000,
  cooldownMillis: pick(random, [0, 30_000, 600_000]),
  settleMillis: random(3) === 0 ? 3_000 : 0,
  maxAgeMillis: random(4) === 0 ? 20_000 : undefined,
  min: new Map(random(2) === 0 ? [] : assets.map(({ id }) => [id, units(1 + random(100))] as const)),
  floor: new Map(random(3) === 0 ? assets.map(({ id }) => [id, units(random(1_000))] as const) : []),
  priority: random(3),
  onShort: pick(random, ["hold", "partial"] as const),
  onNoData: pick(random, ["hold", "hold", "zero"] as const),
  inhibitedBy: random(6) === 0 && before.length > 0 ? [pick(random, before)] : [],
})

const levelOf = (random: Random, of: Party, asset: PinnedAsset, direction: "fill" | "empty"): Level => {
  const low = 500 + random(4_000)
  const high = low + 200 + random(6_000)
  const [trigger, target] = direction === "fill" ? [low, high] : [high, low]
  const balance = random(4) === 0 ? "total" : "free"
  return { party: of, asset, balance, trigger: units(trigger), target: units(target) }
}

type Base = ReturnType<typeof baseOf>

const filling = (random: Random, base: Base, from: Party, all: ReadonlyArray<Party>): TopUpRule => {
  const asset = pick(random, assets)
  return { ...base, kind: "topUp", from, levels: all.map((each) => levelOf(random, each, asset, "fill")) }
}

const emptying = (random: Random, base: Base, payers: ReadonlyArray<Party>, to: Party): SweepRule => {
  const asset = pick(random, assets)
  return { ...base, kind: "sweep", to, levels: payers.map((each) => levelOf(random, each, asset, "empty")) }
}

/** Of every kind, with its modifiers; those `before` it may forbid it. */
export const ruleOf = (
  random: Random,
  name: string,
  { all, payers }: Cast,
  before: ReadonlyArray<string>,
): PayingRule => {
  const base = baseOf(random, name, before)
  const asset = pick(random, assets)
  const from = pick(random, payers)
  const others = all.filter((other) => other !== from)
  const to = pick(random, others)
  switch (random(11)) {
    case 0:
    case 1:
      return filling(random, base, from, some(random, others, 1))
    case 2: {
      const swept = some(random, payers, 1).filter((payer) => payer !== to)
      return emptying(random, base, swept.length > 0 ? swept : [from], to)
    }
    case 3: {
      const weights = some(random, payers, 2).map((each) => ({ party: each, weight: BigInt(1 + random(9)) }))
      const tolerance = { numerator: BigInt(2 + random(20)), denominator: 100n }
      return { ...base, kind: "rebalance", asset, balance: "free", weights, tolerance }
    }
    case 4: {
      const parts = some(random, others, 1).map((each) => ({ party: each, weight: BigInt(1 + random(4)) }))
      return { ...base, kind: "split", level: levelOf(random, from, asset, "empty"), to: parts.slice(0, 3) }
    }
    case 5:
      return { ...base, kind: "request", from: pick(random, others), level: levelOf(random, from, asset, "fill") }
    case 6:
      return { ...base, kind: "withdraw", level: levelOf(random, from, asset, "empty"), to: outside }
    case 7:
      return inCode(random(2) === 0 ? filling(random, base, from, [to]) : emptying(random, base, [from], to))
    case 8:
      return freeCode(random, { ...base, from, to: some(random, others, 1).slice(0, 3), asset })
    default: {
      const schedule = {
        ...pick(random, crons),
        location: "UTC",
        missed: pick(random, ["once", "skip"] as const),
        lateMillis: 3_600_000,
      }
      return { ...base, kind: "payout", from, to, asset, amount: units(1 + random(2_000)), schedule }
    }
  }
}
