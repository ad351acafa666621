import { codeOf } from "../../src/config/code/askCode.ts"
import type { Seen } from "../../src/config/code/RulesFile.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { CodeRule, Rule, TopUpRule } from "../../src/rules/Rule.ts"
import { codeHere } from "../support/CodeHere.ts"

type Treasury = DaemonOptions["treasury"]

export const codeRule = "keep-in-code"

/** The same treasury, whose last account is kept funded by code that says what the rule said. */
export const inCode = (treasury: Treasury): Treasury => ({ ...treasury, rules: treasury.rules.flatMap(apart) })

const apart = (rule: Rule): ReadonlyArray<Rule> =>
  rule.kind === "topUp" ? [{ ...rule, levels: rule.levels.slice(0, -1) }, codeOfLast(rule)] : [rule]

const codeOfLast = ({ levels, ...rule }: TopUpRule): CodeRule => {
  const { party, asset, balance, trigger, target } = levels.at(-1)!
  const need = ({ balances }: Seen) => {
    const [held = 0n] = Object.values(balances)
    return held < trigger ? { pay: target - held, because: "it is low" } : undefined
  }
  const code = codeOf(codeHere(need), { to: [party], asset }, "c0de".repeat(16))
  return { ...rule, name: codeRule, kind: "code", accounts: [{ party, asset, balance }], to: [party], asset, code }
}
