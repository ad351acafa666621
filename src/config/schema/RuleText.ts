import { Schema } from "effect"
import { holdReasons } from "../../domain/Decision.ts"
import {
  Amounts,
  AmountText,
  DurationText,
  exactlyOne,
  InstantText,
  Name,
  oneOf,
  oneOrMany,
  PercentText,
  PeriodText,
  text,
  WholeText,
} from "./Fields.ts"

const optional = Schema.optional
const balance = optional(oneOf("free", "total"))
const AssetSymbol = Schema.String.check(Schema.isNonEmpty({ expected: "the symbol of an asset" }))
const SignedText = text(/^-?[0-9][0-9_,.]*$/, 'an amount in units of the asset, such as "500" or "-10_000"')
const StepText = text(
  /^-?([0-9][0-9_,.]*|[0-9]{1,3}(\.[0-9]{1,6})?%)$/,
  'an amount such as "-10_000", or a part of the earlier balance such as "-20%"',
)
const account = { party: Name, asset: AssetSymbol, balance }
const sides = (what: string) => exactlyOne(what, ["below", "above"])

const status = oneOf("proposed", "rejected", "pendingListing", "enabled")
const statuses = Schema.Array(status).check(Schema.isMinLength(1, { expected: "at least one status" }))

const leaves = {
  balance: optional(
    Schema.Struct({ ...account, below: optional(AmountText), above: optional(AmountText) }).check(sides("balance")),
  ),
  change: optional(
    Schema.Struct({ ...account, over: PeriodText, below: optional(StepText), above: optional(StepText) }).check(
      sides("change"),
    ),
  ),
  rate: optional(
    Schema.Struct({
      ...account,
      over: optional(PeriodText),
      below: optional(SignedText),
      above: optional(SignedText),
    }).check(sides("rate")),
  ),
  asset: optional(Schema.Struct({ asset: AssetSymbol, is: Schema.Union([status, statuses]) })),
  stale: optional(Schema.Struct({ party: optional(Name), asset: optional(AssetSymbol), longerThan: DurationText })),
  held: optional(Schema.Struct({ rule: Name, reason: optional(oneOf(...holdReasons)), longerThan: DurationText })),
}

/** A condition as written: exactly one kind, or a combination of conditions. */
export type ConditionText = Schema.Struct.Type<typeof leaves> & {
  readonly all?: ReadonlyArray<ConditionText> | undefined
  readonly any?: ReadonlyArray<ConditionText> | undefined
  readonly not?: ConditionText | undefined
}

const inner = Schema.suspend((): Schema.ConstraintDecoder<ConditionText> => ConditionText)
const several = Schema.Array(inner).check(Schema.isMinLength(1, { expected: "at least one condition" }))

export const ConditionText: Schema.ConstraintDecoder<ConditionText> = Schema.Struct({
  ...leaves,
  all: optional(several),
  any: optional(several),
  not: optional(inner),
})
  .check(exactlyOne("the condition", [...Object.keys(leaves), "all", "any", "not"]))
  .annotate({ identifier: "Condition" })

const parts = Schema.Record(Name, WholeText)

/** Weekly opening hours as written. */
export const HoursText = Schema.Struct({
  weekdays: oneOrMany(Schema.String),
  times: oneOrMany(Schema.String),
  location: Schema.String,
})

/** A planned stretch without payments. */
export const WindowText = Schema.Struct({
  name: Name,
  from: InstantText,
  until: InstantText,
  hold: optional(oneOf("payments")),
})

const kinds = {
  topUp: optional(
    Schema.Struct({
      from: Name,
      levels: Schema.Array(
        Schema.Struct({ party: Name, asset: AssetSymbol, balance, below: AmountText, target: AmountText }),
      ).check(Schema.isMinLength(1, { expected: "at least one level" })),
    }),
  ),
  sweep: optional(
    Schema.Struct({
      from: oneOrMany(Name),
      to: Name,
      asset: AssetSymbol,
      balance,
      above: AmountText,
      target: AmountText,
    }),
  ),
  rebalance: optional(Schema.Struct({ asset: AssetSymbol, balance, weights: parts, tolerance: PercentText })),
  split: optional(
    Schema.Struct({ from: Name, asset: AssetSymbol, above: AmountText, target: optional(AmountText), to: parts }),
  ),
  payout: optional(Schema.Struct({ from: Name, to: Name, asset: AssetSymbol, amount: AmountText })),
  request: optional(
    Schema.Struct({ from: Name, to: Name, asset: AssetSymbol, balance, below: AmountText, target: AmountText }),
  ),
  withdraw: optional(
    Schema.Struct({ from: Name, asset: AssetSymbol, balance, above: AmountText, target: AmountText, to: Name }),
  ),
  notify: optional(
    Schema.Struct({
      asset: optional(AssetSymbol),
      becomes: optional(statuses),
      when: optional(ConditionText),
      severity: optional(oneOf("page", "ticket", "info")),
    }).check(exactlyOne("notify", ["becomes", "when"])),
  ),
}

/** A function, the accounts that it sees and the parties that it pays. Only a TypeScript file can define one. */
const CodeText = Schema.Struct({
  accounts: Schema.Array(Schema.Struct({ party: Name, asset: AssetSymbol, balance })).check(
    Schema.isMinLength(1, { expected: "at least one account" }),
  ),
  from: Name,
  to: oneOrMany(Name),
  asset: AssetSymbol,
  /** Text in place of the function. */
  need: Schema.String,
})

const Cron = Schema.Struct({
  cron: Schema.String,
  seconds: optional(text(/^[0-5]?[0-9](,[0-5]?[0-9])*$/, "seconds of a minute such as 0,30")),
  location: optional(Schema.String),
  missed: optional(oneOf("once", "skip")),
  late: optional(PeriodText),
})

const fields = {
  name: Name,
  ...kinds,
  schedule: optional(Cron),
  for: optional(DurationText),
  clear: optional(Schema.Union([AmountText, ConditionText])),
  cooldown: optional(DurationText),
  settle: optional(DurationText),
  maxAge: optional(DurationText),
  min: optional(Amounts),
  floor: optional(Amounts),
  priority: optional(WholeText),
  onShort: optional(oneOf("partial", "hold")),
  onNoData: optional(oneOf("hold", "zero")),
  during: optional(Schema.String),
  maintenance: optional(oneOf("hold", "ignore")),
  inhibitedBy: optional(Schema.Union([Name, Schema.Array(Name)])),
  mode: optional(oneOf("shadow", "live")),
}

/** One rule as written in YAML: exactly one kind, and its modifiers. */
export const YamlRuleText = Schema.Struct(fields).check(exactlyOne("the rule", Object.keys(kinds)))

/** The same with the kind `code`. */
export const RuleText = Schema.Struct({ ...fields, code: optional(CodeText) }).check(
  exactlyOne("the rule", [...Object.keys(kinds), "code"]),
)
export type RuleText = typeof RuleText.Type
