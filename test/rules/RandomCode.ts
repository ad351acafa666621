import { codeOf } from "../../src/config/code/askCode.ts"
import type { Seen } from "../../src/config/code/RulesFile.ts"
import type { Party, PinnedAsset } from "../../src/rules/Account.ts"
import type { Code } from "../../src/rules/Code.ts"
import type { CodeRule, PayingRule, RuleBase, SweepRule, TopUpRule } from "../../src/rules/Rule.ts"
import { codeHere } from "../support/CodeHere.ts"
import { pick, type Random } from "./dice.ts"

const twins = new WeakMap<Code, TopUpRule | SweepRule>()

/** The rule in YAML that a code rule repeats; undefined where there is none. Others are their own. */
export const twinOf = (rule: PayingRule): PayingRule | undefined => (rule.kind === "code" ? twins.get(rule.code) : rule)

/** The first account of a rule as code. */
export const inCode = (twin: TopUpRule | SweepRule): CodeRule => {
  const { party, asset, balance, trigger, target } = twin.levels[0]!
  const [from, to] = twin.kind === "topUp" ? [twin.from, party] : [party, twin.to]
  const code = ({ balances }: Seen) => {
    const [held = 0n] = Object.values(balances)
    if (twin.kind === "topUp") return held < trigger ? { pay: target - held } : undefined
    return held > trigger ? { pay: held - target, because: "it is too much" } : undefined
  }
  const own = codeOf(codeHere(code), { to: [to], asset }, "")
  twins.set(own, twin)
  return { ...twin, kind: "code", accounts: [{ party, asset, balance }], from, to: [to], asset, code: own }
}

interface Payer extends RuleBase {
  readonly from: Party
  readonly to: ReadonlyArray<Party>
  readonly asset: PinnedAsset
}

/** Code that no other rule could say: it wants everything, goes by the time, fails, or answers as it likes. */
export const freeCode = (random: Random, payer: Payer): CodeRule => {
  const each = (pay: bigint) => payer.to.map(({ name }) => ({ pay, to: name }))
  const share = BigInt(2 + random(8))
  const minute = random(10)
  const code = pick(random, [
    () => each(10n ** 30n),
    ({ balances }: Seen) => each(Object.values(balances)[0]! / share),
    ({ balances }: Seen) => each(Object.values(balances)[0]! / share),
    ({ time }: Seen) => (Math.floor(time / 60_000) % 10 < minute ? each(50n * share) : undefined),
    ({ balances }: Seen) => (Object.values(balances)[0]! % 2n === 0n ? each(100n * share) : { pay: "much" }),
  ])
  const accounts = [{ party: payer.from, asset: payer.asset, balance: "free" as const }]
  return { ...payer, kind: "code", accounts, code: codeOf(codeHere(code), payer, "") }
}
