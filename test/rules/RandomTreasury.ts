import { Cron, Result } from "effect"
import { type BaseUnits, baseUnits } from "../../src/domain/Amount.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Policy, PolicyLine } from "../../src/rules/Policy.ts"
import type { Level, Party, PayingRule, PinnedAsset } from "../../src/rules/Rule.ts"
import type { Permitting } from "../../src/rules/worstCase.ts"
import { plainRule } from "../support/Rules.ts"

export type Random = (bound: number) => number

/** Repeatable whole numbers below a bound (mulberry32). */
export const randomOf = (seed: number): Random => {
  let state = (seed * 2_654_435_761) >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}

export const pick = <A>(random: Random, all: ReadonlyArray<A>): A => all[random(all.length)]!

/** Seeds of a test: the first, and more where COFFERER_TEST_SEEDS asks for them. */
export const seedsOf = (few: number): ReadonlyArray<number> =>
  Array.from({ length: Number(process.env["COFFERER_TEST_SEEDS"] ?? few) }, (_, i) => i + 1)

export const units = (n: number): BaseUnits => baseUnits(BigInt(n))

export const assets: ReadonlyArray<PinnedAsset> = [
  { symbol: "TOK", id: "ab".repeat(32), decimals: 0 },
  { symbol: "COIN", id: "cd".repeat(32), decimals: 2 },
]

const party = (name: string, signs: boolean, floor: number): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: signs ? { sandbox: name } : undefined,
  floor: new Map(floor === 0 ? [] : assets.map(({ id }) => [id, units(floor)])),
  transfersKept: 0,
})

interface Cast {
  readonly all: ReadonlyArray<Party>
  readonly payers: ReadonlyArray<Party>
}

const castOf = (random: Random): Cast => {
  const payers = ["reserve", "vault", "hot", "warm"].map((name) => party(name, true, random(3) * 500))
  return { payers, all: [...payers, party("cold", false, 0), party("ops", false, 0)] }
}

const crons = ["*/30 * * * *", "0 */6 * * *", "15 9 * * *"].map((text) => ({
  text,
  cron: Result.getOrThrow(Cron.parse(text, "UTC")),
}))

const baseOf = (random: Random, name: string) => ({
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
})

const levelOf = (random: Random, of: Party, asset: PinnedAsset, direction: "fill" | "empty"): Level => {
  const low = 500 + random(4_000)
  const high = low + 200 + random(6_000)
  const [trigger, target] = direction === "fill" ? [low, high] : [high, low]
  const balance = random(4) === 0 ? "total" : "free"
  return { party: of, asset, balance, trigger: units(trigger), target: units(target) }
}

/** Some of the parties, in the order of the cast, at least `least` of them. */
const some = (random: Random, all: ReadonlyArray<Party>, least: number): ReadonlyArray<Party> => {
  const kept = all.filter(() => random(2) === 0)
  return kept.length >= least ? kept : all.slice(0, least)
}

const ruleOf = (random: Random, name: string, { all, payers }: Cast): PayingRule => {
  const base = baseOf(random, name)
  const asset = pick(random, assets)
  const from = pick(random, payers)
  const to = pick(
    random,
    all.filter((other) => other !== from),
  )
  const others = all.filter((other) => other !== from)
  switch (random(6)) {
    case 0:
    case 1:
      return {
        ...base,
        kind: "topUp",
        from,
        levels: some(random, others, 1).map((each) => levelOf(random, each, asset, "fill")),
      }
    case 2: {
      const swept = some(random, payers, 1).filter((payer) => payer !== to)
      const levels = (swept.length > 0 ? swept : [from]).map((each) => levelOf(random, each, asset, "empty"))
      return { ...base, kind: "sweep", to, levels }
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
    default: {
      const schedule = { ...pick(random, crons), location: "UTC", missed: pick(random, ["once", "skip"] as const) }
      return { ...base, kind: "payout", from, to, asset, amount: units(1 + random(2_000)), schedule }
    }
  }
}

const lineOf = (random: Random, position: number, { all, payers }: Cast): PolicyLine => {
  const perTransfer = 100 + random(4_000)
  const keys = (parties: ReadonlyArray<Party>) => new Set(parties.map(({ publicKey }) => publicKey))
  return {
    line: position,
    from: keys(some(random, payers, 1)),
    to: keys(some(random, all, 1)),
    assetId: pick(random, assets).id,
    perTransfer: units(perTransfer),
    per24h: units(perTransfer * (1 + random(6)) + random(500)),
    transfersPer24h: 1 + random(8),
  }
}

export interface RandomTreasury extends Permitting {
  readonly rules: ReadonlyArray<PayingRule>
}

/** Rules of all kinds with their modifiers over six parties and two assets, and a policy whose lines overlap. */
export const randomTreasury = (random: Random, policy?: Policy): RandomTreasury => {
  const cast = castOf(random)
  const names = Array.from({ length: 3 + random(5) }, (_, i) => `rule-${i}`)
  const drawn = names.map((name) => ruleOf(random, name, cast))
  const rules = drawn.map((rule, i) =>
    random(6) === 0 && i > 0 ? { ...rule, inhibitedBy: [pick(random, names.slice(0, i))] } : rule,
  )
  return {
    rules,
    parties: new Map(cast.all.map((each) => [each.name, each])),
    assets: new Map(assets.map((asset) => [asset.symbol, asset])),
    policy: policy ?? {
      digest: "",
      hash: "",
      maxFee: { numerator: BigInt(random(6)), denominator: 1_000n },
      lines: Array.from({ length: 3 + random(5) }, (_, i) => lineOf(random, i + 1, cast)),
    },
  }
}

/** A policy that is in the way of nothing: to see what rules alone do. */
export const wideOpen = (parties: Iterable<string>): Policy => {
  const all = new Set(parties)
  const limit = units(1_000_000_000)
  return {
    digest: "",
    hash: "",
    maxFee: { numerator: 5n, denominator: 1_000n },
    lines: assets.map(({ id }, i) => ({
      line: i + 1,
      from: all,
      to: all,
      assetId: id,
      perTransfer: limit,
      per24h: limit,
      transfersPer24h: 1_000_000,
    })),
  }
}
