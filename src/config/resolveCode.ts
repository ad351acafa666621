import { balanceName } from "../rules/code.ts"
import type { Account, PayingRule, RuleBase } from "../rules/Rule.ts"
import { codeOf } from "./askCode.ts"
import { asArray } from "./Fields.ts"
import { isLoadedFunction } from "./loadRules.ts"
import type { Kind, Known } from "./resolveKind.ts"
import { assetOf, type Path, partyOf, payerOf, refuseSelf } from "./resolveNames.ts"
import { hashIn } from "./withCode.ts"

/** The rule of a function, with what it may see and whom it may pay. */
export const resolveCode = (raw: Kind<"code">, base: RuleBase, at: Path, known: Known): PayingRule | undefined => {
  const { parties, assets, report } = known
  const from = payerOf(raw.from, [...at, "from"], parties, report)
  const asset = assetOf(raw.asset, [...at, "asset"], assets, report)
  const names = asArray(raw.to)
  const to = names.flatMap((name, i) => {
    const path = typeof raw.to === "string" ? [...at, "to"] : [...at, "to", i]
    if (name === raw.from) refuseSelf(name, path, report)
    if (names.indexOf(name) < i) report.add(path, `${name} is named twice`, "keep one of the two")
    return partyOf(name, path, parties, report) ?? []
  })
  if (names.length === 0) report.add([...at, "to"], "nobody is paid", "name at least one party")
  const accounts = raw.accounts.flatMap((account, i) => resolveAccount(account, [...at, "accounts", i], known))
  for (const [i, account] of accounts.entries()) {
    if (accounts.findIndex((other) => balanceName(other) === balanceName(account)) === i) continue
    report.add([...at, "accounts", i], `${balanceName(account)} is given twice`, "keep one of the two")
  }
  const need = report.document.code?.get(raw.need)
  if (!isLoadedFunction(need)) {
    report.add([...at, "need"], "need is no function", "write the rule in a file of rules in TypeScript: rules.ts")
  }
  if (from === undefined || asset === undefined || to.length === 0 || accounts.length === 0) return undefined
  if (!isLoadedFunction(need)) return undefined
  return { ...base, kind: "code", accounts, from, to, asset, code: codeOf(need, { to, asset }, hashIn(raw.need)) }
}

const resolveAccount = (
  raw: Kind<"code">["accounts"][number],
  path: Path,
  { parties, assets, report }: Known,
): ReadonlyArray<Account> => {
  const party = partyOf(raw.party, [...path, "party"], parties, report)
  const asset = assetOf(raw.asset, [...path, "asset"], assets, report)
  return party === undefined || asset === undefined ? [] : [{ party, asset, balance: raw.balance ?? "free" }]
}
