import { formatDuration } from "../config/schema/Fields.ts"
import type { Place } from "../config/yaml/Yaml.ts"
import { type HoldReason, sumText } from "../domain/Decision.ts"
import { explainSubject } from "../rules/explain/explain.ts"
import type { Outcome } from "../rules/round.ts"
import type { VirtualTreasury } from "./VirtualTreasury.ts"
import type { DecidedPayment, RaisedAlert, WorldEvent, WorldSettings } from "./World.ts"

export interface UnmetExpectation {
  readonly at: Place
  /** "45 s": since the test's start. */
  readonly when: string
  readonly expected: string
  readonly got: string
  /** Why rules did not act, one line each. */
  readonly why: ReadonlyArray<string>
}

export interface TestResult {
  readonly plan: PlannedTest
  readonly unmet: ReadonlyArray<UnmetExpectation>
  readonly payments: ReadonlyArray<DecidedPayment>
  readonly raised: ReadonlyArray<RaisedAlert>
}

/** State of a running test: the payments and alerts that expectations have matched, and the unmet expectations. */
export interface TestRun {
  readonly plan: PlannedTest
  readonly treasury: VirtualTreasury
  readonly matchedPayments: Set<DecidedPayment["intent"]["id"]>
  readonly matchedAlerts: Set<RaisedAlert>
  readonly unmet: Array<UnmetExpectation>
  /** Milliseconds from the start to the previous expectations; -1 before the first ones. */
  since: number
}

export type Unmet = Pick<UnmetExpectation, "expected" | "got" | "why"> | undefined

/** "45 s", or "25 h" where that is exact. */
export const whenText = (after: number): string => (after === 0 ? "0 s" : formatDuration(after))

/** "16,000.00 USDT reserve -> hot" */
export const paidText = ({ intent: { payment, decimals } }: DecidedPayment): string =>
  `${sumText(payment, decimals)} ${payment.from} -> ${payment.to}`

/** True if it came after the previous expectations. */
export const isSincePrevious = (run: TestRun, at: number): boolean => at > run.plan.settings.start + run.since

/** "after 10 s, up to 45 s": the time that an expectation covers. */
export const spanText = (run: TestRun, after: number): string =>
  run.since < 0 ? `up to ${whenText(after)}` : `after ${whenText(run.since)}, up to ${whenText(after)}`

/** Explanations of the subjects that an expectation may concern: those of its rule, or between its parties. */
export const explainHolds = (
  { treasury }: TestRun,
  rule: string | undefined,
  concerns: (parties: ReadonlyArray<string>) => boolean,
): ReadonlyArray<string> =>
  treasury.entries
    .filter(({ subject }) => rule === undefined || subject.rule.name === rule)
    .filter(({ subject }) => concerns(subject.parties.map(({ name }) => name)))
    .flatMap(({ subject }) => {
      const outcome = treasury.outcome(subject.rule.name, subject.name)
      return outcome === undefined ? [] : [outcomeText(outcome)]
    })

/** A subject's decision, and for a hold what would end it: "hot/USDT holds: cooldown, 12 s left; until …". */
export const outcomeText = ({ facts }: Outcome): string => {
  const { sentence, checks, verdict, next } = explainSubject(facts)
  if (verdict !== "holds") return sentence
  const endsAt = checks.find(({ sign }) => sign === "holds")?.endsAt ?? undefined
  if (endsAt !== undefined && endsAt > facts.snapshot.now)
    return `${sentence}; until ${new Date(endsAt).toISOString().slice(0, 19)}Z`
  return next.after[0] === undefined ? sentence : `${sentence}; until ${next.after[0]}`
}

/** Expectation of a test at a moment, in base units and names of the treasury; undefined fields match anything. */
export type Expectation =
  /** A payment that is signed, a funding request, a payment that waits for approval, one whose approval lapsed. */
  | {
      readonly kind: "pays" | "asks" | "waits" | "expires"
      readonly amount: bigint
      readonly asset: string
      readonly decimals: number
      readonly from: string
      readonly to: string
      readonly rule: string | undefined
      /** Only for a waiting payment: the operators who have signed, and no others. */
      readonly by: ReadonlyArray<string> | undefined
    }
  | {
      readonly kind: "holds"
      readonly rule: string
      readonly subject: string
      readonly reason: HoldReason
      readonly because: string | undefined
    }
  | {
      readonly kind: "alert"
      readonly alert: RaisedAlert["kind"]
      readonly rule: string | undefined
      readonly subject: string | undefined
      readonly because: string | undefined
    }
  | {
      readonly kind: "balance"
      /** An accountKey. */
      readonly account: string
      readonly name: string
      readonly units: bigint
      readonly decimals: number
    }

export interface PlannedExpectation {
  readonly at: Place
  readonly expectation: Expectation
}

/** A moment of a test, in milliseconds since its start. */
export interface TestMoment {
  readonly after: number
  readonly events: ReadonlyArray<WorldEvent>
  readonly expected: ReadonlyArray<PlannedExpectation>
}

export interface PlannedTest {
  readonly name: string
  readonly at: Place
  readonly settings: WorldSettings
  /** In the order of time. */
  readonly moments: ReadonlyArray<TestMoment>
  /** True if payments that no expectation names are permitted. */
  readonly anyPayments: boolean
  readonly payments: { readonly at: Place; readonly count: number } | undefined
  readonly alerts: { readonly at: Place; readonly count: number } | undefined
}
