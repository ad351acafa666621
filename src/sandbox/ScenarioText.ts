import { Schema } from "effect"
import {
  AmountText,
  AssetIdText,
  DecimalsText,
  durationMillis,
  ListenText,
  Name,
  oneOf,
  PeriodText,
  text,
  WholeText,
} from "../config/schema/Fields.ts"
import { dayMillis } from "../domain/Time.ts"
import { faultCodes, faultKinds, faultStatuses, operations } from "./Faults.ts"
import { profileNames } from "./Profiles.ts"

const DecimalText = text(/^[0-9]{1,9}(\.[0-9]{1,18})?$/, 'a decimal such as "0.001"')
const YesNo = oneOf("true", "false")

/** Block hashes that the network keeps: as many as its largest window has blocks. */
export const hashesMax = 500

/** Text that is read as a number within bounds; another check reports text of another form. */
const within = (read: (written: string) => number, least: number, most: number, expected: string) =>
  Schema.makeFilter((written: string) => !(read(written) < least || read(written) > most), { expected })

const whole = (least: number, most: number) =>
  WholeText.check(within(Number, least, most, `a whole number from ${least} to ${most}`))

const skewForm = /^-?[0-9]{1,9}(ms|s|m|h|d)$/
/** Milliseconds, negative behind "-"; NaN where it is no duration. */
export const signedMillis = (written: string): number =>
  skewForm.test(written) ? durationMillis(written.replace("-", "")) * (written.startsWith("-") ? -1 : 1) : Number.NaN
const UpToDay = PeriodText.check(within(signedMillis, 1, dayMillis, "a duration from 1ms to 1d"))

const powFields = {
  difficulty: Schema.optionalKey(whole(0, 256)),
  pastBlocks: Schema.optionalKey(whole(1, hashesMax)),
  txPerBlock: Schema.optionalKey(whole(1, 1_000_000)),
  increaseDifficulty: Schema.optionalKey(YesNo),
}

const AssetSchema = Schema.Struct({
  id: AssetIdText,
  name: Schema.NonEmptyString,
  symbol: Name,
  decimals: DecimalsText,
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
  blockInterval: Schema.optionalKey(UpToDay),
  rateLimit: Schema.optionalKey(oneOf("on", "off")),
  pow: Schema.optionalKey(Schema.Struct(powFields)),
  /** Changes of the required work, each from a block on. */
  powChanges: Schema.optionalKey(Schema.Array(Schema.Struct({ block: WholeText, ...powFields }))),
  epochLength: Schema.optionalKey(PeriodText),
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
        rate: Schema.optionalKey(DecimalText.check(within(Number, 0.000_001, 1, "a probability from 0.000001 to 1"))),
        count: Schema.optionalKey(whole(1, 1_000_000)),
        duration: Schema.optionalKey(UpToDay),
        status: Schema.optionalKey(Schema.Literals(faultStatuses.map((one) => `${one}` as const))),
        effect: Schema.optionalKey(YesNo),
        code: Schema.optionalKey(Schema.Literals(faultCodes.map((one) => `${one}` as const))),
        delay: Schema.optionalKey(UpToDay),
        blocks: Schema.optionalKey(whole(1, 500)),
        /** A duration, with "-" in front where the network's clock is slow. */
        skew: Schema.optionalKey(
          text(skewForm, 'a duration such as "-90s"').check(
            within(signedMillis, -dayMillis, dayMillis, "a duration from -1d to 1d"),
          ),
        ),
        chainId: Schema.optionalKey(Name),
      }),
    ),
  ),
})
export type ScenarioText = typeof ScenarioText.Type
