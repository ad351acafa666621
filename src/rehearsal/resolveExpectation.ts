import { nameRemedy } from "../config/nearest.ts"
import { assetOf, type Path, partyOf } from "../config/resolveNames.ts"
import { alertSubject } from "../rules/alerting.ts"
import { accountKey } from "../rules/overlay.ts"
import { isPaying } from "../rules/Rule.ts"
import { subjectsOf } from "../rules/Subject.ts"
import type { Expectation, PlannedExpectation } from "./Plan.ts"
import { checkOperators } from "./resolveMeant.ts"
import type { Names } from "./resolveTests.ts"
import { type ExpectationText, expectationKinds } from "./TestFile.ts"

/** Keys that say more of each kind of expectation. */
const more: Readonly<Record<(typeof expectationKinds)[number], ReadonlyArray<keyof ExpectationText>>> = {
  pays: ["asset", "from", "to", "rule"],
  asks: ["asset", "from", "to", "rule"],
  waits: ["asset", "from", "to", "rule", "by"],
  expires: ["asset", "from", "to", "rule"],
  holds: ["rule", "account", "because"],
  alert: ["rule", "account", "because"],
  balance: ["account"],
}

/** The expectation with its names looked up; nothing where something is wrong with it, which is reported. */
export const resolveExpectation = (
  text: ExpectationText,
  path: Path,
  names: Names,
): ReadonlyArray<PlannedExpectation> => {
  const { report } = names
  const kind = expectationKinds.find((one) => text[one] !== undefined)
  if (kind === undefined) return []
  for (const key of Object.keys(text)) {
    if (key === kind || more[kind].includes(key as keyof ExpectationText)) continue
    report.add([...path, key], `"${key}" says nothing about ${kind}`, `beside ${kind} stand ${more[kind].join(", ")}`)
  }
  checkRule(text.rule, path, names)
  const expectation = resolve(kind, text, path, names)
  return expectation === undefined ? [] : [{ at: report.document.problem(path, "", ""), expectation }]
}

const checkRule = (rule: string | undefined, path: Path, { treasury, report }: Names): void => {
  const known = treasury.rules.map(({ name }) => name)
  if (rule === undefined || known.includes(rule)) return
  report.add([...path, "rule"], `"${rule}" is no rule`, nameRemedy(rule, known, "the treasury has none"))
}

const resolve = (
  kind: (typeof expectationKinds)[number],
  text: ExpectationText,
  path: Path,
  names: Names,
): Expectation | undefined => {
  const { rule, because } = text
  if (kind === "pays" || kind === "asks" || kind === "waits" || kind === "expires")
    return resolvePayment(kind, text, path, names)
  if (kind === "balance") return resolveBalance(text, path, names)
  const subject = subjectIn(text, path, names)
  if (kind === "alert")
    return { kind, alert: text.alert ?? "", rule, subject: text.account === undefined ? undefined : subject, because }
  if (rule !== undefined && subject !== undefined)
    return { kind, rule, subject, reason: text.holds ?? "in_band", because }
  if (rule === undefined) names.report.add(path, "it does not say which rule holds", "add rule: NAME")
  return undefined
}

const resolvePayment = (
  kind: Extract<Expectation, { amount: bigint }>["kind"],
  text: ExpectationText,
  path: Path,
  names: Names,
): Expectation | undefined => {
  const { treasury, report } = names
  const { asset: symbol, from, to, rule, by } = text
  checkOperators(by ?? [], [...path, "by"], names)
  if (symbol === undefined || from === undefined || to === undefined) {
    report.add(path, `${kind} does not say which asset goes from whom to whom`, "add asset, from and to")
    return undefined
  }
  const asset = assetOf(symbol, [...path, "asset"], treasury.assets, report)
  partyOf(from, [...path, "from"], treasury.parties, report)
  if (!treasury.addresses.has(to)) partyOf(to, [...path, "to"], treasury.parties, report)
  const amount = report.amount([...path, kind], text[kind] ?? "", asset)
  return { kind, amount, asset: symbol, decimals: asset?.decimals ?? 0, from, to, rule, by }
}

const resolveBalance = (text: ExpectationText, path: Path, { treasury, report }: Names): Expectation | undefined => {
  const [name = "", symbol = "", rest] = (text.account ?? "").split("/")
  if (symbol === "" || rest !== undefined) {
    report.add([...path, "account"], "the balance is of no account", 'add account: PARTY/ASSET, such as "hot/USDT"')
    return undefined
  }
  const party = partyOf(name, [...path, "account"], treasury.parties, report)
  const asset = assetOf(symbol, [...path, "account"], treasury.assets, report)
  if (party === undefined || asset === undefined) return undefined
  const units = report.amount(text.balance === undefined ? path : [...path, "balance"], text.balance ?? "", asset)
  const account = accountKey(party.publicKey, asset.id)
  return { kind: "balance", account, name: `${name}/${symbol}`, balance: "free", units, decimals: asset.decimals }
}

/** The subject that is meant: the named one, or the rule's only one. */
const subjectIn = (text: ExpectationText, path: Path, { treasury, report }: Names): string | undefined => {
  const named = treasury.rules.find(({ name }) => name === text.rule)
  if (named?.kind === "notify" && text.holds !== undefined)
    report.add(path, `${named.name} tells of assets and never holds`, "expect an alert: asset")
  if (named?.kind === "alert") return text.account ?? alertSubject
  const rule = named !== undefined && isPaying(named) ? named : undefined
  if (rule === undefined) return text.account
  const known = subjectsOf(rule).map(({ name }) => name)
  if (text.account === undefined) {
    if (known.length === 1 || text.holds === undefined) return known[0]
    report.add(path, `it does not say which account of ${rule.name} is meant`, `add account: ${known.join(" | ")}`)
    return undefined
  }
  if (known.includes(text.account)) return text.account
  const remedy = nameRemedy(text.account, known, "leave it out")
  report.add([...path, "account"], `${rule.name} does not look at "${text.account}"`, remedy)
  return undefined
}
