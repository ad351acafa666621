import { nameRemedy } from "../config/nearest.ts"
import { assetOf, type Path, partyOf } from "../config/resolveNames.ts"
import type { Names } from "./resolveTests.ts"
import type { MeantText } from "./TestFile.ts"
import type { Meant } from "./World.ts"

/** Names that no group of approvals has. */
export const checkOperators = (by: ReadonlyArray<string>, path: Path, { treasury, report }: Names): void => {
  const known = [...new Set((treasury.policy.groups ?? []).flatMap(({ of }) => [...of.keys()]))]
  for (const [i, name] of by.entries()) {
    if (known.includes(name)) continue
    report.add([...path, i], `"${name}" is no operator`, nameRemedy(name, known, "the treasury has no approvals"))
  }
}

/** Which payments people speak of, with the names looked up. */
export const resolveMeant = (text: MeantText, path: Path, { treasury, report }: Names): Meant => {
  const { pays, asset: symbol, from, to, rule } = text
  const asset = symbol === undefined ? undefined : assetOf(symbol, [...path, "asset"], treasury.assets, report)
  if (from !== undefined) partyOf(from, [...path, "from"], treasury.parties, report)
  if (to !== undefined && !treasury.addresses.has(to)) partyOf(to, [...path, "to"], treasury.parties, report)
  const rules = treasury.rules.map(({ name }) => name)
  if (rule !== undefined && !rules.includes(rule))
    report.add([...path, "rule"], `"${rule}" is no rule`, nameRemedy(rule, rules, "the treasury has none"))
  if (pays !== undefined && symbol === undefined) report.add(path, "pays says no asset", "add asset")
  const amount = pays === undefined || asset === undefined ? undefined : report.amount([...path, "pays"], pays, asset)
  const words = [pays, symbol, from && `from ${from}`, to && `to ${to}`, rule && `by ${rule}`]
  const said = words.filter((word) => word !== undefined).join(" ")
  return { amount, asset: symbol, from, to, rule, words: said === "" ? "what waits" : `what waits (${said})` }
}
