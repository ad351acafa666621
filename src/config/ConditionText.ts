import { Schema } from "effect"
import { holdReasons } from "../domain/Decision.ts"
import { AmountText, DurationText, exactlyOne, Name, oneOf, PeriodText, text } from "./Fields.ts"

const optional = Schema.optional
const Symbol = Schema.String.check(Schema.isNonEmpty({ expected: "the symbol of an asset" }))
const SignedText = text(/^-?[0-9][0-9_,.]*$/, 'an amount in units of the asset, such as "500" or "-10_000"')
const StepText = text(
  /^-?([0-9][0-9_,.]*|[0-9]{1,3}(\.[0-9]{1,6})?%)$/,
  'an amount such as "-10_000", or a part of the earlier balance such as "-20%"',
)
const account = { party: Name, asset: Symbol, balance: optional(oneOf("free", "total")) }
const sides = (what: string) => exactlyOne(what, ["below", "above"])

const status = oneOf("proposed", "rejected", "pendingListing", "enabled")

const leaves = {
  balance: Schema.Struct({ ...account, below: optional(AmountText), above: optional(AmountText) }).check(
    sides("balance"),
  ),
  change: Schema.Struct({
    ...account,
    over: PeriodText,
    below: optional(StepText),
    above: optional(StepText),
  }).check(sides("change")),
  rate: Schema.Struct({
    ...account,
    over: optional(PeriodText),
    below: optional(SignedText),
    above: optional(SignedText),
  }).check(sides("rate")),
  asset: Schema.Struct({
    asset: Symbol,
    is: Schema.Union([status, Schema.Array(status)]),
  }),
  stale: Schema.Struct({ party: optional(Name), asset: optional(Symbol), longerThan: DurationText }),
  held: Schema.Struct({ rule: Name, reason: optional(oneOf(...holdReasons)), longerThan: DurationText }),
}

/** A condition as written: exactly one kind, or others that are combined. */
export interface ConditionText {
  readonly balance?: typeof leaves.balance.Type | undefined
  readonly change?: typeof leaves.change.Type | undefined
  readonly rate?: typeof leaves.rate.Type | undefined
  readonly asset?: typeof leaves.asset.Type | undefined
  readonly stale?: typeof leaves.stale.Type | undefined
  readonly held?: typeof leaves.held.Type | undefined
  readonly all?: ReadonlyArray<ConditionText> | undefined
  readonly any?: ReadonlyArray<ConditionText> | undefined
  readonly not?: ConditionText | undefined
}

const inner = Schema.suspend((): Schema.ConstraintDecoder<ConditionText> => ConditionText)
const several = Schema.Array(inner).check(Schema.isMinLength(1, { expected: "at least one condition" }))

export const ConditionText: Schema.ConstraintDecoder<ConditionText> = Schema.Struct({
  balance: optional(leaves.balance),
  change: optional(leaves.change),
  rate: optional(leaves.rate),
  asset: optional(leaves.asset),
  stale: optional(leaves.stale),
  held: optional(leaves.held),
  all: optional(several),
  any: optional(several),
  not: optional(inner),
})
  .check(exactlyOne("the condition", [...Object.keys(leaves), "all", "any", "not"]))
  .annotate({ identifier: "Condition" })
