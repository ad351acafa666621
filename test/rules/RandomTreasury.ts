import { type External, type Party, type Receiver, receiverKey } from "../../src/rules/Account.ts"
import type { Policy, PolicyLine } from "../../src/rules/policy/Policy.ts"
import type { Permitting } from "../../src/rules/policy/worstCase.ts"
import type { PayingRule } from "../../src/rules/Rule.ts"
import { accountKey } from "../../src/rules/Snapshot.ts"
import { pick, type Random, some } from "./dice.ts"
import { assets, type Cast, castOf, outside, ruleOf, units } from "./RandomRule.ts"

const keys = (receivers: ReadonlyArray<Receiver>) => new Set<string>(receivers.map(receiverKey))

const lineOf = (random: Random, position: number, { all, payers }: Cast): PolicyLine => {
  const perTransfer = 100 + random(4_000)
  return {
    line: position,
    from: keys(some(random, payers, 1)),
    to: keys([...some<Party | External>(random, all, 1), ...(random(3) === 0 ? [outside] : [])]),
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
export const randomTreasury = (random: Random): RandomTreasury => {
  const cast = castOf(random)
  const names = Array.from({ length: 4 + random(7) }, (_, i) => `rule-${i}`)
  return {
    rules: names.map((name, i) => ruleOf(random, name, cast, names.slice(0, i))),
    parties: new Map(cast.all.map((each) => [each.name, each])),
    addresses: new Map([[outside.name, outside]]),
    assets: new Map(assets.map((asset) => [asset.symbol, asset])),
    policy: {
      digest: "",
      hash: "",
      maxFee: { numerator: BigInt(random(6)), denominator: 1_000n },
      lines: Array.from({ length: 3 + random(5) }, (_, i) => lineOf(random, i + 1, cast)),
    },
  }
}

/** All accounts of its parties, by `accountKey`. */
export const accountsOf = ({ parties }: RandomTreasury): ReadonlyArray<string> =>
  [...parties.values()].flatMap((party) => assets.map(({ id }) => accountKey(party.publicKey, id)))

/** A policy that is in the way of nothing: to see what rules alone do. */
export const wideOpen = ({ parties }: RandomTreasury): Policy => {
  const all = [...parties.values()]
  const limit = units(1_000_000_000)
  return {
    digest: "",
    hash: "",
    maxFee: { numerator: 5n, denominator: 1_000n },
    lines: assets.map(({ id }, i) => ({
      line: i + 1,
      from: keys(all),
      to: keys([...all, outside]),
      assetId: id,
      perTransfer: limit,
      per24h: limit,
      transfersPer24h: 1_000_000,
    })),
  }
}
