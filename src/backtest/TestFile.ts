import { Schema } from "effect"
import {
  AmountText,
  AssetIdText,
  DecimalsText,
  DurationText,
  exactlyOne,
  InstantText,
  Name,
  oneOf,
  PercentText,
  PeriodText,
  text,
  WholeText,
} from "../config/schema/Fields.ts"
import { holdReasons } from "../domain/Decision.ts"
import { raisedKinds } from "./World.ts"

const optional = Schema.optional
const NonEmpty = Schema.String.check(Schema.isNonEmpty({ expected: "a text" }))

const Balances = Schema.Record(
  Name,
  Schema.Record(
    Schema.String,
    Schema.Union([AmountText, Schema.Struct({ free: AmountText, total: optional(AmountText) })]),
  ),
)
const Changes = Schema.Record(
  Name,
  Schema.Record(
    Schema.String,
    text(/^[+-]?[0-9][0-9_,.]*$/, 'an amount that is gained or lost, such as "-3_000" or "250"'),
  ),
)
const Status = oneOf("proposed", "rejected", "pendingListing", "enabled", "unlisted")

/** Status by name: of a pinned asset, or with an id of any other, whose name serves only the reader. */
const Statuses = Schema.Record(
  Schema.String,
  Schema.Union([Status, Schema.Struct({ status: Status, id: AssetIdText, decimals: DecimalsText })]),
)

/** The simulated network's fee, time to settle and quota. */
export const NetworkText = Schema.Struct({
  fee: optional(PercentText),
  settles: optional(DurationText),
  transfersPerEpoch: optional(WholeText),
  epoch: optional(PeriodText),
})
export type NetworkText = typeof NetworkText.Type

export const expectationKinds = ["pays", "asks", "waits", "expires", "holds", "alert", "balance"] as const

export const ExpectationText = Schema.Struct({
  pays: optional(AmountText),
  asks: optional(AmountText),
  waits: optional(AmountText),
  expires: optional(AmountText),
  holds: optional(oneOf(...holdReasons)),
  alert: optional(oneOf(...raisedKinds)),
  balance: optional(AmountText),
  rule: optional(Name),
  account: optional(NonEmpty),
  asset: optional(NonEmpty),
  from: optional(Name),
  to: optional(Name),
  because: optional(NonEmpty),
  by: optional(Schema.Array(Name)),
}).check(exactlyOne("the expectation", expectationKinds))
export type ExpectationText = typeof ExpectationText.Type

/** Fields that select payments: one that is left out matches any. */
const matcherFields = {
  pays: optional(AmountText),
  asset: optional(NonEmpty),
  from: optional(Name),
  to: optional(Name),
  rule: optional(Name),
}
const ApproveText = Schema.Struct({
  by: Schema.Array(Name).check(Schema.isMinLength(1, { expected: "a name" })),
  ...matcherFields,
})
const RejectText = Schema.Struct(matcherFields)
export type MatcherText = typeof RejectText.Type

const Step = Schema.Struct({
  at: DurationText,
  every: optional(PeriodText),
  until: optional(DurationText),
  set: optional(Balances),
  change: optional(Changes),
  assets: optional(Statuses),
  gateway: optional(oneOf("silent", "answers")),
  halt: optional(NonEmpty),
  pause: optional(Schema.Struct({ scope: NonEmpty, reason: optional(NonEmpty), for: optional(PeriodText) })),
  resume: optional(NonEmpty),
  approve: optional(ApproveText),
  reject: optional(RejectText),
  expect: optional(Schema.Array(ExpectationText)),
})
export type StepText = typeof Step.Type

const Test = Schema.Struct({
  name: NonEmpty,
  start: InstantText,
  network: optional(NetworkText),
  balances: optional(Balances),
  assets: optional(Statuses),
  approvedAfter: optional(DurationText),
  steps: Schema.Array(Step),
  payments: optional(oneOf("expected", "any")),
  ends: optional(
    Schema.Struct({
      at: optional(DurationText),
      payments: optional(WholeText),
      alerts: optional(WholeText),
      balances: optional(Schema.Record(Name, Schema.Record(Schema.String, AmountText))),
    }),
  ),
})
export type TestText = typeof Test.Type

/** Tests of rules as written. Every scalar is text; names and amounts are looked up by resolveTests. */
export const TestFile = Schema.Struct({
  treasury: optional(Schema.Unknown),
  network: optional(NetworkText),
  tests: Schema.Array(Test).check(Schema.isMinLength(1, { expected: "at least one test" })),
})
export type TestFile = typeof TestFile.Type
