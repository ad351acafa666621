import { Effect, Schema } from "effect"
import { ConfigError, configProblem } from "../../config/ConfigError.ts"
import { readUtf8 } from "../../config/readBytes.ts"
import { type AccountTypeName, accountTypeNumbers } from "../../domain/AccountType.ts"
import { type AssetStatusName, assetStatusNumbers } from "../../domain/Asset.ts"
import { type MovementType, movementTypes } from "../Ledger.ts"
import { StoredDeposit, StoredTransfer, StoredWithdrawal } from "../Stored.ts"

const Units = Schema.BigIntFromString
/** Unix nanoseconds. */
const Nanos = Schema.BigIntFromString
const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const HexText = Schema.String.check(Schema.isPattern(/^([0-9a-f]{2})*$/))
const Height = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const accountFields = {
  asset: Schema.String,
  party: Schema.String,
  /** "" where it belongs to none. */
  market: Schema.String,
  type: Schema.Literals(Object.keys(accountTypeNumbers) as Array<AccountTypeName>),
}
const AccountName = Schema.Struct(accountFields)

const AssetSource = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("builtin"), maxFaucetAmountMint: Schema.String }),
  Schema.Struct({
    kind: Schema.Literal("erc20"),
    contractAddress: Schema.String,
    lifetimeLimit: Schema.String,
    withdrawThreshold: Schema.String,
    chainId: Schema.String,
  }),
])

const many = <S extends Schema.Top>(item: S) => Schema.optionalKey(Schema.Array(item))

/**
 * A network as it stood after a block: what a sandbox can go on from. Amounts, times and heights inside of texts are
 * digits; times are Unix nanoseconds, amounts base units, hashes lower-case hex.
 */
export const NetworkStateSchema = Schema.Struct({
  chainId: Schema.NonEmptyString,
  /** The newest block, its time, and the time of the first one. */
  height: Height,
  time: Nanos,
  genesisTime: Nanos,
  /** Network parameters by key; those that a sandbox obeys replace the scenario's, the others are told as they are. */
  parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  epoch: Schema.Struct({
    seq: Height,
    startTime: Nanos,
    firstBlock: Height,
    /** Transfers and cancellations of this epoch, by party. */
    transfers: Schema.optionalKey(Schema.Record(Schema.String, Height)),
    votes: many(Schema.Struct({ party: Schema.String, proposal: Schema.String, count: Height })),
    /** Told with the epoch, as they are. */
    validators: many(Schema.Unknown),
  }),
  /** Block hashes by height. Those above the newest block are what the blocks to come will have. */
  hashes: Schema.Record(Schema.String.check(Schema.isPattern(/^[1-9][0-9]*$/)), Hash),
  assets: many(
    Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      symbol: Schema.String,
      decimals: Height,
      quantum: Units,
      source: AssetSource,
      status: Schema.Literals(Object.keys(assetStatusNumbers) as Array<AssetStatusName>),
    }),
  ),
  accounts: many(Schema.Struct({ ...accountFields, balance: Units })),
  /** Balance history; in any order. */
  changes: many(Schema.Struct({ ...accountFields, time: Nanos, balance: Units })),
  movements: many(
    Schema.Struct({
      time: Nanos,
      blockTime: Nanos,
      type: Schema.Literals(Object.keys(movementTypes) as Array<MovementType>),
      amount: Units,
      from: AccountName,
      to: AccountName,
      fromBalance: Units,
      toBalance: Units,
      transferId: Schema.String,
    }),
  ),
  transfers: many(StoredTransfer),
  withdrawals: many(StoredWithdrawal),
  deposits: many(StoredDeposit),
  /** Transactions of blocks, with what became of them. */
  transactions: many(
    Schema.Struct({
      bytes: HexText,
      height: Height,
      index: Height,
      time: Nanos,
      code: Schema.Int,
      error: Schema.String,
    }),
  ),
})
export type NetworkState = typeof NetworkStateSchema.Type

export const NetworkStateText = Schema.fromJsonString(NetworkStateSchema)

/** A network of a hundred thousand accounts has some tens of megabytes. */
const stateBytesMax = 500_000_000

/** Reads a state file. Fails with the place and a remedy: it may be missing, no JSON, or another shape. */
export const readNetworkState = (file: string): Effect.Effect<NetworkState, ConfigError> =>
  Effect.gen(function* () {
    const text = readUtf8(file, stateBytesMax)
    if (typeof text !== "string") {
      const { code, problem } = text
      const why = code === undefined ? `the state ${problem}` : `the state cannot be read (${code})`
      return yield* configProblem(file, why, "name the file of a network's state")
    }
    const value = yield* Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: (error) => noJson(file, text, String(error)),
    })
    return yield* Schema.decodeUnknownEffect(NetworkStateSchema)(value, { onExcessProperty: "error" }).pipe(
      Effect.mapError(({ message }) => configProblem(file, `no state of a network: ${oneLine(message)}`, remedy)),
    )
  })

/** What a person does about a state file that cannot be used. */
export const remedy = "src/sandbox/SCENARIO.md tells what stands in it"

/** Names the line of the file where the reader of JSON names the character. */
const noJson = (file: string, text: string, error: string): ConfigError => {
  const at = /at position (\d+)/.exec(error)?.[1]
  const before = text.slice(0, at === undefined ? text.length : Number(at)).split("\n")
  const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
  const why = error.replace(/^\w+: /, "").replace(/ at position.*$/s, "")
  return new ConfigError({ problems: [{ file, ...place, message: `no JSON: ${oneLine(why)}`, remedy }] })
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 300)
