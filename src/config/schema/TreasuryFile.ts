import { Schema } from "effect"
import {
  AddressText,
  Amounts,
  AmountText,
  AssetIdText,
  CountText,
  DecimalsText,
  DecimalText,
  DurationText,
  exactlyOne,
  Hex64Text,
  HttpText,
  Name,
  oneOf,
  oneOrMany,
  PercentText,
  PeriodText,
  text,
  UrlText,
  WholeText,
} from "./Fields.ts"
import { AlertReceiver, DatabaseText, File, processFields, SecretFile } from "./Receivers.ts"
import { HoursText, RuleText, WindowText, YamlRuleText } from "./RuleText.ts"

const optional = Schema.optional

const Gateway = Schema.Union([
  UrlText,
  Schema.Struct({
    url: UrlText,
    headers: optional(Schema.Record(Schema.String, SecretFile)),
  }),
])

const Network = Schema.Struct({
  chainId: text(/^[A-Za-z0-9._-]{1,50}$/, "the network's chain id"),
  gateways: Schema.Record(Name, Gateway),
  quorum: optional(CountText),
  maxAge: optional(PeriodText),
  requestDeadline: optional(PeriodText),
  reconcile: optional(PeriodText),
  poll: optional(Schema.Struct({ busy: optional(PeriodText), idle: optional(PeriodText) })),
  framing: optional(oneOf("auto", "prefixed", "bare")),
  fee: optional(Schema.Struct({ factor: DecimalText, maxQuantum: DecimalText })),
})

const Party = Schema.Struct({
  publicKey: Hex64Text,
  signer: optional(
    Schema.Struct({ file: optional(File), sandbox: optional(Name) }).check(
      exactlyOne("the signer", ["file", "sandbox"]),
    ),
  ),
  floor: optional(Amounts),
  transfersKept: optional(WholeText),
})

const PolicyLine = Schema.Struct({
  from: oneOrMany(Name),
  to: Schema.Array(Name).check(Schema.isMinLength(1, { expected: "at least one party" })),
  asset: Schema.String,
  perTransfer: AmountText,
  per24h: AmountText,
  transfersPer24h: WholeText,
  approval: optional(Name),
  approvalAbove: optional(AmountText),
})

const Approvals = Schema.Struct({
  need: CountText,
  within: PeriodText,
  of: Schema.Record(Name, Hex64Text),
  accept: optional(oneOf("signature")),
})

/** One treasury as written. Every scalar is text. Treasury.ts checks meaning and cross-references. */
export const TreasuryFile = Schema.Struct({
  version: Schema.Literal("1"),
  name: optional(Name),
  mode: optional(oneOf("observe", "shadow", "live")),
  network: Network,
  assets: optional(Schema.Record(Name, Schema.Struct({ id: AssetIdText, decimals: DecimalsText }))),
  parties: optional(Schema.Record(Name, Party)),
  addresses: optional(Schema.Record(Name, AddressText)),
  hours: optional(Schema.Record(Name, HoursText)),
  maintenance: optional(Schema.Array(WindowText)),
  rules: optional(Schema.Array(RuleText)),
  policy: optional(
    Schema.Struct({
      maxFee: optional(PercentText),
      allow: Schema.Array(PolicyLine),
    }),
  ),
  approvals: optional(Schema.Record(Name, Approvals)),
  alerts: optional(
    Schema.Struct({
      receivers: optional(Schema.Record(Name, AlertReceiver)),
      routes: optional(
        Schema.Array(
          Schema.Struct({
            severity: Schema.Array(oneOf("page", "ticket", "info")),
            to: Schema.Array(Name),
            escalate: optional(Schema.Array(Schema.Struct({ after: PeriodText, to: Schema.Array(Name) }))),
          }),
        ),
      ),
      repeatInterval: optional(DurationText),
      groupWait: optional(DurationText),
      groupInterval: optional(DurationText),
      conditions: optional(
        Schema.Record(Name, Schema.Struct({ after: optional(DurationText), alert: optional(oneOf("true", "false")) })),
      ),
      heartbeat: optional(
        Schema.Struct({
          url: Schema.Union([HttpText, SecretFile]),
          every: optional(PeriodText),
          allowPrivate: optional(oneOf("true", "false")),
        }),
      ),
    }),
  ),
  store: optional(Schema.Struct({ dir: optional(File), keep: optional(DurationText), watermark: optional(File) })),
  database: optional(DatabaseText),
  daemon: optional(Schema.Struct(processFields)),
  /** The embedded network's own part, read by the sandbox. */
  sandbox: optional(Schema.Unknown),
})
export type TreasuryFile = typeof TreasuryFile.Type

const CodeFile = text(/\.ts$/, "a file of rules in TypeScript")

/** The file before its rules in TypeScript are read: the schema that editors use. */
export const WrittenTreasury = Schema.Struct({
  ...TreasuryFile.fields,
  rules: optional(Schema.Union([CodeFile, Schema.Array(Schema.Union([CodeFile, YamlRuleText]))])),
})
