import { formatAmount } from "../domain/Amount.ts"
import { balanceName, type CodeSeen } from "../rules/code.ts"
import type { CodeRule } from "../rules/Rule.ts"
import type { Problem } from "./ConfigError.ts"
import type { Treasury } from "./Treasury.ts"

/** What a rule's function does wrong on balances that are made up: `errors` are wrong whatever the balances are. */
interface Tried {
  readonly errors: ReadonlyArray<Problem>
  readonly warnings: ReadonlyArray<Problem>
}

const triesMax = 40
const accountsShownMax = 3
const minuteMillis = 60_000
const manyUnits = 1_000_000n

/** Units of each account's asset: nothing, something, much, and one of them apart from the others. */
const trials = (count: number): ReadonlyArray<ReadonlyArray<bigint>> => {
  const all = (units: bigint) => new Array<bigint>(count).fill(units)
  const each = Array.from({ length: count }, (_, i) => i)
  return [
    ...[0n, 1n, manyUnits].map(all),
    ...each.map((i) => all(0n).with(i, manyUnits)),
    ...each.map((i) => all(manyUnits).with(i, 0n)),
  ].slice(0, triesMax)
}

const seenOf = (
  { accounts, asset }: CodeRule,
  balances: ReadonlyArray<bigint>,
  status: CodeSeen["assets"][string]["status"],
  now: number,
): CodeSeen => {
  const pins = [asset, ...accounts.map((account) => account.asset)]
  return {
    balances: Object.fromEntries(accounts.map((account, i) => [balanceName(account), balances[i] ?? 0n])),
    one: 10n ** BigInt(asset.decimals),
    assets: Object.fromEntries(
      pins.map(({ symbol, decimals }) => [symbol, { one: 10n ** BigInt(decimals), decimals, status }]),
    ),
    time: Math.floor(now / minuteMillis) * minuteMillis,
  }
}

interface Fault {
  readonly detail: string
  readonly with: string
}

/** Its faults, each once with the balances that first showed it, and whether there was one each time. */
const faultsOf = async (
  rule: CodeRule,
  now: number,
): Promise<{ readonly faults: ReadonlyArray<Fault>; readonly always: boolean }> => {
  const found = new Map<string, Fault>()
  let sound = 0
  for (const status of ["enabled", "unknown"] as const) {
    for (const units of trials(rule.accounts.length)) {
      const balances = units.map((each, i) => each * 10n ** BigInt(rule.accounts[i]!.asset.decimals))
      const { answer } = await rule.code.ask(seenOf(rule, balances, status, now), now)
      if (answer._tag === "Pays") sound++
      else if (!found.has(answer.detail))
        found.set(answer.detail, { detail: answer.detail, with: shown(rule, balances) })
      // One that does not end is not asked again for a while.
      if (answer.until !== undefined) return { faults: [...found.values()], always: sound === 0 }
    }
  }
  return { faults: [...found.values()], always: sound === 0 }
}

const shown = ({ accounts }: CodeRule, balances: ReadonlyArray<bigint>): string => {
  const texts = accounts.map(
    (account, i) => `${formatAmount(balances[i] ?? 0n, account.asset.decimals)} ${balanceName(account)}`,
  )
  const more = texts.length > accountsShownMax ? ", …" : ""
  return texts.slice(0, accountsShownMax).join(", ") + more
}

/** Nothing but an error of its own, on some balances, may be meant: it holds the rule and calls people. */
const isThrown = ({ detail }: Fault): boolean =>
  detail.startsWith("its code fails") && !detail.includes("not for rules")

const remedy = "mend it: the rule would hold as locked, and pay nothing"

/** Asks the functions of all rules on balances that are made up, so that a mistake is seen before the first round. */
export const tryCode = async ({ rules, document }: Treasury, now: number): Promise<Tried> => {
  const errors: Array<Problem> = []
  const warnings: Array<Problem> = []
  for (const [i, rule] of rules.entries()) {
    if (rule.kind !== "code") continue
    const { faults, always } = await faultsOf(rule, now)
    const [first] = faults.toSorted((a, b) => Number(isThrown(a)) - Number(isThrown(b)))
    if (first === undefined) continue
    const message = `rule ${rule.name}: ${first.detail} (tried with ${first.with})`
    const problem = document.problem(["rules", i, "code", "need"], message, remedy)
    if (always || !isThrown(first)) errors.push(problem)
    else warnings.push(problem)
  }
  return { errors, warnings }
}
