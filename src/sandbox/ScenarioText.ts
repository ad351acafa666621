import { Schema } from "effect"
import {
  AmountText,
  AssetIdText,
  DurationText,
  ListenText,
  Name,
  oneOf,
  text,
  WholeText,
} from "../config/schema/Fields.ts"
import { faultKinds, operations } from "./Faults.ts"
import { profileNames } from "./Profiles.ts"

const DecimalText = text(/^[0-9]{1,9}(\.[0-9]{1,18})?$/, 'a decimal such as "0.001"')
const YesNo = oneOf("true", "false")

const powFields = {
  difficulty: Schema.optionalKey(WholeText),
  pastBlocks: Schema.optionalKey(WholeText),
  txPerBlock: Schema.optionalKey(WholeText),
  increaseDifficulty: Schema.optionalKey(YesNo),
}

const AssetSchema = Schema.Struct({
  id: AssetIdText,
  name: Schema.NonEmptyString,
  symbol: Name,
  decimals: WholeText,
  /** Smallest economically meaningful amount, in base units. */
  quantum: text(/^[0-9][0-9_,]*$/, 'a whole number of base units, such as "1_000_000"'),
  builtin: Schema.optionalKey(Schema.Struct({ maxFaucetAmountMint: Schema.optionalKey(AmountText) })),
  erc20: Schema.optionalKey(
    Schema.Struct({
      contractAddress: Schema.NonEmptyString,
      lifetimeLimit: Schema.optionalKey(AmountText),
      withdrawThreshold: Schema.optionalKey(AmountText),
      chainId: Schema.optionalKey(WholeText),
    }),
  ),
  /** Block at which each status begins; 0 is the genesis. */
  status: Schema.Struct({
    proposed: Schema.optionalKey(WholeText),
    rejected: Schema.optionalKey(WholeText),
    pendingListing: Schema.optionalKey(WholeText),
    enabled: Schema.optionalKey(WholeText),
  }),
})

/** The `sandbox:` key of a configuration as it is written: every scalar is text. */
export const ScenarioText = Schema.Struct({
  seed: Schema.NonEmptyString.check(Schema.isMaxLength(64)),
  listen: Schema.optionalKey(ListenText),
  profile: Schema.optionalKey(oneOf(...profileNames)),
  blockInterval: Schema.optionalKey(DurationText),
  rateLimit: Schema.optionalKey(oneOf("on", "off")),
  pow: Schema.optionalKey(Schema.Struct(powFields)),
  /** Changes of the required work, each from a block on. */
  powChanges: Schema.optionalKey(Schema.Array(Schema.Struct({ block: WholeText, ...powFields }))),
  epochLength: Schema.optionalKey(DurationText),
  transfersPerEpoch: Schema.optionalKey(WholeText),
  feeFactor: Schema.optionalKey(DecimalText),
  feeMaxQuantum: Schema.optionalKey(DecimalText),
  minTransferQuantum: Schema.optionalKey(DecimalText),
  minWithdrawalQuantum: Schema.optionalKey(DecimalText),
  parties: Schema.Array(Name),
  assets: Schema.Array(AssetSchema),
  deposits: Schema.optionalKey(
    Schema.Array(Schema.Struct({ party: Name, asset: Name, amount: AmountText, block: Schema.optionalKey(WholeText) })),
  ),
  spenders: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        from: Name,
        to: Name,
        asset: Name,
        at: Schema.optionalKey(Schema.Array(Schema.Struct({ block: WholeText, amount: AmountText }))),
        every: Schema.optionalKey(Schema.Struct({ blocks: WholeText, amount: AmountText })),
      }),
    ),
  ),
  faults: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        block: WholeText,
        operation: oneOf(...operations, "any"),
        kind: oneOf(...faultKinds),
        rate: Schema.optionalKey(DecimalText),
        count: Schema.optionalKey(WholeText),
        duration: Schema.optionalKey(DurationText),
        status: Schema.optionalKey(WholeText),
        effect: Schema.optionalKey(YesNo),
        code: Schema.optionalKey(WholeText),
        delay: Schema.optionalKey(DurationText),
        blocks: Schema.optionalKey(WholeText),
        /** A duration, with "-" in front where the network's clock is slow. */
        skew: Schema.optionalKey(text(/^-?[0-9]+(ms|s|m|h|d)$/, 'a duration such as "-90s"')),
        chainId: Schema.optionalKey(Name),
      }),
    ),
  ),
})
export type ScenarioText = typeof ScenarioText.Type
