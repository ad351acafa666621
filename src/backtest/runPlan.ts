import { formatAmount, formatLevel } from "../domain/Amount.ts"
import { holdText } from "../domain/Decision.ts"
import { instantText, timeText } from "../domain/Time.ts"
import type { PendingApproval } from "./PendingApprovals.ts"
import {
  type Expectation,
  explainHolds,
  isSincePrevious,
  outcomeText,
  type PlannedTest,
  paidText,
  spanText,
  type TestResult,
  type TestRun,
  type Unmet,
  type UnmetExpectation,
  whenText,
} from "./TestRun.ts"
import { makeVirtualTreasury } from "./VirtualTreasury.ts"
import {
  type DecidedPayment,
  isMatch,
  isSigned,
  type RaisedAlert,
  type SignedPayment,
  type UnmatchedAnswer,
} from "./World.ts"

/** Plays a test and compares what happened with what it expects. */
export const runPlan = async (plan: PlannedTest): Promise<TestResult> => {
  const { start } = plan.settings
  const treasury = makeVirtualTreasury(plan.settings)
  const run: TestRun = { plan, treasury, matchedPayments: new Set(), matchedAlerts: new Set(), unmet: [], since: -1 }
  for (const { after, events, expected } of plan.moments) {
    const missed = treasury.misses.length
    await treasury.advance(events, start + after)
    for (const miss of treasury.misses.slice(missed)) run.unmet.push(unmatched(run, miss))
    for (const { at, expectation } of expected) {
      const wrong = judge(run, expectation, after)
      if (wrong !== undefined) run.unmet.push({ at, when: whenText(after), ...wrong })
    }
    if (expected.length > 0) run.since = after
  }
  const { payments } = treasury.ledger
  judgeEnd(run, plan.moments.at(-1)?.after ?? 0)
  return { plan, unmet: run.unmet, payments, raised: treasury.raised }
}

const judge = (run: TestRun, expectation: Expectation, after: number): Unmet => {
  switch (expectation.kind) {
    case "pays":
      return judgePays(run, expectation, after)
    case "waits":
      return judgeWaits(run, expectation)
    case "expires":
      return judgeExpires(run, expectation, after)
    case "asks":
    case "alert":
      return judgeAlert(run, expectation, after)
    case "holds":
      return judgeHolds(run, expectation)
    case "balance":
      return judgeBalance(run, expectation)
  }
}

/** Payments signed since the previous expectations that no expectation has named. */
const freshOf = (run: TestRun): ReadonlyArray<SignedPayment> =>
  run.treasury.ledger.payments
    .filter(isSigned)
    .filter(({ signedAt, intent }) => isSincePrevious(run, signedAt) && !run.matchedPayments.has(intent.id))

const gotText = (run: TestRun, fresh: ReadonlyArray<SignedPayment>, after: number): string => {
  const { start } = run.plan.settings
  const got = fresh.map((paid) => `${paidText(paid)} by ${paid.rule} at ${whenText(paid.signedAt - start)}`)
  return got.length === 0 ? `nothing was paid ${spanText(run, after)}` : got.join("; ")
}

const judgePays = (run: TestRun, wanted: Wanted, after: number): Unmet => {
  const fresh = freshOf(run)
  const found = fresh.find(({ intent }) => isMatch(intent, wanted))
  if (found !== undefined) {
    run.matchedPayments.add(found.intent.id)
    return undefined
  }
  return {
    expected: `a payment of ${wantedText(wanted)}`,
    got: gotText(run, fresh, after),
    why: explainHolds(run, wanted.rule, between(wanted)),
  }
}

type AlertExpectation = Extract<Expectation, { kind: "alert" } | { amount: bigint }>

const judgeAlert = (run: TestRun, wanted: AlertExpectation, after: number): Unmet => {
  const fresh = run.treasury.raised.filter(
    (raised) => isSincePrevious(run, raised.at) && !run.matchedAlerts.has(raised),
  )
  const found = fresh.find((raised) => meets(raised, wanted))
  if (found !== undefined) {
    run.matchedAlerts.add(found)
    return undefined
  }
  const expected =
    wanted.kind === "alert"
      ? `an alert: ${[wanted.alert, wanted.rule, wanted.subject, wanted.because].filter((word) => word !== undefined).join(" ")}`
      : `people asked for ${formatLevel(wanted.amount, wanted.decimals)} ${wanted.asset} ${wanted.from} -> ${wanted.to}`
  const got = fresh.map(({ kind, rule, subject, detail }) => `${kind} ${rule} ${subject}: ${detail}`).join("; ")
  return {
    expected,
    got: got === "" ? `no alert was raised ${spanText(run, after)}` : got,
    why:
      wanted.rule === undefined
        ? []
        : [...explainHolds(run, wanted.rule, () => true), ...alertRuleText(run, wanted.rule)],
  }
}

const meets = (raised: RaisedAlert, wanted: AlertExpectation): boolean => {
  if (wanted.rule !== undefined && raised.rule !== wanted.rule) return false
  if (wanted.kind === "alert") {
    const { alert, subject, because = "" } = wanted
    return (
      raised.kind === alert && (subject === undefined || raised.subject === subject) && raised.detail.includes(because)
    )
  }
  const { request } = raised
  return (
    raised.kind === "request" &&
    request?.amount === wanted.amount &&
    request.asset === wanted.asset &&
    request.from === wanted.from &&
    request.to === wanted.to
  )
}

/** State of an alert rule, as text. */
const alertRuleText = ({ treasury }: TestRun, rule: string): ReadonlyArray<string> => {
  const alerted = treasury.alerted(rule)
  if (alerted === undefined) return []
  const { reason, detail } = alerted
  return [`${rule} ${reason === undefined ? `fires, ${detail}` : holdText(reason, detail)}`]
}

const judgeHolds = (run: TestRun, wanted: Extract<Expectation, { kind: "holds" }>): Unmet => {
  const { rule, subject, reason, because = "" } = wanted
  const expected = `${rule} ${subject} holds: ${reason}${because === "" ? "" : ` because "${because}"`}`
  const alerted = run.treasury.alerted(rule)
  if (alerted !== undefined) {
    if (alerted.reason === reason && alerted.detail.includes(because)) return undefined
    return { expected, got: alertRuleText(run, rule).join(), why: [] }
  }
  const outcome = run.treasury.outcome(rule, subject)
  if (outcome === undefined) return { expected, got: "it was never evaluated", why: [] }
  const { decision } = outcome.judgement
  const isReason = decision._tag === "Hold" && decision.reason === reason
  if (isReason && decision.detail.includes(because)) return undefined
  return { expected, got: outcomeText(outcome), why: [] }
}

const judgeBalance = ({ treasury }: TestRun, wanted: Extract<Expectation, { kind: "balance" }>): Unmet => {
  const { account, name, units, decimals } = wanted
  const holding = treasury.ledger.holdings.get(account)
  if (holding?.known === true && holding.free === units) return undefined
  return {
    expected: `${name} holds ${formatLevel(units, decimals)}`,
    got: holding?.known === true ? formatAmount(holding.free, decimals) : "its balance was never set",
    why: [],
  }
}

const judgeEnd = (run: TestRun, after: number): void => {
  const { plan, treasury, unmet } = run
  const { start } = plan.settings
  const paid = treasury.ledger.payments.filter(isSigned)
  const when = whenText(after)
  const others = paid.filter(({ intent }) => !run.matchedPayments.has(intent.id))
  for (const one of plan.anyPayments || plan.payments?.count === paid.length ? [] : others) {
    const at = whenText(one.signedAt - start)
    const got = `${paidText(one)} by ${one.rule} at ${at}: ${one.intent.detail}`
    unmet.push({ at: plan.at, when: at, expected: "no unexpected payment", got, why: [] })
  }
  const count = (wanted: PlannedTest["payments"], what: string, all: ReadonlyArray<string>) => {
    if (wanted === undefined || wanted.count === all.length) return
    const got = all.length === 0 ? `no ${what}` : `${all.length}: ${all.slice(0, 5).join("; ")}`
    unmet.push({ at: wanted.at, when, expected: `${wanted.count} ${what}`, got, why: [] })
  }
  count(
    plan.payments,
    "payments in all",
    paid.map((one) => `${paidText(one)} at ${whenText(one.signedAt - start)}`),
  )
  count(
    plan.alerts,
    "alerts in all",
    treasury.raised.map(({ kind, rule, at }) => `${kind} of ${rule} at ${timeText(at - start)}`),
  )
}

type Wanted = Extract<Expectation, { amount: bigint }>

/** "16,000 USDT reserve -> hot by keep-hot-funded" */
const wantedText = ({ amount, asset, decimals, from, to, rule }: Wanted): string =>
  `${formatLevel(amount, decimals)} ${asset} ${from} -> ${to}${rule === undefined ? "" : ` by ${rule}`}`

const between =
  ({ from, to }: Wanted) =>
  (names: ReadonlyArray<string>) =>
    names.includes(from) || names.includes(to)

const signedText = (by: ReadonlyArray<string>): string =>
  by.length === 0 ? "nobody has signed" : `signed by ${by.join(" and ")}`

const waitingText = ({ paid, by, expires }: PendingApproval): string =>
  `${paidText(paid)} by ${paid.rule}, ${signedText(by)}, until ${instantText(expires)}`

/** Judges that the payment waits for approval at this moment. */
const judgeWaits = (run: TestRun, wanted: Wanted): Unmet => {
  const all = run.treasury.waiting()
  const isSignedAsWanted = (by: ReadonlyArray<string>) =>
    wanted.by === undefined || (by.length === wanted.by.length && wanted.by.every((name) => by.includes(name)))
  if (all.some(({ paid, by }) => isMatch(paid.intent, wanted) && isSignedAsWanted(by))) return undefined
  const signed = wanted.by === undefined ? "" : `, ${signedText(wanted.by)}`
  return {
    expected: `${wantedText(wanted)} waits for approval${signed}`,
    got: all.length === 0 ? "nothing waits for approval" : all.map(waitingText).join("; "),
    why: explainHolds(run, wanted.rule, between(wanted)),
  }
}

const hasLapsed = ({ group, at, intent }: DecidedPayment): boolean =>
  group !== undefined && intent.updatedAt >= at + group.withinMillis

/** Judges that nobody approved the payment in time, since the previous expectations. */
const judgeExpires = (run: TestRun, wanted: Wanted, after: number): Unmet => {
  const fresh = run.treasury.ledger.payments.filter(
    ({ state, intent }) =>
      state === "rejected" && isSincePrevious(run, intent.updatedAt) && !run.matchedPayments.has(intent.id),
  )
  const found = fresh.find((paid) => isMatch(paid.intent, wanted) && hasLapsed(paid))
  if (found !== undefined) {
    run.matchedPayments.add(found.intent.id)
    return undefined
  }
  const { start } = run.plan.settings
  const others = fresh.map(
    (paid) => `${paidText(paid)} by ${paid.rule} at ${whenText(paid.intent.updatedAt - start)}: ${paid.intent.detail}`,
  )
  return {
    expected: `the approval of ${wantedText(wanted)} lapses`,
    got: others.length === 0 ? `no approval lapsed ${spanText(run, after)}` : others.join("; "),
    why: explainHolds(run, wanted.rule, between(wanted)),
  }
}

/** Unmet expectation of an approval or rejection that matched no payment. */
const unmatched = (
  { plan: { settings } }: TestRun,
  { at, place, by, matcher, detail }: UnmatchedAnswer,
): UnmetExpectation => {
  const verb = by.length === 0 ? "is rejected" : `is approved by ${by.join(" and ")}`
  const after = at - settings.start
  return { at: place, when: whenText(after), expected: `${matcher.text} ${verb}`, got: detail, why: [] }
}
