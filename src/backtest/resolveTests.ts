import { assetOf, type Path, partyOf } from "../config/resolve/resolveNames.ts"
import { shareOf } from "../config/resolve/resolvePolicy.ts"
import { durationMillis } from "../config/schema/Fields.ts"
import type { Treasury } from "../config/Treasury.ts"
import { nameRemedy, nearest } from "../config/yaml/decodeAll.ts"
import type { Reporter } from "../config/yaml/Reporter.ts"
import type { Place } from "../config/yaml/Yaml.ts"
import type { AssetStatusWord } from "../domain/Asset.ts"
import type { Party, PinnedAsset } from "../rules/Account.ts"
import { knownScopes } from "../rules/checks/stops.ts"
import { alertSubject } from "../rules/kinds/alerting.ts"
import { isPaying } from "../rules/Rule.ts"
import { accountKey, uncappedFee } from "../rules/Snapshot.ts"
import { subjectsOf } from "../rules/Subject.ts"
import {
  type ExpectationText,
  expectationKinds,
  type MatcherText,
  type NetworkText,
  type StepText,
  type TestFile,
  type TestText,
} from "./TestFile.ts"
import type { Expectation, PlannedExpectation, PlannedTest, TestMoment } from "./TestRun.ts"
import type { PaymentMatcher, WorldEvent, WorldSettings } from "./World.ts"

/** The treasury in which the names of a file of tests are looked up, and the receiver of problems. */
interface Names {
  readonly treasury: Treasury
  readonly report: Reporter
}

/** `Names`, with the time of the events (Unix milliseconds). */
interface EventNames extends Names {
  readonly at: number
}

/** Upper bound of the moments of one repeated step. */
const momentsMax = 200_000

/** Looks up every name and amount of a file of tests, and reports those that are wrong. */
export const resolveTests = (file: TestFile, names: Names): ReadonlyArray<PlannedTest> =>
  file.tests.map((test, i) =>
    resolveTest({ ...test, network: { ...file.network, ...test.network } }, ["tests", i], names),
  )

const resolveTest = (test: TestText, path: Path, { treasury, report }: Names): PlannedTest => {
  const start = Date.parse(test.start)
  const names: EventNames = { treasury, report, at: start }
  const initial = [
    ...setEvents(test.balances, [...path, "balances"], names),
    ...assetEvents(test.assets, [...path, "assets"], names),
  ]
  const steps = test.steps.flatMap((step, i) => momentsOf(step, [...path, "steps", i], names))
  const { ends } = test
  const last = Math.max(...steps.map(({ after }) => after), 0)
  const endsAt = ends?.at === undefined ? last : durationMillis(ends.at)
  if (endsAt < last) report.add([...path, "ends", "at"], "the test ends before its last step", "write a later time")
  const balances = Object.entries(ends?.balances ?? {}).flatMap(([party, held]) =>
    Object.entries(held).flatMap(([symbol, balance]) =>
      resolveExpectation(
        { balance, account: `${party}/${symbol}` },
        [...path, "ends", "balances", party, symbol],
        names,
      ),
    ),
  )
  const final: TestMoment = { after: endsAt, events: [], expected: balances }
  const counted = (key: "payments" | "alerts") =>
    ends?.[key] === undefined ? undefined : { at: placeOf([...path, "ends", key], names), count: Number(ends[key]) }
  return {
    name: test.name,
    at: placeOf([...path, "name"], names),
    settings: {
      ...settingsOf(treasury, test.network ?? {}, start),
      approvedAfterMillis: test.approvedAfter === undefined ? undefined : durationMillis(test.approvedAfter),
    },
    moments: [{ after: 0, events: initial, expected: [] }, ...steps.toSorted((a, b) => a.after - b.after), final],
    anyPayments: test.payments === "any",
    payments: counted("payments"),
    alerts: counted("alerts"),
  }
}

const placeOf = (path: Path, { report }: Names): Place => report.document.problem(path, "", "")

/** Settings of the virtual treasury, on the network that the file describes. */
const settingsOf = (treasury: Treasury, network: NetworkText, start: number): WorldSettings => {
  const { rules, policy, assets } = treasury
  return {
    rules,
    policy,
    start,
    maxAgeMillis: treasury.network.maxAgeMillis,
    assets: new Map([...assets.values()].map(({ id, decimals }) => [id, { decimals, quantum: 1n }])),
    parameters: uncappedFee(shareOf(network.fee ?? "0%")),
    settlesMillis: durationMillis(network.settles ?? "2s"),
    quota:
      network.transfersPerEpoch === undefined
        ? undefined
        : { limit: Number(network.transfersPerEpoch), epochMillis: durationMillis(network.epoch ?? "24h") },
  }
}

/** A step's moments: one for each repetition. */
const momentsOf = (step: StepText, path: Path, names: EventNames): ReadonlyArray<TestMoment> => {
  const { report } = names
  const first = durationMillis(step.at)
  if (first % 1_000 !== 0) report.add([...path, "at"], "rules are evaluated once a second", "write whole seconds")
  const expected = (step.expect ?? []).flatMap((one, i) => resolveExpectation(one, [...path, "expect", i], names))
  const events = eventsOf(step, path, { ...names, at: names.at + first })
  if (step.every === undefined) {
    if (step.until !== undefined) report.add([...path, "until"], "until needs every", "add every, or remove it")
    return [{ after: first, events, expected }]
  }
  if (step.until === undefined) {
    report.add([...path, "every"], "every needs until", "add until, the last time")
    return []
  }
  const every = durationMillis(step.every)
  const times = Math.floor((durationMillis(step.until) - first) / every) + 1
  if (every % 1_000 !== 0) report.add([...path, "every"], "rules are evaluated once a second", "write whole seconds")
  if (times < 1) report.add([...path, "until"], "until is before at: the step never happens", "write a later time")
  if (times > momentsMax) {
    report.add([...path, "every"], `it is repeated ${times} times`, `repeat it at most ${momentsMax} times`)
    return []
  }
  return Array.from({ length: Math.max(0, times) }, (_, i) => ({
    after: first + i * every,
    events: events.map((event) => ({ ...event, at: event.at + i * every })),
    expected,
  }))
}

const eventsOf = (step: StepText, path: Path, names: EventNames): ReadonlyArray<WorldEvent> => {
  const { at } = names
  const events: Array<WorldEvent> = [
    ...setEvents(step.set, [...path, "set"], names),
    ...changeEvents(step.change, [...path, "change"], names),
    ...assetEvents(step.assets, [...path, "assets"], names),
    ...answerEvents(step, path, names),
  ]
  if (step.gateway !== undefined) events.push({ kind: "gateway", at, answers: step.gateway === "answers" })
  if (step.halt !== undefined) events.push({ kind: "halt", at, reason: step.halt })
  if (step.resume !== undefined) {
    checkScope(step.resume, [...path, "resume"], names)
    events.push({ kind: "resume", at, scope: step.resume })
  }
  if (step.pause !== undefined) {
    const { scope, reason = "the test", for: length } = step.pause
    checkScope(scope, [...path, "pause", "scope"], names)
    const forMillis = length === undefined ? undefined : durationMillis(length)
    events.push({ kind: "pause", at, scope, reason, forMillis })
  }
  return events
}

const answerEvents = ({ approve, reject }: StepText, path: Path, names: EventNames): ReadonlyArray<WorldEvent> => {
  const { at } = names
  const events: Array<WorldEvent> = []
  if (approve !== undefined) {
    const { by, ...text } = approve
    checkOperators(by, [...path, "approve", "by"], names)
    const matcher = resolveMatcher(text, [...path, "approve"], names)
    events.push({ kind: "approve", at, by, matcher, place: placeOf([...path, "approve"], names) })
  }
  if (reject !== undefined) {
    const matcher = resolveMatcher(reject, [...path, "reject"], names)
    events.push({ kind: "reject", at, by: [], matcher, place: placeOf([...path, "reject"], names) })
  }
  return events
}

const checkScope = (scope: string, path: Path, { treasury, report }: Names): void => {
  const known = knownScopes(treasury)
  if (!known.includes(scope)) report.add(path, `"${scope}" is not a scope`, nameRemedy(scope, known, "write all"))
}

/** Party and asset of each entry of a map of maps. */
const accountsIn = function* <A>(
  map: Readonly<Record<string, Readonly<Record<string, A>>>> | undefined,
  path: Path,
  { treasury, report }: Names,
): Iterable<{ readonly party: Party; readonly asset: PinnedAsset; readonly value: A; readonly path: Path }> {
  for (const [name, held] of Object.entries(map ?? {})) {
    const party = partyOf(name, [...path, name], treasury.parties, report)
    for (const [symbol, value] of Object.entries(held)) {
      const asset = assetOf(symbol, [...path, name, symbol], treasury.assets, report)
      if (party !== undefined && asset !== undefined) yield { party, asset, value, path: [...path, name, symbol] }
    }
  }
}

const setEvents = (map: StepText["set"], path: Path, names: EventNames): ReadonlyArray<WorldEvent> =>
  [...accountsIn(map, path, names)].map(({ party, asset, value, path: place }): WorldEvent => {
    const account = accountKey(party.publicKey, asset.id)
    const { report, at } = names
    if (typeof value === "string") return { kind: "set", at, account, free: report.amount(place, value, asset) }
    const free = report.amount([...place, "free"], value.free, asset)
    if (value.total === undefined) return { kind: "set", at, account, free }
    const total = report.amount([...place, "total"], value.total, asset)
    if (total < free) report.add(place, "total is less than free", "write a total at least as large as free")
    return { kind: "set", at, account, free, beside: total - free }
  })

const changeEvents = (map: StepText["change"], path: Path, names: EventNames): ReadonlyArray<WorldEvent> =>
  [...accountsIn(map, path, names)].map(({ party, asset, value, path: place }): WorldEvent => {
    const units = names.report.amount(place, value.replace(/^[+-]/, ""), asset)
    const free = value.startsWith("-") ? -units : units
    return { kind: "move", at: names.at, account: accountKey(party.publicKey, asset.id), free, beside: 0n }
  })

const assetEvents = (map: StepText["assets"], path: Path, names: EventNames): ReadonlyArray<WorldEvent> =>
  Object.entries(map ?? {}).flatMap(([symbol, written]): ReadonlyArray<WorldEvent> => {
    const { at } = names
    const statusOf = (word: AssetStatusWord | "unlisted") => (word === "unlisted" ? undefined : word)
    if (typeof written !== "string") {
      return [
        { kind: "asset", at, id: written.id, status: statusOf(written.status), decimals: Number(written.decimals) },
      ]
    }
    const asset = names.treasury.assets.get(symbol)
    if (asset !== undefined) return [{ kind: "asset", at, id: asset.id, status: statusOf(written) }]
    const newcomer = `write ${symbol}: { status: ${written}, id, decimals }`
    const near = nearest(symbol, [...names.treasury.assets.keys()])
    const remedy = near === undefined ? newcomer : `did you mean "${near}"? Otherwise ${newcomer}`
    names.report.add([...path, symbol], `"${symbol}" is not pinned`, remedy)
    return []
  })

/** Further keys that each kind of expectation may have. */
const otherKeys: Readonly<Record<(typeof expectationKinds)[number], ReadonlyArray<keyof ExpectationText>>> = {
  pays: ["asset", "from", "to", "rule"],
  asks: ["asset", "from", "to", "rule"],
  waits: ["asset", "from", "to", "rule", "by"],
  expires: ["asset", "from", "to", "rule"],
  holds: ["rule", "account", "because"],
  alert: ["rule", "account", "because"],
  balance: ["account"],
}

/** The expectation with its names looked up; empty if it is wrong, which is reported. */
const resolveExpectation = (text: ExpectationText, path: Path, names: Names): ReadonlyArray<PlannedExpectation> => {
  const { report } = names
  const kind = expectationKinds.find((one) => text[one] !== undefined)
  if (kind === undefined) return []
  for (const key of Object.keys(text)) {
    if (key === kind || otherKeys[kind].includes(key as keyof ExpectationText)) continue
    report.add([...path, key], `"${key}" says nothing about ${kind}`, `${kind} takes ${otherKeys[kind].join(", ")}`)
  }
  checkRule(text.rule, path, names)
  const expectation = expectationOf(kind, text, path, names)
  return expectation === undefined ? [] : [{ at: placeOf(path, names), expectation }]
}

const checkRule = (rule: string | undefined, path: Path, { treasury, report }: Names): void => {
  const known = treasury.rules.map(({ name }) => name)
  if (rule === undefined || known.includes(rule)) return
  report.add([...path, "rule"], `"${rule}" is not a rule`, nameRemedy(rule, known, "the treasury has none"))
}

const expectationOf = (
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
  if (text.alert !== undefined) {
    const about = text.account === undefined ? undefined : subject
    return { kind: "alert", alert: text.alert, rule, subject: about, because }
  }
  if (rule === undefined) names.report.add(path, "the expectation names no rule", "add rule: NAME")
  else if (text.holds !== undefined && subject !== undefined)
    return { kind: "holds", rule, subject, reason: text.holds, because }
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
    report.add([...path, "account"], "the balance names no account", 'add account: PARTY/ASSET, such as "hot/USDT"')
    return undefined
  }
  const party = partyOf(name, [...path, "account"], treasury.parties, report)
  const asset = assetOf(symbol, [...path, "account"], treasury.assets, report)
  if (party === undefined || asset === undefined) return undefined
  const units = report.amount([...path, "balance"], text.balance ?? "", asset)
  const account = accountKey(party.publicKey, asset.id)
  return { kind: "balance", account, name: `${name}/${symbol}`, units, decimals: asset.decimals }
}

/** The named subject, or the rule's only one. */
const subjectIn = (text: ExpectationText, path: Path, { treasury, report }: Names): string | undefined => {
  const named = treasury.rules.find(({ name }) => name === text.rule)
  if (named?.kind === "notify" && text.holds !== undefined)
    report.add(path, `${named.name} alerts about assets and never holds`, "expect an alert: asset")
  if (named?.kind === "alert") return text.account ?? alertSubject
  const rule = named !== undefined && isPaying(named) ? named : undefined
  if (rule === undefined) return text.account
  const known = subjectsOf(rule).map(({ name }) => name)
  if (text.account === undefined) {
    if (known.length === 1 || text.holds === undefined) return known[0]
    report.add(
      path,
      `the expectation does not say which account of ${rule.name} is meant`,
      `add account: ${known.join(" | ")}`,
    )
    return undefined
  }
  if (known.includes(text.account)) return text.account
  const remedy = nameRemedy(text.account, known, "leave it out")
  report.add([...path, "account"], `${rule.name} does not watch "${text.account}"`, remedy)
  return undefined
}

/** Reports names of operators that no approval group has. */
const checkOperators = (by: ReadonlyArray<string>, path: Path, { treasury, report }: Names): void => {
  const known = [...new Set((treasury.policy.groups ?? []).flatMap(({ of }) => [...of.keys()]))]
  for (const [i, name] of by.entries()) {
    if (known.includes(name)) continue
    report.add([...path, i], `"${name}" is not an operator`, nameRemedy(name, known, "the treasury has no approvals"))
  }
}

/** Matcher of the payments that operators approve or reject, with the names looked up. */
const resolveMatcher = (text: MatcherText, path: Path, names: Names): PaymentMatcher => {
  const { treasury, report } = names
  const { pays, asset: symbol, from, to, rule } = text
  const asset = symbol === undefined ? undefined : assetOf(symbol, [...path, "asset"], treasury.assets, report)
  if (from !== undefined) partyOf(from, [...path, "from"], treasury.parties, report)
  if (to !== undefined && !treasury.addresses.has(to)) partyOf(to, [...path, "to"], treasury.parties, report)
  checkRule(rule, path, names)
  if (pays !== undefined && symbol === undefined) report.add(path, "pays has no asset", "add asset")
  const amount = pays === undefined || asset === undefined ? undefined : report.amount([...path, "pays"], pays, asset)
  const fields = [pays, symbol, from && `from ${from}`, to && `to ${to}`, rule && `by ${rule}`]
    .filter((word) => word !== undefined)
    .join(" ")
  return { amount, asset: symbol, from, to, rule, text: fields === "" ? "what waits" : `what waits (${fields})` }
}
